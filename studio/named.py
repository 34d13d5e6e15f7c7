"""The names of resources and workspaces, instead of their ids, on pages and in messages."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from editor_client.shared.text_keys import caseless

from studio.kinds import KINDS_BY_SLUG
from studio.limits import shorten
from studio.marks import Shown, write_mark
from studio.permissions import caller_of
from versioning.domain.access import Caller, Right
from versioning.domain.texts import clusters
from versioning.editor.workspaces import workspaces_with
from versioning.models.accounts import accounts_named
from versioning.models.text_keys import contains_caseless

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

    Whom = AbstractBaseUser | str | None
    """An account, or its user name, which may no longer exist."""


@dataclass(frozen=True, kw_only=True)
class ResourceMention:
    slug: str
    id: str
    name: str = field(default="", compare=False)
    """Its name, if already known."""
    only_id: bool = False
    """Whether the name is already shown, so that only the id is missing if others share the name."""
    before: str = ""
    after: str = ""
    """The separator after the id, if the id is shown."""

    @property
    def otherwise(self) -> str:
        return self.id

    @classmethod
    def resolve(cls, mentions: Sequence[Self], request: HttpRequest) -> list[Shown]:
        """Return the resources by their names, as far as the reader may read them; one query for each kind.

        The id is added if others of the kind have the same name on the page.
        """
        names_given = {(mention.slug, mention.id): mention.name for mention in mentions if mention.name}
        unnamed = {(mention.slug, mention.id) for mention in mentions} - names_given.keys()
        names = {**names_of(unnamed, caller_of(request)), **names_given}
        shared = Counter((slug, names.get((slug, pk), pk)) for slug, pk in {*names_given, *unnamed})
        results = []
        for mention in mentions:
            name = names.get((mention.slug, mention.id), mention.id)
            is_shared = shared[mention.slug, name] > 1 and name != mention.id
            write = _only_id if mention.only_id else _show_name
            results.append(write(mention, name, is_shared=is_shared))
        return results


@dataclass(frozen=True, kw_only=True)
class WorkspaceMention:
    id: str

    @property
    def otherwise(self) -> str:
        return self.id

    @classmethod
    def resolve(cls, mentions: Sequence[Self], request: HttpRequest) -> list[Shown]:
        """Return the workspaces by their names, as far as the reader may read them; one query.

        The id is added if others have the same name on the page.
        """
        ids = {mention.id for mention in mentions}
        readable = workspaces_with(Right.READ, by=caller_of(request)).filter(pk__in=ids)
        names = dict(readable.values_list("pk", "name"))
        shared = Counter(names.get(pk, pk) for pk in ids)
        pairs = [(mention, names.get(mention.id, mention.id)) for mention in mentions]
        return [
            _show_name(mention, name, is_shared=shared[name] > 1 and name != mention.id)
            for mention, name in pairs
        ]


def workspace_name(workspace_id: str) -> SafeString:
    return write_mark(WorkspaceMention(id=workspace_id))


def resource_name(slug: str, resource_id: str, name: str = "") -> SafeString:
    """Return the name of a resource; `name` is the one that the reader may know, if it is known already."""
    return write_mark(ResourceMention(slug=slug, id=resource_id, name=name))


def id_if_shared(slug: str, resource_id: str, name: str, *, before: str = "", after: str = "") -> SafeString:
    """Return the id of a resource whose name is shown, if others have the same name on the page.

    `before` and `after` are its separators.
    """
    mention = ResourceMention(slug=slug, id=resource_id, name=name, only_id=True, before=before, after=after)
    return write_mark(mention)


def names_of(references: Iterable[tuple[str, str]], caller: Caller) -> Mapping[tuple[str, str], str]:
    """Return the names of resources, by the slug of the kind and the id; one query for each kind.

    Deleted and unreadable resources are omitted.
    """
    ids_by_slug: dict[str, set[str]] = {}
    for slug, resource_id in references:
        ids_by_slug.setdefault(slug, set()).add(resource_id)
    names: dict[tuple[str, str], str] = {}
    for slug, ids in ids_by_slug.items():
        if slug in KINDS_BY_SLUG:
            catalog = KINDS_BY_SLUG[slug].catalog(caller)
            in_code = {agent_id: catalog.in_code[agent_id].name for agent_id in ids & catalog.in_code.keys()}
            stored = {resource.pk: entry.name for resource, entry in catalog.some(sorted(ids))}
            names |= {(slug, pk): shorten(name) for pk, name in {**in_code, **stored}.items()}
    return names


def named_like(text: str, caller: Caller) -> Q:
    """Return the condition that an event is about a resource whose name contains a text.

    Names that the caller may not read are not searched.
    """
    condition = Q(pk=None)
    for slug, kind in KINDS_BY_SLUG.items():
        catalog = kind.catalog(caller)
        newest = Q(catalog.viewer.drafts, contains_caseless("latest_version__name", text))
        live = Q(~catalog.viewer.drafts, contains_caseless("active_version__name", text))
        rows = catalog.collection.list(by=caller).filter(newest | live)
        in_code = [pk for pk, agent in catalog.in_code.items() if caseless(text) in caseless(agent.name)]
        ids = Q(resource_id__in=rows.order_by().values("pk")) | Q(resource_id__in=in_code)
        condition |= Q(ids, resource_kind=slug)
    return condition


def _show_name(mention: ResourceMention | WorkspaceMention, name: str, *, is_shared: bool) -> Shown:
    if not is_shared:
        return Shown(name, format_html("<bdi>{}</bdi>", name))
    html = format_html('<bdi>{}</bdi> <code class="soft">{}</code>', name, mention.id)
    return Shown(f"{name} ({mention.id})", html)


def _only_id(mention: ResourceMention, _name: str, *, is_shared: bool) -> Shown:
    if not is_shared:
        return Shown("", SafeString())
    html = format_html('{}<code class="soft">{}</code>{}', mention.before, mention.id, mention.after)
    return Shown(f"{mention.before}{mention.id}{mention.after}", html)


FACES: Final = 12
"""The number of colours of faces: the classes `face-0` to `face-11`."""
MAX_INITIALS: Final = 2


class Place(StrEnum):
    """The place of a name, because the word for “you” depends on it."""

    ALONE = "alone"
    BEGINNING = "beginning"
    WITHIN = "within"
    NAMED = "named"
    """A place where the reader is also called by name, as in a choice of people."""


@dataclass(frozen=True, kw_only=True)
class PersonMention:
    username: str
    place: Place
    has_face: bool
    is_account: bool
    """False for the author of a commit, who need not be the account with this name."""
    account: Any = field(default=None, compare=False)
    """The account, if already known."""

    @property
    def otherwise(self) -> str:
        return self.username

    @classmethod
    def resolve(cls, mentions: Sequence[Self], request: HttpRequest) -> list[Shown]:
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
            _show_person(
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
    return _mention(whom, Place(place), has_face=True, is_account=is_account)


def person_name(whom: Whom, place: str = Place.ALONE) -> SafeString:
    return _mention(whom, Place(place), has_face=False)


def people(usernames: Iterable[str], place: str = Place.WITHIN) -> SafeString:
    """Return people with their faces, separated by commas; the first one at the place."""
    names = list(usernames)
    places = [place, *[Place.WITHIN] * (len(names) - 1)]
    return format_html_join(", ", "{}", ((person(*pair),) for pair in zip(names, places, strict=False)))


def display_name(user: AbstractBaseUser) -> str:
    """Return the full name of a user, or their user name without one."""
    full: Callable[[], str] = getattr(user, "get_full_name", user.get_username)
    return " ".join(full().split()) or user.get_username()


def face(user: AbstractBaseUser) -> SafeString:
    """Return the face of a user: the initials of their display name, in their own colour."""
    return _face(user.get_username(), display_name(user))


def initials(name: str) -> str:
    """Return the initials of a name or a user name: `GH` of `Grace Hopper` and of `grace.hopper`."""
    words = [word for word in re.split(r"[\s._@+-]+", unicodedata.normalize("NFC", name)) if word]
    first_and_last = words if len(words) <= MAX_INITIALS else [words[0], words[-1]]
    return "".join(clusters(clusters(word)[0].upper())[0] for word in first_and_last)


def colour_of(username: str) -> int:
    """Return the number of a person's colour, which depends only on their user name."""
    return zlib.crc32(username.encode()) % FACES


