"""The accounts of the installation, read and changed by the directory."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from capabilities.accounts.directory.scim import Changes, ScimError, invalid
from capabilities.accounts.models import MAX_EXTERNAL_ID, MAX_MAIL_TYPE, DirectoryAccount
from versioning.domain.access import Caller, Role
from versioning.domain.errors import Invalid
from versioning.domain.texts import clip
from versioning.models import ApiKey, Membership, events
from versioning.models.accounts import (
    account,
    accounts,
    accounts_alike,
    checked_new_name,
    is_mail_address,
    new_account,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger(__name__)

MAX_NAME: Final = 150
MISSING: Final = "There is no such user."


def list_people(attribute: str | None = None, value: str = "") -> QuerySet[User]:
    """Return the accounts of people, or those with this `username` or `externalid`."""
    directory_accounts = DirectoryAccount.objects.filter(user=OuterRef("pk"))
    is_service = Membership.objects.filter(user=OuterRef("pk"), is_service=True)
    people = accounts_alike(value) if attribute == "username" else accounts()
    if attribute == "externalid":
        # A database may not be able to store unprintable characters.
        people = (
            people.filter(Exists(directory_accounts.filter(external_id=value)))
            if value.isprintable()
            else people.none()
        )
    people = people.filter(~Exists(directory_accounts.filter(deleted_at__isnull=False)), ~Exists(is_service))
    return people.order_by("pk")


def find(user_id: str) -> User:
    """Return an account; raises `ScimError` with 404."""
    try:
        user = list_people().filter(pk=user_id).first()
    except (ValueError, ValidationError, OverflowError):
        user = None
    if user is None or str(user.pk) != user_id:  # `+1` is not an id
        raise ScimError(404, MISSING)
    return user


def find_directory_account(user: User) -> DirectoryAccount | None:
    """Return the directory's record of an account; None if the directory has never changed it."""
    return DirectoryAccount.objects.filter(user=user).first()


def create(changes: Changes, by: Caller) -> User:
    """Create an account, or revive one that the directory has deleted; raises `ScimError`."""
    name = changes.user_name or ""
    name_taken = ScimError(409, "There is a user with this userName.", "uniqueness")
    with events.transaction():
        existing = account(name) or accounts_alike(name).order_by("pk").first()
        directory_account = None if existing is None else find_directory_account(existing)
        if existing is not None:
            if directory_account is None or directory_account.deleted_at is None:
                raise name_taken
            return _revive(existing, directory_account, changes, by)
        try:
            with transaction.atomic():
                user = new_account(checked_new_name(name))
        except Invalid as error:
            raise invalid(f"userName {error.issues[0].message}.") from None
        except IntegrityError:  # created by another request
            raise name_taken from None
        directory_account = DirectoryAccount(user=user, is_made_here=True)
        _store(user, directory_account, changes, by, "created")
        return user


def _revive(user: User, directory_account: DirectoryAccount, changes: Changes, by: Caller) -> User:
    """Reactivate a deleted account; another external id loses its former memberships and identities."""
    directory_account.deleted_at = None
    if directory_account.external_id != (changes.external_id or None):
        directory_account.is_made_here = True
        user.is_superuser = user.is_staff = False
        user.set_unusable_password()
        user.save()
        for model in ("company.Identity", "company.SecondFactor"):  # its identities at providers
            apps.get_model(model)._default_manager.filter(user=user).delete()
        for membership in Membership.objects.filter(user=user).select_related("user"):
            Membership.objects.end(membership, by=by)
    _store(user, directory_account, changes, by, "revived")
    return user


def change(user_id: str, changes: Changes, by: Caller, action: str = "changed") -> User:
    """Change an account; `action` is the text for its history. Raises `ScimError`."""
    with events.transaction():
        superusers = accounts().filter(is_superuser=True).order_by("pk").select_for_update()
        active = [superuser for superuser in superusers if superuser.is_active]
        user = find(user_id)
        if changes.user_name not in {None, user.get_username()}:
            raise invalid("userName cannot be changed.", "mutability")
        if changes.active is False and active == [user]:
            raise ScimError(409, "The last superuser cannot be changed.")
        directory_account = find_directory_account(user) or DirectoryAccount(user=user)
        _store(user, directory_account, changes, by, action)
        return user


