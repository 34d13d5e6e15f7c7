"""The names of event types where people choose among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from studio.kind_words import KindWords
from studio.kinds import KINDS_BY_SLUG
from versioning.domain.events import EventSubject, declared, subject_of


@dataclass(frozen=True, kw_only=True)
class SubjectWords:
    """The subject of events, in words."""

    noun: Promise
    """For use in a sentence: `prompt block`."""
    title: Promise
    """The plural, as the head of a group: `Prompt blocks`."""
    anything: Promise
    """The choice for all events about the subject."""


def _words(noun: Promise, title: Promise, anything: Promise) -> SubjectWords:
    return SubjectWords(noun=noun, title=title, anything=anything)


NOUNS: Final[Mapping[str, SubjectWords]] = {
    "workspace": _words(_("workspace"), _("Workspaces"), _("Anything about workspaces")),
    "member": _words(_("member"), _("Members"), _("Anything about members")),
    "invitation": _words(_("invitation"), _("Invitations"), _("Anything about invitations")),
    "key": _words(_("API key"), _("API keys"), _("Anything about API keys")),
    "person": _words(_("person"), _("People"), _("Anything about people")),
}
"""The subjects of the core's types, besides the kinds; applications declare their own words."""

_NAMES: Final[Mapping[str, Promise]] = {
    "versionCreated": pgettext_lazy("event", "draft saved"),
    "labelMoved": pgettext_lazy("event", "label set, moved or released"),
    "labelRemoved": pgettext_lazy("event", "label removed"),
    "versionDeleted": pgettext_lazy("event", "version deleted"),
    "workspace.updated": pgettext_lazy("event", "name or policy changed"),
    "updated": pgettext_lazy("event", "metadata or visibility changed"),
    "created": pgettext_lazy("event", "created"),
    "published": pgettext_lazy("event", "published"),
    "unpublished": pgettext_lazy("event", "unpublished"),
    "deleted": pgettext_lazy("event", "deleted"),
    "added": pgettext_lazy("event", "added"),
    "roleChanged": pgettext_lazy("event", "role changed"),
    "removed": pgettext_lazy("event", "removed"),
    "withdrawn": pgettext_lazy("event", "withdrawn"),
    "revoked": pgettext_lazy("event", "revoked"),
    "erased": pgettext_lazy("event", "erased"),
    "changed": pgettext_lazy("event", "changed"),
    "started": pgettext_lazy("event", "started"),
    "stopped": pgettext_lazy("event", "stopped"),
    "completed": pgettext_lazy("event", "completed"),
}
"""A type of the core, or its second half."""


@dataclass(frozen=True, kw_only=True)
class TypeGroup:
    """The types of events about one subject."""

    subject: str
    title: str
    anything: str
    """The name of the choice for all of them."""
    types: list[tuple[str, str]]
    """Each type with its name, such as `("agent.versionCreated", "Draft saved")`."""

    @property
    def pattern(self) -> str:
        """The pattern that matches all of them, including types declared later."""
        return f"{self.subject}.*"


def noun_of(subject: str) -> str:
    """Return the name of a type's subject: `prompt block`, `API key`."""
    words = words_about(subject)
    return str(words.noun) if words else spaced(subject)


def words_about(subject: str) -> SubjectWords | KindWords | EventSubject | None:
    """Return the words for the subject of a type; None if there are none."""
    if kind := KINDS_BY_SLUG.get(subject):
        return kind.words
    declared = subject_of(subject)
    return NOUNS.get(subject) or (declared if declared and declared.noun else None)


def name_of(event_type: str) -> str:
    """Return the name of a type next to its subject: `draft saved`."""
    what = event_type.rpartition(".")[2]
    own = declared(event_type)
    return str((own and own.title) or _NAMES.get(event_type) or _NAMES.get(what) or spaced(what))


def grouped(types: Iterable[str]) -> Iterator[TypeGroup]:
    """Yield the types grouped by subject, in their original order."""
    for subject, members in groupby(types, key=lambda one: one.rpartition(".")[0]):
        words = words_about(subject)
        yield TypeGroup(
            subject=subject,
            title=str(words.title) if words else f"{capfirst(spaced(subject))}s",
            anything=str(words.anything) if words else gettext("Anything about this"),
            types=[(member, capfirst(name_of(member))) for member in members],
        )


def spaced(name: str) -> str:
    """Return a camelCase name as words: `changes requested`."""
    return re.sub("([A-Z])", lambda letter: f" {letter[0].lower()}", name)
