"""Take the entries of the audit log over into the log, in their order, and drop their table."""

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
    def told(entry):
        prefix, _, owner = entry.target.removeprefix("API key ").partition(" of ")
        return f"key.{what}", {"prefix": prefix, "owner": owner, **entry.detail}

    return told


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


class Migration(migrations.Migration):
    dependencies = [("versioning", "0007_log")]

    operations = [
        migrations.RunPython(take_over, migrations.RunPython.noop),
        migrations.DeleteModel("AuditEntry"),
    ]