def _mention(whom: Whom, place: Place, *, has_face: bool, is_account: bool = True) -> SafeString:
    if not whom:
        return SafeString(_("the application") if place is Place.WITHIN else _("The application"))
    account = None if isinstance(whom, str) else whom
    return write_mark(
        PersonMention(
            username=whom if isinstance(whom, str) else whom.get_username(),
            place=place,
            has_face=has_face,
            is_account=is_account,
            account=account,
        )
    )


def _accounts(mentions: Sequence[PersonMention], request: HttpRequest) -> Mapping[str, Any]:
    accounts = {mention.username: mention.account for mention in mentions if mention.account is not None}
    if request.user.is_authenticated:
        accounts[request.user.get_username()] = request.user
    unknown = {mention.username for mention in mentions if mention.is_account} - accounts.keys()
    by_name = {account.get_username(): account for account in accounts_named(unknown)} if unknown else {}
    return by_name | accounts


def _show_person(mention: PersonMention, name: str, *, is_shared: bool, is_you: bool) -> Shown:
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
    return caseless(unicodedata.normalize("NFKC", name))


def reserved_names() -> set[str]:
    """Return the current language's words for the reader and the application, in lower case."""
    texts = [*(_you("", place) for place in Place), _("The application"), _("the application")]
    return {name for text in texts if (name := _comparable(text.strip()))}


def _you(name: str, place: Place) -> str:
    """Return the word for the reader. A language may need the name where English has “you”."""
    # Translators: where the verb stays in the third person, "You" and "you" may be "{name} (…)"
    words = {
        Place.ALONE: pgettext("the reader, alone", "You"),
        Place.BEGINNING: pgettext("the reader, at the beginning of a sentence", "You"),
        Place.WITHIN: pgettext("the reader, within a sentence", "you"),
        Place.NAMED: "{name}",
    }
    return words[place].format(name=name)


def _face(username: str, name: str) -> SafeString:
    return format_html(
        '<span class="face face-{}" data-initials="{}" aria-hidden="true"></span>',
        colour_of(username),
        initials(name),
    )
