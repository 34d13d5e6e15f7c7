"""Events of workspaces as sentences: members, invitations and API keys. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.utils.translation import gettext as _

from studio.activity.fragments import Fragment, Sentence, people_in
from studio.named import workspace_name
from studio.people import Place
from studio.workspaces.names import NAMES as ROLES
from versioning.models import Event


def _member(event: Event) -> Sentence:
    detail = event.detail
    values: dict[str, Fragment | str] = {
        "name": people_in([str(detail.get("username"))]),
        "before": _role(detail.get("from")),
        "now": _role(detail.get("to")),
    }
    if event.type == "member.roleChanged":
        values["name"] = people_in([str(detail.get("username"))], Place.NAMED)
        return Sentence(_("{who} changed the role of {name} from {before} to {now}"), values)
    if event.type == "member.removed":
        return Sentence(_("{who} removed {name}, who was {before}"), values)
    if detail.get("invitedBy"):
        return Sentence(
            _("{who} joined as {now}, invited by {inviter}"),
            {**values, "inviter": people_in([str(detail["invitedBy"])])},
        )
    return Sentence(_("{who} added {name} as {now}"), values)


def _workspace(event: Event) -> Sentence:
    detail = event.detail
    name = {"name": str(detail.get("name") or event.workspace_id)}
    if event.type == "workspace.created":
        return Sentence(_("{who} created the workspace {name}"), name)
    if event.type == "workspace.deleted":
        return Sentence(_("{who} deleted the workspace {name}"), name)
    if "from" in detail:
        values = {"before": str(detail["from"]), "now": str(detail.get("to"))}
        return Sentence(_("{who} renamed the workspace from {before} to {now}"), values)
    if detail.get("fields") == ["reviewPolicy"]:
        return _review_policy(event)
    values = {"name": workspace_name(event.workspace_id), "fields": ", ".join(detail.get("fields", []))}
    return Sentence(_("{who} changed the workspace {name}: {fields}"), values)


def _review_policy(event: Event) -> Sentence:
    """Return the sentence about a policy; entries of earlier releases have no values before the change."""
    detail, before = event.detail, event.detail.get("before") or {}
    values: dict[str, Fragment | str] = {
        "name": workspace_name(event.workspace_id),
        "before": str(before.get("required", "?")),
        "now": str(detail.get("required", "?")),
    }
    if before.get("bypass", detail.get("bypass")) == detail.get("bypass"):
        return Sentence(_("{who} changed the review policy of {name}: {before} → {now} approvals"), values)
    if detail.get("bypass") == "nobody":
        sentence = _(
            "{who} changed the review policy of {name}: {before} → {now} approvals, admins no longer exempt"
        )
    else:
        sentence = _("{who} changed the review policy of {name}: {before} → {now} approvals, admins exempt")
    return Sentence(sentence, values)


def _key(event: Event) -> Sentence:
    detail = event.detail
    about = ", ".join(filter(None, (f"{detail.get('prefix')}…", _role(detail.get("role")))))
    values: dict[str, Fragment | str] = {
        "name": str(detail.get("name")),
        "owner": people_in([str(detail.get("owner"))], Place.NAMED),
        "about": about,
    }
    if event.type == "key.created":
        if detail.get("name"):
            return Sentence(_("{who} created the API key “{name}” of {owner} ({about})"), values)
        return Sentence(_("{who} created the API key of {owner} ({about})"), values)
    if detail.get("name"):
        return Sentence(_("{who} revoked the API key “{name}” of {owner} ({about})"), values)
    return Sentence(_("{who} revoked the API key of {owner} ({about})"), values)


def _invitation(event: Event) -> Sentence:
    values: dict[str, Fragment | str] = {
        "name": people_in([str(event.detail.get("username"))]),
        "role": _role(event.detail.get("role")),
    }
    if event.type == "invitation.created":
        return Sentence(_("{who} invited {name} as {role}"), values)
    return Sentence(_("{who} withdrew the invitation of {name} as {role}"), values)


def _person(event: Event) -> Sentence:
    name = people_in([str(event.detail.get("username"))])
    return Sentence(_("{who} erased a person, who is {name} now"), {"name": name})


def _role(role: Any) -> str:
    """Return a role in the language of the page; empty without a role."""
    return str(ROLES.get(role, role or ""))


OF_WORKSPACES: Final[Mapping[str, Callable[[Event], Sentence]]] = {
    f"{subject}.{name}": tell
    for subject, tell, names in (
        ("workspace", _workspace, ("created", "updated", "deleted")),
        ("member", _member, ("added", "roleChanged", "removed")),
        ("invitation", _invitation, ("created", "withdrawn")),
        ("key", _key, ("created", "revoked")),
        ("person", _person, ("erased",)),
    )
    for name in names
}
