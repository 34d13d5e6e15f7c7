"""Take the entries of the audit log over into the log, in their order, and drop their table; and back."""

import datetime
import uuid

from django.db import migrations

BATCH = 500
KINDS = {"agent": ("agent", "Agent"), "prompt block": ("promptBlock", "PromptBlock")}
ADMINS = "admins"


class Lives:
    """Which resource a name meant at which time: an id can be used again after a deletion."""

    def __init__(self, apps, entries):
        self.now = {}
        for word, (_, model) in KINDS.items():
            rows = apps.get_model("versioning", model)._default_manager.values_list(
                "pk", "uuid", "workspace_id"
            )
            self.now |= {(word, pk): (identity, workspace) for pk, identity, workspace in rows.iterator()}
        self.deletions = {}
        for target in entries.filter(action="delete").values_list("target", flat=True).iterator():
            self.deletions[target] = self.deletions.get(target, 0) + 1
        self.identities = {}

    def identity(self, word, resource_id, entry):
        """Return the identity of what an entry is about; the entries come in their order."""
        left = self.deletions.get(entry.target, 0)
        known = self.now.get((word, resource_id))
        if not left and known and known[1] == entry.workspace_id:
            return known[0]
        identity = self.identities.setdefault((entry.target, left), uuid.uuid4())
        if entry.action == "delete":
            self.deletions[entry.target] = left - 1
        return identity


def take_over(apps, schema_editor):
    """Write an event for each entry, in their order, and several for one that tells of several versions."""
    entries = apps.get_model("versioning", "AuditEntry")._default_manager.order_by("at", "pk")
    event_model = apps.get_model("versioning", "Event")
    log, _ = apps.get_model("versioning", "LogPosition")._default_manager.get_or_create(pk=1)
    lives, numbers, batch = Lives(apps, entries), numbers_of_versions(apps), []
    for entry in entries.iterator():
        for told in events_of(entry, lives, numbers):
            log.position += 1
            batch.append(event_model(position=log.position, **told))
        if len(batch) >= BATCH:
            event_model._default_manager.bulk_create(batch)
            batch = []
    event_model._default_manager.bulk_create(batch)
    log.save()


def numbers_of_versions(apps):
    """Return the numbers of all versions that exist, by id."""
    found = {}
    for model in ("AgentVersion", "PromptBlockVersion"):
        rows = apps.get_model("versioning", model)._default_manager.order_by().values_list("pk", "number")
        found |= {str(pk): number for pk, number in rows.iterator()}
    return found


def events_of(entry, lives, numbers):
    """Return the events that an entry becomes, as values of their fields."""
    common = {
        "created_at": entry.at.replace(tzinfo=entry.at.tzinfo or datetime.UTC),
        "workspace_id": entry.workspace_id,
        "actor": entry.actor,
        "key_prefix": entry.key_prefix,
        # Nobody wrote it down: a key is the API's, and a name without one the studio's, as a rule.
        "via": "api" if entry.key_prefix else "studio" if entry.actor else "python",
    }
    word = next((word for word in KINDS if entry.target.startswith(f"{word} ")), None)
    if word is None or entry.action in ABOUT_WORKSPACES:
        event_type, detail = ABOUT_WORKSPACES[entry.action](entry)
        return [{**common, "type": event_type, "detail": detail, "audience": ADMINS}]
    resource_id = entry.target.removeprefix(f"{word} ")
    kind, _ = KINDS[word]
    common |= {
        "resource_kind": kind,
        "resource_id": resource_id,
        "resource_uuid": lives.identity(word, resource_id, entry),
        # Whether it was public is not known: members of the workspace could read what was live.
        "reach": 1 if entry.from_version and entry.action in {"publish", "unpublish", "delete"} else 0,
    }
    return [
        {**common, **told, "type": f"{kind}.{told['type']}"}
        for told in ABOUT_RESOURCES[entry.action](entry, numbers)
    ]


def published(entry, numbers):
    return [
        {
            "type": "published",
            "version_id": entry.to_version,
            "version_number": numbers.get(entry.to_version),
            "previous_version_id": entry.from_version,
            "audience": "readers",
        }
    ]


def unpublished(entry, numbers):
    return [{"type": "unpublished", "previous_version_id": entry.from_version, "audience": "readers"}]


def deleted(entry, numbers):
    return [{"type": "deleted", "previous_version_id": entry.from_version, "audience": "readers"}]


def labelled(entry, numbers):
    released = bool(entry.detail.get("released"))
    return [
        {
            "type": "labelMoved" if entry.to_version else "labelRemoved",
            "version_id": entry.to_version,
            "version_number": numbers.get(entry.to_version),
            "previous_version_id": entry.from_version,
            "label": entry.detail.get("label", "")[:64],
            "detail": {"released": released},
            "audience": "readers" if released else "editors",
        }
    ]


def restored(entry, numbers):
    return [
        {
            "type": "versionCreated",
            "version_id": entry.to_version,
            "version_number": numbers.get(entry.to_version),
            "detail": {"restoredFrom": entry.from_version},
            "audience": "editors",
        }
    ]


def version_deleted(entry, numbers):
    return [
        {
            "type": "versionDeleted",
            "version_id": entry.from_version,
            "version_number": entry.detail.get("number"),
            "audience": "editors",
        }
    ]


