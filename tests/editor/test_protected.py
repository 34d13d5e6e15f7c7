"""Rows of a project that refer to a resource with `PROTECT` or `RESTRICT` keep it, and are said to do so.

Tags and references stand for the project's rows.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.db import models

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.people import command
from tests.support.studio import Visitor
from versioning.conf import get_editor
from versioning.domain.errors import InUse
from versioning.models import AgentTag, AgentVersion, BlockReference

NAMES = {"error": "It cannot be deleted: other rows refer to it (agent tags).", "code": "in_use"}


def protect(monkeypatch: pytest.MonkeyPatch, model: type[models.Model], field: str, how: Any) -> None:
    relation: Any = model._meta.get_field(field)
    monkeypatch.setattr(relation.remote_field, "on_delete", how)


@pytest.mark.parametrize("how", [models.PROTECT, models.RESTRICT])
def test_a_protected_resource_is_not_deleted(cast: Cast, how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    AGENTS.make(cast.alice, metadata={"tags": ["red", "blue"]}, autoPublish=True)
    protect(monkeypatch, AgentTag, "resource", how)
    before = cast.alice.get("/events").body
    refused = cast.alice.delete(AGENTS.url("writer"))
    assert refused.status == 409
    assert {name: refused.body[name] for name in NAMES} == NAMES
    assert (refused.body["dependents"], refused.body["hiddenCount"]) == ([], 2)
    with pytest.raises(InUse):
        get_editor().agent.delete("writer")
    paula = Visitor("paula")
    page = "/studio/versioning/agent/writer/delete/"
    shown = paula.confirm(page)
    assert shown.status == 400 and NAMES["error"] in shown.text
    assert cast.alice.get(AGENTS.url("writer")).status == 200
    assert cast.alice.get("/events").body == before


def test_a_protected_version_is_neither_deleted_nor_pruned(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", autoPublish=True)
    AGENTS.make(cast.alice, text=[{"type": "prompt_block_ref", "id": "tone"}])
    for text in ("two", "three", "four"):
        AGENTS.save(cast.alice, text=text)
    protect(monkeypatch, BlockReference, "version", models.PROTECT)
    first = AgentVersion.objects.get(number=1)
    refused = cast.alice.delete(AGENTS.url("writer", "versions", first.version_id))
    assert (refused.status, refused.code) == (409, "in_use")
    command("prune_versions", "--keep", "1")
    settings.EDITOR_KEEP_VERSIONS = 1
    assert AGENTS.save(cast.alice, text="five")["instructions"] == "five"
    assert [one["versionNumber"] for one in AGENTS.versions(cast.alice)] == [5, 1]
