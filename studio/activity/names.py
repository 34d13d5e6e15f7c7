"""The names of resources and versions in sentences about events. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from studio.activity.wording import noun_of
from studio.kinds import KINDS_BY_SLUG
from studio.people import Place, people, person_name
from studio.translation import translated
from versioning.domain.snapshots import reference_to_id
from versioning.models import Event

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Fragment:
    """A fragment of a sentence."""

    text: str
    address: str = ""
    """The address that it links to; empty for plain words."""
    html: SafeString | None = None
    """How a page shows it, if not as its text: people, with their faces."""
    number: int | None = None
    """The number of the version that it names, if that has a number."""


def people_in(usernames: Sequence[str], place: Place = Place.WITHIN) -> Fragment:
    """Return people as a fragment."""
    return Fragment(", ".join(person_name(one, place) for one in usernames), html=people(usernames, place))


@dataclass(frozen=True)
class Sentence:
    """A sentence with placeholders (`{who} published {version}`), and their values."""

    sentence: str
    values: Mapping[str, Fragment | str] = field(default_factory=dict)


def as_fragments(sentence: str, values: Mapping[str, Fragment | str]) -> list[Fragment]:
    """Return a sentence as fragments; a placeholder without a value stays unchanged."""
    fragments = []
    for place, text in enumerate(_PLACEHOLDER.split(sentence)):
        value = values.get(text, f"{{{text}}}") if place % 2 else text
        if value:
            fragments.append(value if isinstance(value, Fragment) else Fragment(value))
    return fragments


@dataclass(frozen=True, kw_only=True)
class Names:
    """The names and addresses of the resources and versions of events."""

    versions: Mapping[str, Fragment] = field(default_factory=dict)
    """By id."""
    resources: Mapping[tuple[str, str, Any], Fragment] = field(default_factory=dict)
    """By kind, id and identity."""
    subjects: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """The address of what an event is about besides its resource, such as a review; by position, ordinal."""
    named: Mapping[tuple[int, int], Fragment] = field(default_factory=dict)
    """Objects of other applications that events name, such as a release, by position and ordinal."""
    of_one: bool = False
    """Whether the page is about one resource, which its sentences need not name."""

    def version(self, version_id: str) -> Fragment:
        """Return the name of a version: `version 3`, `Git 2f7341a`."""
        return self.versions.get(version_id) or Fragment(translated(reference_to_id(version_id)))

    def draft(self, version_id: str) -> Fragment:
        """Return the name of a version that was a draft when it was saved: `draft 3`."""
        version = self.version(version_id)
        if version.number is None:
            return version
        return Fragment(_("draft {number}").format(number=version.number), version.address)

    def subject(self, event: Event) -> str:
        """Return the address of what an event is about besides its resource; empty without a page."""
        return self.subjects.get((event.position, event.ordinal), "")

    def resource(self, event: Event) -> Fragment:
        """Return the name of the resource that an event is about: `agent Writer`."""
        key = event.resource_kind, event.resource_id, event.resource_uuid
        return self.resources.get(key) or Fragment(with_kind(event, event.resource_id))


def with_kind(event: Event, name: str) -> str:
    """Return the name of an event's resource after the word for its kind: `agent Writer`."""
    kind = KINDS_BY_SLUG.get(event.resource_kind)
    named = str(kind.words.named) if kind else f"{noun_of(event.resource_kind)} {{name}}"
    return named.format(name=name)


def version_name(number: int) -> str:
    """Return the name of a version with this number for use in a sentence: `version 3`."""
    return _("version {number}").format(number=number)