def pruned(entry, numbers):
    return [
        {
            "type": "versionDeleted",
            "version_number": number,
            "detail": {"pruned": True},
            "audience": "editors",
        }
        for number in entry.detail.get("numbers", [])
    ]


def made_visible(entry, numbers):
    change = {"from": entry.detail.get("before"), "to": entry.detail.get("after")}
    return [{"type": "updated", "detail": {"fields": ["visibility"], **change}, "audience": "readers"}]


ABOUT_RESOURCES = {
    "publish": published,
    "unpublish": unpublished,
    "label": labelled,
    "restore": restored,
    "delete": deleted,
    "delete_version": version_deleted,
    "prune": pruned,
    "visibility": made_visible,
}


def member(entry):
    before, after = entry.detail.get("from"), entry.detail.get("to")
    what = "added" if before is None else "roleChanged" if after is not None else "removed"
    return f"member.{what}", {"username": entry.target, **entry.detail}


def key(what):
    def about_key(entry):
        prefix, _, owner = entry.target.removeprefix("API key ").partition(" of ")
        return f"key.{what}", {"prefix": prefix, "owner": owner, **entry.detail}

    return about_key


def invitation(what):
    return lambda entry: (f"invitation.{what}", {"username": entry.target, **entry.detail})


ABOUT_WORKSPACES = {
    "role": member,
    "key_issued": key("created"),
    "key_revoked": key("revoked"),
    "invitation_made": invitation("created"),
    "invitation_withdrawn": invitation("withdrawn"),
    "workspace_created": lambda entry: ("workspace.created", entry.detail),
    "workspace_renamed": lambda entry: ("workspace.updated", {"fields": ["name"], **entry.detail}),
}


def give_back(apps, schema_editor):
    """Write the audit entries of before, in their order, and of what the earlier release would have recorded.

    The rest of the log (saves, metadata) has no place there and goes: docs/guides/upgrade.md says so.
    """
    entry_model = apps.get_model("versioning", "AuditEntry")
    events = apps.get_model("versioning", "Event")._default_manager.filter(ordinal=0).order_by("position")
    batch = []
    for event in events.iterator():
        if told := entry_of(event):
            common = {"at": event.created_at, "actor": event.actor, "key_prefix": event.key_prefix}
            batch.append(entry_model(**common, workspace_id=event.workspace_id, **told))
        if len(batch) >= BATCH:
            entry_model._default_manager.bulk_create(batch)
            batch = []
    entry_model._default_manager.bulk_create(batch)


def entry_of(event):
    """Return the fields of the audit entry that tells of an event, None when there was none for such."""
    subject, _, what = event.type.partition(".")
    if subject not in WORDS:
        is_policy = event.type == "workspace.updated" and "name" not in event.detail.get("fields", [])
        action = None if is_policy else ACTIONS_ON_WORKSPACES.get(event.type)
        return action and {"action": action, **about_workspace(event, subject)}
    detail, action = event.detail, ACTIONS.get(what)
    versions = {"from_version": event.previous_version_id, "to_version": event.version_id}
    if what in {"labelMoved", "labelRemoved"}:
        detail = {"label": event.label, "released": bool(detail.get("released"))}
    elif what == "versionCreated" and "restoredFrom" in detail:
        action, detail = "restore", {}
        versions["from_version"] = event.detail["restoredFrom"]
    elif what == "versionDeleted":
        is_pruned = detail.get("pruned", False)
        action = "prune" if is_pruned else "delete_version"
        detail = {"numbers": [event.version_number]} if is_pruned else {"number": event.version_number}
        versions = {} if is_pruned else {"from_version": event.version_id}
    elif what == "updated" and "visibility" in detail.get("fields", []):
        action, detail = "visibility", {"before": detail.get("from"), "after": detail.get("to")}
    elif what in {"published", "unpublished", "deleted"}:
        detail = {}
    target = f"{WORDS[subject]} {event.resource_id}"
    return action and {"action": action, "target": target, "detail": detail, **versions}


def about_workspace(event, subject):
    """Return target and detail of an audit entry about a workspace, its members or keys."""
    detail = dict(event.detail)
    if subject == "workspace":
        detail.pop("fields", None)
        return {"target": f"workspace {event.workspace_id}", "detail": detail}
    if subject == "key":
        target = f"API key {detail.pop('prefix', '')} of {detail.pop('owner', '')}"
        return {"target": target, "detail": detail}
    return {"target": detail.pop("username", ""), "detail": detail}


WORDS = {kind: word for word, (kind, _) in KINDS.items()}
ACTIONS = {
    "published": "publish",
    "unpublished": "unpublish",
    "deleted": "delete",
    "labelMoved": "label",
    "labelRemoved": "label",
}
ACTIONS_ON_WORKSPACES = {
    "member.added": "role",
    "member.roleChanged": "role",
    "member.removed": "role",
    "key.created": "key_issued",
    "key.revoked": "key_revoked",
    "invitation.created": "invitation_made",
    "invitation.withdrawn": "invitation_withdrawn",
    "workspace.created": "workspace_created",
    "workspace.updated": "workspace_renamed",
}


class Migration(migrations.Migration):
    dependencies = [("versioning", "0007_log")]

    operations = [
        migrations.RunPython(take_over, give_back),
        migrations.DeleteModel("AuditEntry"),
    ]
