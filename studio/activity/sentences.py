"""What happened, as sentences: `ada published version 8 of agent writer in place of version 5`. Pure.

A sentence is a list of parts, of which some lead somewhere. Types of events that have no words of their own
here, such as those of other applications, are told as they are called: `ada: review requested, agent writer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from studio.activity.words import NOUNS, name_of, noun_of, spaced
from studio.forms.words import titles
from versioning.domain.access import Via
from versioning.domain.snapshots import reference_to_id
from versioning.models import Event


@dataclass(frozen=True)
class Part:
    """A part of a sentence."""

    text: str
    address: str = ""
    """Where it leads; empty for plain words."""
    is_who: bool = False
    """Whether it names who did it."""


Words = Iterator[str | Part]


@dataclass(frozen=True, kw_only=True)
class Names:
    """What the resources and versions of events are called, and where they are."""

    versions: Mapping[str, Part] = field(default_factory=dict)
    """By id."""
    resources: Mapping[tuple[str, str, Any], Part] = field(default_factory=dict)
    """By kind, id and identity."""
    of_one: bool = False
    """Whether the page is about one resource, which its sentences need not name."""

    def version(self, version_id: str) -> Part:
        """Return the name of a version: `version 3`, `Git 2f7341a`."""
        return self.versions.get(version_id) or Part(reference_to_id(version_id))

    def resource(self, event: Event) -> Part:
        """Return the name of the resource that an event is about: `agent writer`, or `this agent`."""
        noun = noun_of(event.resource_kind)
        if self.of_one:
            return Part(f"this {noun}")
        key = event.resource_kind, event.resource_id, event.resource_uuid
        return self.resources.get(key) or Part(f"{noun} {event.resource_id}")

    def of_resource(self, event: Event) -> Words:
        """Yield whose the version or label is, unless the page says so."""
        if not self.of_one:
            yield "of"
            yield self.resource(event)


def who_of(event: Event) -> str:
    """Return who did it."""
    if event.via == Via.FILE:
        return "Somebody who changed the file"
    return event.actor or "The application"


def sentence_of(event: Event, names: Names, who: str = "") -> list[Part]:
    """Return the sentence about an event; `who` is how to call who did it, if not by name."""
    if event.ordinal:
        # Of the prompt block itself, and of who changed it, readers of the agent learn nothing.
        return joined(iter(["The text of a prompt block changed in", names.resource(event)]))
    subject, _, what = event.type.rpartition(".")
    tell = _OF_RESOURCES.get(what) if subject == event.resource_kind else _OTHERS.get(event.type)
    doer = Part(who or who_of(event), is_who=True)
    if tell is None:
        return [doer, Part(": "), *joined(_as_called(event, names))]
    return [doer, Part(" "), *joined(tell(event, names))]


def joined(words: Words) -> list[Part]:
    """Return words as the parts of a sentence, with spaces between them."""
    parts: list[Part] = []
    for word in words:
        part = word if isinstance(word, Part) else Part(word)
        if parts and not part.text.startswith((",", ":")):
            parts.append(Part(" "))
        parts.append(part)
    return parts


# About resources


def _created(event: Event, names: Names) -> Words:
    yield "created"
    yield names.resource(event)


def _saved(event: Event, names: Names) -> Words:
    source = event.detail.get("restoredFrom")
    if source:
        yield from ("restored", names.version(source), "as")
    else:
        yield "saved"
    saved = names.version(event.version_id)
    yield Part(saved.text.replace("version ", "draft "), saved.address)
    yield from names.of_resource(event)
    changed = titles(event.detail.get("changedFields") or ())
    if changed and not source:
        yield f": {', '.join(changed)}"


def _published(event: Event, names: Names) -> Words:
    yield "published"
    yield names.version(event.version_id)
    yield from names.of_resource(event)
    if event.previous_version_id not in {"", event.version_id}:
        yield "in place of"
        yield names.version(event.previous_version_id)


def _unpublished(event: Event, names: Names) -> Words:
    yield "unpublished"
    yield names.version(event.previous_version_id)
    yield from names.of_resource(event)


def _label_moved(event: Event, names: Names) -> Words:
    before, now = event.previous_version_id, event.version_id
    is_released = event.detail.get("released")
    if before == now:
        yield "released label" if is_released else "withdrew the release of label"
    else:
        yield "moved label" if before else "set label"
    yield event.label
    yield from names.of_resource(event)
    if before and before != now:
        yield from ("from", names.version(before), "to")
    else:
        yield "on"
    yield names.version(now)
    if is_released and before != now:
        yield ", released"


def _label_removed(event: Event, names: Names) -> Words:
    yield from ("removed label", event.label)
    yield from names.of_resource(event)
    yield "from"
    yield names.version(event.previous_version_id)


def _version_deleted(event: Event, names: Names) -> Words:
    yield "pruned" if event.detail.get("pruned") else "deleted"
    yield names.version(event.version_id)
    yield from names.of_resource(event)


def _updated(event: Event, names: Names) -> Words:
    fields = event.detail.get("fields") or []
    if "metadata" in fields:
        yield "changed the metadata of"
        yield names.resource(event)
    if "visibility" in fields:
        yield "and made it" if "metadata" in fields else "made"
        if "metadata" not in fields:
            yield names.resource(event)
        yield str(event.detail.get("to", ""))


def _deleted(event: Event, names: Names) -> Words:
    yield "deleted"
    yield names.resource(event)


_OF_RESOURCES: Final[Mapping[str, Callable[[Event, Names], Words]]] = {
    "created": _created,
    "versionCreated": _saved,
    "published": _published,
    "unpublished": _unpublished,
    "labelMoved": _label_moved,
    "labelRemoved": _label_removed,
    "versionDeleted": _version_deleted,
    "updated": _updated,
    "deleted": _deleted,
}


# About workspaces


def _member(event: Event) -> str:
    detail = event.detail
    name, before, now = (detail.get(part) for part in ("username", "from", "to"))
    if event.type == "member.roleChanged":
        return f"changed the role of {name} from {before} to {now}"
    if event.type == "member.removed":
        return f"removed {name}, who was {before}"
    inviter = detail.get("invitedBy")
    return f"joined as {now}, invited by {inviter}" if inviter else f"added {name} as {now}"


def _workspace(event: Event) -> str:
    detail = event.detail
    if event.type != "workspace.updated":
        verb = {"workspace.created": "created", "workspace.deleted": "deleted"}[event.type]
        return f"{verb} the workspace {detail.get('name') or event.workspace_id}"
    if "from" in detail:
        return f"renamed the workspace from {detail['from']} to {detail.get('to')}"
    return f"changed the workspace {event.workspace_id}: {', '.join(detail.get('fields', []))}"


def _key(event: Event) -> str:
    detail = event.detail
    verb = "created" if event.type == "key.created" else "revoked"
    about = ", ".join(filter(None, (f"{detail.get('prefix')}…", detail.get("role"))))
    name = f" “{detail['name']}”" if detail.get("name") else ""
    return f"{verb} the API key{name} of {detail.get('owner')} ({about})"


def _invitation(event: Event) -> str:
    name, role = event.detail.get("username"), event.detail.get("role")
    if event.type == "invitation.created":
        return f"invited {name} as {role}"
    return f"withdrew the invitation of {name} as {role}"


def _webhook(event: Event) -> str:
    what = event.type.rpartition(".")[2]
    verb = {"created": "created a webhook", "deleted": "deleted a webhook", "disabled": "disabled a webhook"}
    if what in verb:
        return verb[what]
    return f"changed a webhook: {', '.join(map(spaced, event.detail.get('fields') or ()))}"


def _plain(tell: Callable[[Event], str]) -> Callable[[Event, Names], Words]:
    """Return the words of a sentence in which nothing leads anywhere."""
    return lambda event, _names: iter([tell(event)])


_OTHERS: Final[Mapping[str, Callable[[Event, Names], Words]]] = {
    f"{subject}.{name}": _plain(tell)
    for subject, tell, names in (
        ("workspace", _workspace, ("created", "updated", "deleted")),
        ("member", _member, ("added", "roleChanged", "removed")),
        ("invitation", _invitation, ("created", "withdrawn")),
        ("key", _key, ("created", "revoked")),
        ("webhook", _webhook, ("created", "changed", "disabled", "deleted")),
    )
    for name in names
}


def _as_called(event: Event, names: Names) -> Words:
    """Yield an event in the words of its type: `review requested, agent writer, version 3`."""
    subject = event.type.rpartition(".")[0]
    yield f"{noun_of(subject)} {name_of(event.type)}" if subject not in NOUNS else name_of(event.type)
    if event.resource_id:
        yield ","
        yield names.resource(event)
    if event.version_id:
        yield ","
        yield names.version(event.version_id)
