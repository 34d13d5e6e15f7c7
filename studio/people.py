"""The people on a page: their display names and faces, found with one query when the page is complete.

Templates, sentences about events and applications' panels know people by their user names. `person` notes a
name and returns a mark for it; `people_on_pages` writes names and faces in place of the marks. So no page
has to say beforehand whom it names, and people who share a name within a page can be told apart.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from studio.csp import is_studio
from versioning.models.accounts import accounts_named

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

    Reader = AbstractBaseUser | AnonymousUser
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


class _Mention(NamedTuple):
    """A place on a page where a person is named."""

    username: str
    is_account: bool
    place: Place
    has_face: bool


class _Called(NamedTuple):
    """What a person is called on a page."""

    full_name: str
    shown: str
    """The full name, or “you”."""
    id: str
    """The user name, if it is needed to tell people apart; otherwise empty."""


_Writer = Callable[[_Mention, _Called, re.Match[str]], str]
"""Returns what stands in place of a mark."""


class _Page:
    """The people named on a page that is being written."""

    def __init__(self) -> None:
        self.token = str(secrets.randbits(64))
        """Part of every mark: nobody can write a text that becomes a name."""
        self.mentions: dict[_Mention, int] = {}
        self.known: dict[str, Any] = {}
        """The accounts that need not be looked up, by user name."""

    def mark(self, mention: _Mention) -> str:
        """Return the mark for a mention. No filter for texts changes it, and it needs no escaping."""
        return f"\ue000{self.token}:{self.mentions.setdefault(mention, len(self.mentions))}\ue001"

    def completed(self, content: str, reader: Reader, write: _Writer) -> str:
        """Return the content of the page with names in place of the marks."""
        mentions = list(self.mentions)
        known = {**self.known, **({reader.get_username(): reader} if reader.is_authenticated else {})}
        called = _called(mentions, known, reader)
        return re.sub(
            f"\ue000{self.token}:([0-9]+)\ue001",
            lambda mark: write(mentions[int(mark[1])], called[int(mark[1])], mark),
            content,
        )


_page: ContextVar[_Page | None] = ContextVar("page", default=None)


def people_on_pages(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware that writes the names of people into the pages of the studio."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not is_studio(request):
            return get_response(request)
        page = _Page()
        active = _page.set(page)
        try:
            response = get_response(request)
        finally:
            _page.reset(active)
        if isinstance(response, HttpResponse) and page.token.encode() in response.content:
            content = response.content.decode(response.charset)
            response.content = page.completed(content, request.user, _as_html).encode(response.charset)
        return response

    return middleware


def person(whom: Whom, place: str = Place.ALONE, *, is_account: bool = True) -> SafeString:
    """Return a person with their face, or the application itself if nobody is given.

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


def as_text(message: str, reader: Reader) -> str:
    """Return a message with the names of people as text, for the page after this one."""
    page = _page.get()
    if page is None:
        return message
    is_html = isinstance(message, SafeString)
    said = page.completed(message, reader, _as_html_text if is_html else _as_text)
    return mark_safe(said) if is_html else said  # noqa: S308


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
    return "".join(word[0].upper()[0] for word in first_and_last)


def colour_of(username: str) -> int:
    """Return the number of a person's colour, which stays the same as long as their user name does."""
    return zlib.crc32(username.encode()) % FACES


def _mentioned(whom: Whom, place: Place, *, has_face: bool, is_account: bool = True) -> SafeString:
    username = whom if whom is None or isinstance(whom, str) else whom.get_username()
    if not username:
        return SafeString(_("the application") if place is Place.WITHIN else _("The application"))
    page = _page.get()
    if page is None:
        return escape(username)
    if not isinstance(whom, str):
        page.known[username] = whom
    return mark_safe(page.mark(_Mention(username, is_account, place, has_face)))  # noqa: S308


def _called(mentions: Sequence[_Mention], known: Mapping[str, Any], reader: Reader) -> list[_Called]:
    """Return what the people are called in each mention; one query, and none if all are known."""
    unknown = {one.username for one in mentions if one.is_account} - known.keys()
    found = {one.get_username(): one for one in accounts_named(unknown)} if unknown else {}
    users = {**found, **known}
    names = {
        one[:2]: display_name(users[one.username])
        if one.is_account and one.username in users
        else one.username
        for one in mentions
    }
    shared = Counter(map(_comparable, names.values()))
    called = []
    for one in mentions:
        name = names[one[:2]]
        is_you = one.is_account and one.username == reader.get_username()
        is_mistakable = shared[_comparable(name)] > 1 or _is_like_another(name, one.username)
        shown = _you(name, one.place) if is_you else name
        called.append(_Called(name, shown, one.username if is_mistakable and shown == name else ""))
    return called


def _comparable(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _is_like_another(name: str, username: str) -> bool:
    """Return whether a display name could be taken for the user name of somebody else: it is one word."""
    return " " not in name and _comparable(name) != _comparable(username)


def _as_text(_mention: _Mention, called: _Called, _mark: re.Match[str]) -> str:
    return f"{called.shown} ({called.id})" if called.id else called.shown


def _as_html_text(mention: _Mention, called: _Called, mark: re.Match[str]) -> str:
    return escape(_as_text(mention, called, mark))


def _as_html(mention: _Mention, called: _Called, mark: re.Match[str]) -> str:
    """Return the name with its face; within a tag, such as in a title, the name alone."""
    is_in_tag = mark.string.rfind("<", 0, mark.start()) > mark.string.rfind(">", 0, mark.start())
    if is_in_tag or not mention.has_face:
        return _as_html_text(mention, called, mark)
    return format_html(
        '<span class="person">{}<bdi title="{}">{}</bdi>{}</span>',
        _face(mention.username, called.full_name),
        mention.username,
        called.shown,
        format_html(" <small>{}</small>", called.id) if called.id else "",
    )


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
