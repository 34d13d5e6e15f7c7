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
