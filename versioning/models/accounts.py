"""Accounts: the people who sign in, found and made by user name.

A project may have a user model of its own. What is asked of it: a unique `USERNAME_FIELD`, `is_active`, and
Django's `PermissionsMixin`, whose `is_superuser` counts.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError

from versioning.domain.errors import Invalid

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.db.models import QuerySet

# Alphabets with letters that look the same, such as the Latin and the Cyrillic "a".
_CONFUSABLE_ALPHABETS = frozenset({"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE"})


def accounts() -> QuerySet[User]:
    """Return all accounts, of whatever model the project has for them."""
    return get_user_model()._default_manager.all()


def name_of(relation: str) -> str:
    """Return the lookup of a user's name through a relation, such as `author__username`."""
    return f"{relation}__{get_user_model().USERNAME_FIELD}"


def account(username: str) -> User | None:
    """Return the account of this name; None where there is none, or can be none."""
    name = normalized(username)
    return None if name is None else accounts().filter(**{get_user_model().USERNAME_FIELD: name}).first()


def names_with_accounts(usernames: set[str]) -> set[str]:
    """Return those of the names that have an account."""
    field = get_user_model().USERNAME_FIELD
    return set(accounts().filter(**{f"{field}__in": usernames}).values_list(field, flat=True))


def normalized(username: str) -> str | None:
    """Return a user name as accounts have it; None for one that no account can have.

    Asked before a database that cannot hold such a name gets to see it.
    """
    return get_user_model().normalize_username(username) if _problem_of(username) is None else None


def new_account(username: str, password: str | None = None) -> User:
    """Make an account, without a password unless one is given.

    Raises `Invalid` for a name that it cannot have, and `IntegrityError` for one that is taken. Nothing
    but name and password is set: a user model whose manager asks for more than these still has the rest
    at its defaults.
    """
    problem = _problem_of(username)
    if problem is not None:
        raise Invalid.field("username", problem)
    made = unsaved_account(username)
    made.set_password(password)
    made.save()
    return made


def unsaved_account(username: str) -> User:
    """Return an account of this name that is not stored: of use to forms that ask for a password."""
    model = get_user_model()
    return model(**{model.USERNAME_FIELD: model.normalize_username(username)})


def checked_new_name(username: str) -> str:
    """Return the normalized name for an account that does not exist yet.

    Raises `Invalid` for a name that no account can have, and for one that people would take for another
    account: one that differs from an existing name in upper and lower case only, or that mixes alphabets
    whose letters look alike.
    """
    model = get_user_model()
    name = model.normalize_username(username)
    problem = _problem_of(name)
    if problem is None and len(_alphabets(name) & _CONFUSABLE_ALPHABETS) > 1:
        problem = "mixes letters of alphabets that look alike"
    if problem is None:
        field = model.USERNAME_FIELD
        alike = accounts().filter(**{f"{field}__iexact": name})
        similar = alike.exclude(**{field: name}).first()
        if similar is not None:
            problem = f"differs from the account {similar.get_username()} in upper and lower case only"
    if problem is not None:
        raise Invalid.field("username", problem)
    return name


def _problem_of(username: str) -> str | None:
    model = get_user_model()
    field: Any = model._meta.get_field(model.USERNAME_FIELD)
    try:
        field.clean(model.normalize_username(username), None)
    except ValidationError as error:
        return " ".join(error.messages)
    return None


def _alphabets(name: str) -> set[str]:
    return {unicodedata.name(character, "").partition(" ")[0] for character in name if character.isalpha()}
