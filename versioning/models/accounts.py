"""Accounts: the people who sign in, found and created by user name.

A project may have its own user model. It needs a unique `USERNAME_FIELD`, `is_active`, and Django's
`PermissionsMixin`, whose `is_superuser` counts.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth import get_user_model
from django.contrib.auth.models import PermissionsMixin
from django.contrib.auth.password_validation import validate_password
from django.core.checks import CheckMessage, Error, Warning  # noqa: A004  Django calls it that
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from editor_client.shared import canonical

from versioning.domain.errors import Invalid, Message
from versioning.models.text_keys import equals_caseless

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.db.models import QuerySet

MAX_MAIL: Final = 254
"""The length of the longest mail address that accounts and invitations store."""
# Alphabets with letters that look the same, such as the Latin and the Cyrillic "a".
_CONFUSABLE_ALPHABETS = frozenset({"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE"})


def accounts() -> QuerySet[User]:
    return get_user_model()._default_manager.all()


def username_lookup(relation: str) -> str:
    """Return the lookup for a user's name through a relation, such as `author__username`."""
    return f"{relation}__{get_user_model().USERNAME_FIELD}"


@lru_cache
def name_fields() -> list[str]:
    """Return the fields of the project's user model that hold a person's name; it may have none."""
    field_names = {field.name for field in get_user_model()._meta.get_fields()}
    return [name for name in ("first_name", "last_name") if name in field_names]


def account(username: str) -> User | None:
    """Return the account with this name; None if there is none or the name is not valid."""
    name = normalize_username(username)
    return None if name is None else accounts().filter(**{get_user_model().USERNAME_FIELD: name}).first()


def accounts_alike(username: str) -> QuerySet[User]:
    """Return the accounts with this name in upper or lower case; none for a name that is not valid."""
    name = normalize_username(username)
    if name is None:
        return accounts().none()
    return accounts().filter(equals_caseless(get_user_model().USERNAME_FIELD, name))


def known_name(typed: str) -> str:
    """Return the name of the account with this name in any case; without one, the argument."""
    user = account(typed) or accounts_alike(typed).first()
    return typed if user is None else user.get_username()


def accounts_named(usernames: set[str]) -> QuerySet[User]:
    """Return the accounts with these user names; names that no account can have are omitted."""
    possible = [username for username in usernames if normalize_username(username) is not None]
    return accounts().filter(**{f"{get_user_model().USERNAME_FIELD}__in": possible})


def names_with_accounts(usernames: set[str]) -> set[str]:
    field = get_user_model().USERNAME_FIELD
    return set(accounts_named(usernames).values_list(field, flat=True))


def normalize_username(username: str) -> str | None:
    """Return a user name in its stored form; None if no account can have it.

    Call it before a query: a database may not be able to represent the name.
    """
    return get_user_model().normalize_username(username) if _find_problem(username) is None else None


def new_account(username: str, password: str | None = None) -> User:
    """Create an account, without a password unless one is given.

    Raises `Invalid` for a name or a password that is not allowed, and `IntegrityError` for a name that is
    taken. Only name and password are set; other fields of the user model keep their defaults, even if its
    manager requires more.
    """
    problem = _find_problem(username)
    if problem is not None:
        raise Invalid.field("username", problem)
    user = unsaved_account(username)
    if password is not None:
        try:
            validate_password(password, user)
        except ValidationError as error:
            message = " ".join(error.messages)
            raise Invalid.field("password", message) from None
    user.set_password(password)
    user.save()
    return user


def check_user_model(**_options: Any) -> list[CheckMessage]:
    """Check that the project's user model distinguishes superusers, for `manage.py check`."""
    model = get_user_model()
    if issubclass(model, PermissionsMixin):
        return []
    hint = "Derive it from django.contrib.auth.models.PermissionsMixin."
    if not hasattr(model, "is_superuser"):
        message = f"The user model {model.__name__} does not mark superusers (is_superuser)."
        return [Error(message, hint=hint, id="versioning.E008")]
    message = f"The user model {model.__name__} has no permissions, which the project's admin pages need."
    return [Warning(message, hint=hint, id="versioning.W002")]


def unsaved_account(username: str) -> User:
    """Return an unsaved account with this name, for forms that validate a password."""
    model = get_user_model()
    return model(**{model.USERNAME_FIELD: model.normalize_username(username)})


def checked_new_name(username: str) -> str:
    """Return the normalized name for a new account.

    Raises `Invalid` for a name that no account can have, and for a name that people could confuse with
    another: one that differs from an existing name only in case, or that mixes alphabets with similar
    letters.
    """
    model = get_user_model()
    name = model.normalize_username(username)
    problem = _find_problem(name)
    if problem is None and mixes_alphabets(name):
        problem = Message("mixes letters of alphabets that look alike")
    if problem is None:
        similar = accounts_alike(name).exclude(**{model.USERNAME_FIELD: name}).first()
        if similar is not None:
            problem = Message(
                "differs from the account {name} only in upper and lower case", name=similar.get_username()
            )
    if problem is not None:
        raise Invalid.field("username", problem)
    return name


def is_mail_address(text: str) -> bool:
    """Return whether a text is a mail address that can be stored and can receive mail."""
    try:
        validate_email(text)
    except ValidationError:
        return False
    # To Django, which ignores case, the long s is an ASCII letter.
    return len(text) <= MAX_MAIL and text.rpartition("@")[0].isascii()


def _find_problem(username: str) -> str | Message | None:
    try:
        canonical.check(username)  # the field of a project's model may have no validators
    except ValueError as error:
        problem: str | Message = error.args[0]
        return problem
    model = get_user_model()
    field: Any = model._meta.get_field(model.USERNAME_FIELD)
    try:
        field.clean(model.normalize_username(username), None)
    except ValidationError as error:
        return " ".join(error.messages)
    return None


def mixes_alphabets(name: str) -> bool:
    """Return whether a name mixes letters of alphabets that look alike, so that it could imitate another."""
    alphabets = {
        unicodedata.name(character, "").partition(" ")[0] for character in name if character.isalpha()
    }
    return len(alphabets & _CONFUSABLE_ALPHABETS) > 1
