"""Erasing people: names and addresses are replaced; the records of their actions stay."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db.models import EmailField

from versioning.domain.access import APPLICATION, Role
from versioning.domain.errors import Conflict, Forbidden, NotFound
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.editor.workspaces import LastAdmin, is_last_admin, require_whole
from versioning.models import Membership, Workspace, events, personal_data
from versioning.models.accounts import account, accounts
from versioning.models.personal_data import Erasure

_ERASED: Final = re.compile(r"erased-[0-9a-f]{8}(@erased\.invalid)?")


class LastSuperuser(Conflict):
    """No superuser would be left."""

    code = "last_superuser"

    def __init__(self) -> None:
        super().__init__("The last superuser cannot be erased: make another account a superuser first.")


class OwnAccount(Conflict):
    """Superusers cannot erase themselves."""

    code = "own_account"

    def __init__(self) -> None:
        super().__init__("Another superuser has to erase your account.")


@dataclass(frozen=True, kw_only=True)
class ErasedPerson:
    """A person who was erased."""

    username: str
    """The new name for the person's records, such as `erased-3f2a91c7`."""


class People:
    """The verbs about people themselves, for superusers."""

    @retry_on_conflict
    def erase(self, username: str, *, by: Who = APPLICATION) -> ErasedPerson:
        """Replace a person's name and mail address everywhere, and deactivate the account permanently.

        Authorship, verdicts and entries of the log remain, under another name. Sessions, keys, memberships,
        second factors, sign-in identities and preferences end. The name of a deleted account is replaced as
        well. Erasing a person again changes nothing.

        Raises `NotFound` if nothing is stored under the name, `Forbidden` for callers other than superusers,
        `LastSuperuser`, `LastAdmin` and `OwnAccount`.
        """
        by = caller_of(by)
        if by.everywhere is not Role.ADMIN:
            raise Forbidden("Only superusers may erase people.")
        require_whole(by)
        with events.transaction():
            superusers = accounts().filter(is_superuser=True).order_by("pk").select_for_update()
            active = [superuser for superuser in superusers if superuser.is_active]
            user = account(username)
            if user is not None:
                if _ERASED.fullmatch(user.get_username()) and not user.is_active:
                    return ErasedPerson(username=user.get_username())
                if user.pk == by.user_id:
                    raise OwnAccount
                if active == [user]:
                    raise LastSuperuser
                mine = Membership.objects.filter(user=user)
                list(Workspace.objects.with_lock().filter(pk__in=mine.values("workspace_id")).order_by("pk"))
                if user.is_active and any(map(is_last_admin, mine)):
                    raise LastAdmin
                username = user.get_username()
            field = get_user_model().get_email_field_name()
            erasure = Erasure(
                user=user,
                name=username,
                address=str(getattr(user, field, "") or ""),
                new_name=_new_name(),
                by=by,
            )
            if user is not None:
                _rename(user, erasure)
            changed = personal_data.erase(erasure)
            if user is None and not changed:
                raise NotFound
            if user is not None:
                for membership in Membership.objects.filter(user=user).select_related("user"):
                    Membership.objects.end(membership, by=by)
            events.record("person.erased", by=by, workspace_id=None, username=erasure.new_name)
            events.touch()
        return ErasedPerson(username=erasure.new_name)


def _new_name() -> str:
    """Return an unused user name; a mail address if user names are addresses."""
    model = get_user_model()
    is_mail = isinstance(model._meta.get_field(model.USERNAME_FIELD), EmailField)
    while True:
        name = f"erased-{secrets.token_hex(4)}" + ("@erased.invalid" if is_mail else "")
        if account(name) is None:
            return name


def _rename(user: Any, erasure: Erasure) -> None:
    """Give an account its new name and remove all means of signing in."""
    model = get_user_model()
    values = {
        "first_name": "",
        "last_name": "",
        model.get_email_field_name(): "",
        "is_active": False,
        "is_superuser": False,
        "is_staff": False,
        model.USERNAME_FIELD: erasure.new_name,  # last: it may be the mail address
    }
    for name, value in values.items():
        try:
            model._meta.get_field(name)
        except FieldDoesNotExist:
            continue
        setattr(user, name, value)
    user.set_unusable_password()
    user.save()
