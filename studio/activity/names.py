"""The names of resources and versions in sentences about events. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from studio.activity.fragments import Fragment
from studio.activity.wording import noun_of
from studio.kinds import KINDS_BY_SLUG
from studio.translation import translated
from versioning.domain.snapshots import reference_to_id
from versioning.models import Event


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
        return self.resources.get(key) or resource_fragment(event, event.resource_id)


def resource_fragment(event: Event, name: str, address: str = "") -> Fragment:
    """Return the name of an event's resource after the word for its kind: `agent Writer`."""
    kind = KINDS_BY_SLUG.get(event.resource_kind)
    named = str(kind.words.named) if kind else f"{noun_of(event.resource_kind)} {{name}}"
    of = str(kind.words.of_named) if kind else ""
    as_object = str(kind.words.object_named) if kind else ""
    return Fragment(
        named.format(name=name), address, of=of.format(name=name), as_object=as_object.format(name=name)
    )


def version_name(number: int) -> str:
    """Return the name of a version with this number for use in a sentence: `version 3`."""
    return _("version {number}").format(number=number)
