"""What a password has to be: twelve characters or more, and none of the common ones, wherever it is set."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse

from tests.conftest import Cast
from tests.support.studio import Visitor
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.domain.errors import Invalid
from versioning.models import Invitation

EARLIER = "short"
CHOSEN = "twelve chars"
SHORT = "This password is too short. It must contain at least 12 characters."
COMMON = "This password is too common."

pytestmark = pytest.mark.usefixtures("edgar")


@pytest.fixture
def edgar(cast: Cast) -> None:
    """Edgar's password is of the time before."""
    user = User.objects.get(username="edgar")
    user.set_password(EARLIER)
    user.save()


def as_(name: str) -> Visitor:
    client = Visitor()
    client.client.force_login(User.objects.get(username=name))
    return client


def accepting(password: str) -> str:
    _, token = get_editor().invitation.invite("acme", "lena", Role.VIEWER)
    client = Visitor()
    client.get(reverse("studio:versioning_workspace_invited", args=[token]))
    form = {"invitation": Invitation.objects.get().pk, "new_password1": password, "new_password2": password}
    return client.post(reverse("studio:versioning_workspace_accept"), form, follow=True).words


def changing(password: str) -> str:
    form = {"old_password": EARLIER, "new_password1": password, "new_password2": password}
    return as_("edgar").post("/studio/password_change/", form, follow=True).words


def set_by_a_superuser(password: str) -> str:
    edgar = User.objects.get(username="edgar")
    form = {"password1": password, "password2": password, "usable_password": "true"}
    return as_("root").post(f"/studio/auth/user/{edgar.pk}/password/", form, follow=True).words


def made_by_a_command(password: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_SUPERUSER_PASSWORD", password)
        try:
            call_command("createsuperuser", username="su", email="", interactive=False, stdout=StringIO())
        except CommandError as error:
            return str(error)
    return ""


def accepted_by_a_program(password: str) -> str:
    invitation, _ = get_editor().invitation.invite("acme", "lena", Role.VIEWER)
    try:
        get_editor().invitation.accept_with_new_account(invitation.digest, password)
    except Invalid as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "door", [accepting, changing, set_by_a_superuser, made_by_a_command, accepted_by_a_program]
)
def test_short_and_common_passwords_are_refused_wherever_one_is_set(door: Callable[[str], Any]) -> None:
    names = {"su", "lena", "edgar"}
    before = set(User.objects.filter(username__in=names).values_list("username", "password"))
    assert SHORT in door("eleven char")
    Invitation.objects.all().delete()
    assert COMMON in door("qwerty123456")
    Invitation.objects.all().delete()
    assert set(User.objects.filter(username__in=names).values_list("username", "password")) == before
    said = door(CHOSEN)
    assert SHORT not in said and COMMON not in said
    assert any(user.check_password(CHOSEN) for user in User.objects.filter(username__in=names))


def test_who_has_a_shorter_password_still_signs_in() -> None:
    answer = Visitor().post("/studio/login/", {"username": "edgar", "password": EARLIER})
    assert answer.location == "/studio/"
