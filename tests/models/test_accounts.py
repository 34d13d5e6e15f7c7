"""What `manage.py check` says about the user model of a project."""

from __future__ import annotations

import pytest
from django.contrib.auth.base_user import AbstractBaseUser

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


def test_a_user_model_has_permissions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert accounts.check_user_model() == []
    for model, problem in ((Bare, "versioning.E008"), (WithSuperusers, "versioning.W002")):
        monkeypatch.setattr(accounts, "get_user_model", lambda model=model: model)
        [found] = accounts.check_user_model()
        assert found.id == problem and model.__name__ in found.msg
