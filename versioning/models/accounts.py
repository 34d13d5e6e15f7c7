"""Accounts: the people who sign in, found and made by user name."""

from __future__ import annotations

import unicodedata

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from versioning.domain.errors import Invalid

# Alphabets with letters that look the same, such as the Latin and the Cyrillic "a".
_CONFUSABLE_ALPHABETS = frozenset({"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE"})


def account(username: str) -> User | None:
    """Return the account of this name; None where there is none, or can be none."""
    name = normalized(username)
    return None if name is None else User.objects.filter(username=name).first()


def normalized(username: str) -> str | None:
    """Return a user name as accounts have it; None for one that no account can have.

    Asked before a database that cannot hold such a name gets to see it.
    """
    return User.normalize_username(username) if _fault_of(username) is None else None


def new_account(username: str, password: str | None = None) -> User:
    """Make an account, without a password unless one is given.

    Raises `Invalid` for a name that it cannot have, and `IntegrityError` for one that is taken.
    """
    fault = _fault_of(username)
    if fault is not None:
        raise Invalid.field("username", fault)
    return User.objects.create_user(username=username, password=password)


def checked_new_name(username: str) -> str:
    """Return the normalized name for an account that does not exist yet.

    Raises `Invalid` for a name that no account can have, and for one that people would take for another
    account: one that differs from an existing name in upper and lower case only, or that mixes alphabets
    whose letters look alike.
    """
    name = User.normalize_username(username)
    fault = _fault_of(name)
    if fault is None and len(_alphabets(name) & _CONFUSABLE_ALPHABETS) > 1:
        fault = "mixes letters of alphabets that look alike"
    if fault is None:
        similar = User.objects.filter(username__iexact=name).exclude(username=name).first()
        if similar is not None:
            fault = f"differs from the account {similar.get_username()} in upper and lower case only"
    if fault is not None:
        raise Invalid.field("username", fault)
    return name


def _fault_of(username: str) -> str | None:
    try:
        User(username=User.normalize_username(username)).clean_fields(exclude=["password"])
    except ValidationError as fault:
        return " ".join(fault.messages)
    return None


def _alphabets(name: str) -> set[str]:
    return {unicodedata.name(character, "").partition(" ")[0] for character in name if character.isalpha()}
