"""The data that an upgrade adds for resources that were stored before: what was live, excerpts, tags."""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.db.migrations.state import StateApps
from django.utils import timezone

from tests.support import migrating

pytestmark = pytest.mark.database

PUBLISHED_AT = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)
BEFORE = [("versioning", "0010_rights_position")]
AFTER = [("versioning", "0027_ever_published")]


@pytest.fixture
def earlier_release(committed_db: None) -> Iterator[StateApps]:
    with migrating.earlier_release(BEFORE) as apps:
        yield apps


def store(
    apps: StateApps, kind: str, name: str, *, live: bool, metadata: Any, draft: bool = False, **config: Any
) -> uuid.UUID:
    version, identity = uuid.uuid4(), uuid.uuid4()
    with transaction.atomic():
        apps.get_model("versioning", kind).objects.create(
            id=name,
            uuid=identity,
            workspace_id="acme",
            metadata=metadata,
            latest_version_id=version,
            active_version_id=version if live else None,
            published_at=PUBLISHED_AT if live else None,
        )
        apps.get_model("versioning", f"{kind}Version").objects.create(
            id=version, resource_id=name, number=1, config_json=json.dumps(config), changed_fields=[]
        )
        if draft:
            later = apps.get_model("versioning", f"{kind}Version").objects.create(
                id=uuid.uuid4(), resource_id=name, number=2, config_json="{}", changed_fields=[]
            )
            apps.get_model("versioning", kind).objects.filter(pk=name).update(latest_version=later)
    return identity


def test_new_columns_and_tables_are_filled_from_stored_data(earlier_release: StateApps) -> None:
    apps, kinds = earlier_release, {"Agent": "instructions", "PromptBlock": "content"}
    user = apps.get_model("auth", "User").objects.create(username="vera")
    apps.get_model("versioning", "Favorite").objects.create(agent_id="team/writer", user=user)
    apps.get_model("versioning", "Workspace").objects.create(id="acme", name="Acme")
    down = {kind: stored_and_unpublished(apps, kind, text) for kind, text in kinds.items()}
    for name in ("granted", "labelled"):  # by a publish that the log does not know, and by a released label
        store(apps, "Agent", name, live=False, metadata={})
        version = apps.get_model("versioning", "AgentVersion").objects.get(resource_id=name)
        references = apps.get_model("versioning", "BlockReference").objects
        references.create(version=version, target_id="tone", target_uuid=uuid.uuid4())
    apps.get_model("versioning", "AgentLabel").objects.create(
        resource_id="labelled", version=version, name="stable", released=True
    )

    apps = migrating.migrate(AFTER)

    favorites = apps.get_model("versioning", "Favorite").objects
    assert list(favorites.values_list("kind", "resource_id", "user__username")) == [
        ("agent", "team/writer", "vera")
    ]
    for kind, version in down.items():
        rows = apps.get_model("versioning", kind).objects.select_related("latest_version")
        resources = {one.pk: one for one in rows}
        assert {name: one.was_ever_published for name, one in resources.items()} == {
            "live": True,
            "was": True,
            "never": False,
            "pruned": False,
            "drafted": True,
            **({"granted": True, "labelled": False} if kind == "Agent" else {}),
        }
        assert {name: one.published_updated_at for name, one in resources.items()} == {
            "live": resources["live"].updated_at,
            "was": None,
            "never": None,
            "pruned": None,
            "drafted": PUBLISHED_AT,
            **(dict.fromkeys(("granted", "labelled")) if kind == "Agent" else {}),
        }
        assert {name for name, one in resources.items() if one.unpublished_version_id == version} == {"was"}
        assert {name for name, one in resources.items() if one.unpublished_version_id} == {"was"}
        assert resources["live"].latest_version.excerpt == "One two"
        tags = apps.get_model("versioning", f"{kind}Tag").objects.order_by("name")
        assert list(tags.values_list("resource", "name")) == [("live", "blue"), ("live", "red")]


def stored_and_unpublished(apps: StateApps, kind: str, text: str) -> uuid.UUID:
    """Store one of each sort, and return the version that was live before it was unpublished."""
    tags = {"tags": ["red", 1, "red", "a,b", "blue"]}
    store(apps, kind, "live", live=True, metadata=tags, **{text: "One\n two"})
    was = store(apps, kind, "was", live=False, metadata={"tags": "red"})
    store(apps, kind, "never", live=False, metadata={})
    store(apps, kind, "pruned", live=False, metadata={})
    store(apps, kind, "drafted", live=True, metadata={}, draft=True)
    down, word, events = (
        uuid.uuid4(),
        kind[0].lower() + kind[1:],
        apps.get_model("versioning", "Event").objects,
    )
    told = [(was, "published", ""), (was, "unpublished", str(down)), (uuid.uuid4(), "published", "")]
    for position, (identity, what, previous) in enumerate(told, start=events.count() + 1):
        events.create(
            position=position,
            type=f"{word}.{what}",
            created_at=timezone.now(),
            resource_id="was" if identity == was else "never",
            resource_uuid=identity,
            previous_version_id=previous,
            via="api",
            audience="readers",
        )
    return down
