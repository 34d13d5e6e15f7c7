"""The lines of an activity page: a sentence about each event, with links to its resources and versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from studio import additions
from studio.activity.sentences import Fragment, Names, describe_event, resource_fragment, version_name
from studio.kinds import KINDS, KINDS_BY_SLUG, StudioKind
from studio.limits import shorten
from studio.named import Place, person_name, resource_name
from studio.translation import translate
from versioning.domain.access import Caller, Right, Via
from versioning.domain.overrides import IN_CODE
from versioning.domain.snapshots import reference_to_id
from versioning.models import ApiKey, Event


@dataclass(frozen=True, kw_only=True)
class EventLine:
    event: Event
    sentence: list[Fragment]
    comparison: str
    """The address of the comparison with the version before; empty if there is none for the caller."""
    key_prefix: str = ""
    """The prefix of the key that made the change, for admins of the workspace and the owner of the key."""
    key_name: str = ""
    """The name of that key; empty if it has none, or no longer exists."""
    together: Fragment | None = None
    """The release that the event belongs to, if there is one that the caller may see."""

    @property
    def key(self) -> str:
        return f"{self.event.position}.{self.event.ordinal}"

    @property
    def words(self) -> str:
        return "".join(fragment.text for fragment in self.sentence)


def lines_of(
    events: Sequence[Event], caller: Caller, *, of_one: bool = False, as_you: bool = False
) -> list[EventLine]:
    """Return events in the form for pages; the number of queries does not depend on their number.

    `of_one` omits the resource, because the page is about only one. `as_you` marks the caller's own changes
    in another window.
    """
    lookups = _Lookups(events, caller)
    names = Names(
        versions=lookups.versions,
        resources=lookups.resources,
        subjects=lookups.subjects,
        named=lookups.named,
        of_one=of_one,
    )
    prefixes = {
        event: event.key_prefix
        for event in events
        if event.key_prefix
        and (event.actor == caller.username or caller.may(Right.ADMINISTER, event.workspace_id))
    }
    keys = ApiKey.objects.filter(prefix__in=set(prefixes.values())) if prefixes else ApiKey.objects.none()
    key_names = dict(keys.values_list("prefix", "name"))
    lines = []
    for event in events:
        is_own = event.actor and event.actor == caller.username and event.via == Via.STUDIO
        who = ""
        if as_you and is_own:
            who = _("You, in another window,").format(name=person_name(event.actor, Place.NAMED))
        lines.append(
            EventLine(
                event=event,
                sentence=describe_event(event, names, who),
                comparison=lookups.comparison(event),
                key_prefix=prefixes.get(event, ""),
                key_name=key_names.get(prefixes.get(event, ""), ""),
                together=lookups.named.get((event.position, event.ordinal)) if event.resource_id else None,
            )
        )
    return lines


class _Lookups:
    """The resources and versions of the events, as far as they exist and the caller may read them."""

    def __init__(self, events: Sequence[Event], caller: Caller) -> None:
        self.caller = caller
        self.identities: dict[tuple[str, str], Any] = {}
        self.called: dict[tuple[str, str], str] = {}
        self.in_code: set[tuple[str, str]] = set()
        self.numbers: dict[str, int] = {}
        self.ids: dict[tuple[str, str, int], str] = {}
        for kind in KINDS:
            events_of_kind = [event for event in events if event.resource_kind == kind.slug]
            if events_of_kind:
                self._look_up(kind, events_of_kind)
        self.resources = {
            (event.resource_kind, event.resource_id, event.resource_uuid): self._resource(event)
            for event in events
            if event.resource_id
        }
        self.versions = {
            version_id: self._version(event, version_id)
            for event in reversed(events)
            for version_id in _version_ids(event)
        }
        # The addresses of applications' pages about the events, if the caller may open them.
        self.subjects = {
            (event.position, event.ordinal): additions.address_of(self._kind(event), event)
            if event.resource_id and self._is_there(event) and self._may_read_drafts(event)
            else ""
            for event in events
        }
        open_events = [event for event in events if self._may_read_drafts(event)]
        self.named = {
            key: Fragment(named_in_event.title, named_in_event.address)
            for key, named_in_event in additions.named_in_events(caller, open_events).items()
        }

    def _look_up(self, kind: StudioKind, events: Sequence[Event]) -> None:
        resource_ids = {event.resource_id for event in events}
        catalog = kind.catalog(self.caller)
        in_code = {pk: catalog.in_code[pk] for pk in resource_ids & catalog.in_code.keys()}
        self.in_code |= {(kind.slug, pk) for pk in in_code}
        self.called |= {(kind.slug, pk): shorten(agent.name) for pk, agent in in_code.items()}
        for resource, entry in catalog.some(sorted(resource_ids)):
            self.identities[kind.slug, resource.pk] = resource.uuid
            self.called[kind.slug, resource.pk] = shorten(entry.name)
        ids = [UUID(text) for event in events for text in _version_ids(event) if _is_uuid(text)]
        saved = [event for event in events if _is_save(event)]
        before = Q(
            resource__in={event.resource_id for event in saved},
            number__in={(event.version_number or 1) - 1 for event in saved},
        )
        rows = kind.model.version_model.objects.filter(Q(pk__in=ids) | before)
        for pk, resource_id, number in rows.values_list("pk", "resource_id", "number"):
            self.numbers[str(pk)] = number
            self.ids[kind.slug, resource_id, number] = str(pk)

    def comparison(self, event: Event) -> str:
        before, now = event.previous_version_id, event.version_id
        if _is_save(event):
            key = event.resource_kind, event.resource_id, (event.version_number or 1) - 1
            before = self.ids.get(key, "")
        if before == now or not (self._is_open(event, before) and self._is_open(event, now)):
            return ""
        compare = self._kind(event).address("compare", event.resource_id)
        return f"{compare}?{urlencode({'from': before, 'to': now})}"

    def _resource(self, event: Event) -> Fragment:
        if not self._is_there(event):
            return resource_fragment(event, event.resource_id)
        key = event.resource_kind, event.resource_id
        name = resource_name(*key, self.called.get(key, ""))
        page = "history" if self._may_read_drafts(event) else "change"
        return resource_fragment(event, name, self._kind(event).address(page, event.resource_id))

    def _version(self, event: Event, version_id: str) -> Fragment:
        number = self.numbers.get(version_id)
        if number is None and version_id == event.version_id and _is_uuid(version_id):
            number = event.version_number  # the version itself may have been deleted
        text = translate(reference_to_id(version_id)) if number is None else version_name(number)
        if not self._is_open(event, version_id):
            return Fragment(text, number=number)
        address = self._kind(event).address("version", event.resource_id, version_id)
        return Fragment(text, address, number=number)

    def _is_there(self, event: Event) -> bool:
        key = event.resource_kind, event.resource_id
        if event.resource_uuid == IN_CODE:
            return key in self.in_code
        return event.resource_uuid is not None and self.identities.get(key) == event.resource_uuid

    def _is_open(self, event: Event, version_id: str) -> bool:
        is_kept = version_id in self.numbers or version_id.startswith("git-")
        return is_kept and self._is_there(event) and self._may_read_drafts(event)

    def _may_read_drafts(self, event: Event) -> bool:
        return self.caller.may(Right.READ_DRAFTS, event.workspace_id)

    def _kind(self, event: Event) -> StudioKind:
        return KINDS_BY_SLUG[event.resource_kind]


def _is_save(event: Event) -> bool:
    return event.type.endswith(".versionCreated") and not event.detail.get("restoredFrom")


def _version_ids(event: Event) -> Iterator[str]:
    version_ids = (event.version_id, event.previous_version_id, event.detail.get("restoredFrom"))
    yield from (version_id for version_id in version_ids if version_id)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
