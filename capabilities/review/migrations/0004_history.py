"""Fill in what reviews know of the past: what configurations named, which numbers were live, who saved what.

- What a verdict was about: the resources that its configuration names now and that were there when it was
  given. An identity never comes back, so that is what it named then, without what was deleted since.
- What was live named: what its versions are granted, and what was there when the oldest of them was saved.
  Whatever else its names mean now may have come later, so that approvals are asked for.
- The number of what was live is that which the log gives; where the log was pruned, the lowest of the
  versions with that configuration, by which more people count as authors and not fewer.
- Who saved a version that was deleted since: the account that has the name in the log now.
"""

import uuid
from itertools import groupby

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import migrations

KINDS = {"agent": ("Agent", "AgentVersion"), "promptBlock": ("PromptBlock", "PromptBlockVersion")}
REFERENCES = {"SubAgentReference": "Agent", "BlockReference": "PromptBlock"}  # of agents alone
IN_CODE = uuid.UUID(int=0)
AT_ONCE = 500
ABOUT = ("kind", "resource_id", "identity")


def fill(apps, _schema_editor):
    """Fill in all of it."""
    for kind in KINDS:
        name_resources(apps, kind)
        for (resource_id, identity), entries in logged(apps, kind):
            remember(apps, kind, resource_id, identity, entries)
        number_the_rest(apps, kind)


# What configurations named


def name_resources(apps, kind):
    """Fill in what configurations named that were live, or were spoken of."""
    published = apps.get_model("review", "PublishedConfiguration").objects.filter(kind=kind, named="")
    for row in in_steps(published):
        row.named = written(named_when_live(apps, kind, row.resource_id, row.digest))
        save(row, "named")
    for row in in_steps(apps.get_model("review", "Verdict").objects.filter(kind=kind, named="")):
        versions = versions_like(apps, kind, row.resource_id, row.digest)
        row.named = written(there_before(apps, kind, [pk for pk, _, _ in versions], row.created_at))
        save(row, "named")


def named_when_live(apps, kind, resource_id, digest):
    """Return the identities of what a configuration named when it was live."""
    versions = versions_like(apps, kind, resource_id, digest)
    if not versions:
        return set()
    keys = [pk for pk, _, _ in versions]
    return granted(apps, kind, keys) | there_before(apps, kind, keys, min(at for _, _, at in versions))


def granted(apps, kind, keys):
    """Return the identities that versions are granted."""
    found = set()
    for name in REFERENCES if kind == "agent" else ():
        rows = apps.get_model("versioning", name).objects.filter(version_id__in=keys)
        found.update(rows.exclude(target_uuid=None).values_list("target_uuid", flat=True))
    return found


def there_before(apps, kind, keys, moment):
    """Return the identities of what versions name now, as far as it was there at a moment."""
    found = set()
    for name, target in REFERENCES.items() if kind == "agent" else ():
        ids = apps.get_model("versioning", name).objects.filter(version_id__in=keys).values("target_id")
        rows = apps.get_model("versioning", target).objects.filter(pk__in=ids, created_at__lte=moment)
        found.update(rows.values_list("uuid", flat=True))
    return found


def versions_like(apps, kind, resource_id, digest):
    """Return (key, number, time) of the versions of a resource with a configuration."""
    versions = apps.get_model("versioning", KINDS[kind][1]).objects
    versions = versions.filter(resource_id=resource_id, digest=digest)
    return list(versions.order_by("number").values_list("pk", "number", "created_at"))


def written(identities):
    """Return identities as `capabilities.review.outcomes` writes them."""
    return " ".join(sorted(one.hex for one in identities))


# What the log says


def logged(apps, kind):
    """Yield (id, identity) of resources that are there, with what the log says of them, in order."""
    types = [f"{kind}.{name}" for name in ("created", "versionCreated", "published", "deleted")]
    about = ("resource_id", "resource_uuid")
    columns = ("type", "version_number", "version_id", "actor", "via")
    entries = apps.get_model("versioning", "Event").objects.filter(type__in=types)
    entries = entries.filter(resource_uuid__isnull=False).order_by(*about, "position", "ordinal")
    rows = entries.values_list(*about, *columns)
    resources = apps.get_model("versioning", KINDS[kind][0]).objects
    for key, group in groupby(rows.iterator(chunk_size=AT_ONCE), key=lambda row: row[:2]):
        found = [row[2:] for row in group]
        if key[1] == IN_CODE or resources.filter(pk=key[0], uuid=key[1]).exists():
            yield key, found


