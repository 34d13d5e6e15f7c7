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
from versioning.models import Agent, Favorite, PromptBlock

PUBLISHED_AT = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)
BEFORE = [("versioning", "0010_rights_position")]


@pytest.fixture
def earlier_release(transactional_db: None) -> Iterator[StateApps]:
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


@pytest.mark.database
def test_earlier_favorites_become_favorite_agents(earlier_release: StateApps) -> None:
    user = earlier_release.get_model("auth", "User").objects.create(username="vera")
    earlier_release.get_model("versioning", "Favorite").objects.create(agent_id="team/writer", user=user)
    migrating.migrate([("versioning", "0011_favorites_of_both_kinds")])
    assert list(Favorite.objects.values_list("kind", "resource_id", "user__username")) == [
        ("agent", "team/writer", "vera")
    ]


@pytest.mark.parametrize(
    ("model", "word", "text"),
    [
        pytest.param(Agent, "agent", "instructions", marks=pytest.mark.database),
        (PromptBlock, "promptBlock", "content"),
    ],
)
def test_new_columns_are_filled_from_stored_data(
    earlier_release: StateApps, model: Any, word: str, text: str
) -> None:
    apps, kind = earlier_release, model.__name__
    apps.get_model("versioning", "Workspace").objects.create(id="acme", name="Acme")
    store(
        apps,
        kind,
        "live",
        live=True,
        metadata={"tags": ["red", 1, "red", "a,b", "blue"]},
        **{text: "One\n two"},
    )
    was = store(apps, kind, "was", live=False, metadata={"tags": "red"})
    store(apps, kind, "never", live=False, metadata={})
    store(apps, kind, "pruned", live=False, metadata={})
    store(apps, kind, "drafted", live=True, metadata={}, draft=True)
    down = uuid.uuid4()
    told = [(was, "published", ""), (was, "unpublished", str(down)), (uuid.uuid4(), "published", "")]
    for position, (identity, what, previous) in enumerate(told, start=1):
        apps.get_model("versioning", "Event").objects.create(
            position=position,
            type=f"{word}.{what}",
            created_at=timezone.now(),
            resource_id="was" if identity == was else "never",
            resource_uuid=identity,
            previous_version_id=previous,
            via="api",
            audience="readers",
        )

    migrating.migrate()

    resources = {one.pk: one for one in model.objects.select_related("latest_version")}
    assert {name: one.was_ever_published for name, one in resources.items()} == {
        "live": True,
        "was": True,
        "never": False,
        "pruned": False,
        "drafted": True,
    }
    assert {name: one.published_updated_at for name, one in resources.items()} == {
        "live": resources["live"].updated_at,
        "was": None,
        "never": None,
        "pruned": None,
        "drafted": PUBLISHED_AT,
    }
    assert {name for name, one in resources.items() if one.unpublished_version_id == down} == {"was"}
    assert {name for name, one in resources.items() if one.unpublished_version_id} == {"was"}
    assert resources["live"].latest_version.excerpt == "One two"
    assert list(resources["live"].tags.values_list("name", flat=True)) == ["blue", "red"]
    assert not resources["was"].tags.exists()