def delete(user_id: str, by: Caller) -> None:
    """Deactivate an account and revoke its keys; for the directory it no longer exists."""
    with events.transaction():
        user = change(user_id, Changes(active=False), by, "deleted")
        for key in ApiKey.objects.filter(owner=user, revoked_at=None).select_related("owner"):
            key.revoke(by=by)
        DirectoryAccount.objects.filter(user=user).update(deleted_at=timezone.now())


def _store(
    user: User, directory_account: DirectoryAccount, changes: Changes, by: Caller, action: str
) -> None:
    """Store the attributes that are given, with an entry in the history of the account."""
    _refuse_wrong(user, changes)
    was_active = user.is_active
    columns = _columns(user, changes)
    for field, value in columns.items():
        setattr(user, field, value)
    # Only these fields: a password or a right may have been changed since the account was read.
    user.save(update_fields=columns)
    if changes.external_id is not None:
        directory_account.external_id = changes.external_id or None
    if changes.mail_type is not None and changes.mail_is_primary is not None:
        directory_account.mail_type, directory_account.mail_is_primary = (
            changes.mail_type,
            changes.mail_is_primary,
        )
    directory_account.changed_at = timezone.now()
    directory_account.save()
    # Answers, streams and keys follow the log.
    events.touch()
    _report(user, by, action, [*columns, *(["externalId"] if changes.external_id is not None else [])])
    if was_active and not user.is_active:
        for membership in Membership.objects.filter(user=user, role=Role.ADMIN):
            admins = Membership.objects.filter(workspace=membership.workspace_id, role=Role.ADMIN)
            if not admins.filter(user__is_active=True, is_service=False).exists():
                logger.warning("no one administers the workspace %s any more", membership.workspace_id)


def _columns(user: User, changes: Changes) -> dict[str, Any]:
    """Return the values of the columns to change; a user model may lack names and a mail address."""
    mail = get_user_model().get_email_field_name()
    if changes.display_name is not None and not changes.given_name and not changes.family_name:
        changes = replace(changes, given_name=changes.display_name, family_name="")
    values = {
        "first_name": changes.given_name,
        "last_name": changes.family_name,
        mail: changes.mail,
        "is_active": changes.active,
    }
    return {name: value for name, value in values.items() if value is not None and hasattr(user, name)}


def _refuse_wrong(user: User, changes: Changes) -> None:
    for name in (changes.given_name, changes.family_name, changes.display_name):
        if name is not None and len(name) > MAX_NAME:
            raise invalid(f"A name must not be longer than {MAX_NAME} characters.")
    if changes.external_id:
        if len(changes.external_id) > MAX_EXTERNAL_ID:
            raise invalid(f"externalId must not be longer than {MAX_EXTERNAL_ID} characters.")
        same_id = DirectoryAccount.objects.filter(external_id=changes.external_id).exclude(pk=user.pk)
        if same_id.exists():
            raise ScimError(409, "There is a user with this externalId.", "uniqueness")
    if changes.mail_type and len(changes.mail_type) > MAX_MAIL_TYPE:
        raise invalid(f"emails.type must not be longer than {MAX_MAIL_TYPE} characters.")
    _refuse_mail(user, changes.mail)


def _refuse_mail(user: User, mail: str | None) -> None:
    """Raise `ScimError` for an invalid address, and for a new one of a superuser who has a password.

    The owner of the mailbox could set a new password and become a superuser.
    """
    if mail is None or mail == getattr(user, get_user_model().get_email_field_name(), ""):
        return
    if mail and not is_mail_address(mail):
        raise invalid("emails.value must be a mail address.")
    if user.is_superuser and user.has_usable_password():
        raise ScimError(409, "The mail address of a superuser who has a password cannot be changed.")


def _report(user: User, by: Caller, action: str, fields: list[str]) -> None:
    """Add an entry to the history of the account, which superusers see."""
    names = f" ({', '.join(fields)})" if fields else ""
    LogEntry.objects.create(
        user_id=by.user_id,
        content_type=ContentType.objects.get_for_model(user),
        object_id=str(user.pk),
        object_repr=clip(user.get_username(), 200),
        action_flag=CHANGE,
        change_message=f"The directory has {action} it{names}, with the key {by.key_prefix}.",
    )
