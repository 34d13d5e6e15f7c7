"""Accounts under the user model of a project, and what `manage.py check` says about it."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.test import Client

from tests.conftest import Cast
from tests.support.people import key_of
from versioning.domain.access import Action
from versioning.domain.errors import Invalid
from versioning.models import accounts


class Bare(AbstractBaseUser):
    """A user model with a name and a password."""

    class Meta:
        abstract = True


class WithSuperusers(Bare):
    """A user model that says who is a superuser, and has no permissions."""

    class Meta:
        abstract = True

    @property
    def is_superuser(self) -> bool:
        """Nobody is."""
        return False


@pytest.mark.database
@pytest.mark.parametrize("name", ["a\x00b", "a\ud800b"])
def test_names_that_cannot_be_stored_belong_to_no_account(
    name: str, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The field of a project's own user model may have no validators."""
    monkeypatch.setattr(User._meta.get_field(User.USERNAME_FIELD), "validators", [])
    assert accounts.account(name) is None
    assert not accounts.accounts_alike(name).exists() and not accounts.accounts_named({name}).exists()
    with pytest.raises(Invalid):
        accounts.new_account(name)
    refused = cast.alice.post("/workspaces/acme/invitations", {"username": name, "role": "viewer"})
    assert refused.status == 400
    directory = key_of("root", actions=[Action.DIRECTORY])
    query = json.dumps(name)
    found = Client().get(
        "/scim/v2/Users",
        {"filter": f"userName eq {query}"},
        headers={"authorization": f"Bearer {directory.key}"},
    )
    assert found.status_code == (400 if "\x00" in name else 200)


def test_a_user_model_has_permissions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert accounts.check_user_model() == []
    for model, problem in ((Bare, "versioning.E008"), (WithSuperusers, "versioning.W002")):
        monkeypatch.setattr(accounts, "get_user_model", lambda model=model: model)
        [found] = accounts.check_user_model()
        assert found.id == problem and model.__name__ in found.msg