def remember(apps, kind, resource_id, identity, entries):
    """Store which versions of a resource were live, who saved those that are gone, and what a file held."""
    about = {"kind": kind, "resource_id": resource_id, "identity": identity}
    versions = apps.get_model("versioning", KINDS[kind][1]).objects.filter(resource_id=resource_id)
    digests = dict(versions.values_list("pk", "digest"))
    saves, live, from_file = [], {}, set()
    for event_type, number, version_id, actor, via in entries:
        what, key = event_type.partition(".")[2], key_of(version_id)
        begins = number == 1 and what in ("created", "versionCreated")
        if what == "deleted":
            saves, live = [], {}
        elif begins and identity == IN_CODE:
            saves, live = [(0, *save[1:]) for save in saves], {}
        if key is None or what == "deleted":
            continue
        if what == "published":
            live[number] = digests.get(key, "")
        else:
            saves.append((number, key, actor))
            if via == "file" and key in digests:
                from_file.add(digests[key])
    store_live(apps, about, live)
    store_files(apps, about, from_file)
    store_authors(apps, about, [(number, actor) for number, key, actor in saves if key not in digests])


def store_live(apps, about, live):
    """Give what was live its numbers."""
    published = apps.get_model("review", "PublishedConfiguration").objects
    for number, digest in live.items():
        row = published.filter(**about, digest=digest, number=0).first() if digest else None
        if row is not None:
            row.number = number
            save(row, "number")
            continue
        named = named_when_live(apps, about["kind"], about["resource_id"], digest) if digest else ()
        more = {"digest": digest, "number": number}
        published.get_or_create(**about, **more, defaults={"named": written(named)})


def store_files(apps, about, digests):
    """Remember what was copied from a file; what that named is not known, and was at home."""
    published = apps.get_model("review", "PublishedConfiguration").objects
    for digest in digests:
        if not published.filter(**about, digest=digest).exists():
            published.create(**about, digest=digest, number=0, named="")


def store_authors(apps, about, saves):
    """Store who saved versions that are gone."""
    field = get_user_model().USERNAME_FIELD
    users = apps.get_model(settings.AUTH_USER_MODEL).objects
    accounts = dict(users.filter(**{f"{field}__in": {actor for _, actor in saves}}).values_list(field, "pk"))
    deleted = apps.get_model("review", "DeletedVersion")
    deleted.objects.filter(**about).delete()
    deleted.objects.bulk_create(
        [
            deleted(**about, number=number, author_id=accounts[actor])
            for number, actor in saves
            if actor in accounts
        ],
        batch_size=AT_ONCE,
    )


# What the log does not say


def number_the_rest(apps, kind):
    """Give numbers to what was live according to no entry: that which is live, else the lowest."""
    published = apps.get_model("review", "PublishedConfiguration").objects.filter(kind=kind)
    resources = apps.get_model("versioning", KINDS[kind][0]).objects
    for row in in_steps(published.filter(number=0)):
        if not published.filter(**{name: getattr(row, name) for name in ABOUT}, digest=row.digest).exclude(
            number=0
        ):
            like = versions_like(apps, kind, row.resource_id, row.digest)
            row.number = like[0][1] if like else 0
            save(row, "number")
    live = resources.filter(active_version__isnull=False).order_by("pk")
    for resource_id, digest, number in live.values_list(
        "pk", "active_version__digest", "active_version__number"
    ).iterator(chunk_size=AT_ONCE):
        alike = published.filter(resource_id=resource_id, digest=digest)
        known = set(alike.filter(number=number).values_list("identity", flat=True))
        for identity, named in dict(alike.values_list("identity", "named")).items():
            if identity not in known:
                about = {"kind": kind, "resource_id": resource_id, "identity": identity}
                published.create(**about, digest=digest, number=number, named=named)


def key_of(version_id):
    """Return the primary key of a version; None for one that no row holds."""
    try:
        return uuid.UUID(version_id)
    except ValueError:
        return None


def in_steps(rows):
    """Yield rows by their keys, some at a time, so that they can be changed meanwhile."""
    last = 0
    while some := list(rows.filter(pk__gt=last).order_by("pk")[:AT_ONCE]):
        yield from some
        last = some[-1].pk


def save(row, field):
    """Store a field of a row."""
    type(row).objects.filter(pk=row.pk).update(**{field: getattr(row, field)})


def leave_one_of_each(apps, _schema_editor):
    """Leave each configuration once, as the release before has it."""
    published = apps.get_model("review", "PublishedConfiguration").objects
    seen = set()
    for row in in_steps(published.all()):
        key = (*(getattr(row, name) for name in ABOUT), row.digest)
        if key in seen or not row.digest:
            published.filter(pk=row.pk).delete()
        seen.add(key)


class Migration(migrations.Migration):
    """When it is reversed, the columns and the table go."""

    dependencies = [("review", "0003_what_was_named"), ("versioning", "0018_authors_of_versions")]
    operations = [migrations.RunPython(fill, leave_one_of_each, elidable=True)]
