"""People as pages show them: by their display names, with their faces, and the reader as “you”."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from editor_client.shared.text_keys import caseless

from studio.marks import Shown, marked
from versioning.domain.graphemes import clusters
from versioning.models.accounts import accounts_named

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

    Whom = AbstractBaseUser | str | None
    """An account, or its user name, which need not exist any more."""

FACES: Final = 12
"""The number of colours of faces: the classes `face-0` to `face-11`."""
MAX_INITIALS: Final = 2


class Place(StrEnum):
    """Where a name stands, because the reader is called “you” differently in each place."""

    ALONE = "alone"
    BEGINNING = "beginning"
    """At the beginning of a sentence, as its subject."""
    WITHIN = "within"
    """Elsewhere in a sentence."""
    NAMED = "named"
    """Where the reader is called by name, too, as in a choice of people."""


@dataclass(frozen=True, kw_only=True)
class PersonMention:
    """A place on a page where a person is named."""

    username: str
    place: Place
    has_face: bool
    is_account: bool
    """False for the author of a commit, who need not be the account with this name."""
    account: Any = field(default=None, compare=False)
    """The account, if it need not be looked up."""

    @property
    def otherwise(self) -> str:
        """The user name."""
        return self.username

    @classmethod
    def shown(cls, mentions: Sequence[Self], request: HttpRequest) -> list[Shown]:
        """Return the people by their names; one query, and none if all accounts are known."""
        users = _accounts(mentions, request)
        names: dict[tuple[str, bool], str] = {}
        for mention in mentions:
            user = users.get(mention.username) if mention.is_account else None
            names[mention.username, mention.is_account] = (
                mention.username if user is None else display_name(user)
            )
        shared = Counter(map(_comparable, names.values()))
        own_name = request.user.get_username()
        return [
            _shown(
                mention,
                name := names[mention.username, mention.is_account],
                is_shared=shared[_comparable(name)] > 1,
                is_you=mention.is_account and mention.username == own_name,
            )
            for mention in mentions
        ]


def person(whom: Whom, place: str = Place.ALONE, *, is_account: bool = True) -> SafeString:
    """Return a person with their face, or the application itself if the name is empty.

    `is_account` is False for the author of a commit, who need not be the account with this name.
    """
    return _mentioned(whom, Place(place), has_face=True, is_account=is_account)


def person_name(whom: Whom, place: str = Place.ALONE) -> SafeString:
    """Return the name of a person as text, for attributes and choices."""
    return _mentioned(whom, Place(place), has_face=False)


def people(usernames: Iterable[str], place: str = Place.WITHIN) -> SafeString:
    """Return people with their faces, separated by commas; the first one at the place."""
    named = list(usernames)
    places = [place, *[Place.WITHIN] * (len(named) - 1)]
    return format_html_join(", ", "{}", ((person(*one),) for one in zip(named, places, strict=False)))


def display_name(user: AbstractBaseUser) -> str:
    """Return the full name of a user, or their user name without one."""
    full: Callable[[], str] = getattr(user, "get_full_name", user.get_username)
    return " ".join(full().split()) or user.get_username()


def face(user: AbstractBaseUser) -> SafeString:
    """Return the face of a user: the initials of their display name, in a colour of their own."""
    return _face(user.get_username(), display_name(user))


def initials(name: str) -> str:
    """Return the initials of a name or a user name: `GH` of `Grace Hopper` and of `grace.hopper`."""
    words = [word for word in re.split(r"[\s._@+-]+", unicodedata.normalize("NFC", name)) if word]
    first_and_last = words if len(words) <= MAX_INITIALS else [words[0], words[-1]]
    return "".join(clusters(clusters(word)[0].upper())[0] for word in first_and_last)


def colour_of(username: str) -> int:
    """Return the number of a person's colour, which stays the same as long as their user name does."""
    return zlib.crc32(username.encode()) % FACES


def _mentioned(whom: Whom, place: Place, *, has_face: bool, is_account: bool = True) -> SafeString:
    if not whom:
        return SafeString(_("the application") if place is Place.WITHIN else _("The application"))
    account = None if isinstance(whom, str) else whom
    return marked(
        PersonMention(
            username=whom if isinstance(whom, str) else whom.get_username(),
            place=place,
            has_face=has_face,
            is_account=is_account,
            account=account,
        )
    )


def _accounts(mentions: Sequence[PersonMention], request: HttpRequest) -> Mapping[str, Any]:
    """Return the accounts of the people by user name, as far as they exist."""
    known = {mention.username: mention.account for mention in mentions if mention.account is not None}
    if request.user.is_authenticated:
        known[request.user.get_username()] = request.user
    unknown = {mention.username for mention in mentions if mention.is_account} - known.keys()
    found = {one.get_username(): one for one in accounts_named(unknown)} if unknown else {}
    return found | known


def _shown(mention: PersonMention, name: str, *, is_shared: bool, is_you: bool) -> Shown:
    called = _you(name, mention.place) if is_you else name
    # A display name of one word could be taken for the user name of another person.
    is_like_another = " " not in name and _comparable(name) != _comparable(mention.username)
    is_mistakable = is_shared or is_like_another
    told_apart = mention.username if is_mistakable and called == name else ""
    text = f"{called} ({told_apart})" if told_apart else called
    if not mention.has_face:
        return Shown(text)
    html = format_html(
        '<span class="person">{}<bdi title="{}">{}</bdi>{}</span>',
        _face(mention.username, name),
        mention.username,
        called,
        format_html(" <small>{}</small>", told_apart) if told_apart else "",
    )
    return Shown(text, html)


def _comparable(name: str) -> str:
    """Return a name for comparisons, as people would take it for another."""
    return caseless(unicodedata.normalize("NFKC", name))


def reserved_names() -> set[str]:
    """Return what pages in the current language call the reader and the application, in small letters."""
    said = [*(_you("", place) for place in Place), _("The application"), _("the application")]
    return {name for one in said if (name := _comparable(one.strip()))}


def _you(name: str, place: Place) -> str:
    """Return what the reader is called. A language may need the name where English has “you”."""
    # Translators: where the verb stays in the third person, "You" and "you" may be "{name} (…)"
    said = {
        Place.ALONE: pgettext("the reader, alone", "You"),
        Place.BEGINNING: pgettext("the reader, at the beginning of a sentence", "You"),
        Place.WITHIN: pgettext("the reader, within a sentence", "you"),
        Place.NAMED: "{name}",
    }
    return said[place].format(name=name)


def _face(username: str, name: str) -> SafeString:
    return format_html(
        '<span class="face face-{}" data-initials="{}" aria-hidden="true"></span>',
        colour_of(username),
        initials(name),
    )
