"""The words of the audit log for types of events."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from django.utils.text import capfirst

from versioning.domain.kinds import KINDS
from versioning.models import Event

NOUNS: Final[Mapping[str, str]] = {"key": "API key", **{kind.word: kind.singular for kind in KINDS}}
"""What is not called by the first half of its types."""

VERBS: Final[Mapping[str, str]] = {
    "created": "made",
    "versionCreated": "saved",
    "labelMoved": "labelled",
    "labelRemoved": "removed a label of",
    "versionDeleted": "deleted a version of",
    "updated": "changed",
    "member.added": "added the member",
    "member.roleChanged": "changed the role of",
    "member.removed": "removed the member",
    "invitation.created": "invited",
    "invitation.withdrawn": "withdrew the invitation of",
}
"""How a type is told, or its second half; the others are told as they are called."""


def caption(event_type: str) -> str:
    """Return a type as a choice: `Agent: version created`."""
    subject, _, what = event_type.rpartition(".")
    return capfirst(f"{_noun(subject)}: {_spaced(what)}")


def verb_of(event: Event) -> str:
    """Return what the actor did: `published`, `labelled`."""
    what = event.type.rpartition(".")[2]
    if event.detail.get("restoredFrom"):
        return "restored"
    if event.detail.get("pruned"):
        return "pruned a version of"
    if event.type == "member.added" and event.detail.get("invitedBy"):
        return "accepted the invitation for"
    if event.type == "workspace.updated" and event.detail.get("fields") == ["name"]:
        return "renamed"
    return VERBS.get(event.type) or VERBS.get(what) or _spaced(what)


def target_of(event: Event) -> str:
    """Return the target of the event: `agent writer`, `API key ek_ab12 of ada`, the name of a member."""
    subject, detail = event.type.rpartition(".")[0], event.detail
    if event.resource_id:
        return f"{_noun(event.resource_kind)} {event.resource_id}"
    if subject == "key":
        return f"API key {detail.get('prefix')} of {detail.get('owner')}"
    return detail.get("username") or f"{_noun(subject)} {event.workspace_id}"


def detail_of(event: Event) -> str:
    """Return further details of the event."""
    describe = _DETAILS.get(event.type.rpartition(".")[0])
    return describe(event.detail) if describe else _of_resource(event)


def _of_member(detail: Mapping[str, Any]) -> str:
    change = " → ".join(role for role in (detail.get("from"), detail.get("to")) if role)
    inviter = detail.get("invitedBy")
    return f"{change}, invited by {inviter}" if inviter else change


def _of_workspace(detail: Mapping[str, Any]) -> str:
    if "from" in detail:
        return f"{detail['from']} → {detail.get('to')}"
    return str(detail.get("name") or ", ".join(detail.get("fields", [])))


def _of_resource(event: Event) -> str:
    detail = event.detail
    if event.label:
        return f"{event.label}{' (released)' if detail.get('released') else ''}"
    fields = ", ".join(_spaced(field) for field in detail.get("fields") or detail.get("changedFields") or [])
    return f"{fields} {detail['from']} → {detail['to']}" if "from" in detail else fields


_DETAILS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "member": _of_member,
    "invitation": lambda detail: str(detail.get("role", "")),
    "key": lambda detail: ", ".join(filter(None, (detail.get("name"), detail.get("role")))),
    "workspace": _of_workspace,
}


def _noun(subject: str) -> str:
    return NOUNS.get(subject, subject)


def _spaced(name: str) -> str:
    return re.sub("([A-Z])", lambda letter: f" {letter[0].lower()}", name)
