"""Overrides of code-defined agents in releases: rows like others, and never as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.releases.conftest import check, codes, item, make, post, publish
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api
from tests.support.override_files import define
from tests.support.people import key_of, person
from tests.support.served import reference
from versioning.conf import get_editor
from versioning.domain.agents import Notice
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.serving.resolution import NO_PUBLISHED_OVERRIDE


@pytest.fixture
def admin(db: None) -> Api:
    """An admin of the workspace of the code."""
    person("ada", default="admin")
    return key_of("ada")


def test_an_override_in_rows_goes_live_with_its_block(admin: Api, settings: Any, tmp_path: Path) -> None:
    define(settings, tmp_path, source="database")
    PROMPT_BLOCKS.make(admin, "tone", "kind", workspaceId="default")
    answer = admin.patch(AGENTS.url("answers"), {"instructions": [reference("tone")]})
    assert answer.status == 200, answer.body
    release = make(admin, item(AGENTS, "answers"), item(PROMPT_BLOCKS, "tone"), workspace="default")
    assert admin.get("/agents/answers").body["instructions"] == "code"
    assert admin.get("/agents/answers", release=release["id"]).body["instructions"] == "kind"
    assert admin.get("/agents/team/lead", release=release["id"]).body["instructions"] == "lead"
    assert publish(admin, release).status == 200
    assert admin.get("/agents/answers").body["instructions"] == "kind"
    back = admin.post(f"/releases/{release['id']}/revert").body
    assert admin.get("/agents/answers", release=back["id"]).body["instructions"] == "code"
    assert publish(admin, back).status == 200
    assert admin.get("/agents/answers").body["instructions"] == "code"


def test_an_override_that_is_not_published_is_read_alike_in_a_release(
    admin: Api, settings: Any, tmp_path: Path
) -> None:
    define(settings, tmp_path, source="database")
    draft = admin.patch(AGENTS.url("answers"), {"instructions": "two"}).body["latestVersionId"]
    assert reason_for_latest() == NO_PUBLISHED_OVERRIDE
    AGENTS.publish(admin, "answers", draft)
    AGENTS.make(admin, "stored", workspaceId="default")
    other = make(admin, item(AGENTS, "stored"), workspace="default")["id"]
    ends = make(admin, item(AGENTS, "answers", action="unpublish"), workspace="default")["id"]
    assert admin.get(AGENTS.url("answers"), release=ends).body["resolvedVersionId"] == draft
    assert reason_for_latest(ends) == NO_PUBLISHED_OVERRIDE
    assert admin.get("/agents/answers", release=ends).body["instructions"] == "code"
    assert admin.post(f"{AGENTS.url('answers')}/unpublish").status == 200
    for query in ({}, {"release": other}):
        assert admin.get(AGENTS.url("answers"), **query).body["resolvedVersionId"] == draft, query
        assert admin.get("/agents/answers", **query).body["instructions"] == "code"
        assert reason_for_latest(**query) == NO_PUBLISHED_OVERRIDE


def reason_for_latest(release: str | None = None) -> Notice | None:
    """Return why the latest version of the override stands in for the published one."""
    selector = PUBLISHED if release is None else Selector.parse({"release": release})
    return get_editor().agent.get("answers", selector).fallback


def test_an_override_file_cannot_be_in_a_release(admin: Api, settings: Any, tmp_path: Path) -> None:
    define(settings, tmp_path, source="database")
    assert admin.patch(AGENTS.url("answers"), {"instructions": "two"}).status == 200
    AGENTS.make(admin, "stored", workspaceId="default")
    before = make(admin, item(AGENTS, "answers"), item(AGENTS, "stored"), workspace="default")
    define(settings, tmp_path, source="code")
    refused = post(admin, item(AGENTS, "answers"), workspace="default")
    assert (refused.status, refused.code, refused.fields) == (400, "code_source", ["items.0.resource"])
    assert codes(check(admin, before)["problems"]) == [("answers", "code_source")]
    assert publish(admin, before).code == "release_blocked"
    for path in ("/agents/answers", AGENTS.url("answers")):
        selected = admin.get(path, release=before["id"])
        assert (selected.status, selected.code, selected.fields) == (400, "code_source", ["release"])
    assert admin.get("/agents/team/lead", release=before["id"]).body["instructions"] == "lead"
    stored = make(admin, item(AGENTS, "stored"), workspace="default")
    assert publish(admin, stored).status == 200
