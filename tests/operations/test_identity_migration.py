"""The grants of an upgrade to agents that were published before grants were recorded."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.db.migrations.state import StateApps
from django.utils import timezone

from tests.support import migrating

pytestmark = pytest.mark.database

BEFORE = [("versioning", "0001_initial")]
AFTER = [("versioning", "0002_identity")]
NOW = timezone.now()


@pytest.fixture
def first_release(committed_db: None) -> Iterator[StateApps]:
    with migrating.earlier_release(BEFORE) as apps:
        yield apps


def stored(
    apps: StateApps, kind: str, resource_id: str, workspace: str, created_at: datetime.datetime = NOW
) -> Any:
    """Insert a published resource as the first release stored it; return the id of its version."""
    version_id = uuid.uuid4()
    with transaction.atomic():
        apps.get_model("versioning", kind).objects.create(
            id=resource_id,
            workspace_id=workspace,
            last_number=1,
            active_version_id=version_id,
            latest_version_id=version_id,
            published_at=NOW,
            created_at=created_at,
        )
        apps.get_model("versioning", f"{kind}Version").objects.create(
            id=version_id,
            resource_id=resource_id,
            number=1,
            config_json="{}",
            digest="",
            name="",
            search_text="",
            changed_fields=[],
            change_message="",
        )
    return version_id


def test_earlier_publications_get_grants_within_their_workspace_only(first_release: StateApps) -> None:
    apps = first_release
    for workspace in ("default", "acme", "elsewhere"):
        workspaces = apps.get_model("versioning", "Workspace").objects
        workspaces.get_or_create(id=workspace, defaults={"name": workspace})
    later = NOW + datetime.timedelta(days=1)
    stored(apps, "Agent", "ours", "acme")
    stored(apps, "Agent", "theirs", "elsewhere")
    stored(apps, "PromptBlock", "our-words", "acme", later)
    stored(apps, "PromptBlock", "their-words", "elsewhere")
    stored(apps, "PromptBlock", "taken-over", "elsewhere", later)
    for lead, workspace in (("lead", "acme"), ("lead-of-code", "default")):
        version_id = stored(apps, "Agent", lead, workspace)
        for model, targets in {
            "SubAgentReference": ["ours", "theirs", "in-code"],
            "BlockReference": ["our-words", "their-words", "taken-over", "missing"],
        }.items():
            for target in targets:
                apps.get_model("versioning", model).objects.create(version_id=version_id, target_id=target)
    apps = migrating.migrate(AFTER)

    def granted(model: str, lead: str) -> dict[str, uuid.UUID]:
        rows = apps.get_model("versioning", model).objects.filter(version__resource_id=lead)
        return dict(rows.exclude(target_uuid=None).values_list("target_id", "target_uuid"))

    def identity(kind: str, resource_id: str) -> uuid.UUID:
        return apps.get_model("versioning", kind).objects.get(pk=resource_id).uuid

    assert granted("SubAgentReference", "lead") == {"ours": identity("Agent", "ours")}
    assert granted("SubAgentReference", "lead-of-code") == {"in-code": uuid.UUID(int=0)}
    assert granted("BlockReference", "lead") == {
        "our-words": identity("PromptBlock", "our-words"),
        "their-words": identity("PromptBlock", "their-words"),
    }
