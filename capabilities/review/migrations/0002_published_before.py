"""Store the versions published before this application was installed: the live ones, and those in the log.

An agent that code defines has another identity in the log than its row. Which agents those are is not known
here, so in the workspace of the code a live version is stored under both: it is live by this id there.
"""

import uuid

from django.conf import settings
from django.db import migrations

KINDS = {"agent": ("Agent", "AgentVersion"), "promptBlock": ("PromptBlock", "PromptBlockVersion")}
IN_CODE = uuid.UUID(int=0)
AT_ONCE = 500


def remember(apps, _schema_editor):
    """Insert the configurations, each once."""
    published = apps.get_model("review", "PublishedConfiguration")
    for kind, (resource, version) in KINDS.items():
        rows = live(apps.get_model("versioning", resource), kind)
        store(published, kind, rows)
        store(published, kind, logged(apps, apps.get_model("versioning", version), kind))


def live(resources, kind):
    """Yield (id, identity, digest) of each live version."""
    columns = ("pk", "uuid", "workspace_id", "active_version__digest")
    rows = resources.objects.filter(active_version__isnull=False).order_by("pk").values_list(*columns)
    for resource_id, identity, workspace_id, digest in rows.iterator(chunk_size=AT_ONCE):
        yield resource_id, identity, digest
        if kind == "agent" and workspace_id == settings.EDITOR_CODE_WORKSPACE:
            yield resource_id, IN_CODE, digest


def logged(apps, versions, kind):
    """Yield the same of what was live, as far as the log has it and the version is still there."""
    types = (f"{kind}.published", f"{kind}.unpublished")
    entries = apps.get_model("versioning", "Event").objects.filter(type__in=types, ordinal=0)
    columns = ("resource_id", "resource_uuid", "version_id", "previous_version_id")
    some = {}
    for resource_id, identity, *version_ids in entries.order_by("position").values_list(*columns).iterator():
        if identity is not None:
            some |= {
                (key, identity, resource_id): None for key in map(key_of, version_ids) if key is not None
            }
        if len(some) >= AT_ONCE:
            yield from digests(versions, some)
            some = {}
    yield from digests(versions, some)


def key_of(version_id):
    """Return the primary key of a version; None for one that no row holds."""
    try:
        return uuid.UUID(version_id)
    except ValueError:
        return None


def digests(versions, some):
    """Yield (id, identity, digest) for versions of resources."""
    rows = versions.objects.filter(pk__in={key for key, _identity, _resource in some})
    found = {pk: about for pk, *about in rows.values_list("pk", "resource_id", "digest")}
    for key, identity, resource_id in some:
        if key in found and found[key][0] == resource_id:
            yield resource_id, identity, found[key][1]


def store(published, kind, rows):
    """Insert the missing rows."""
    some = []
    for resource_id, identity, digest in rows:
        some.append(published(kind=kind, resource_id=resource_id, identity=identity, digest=digest))
        if len(some) == AT_ONCE:
            published.objects.bulk_create(some, ignore_conflicts=True)
            some = []
    published.objects.bulk_create(some, ignore_conflicts=True)


class Migration(migrations.Migration):
    """Nothing is taken away when it is reversed: the table goes."""

    dependencies = [("review", "0001_initial"), ("versioning", "0016_bypassed_by")]
    operations = [migrations.RunPython(remember, migrations.RunPython.noop, elidable=True)]
