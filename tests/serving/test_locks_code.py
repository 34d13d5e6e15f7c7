"""Locks of agents that code defines: the code's own version is a digest, and an override has an id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support import locks
from tests.support.api import AGENTS, Api
from tests.support.locks import by_lock, locked, prompts_of
from tests.support.override_files import define, repository
from tests.support.people import key_of, person
from tests.support.runs import run
from tests.support.served import published_block, reference, text
from versioning.domain.access import Role

LEAD = "team/lead"


@pytest.fixture
def admin(db: None) -> Api:
    """An admin of the workspace of the code."""
    person("ada", default=Role.ADMIN)
    person("vic", default=Role.VIEWER)
    return key_of("ada")


@pytest.fixture(params=["database", "code"])
def source(request: pytest.FixtureRequest, admin: Api, settings: Any, tmp_path: Path) -> str:
    """Where overrides are."""
    define(settings, tmp_path, source=request.param)
    return str(request.param)


def override(api: Api, instructions: Any, **more: Any) -> str:
    """Publish an override of `answers` and return its version's id."""
    body = {"instructions": instructions, "autoPublish": True, **more}
    answer = api.patch(AGENTS.url("answers"), body)
    assert answer.status == 200, answer.body
    return str(answer.body["activeVersionId"])


def refused(api: Api, made: dict[str, Any], names: list[str]) -> None:
    locks.refused(run(api, LEAD, versions=made), names)


def test_a_lock_of_the_code_is_unaffected_by_a_later_override(admin: Api, source: str) -> None:
    made = locked(admin, LEAD)
    assert {name: pin["versionId"] for name, pin in made["agents"].items()} == {LEAD: None, "answers": None}
    before = prompts_of(by_lock(admin, made, LEAD))
    override(admin, "override")
    assert "override" in str(prompts_of(by_lock(admin, locked(admin, LEAD), LEAD)))
    for reader in (admin, key_of("vic")):
        answer = by_lock(reader, made, LEAD)
        assert prompts_of(answer) == before
        assert answer["resolvedVersions"] == {LEAD: None, "answers": None}


def test_a_lock_of_an_override_holds_after_it_is_replaced_or_unpublished(admin: Api, source: str) -> None:
    published_block(admin, "tone", "Be kind.", workspaceId="default")
    first = override(admin, [text("First."), reference("tone")])
    made = locked(admin, LEAD)
    assert made["agents"]["answers"]["versionId"] == first
    before = prompts_of(by_lock(admin, made, LEAD))
    override(admin, "second")
    admin.patch("/stored/prompt-blocks/tone", {"content": "Be strict.", "autoPublish": True})
    vic = key_of("vic")
    assert prompts_of(by_lock(vic, made, LEAD)) == before
    assert admin.post(AGENTS.url("answers", "unpublish")).status == 200
    assert prompts_of(by_lock(vic, made, LEAD)) == before
    assert admin.delete(AGENTS.url("answers")).status == 200
    refused(vic, made, ["answers"])


def test_a_lock_is_refused_after_the_code_changed(
    admin: Api, source: str, settings: Any, tmp_path: Path
) -> None:
    as_code = locked(admin, LEAD)
    override(admin, "override")
    made = locked(admin, LEAD)
    define(settings, tmp_path, source=source)
    by_lock(admin, made, LEAD)
    by_lock(admin, as_code, LEAD)
    define(settings, tmp_path, source=source, description="Answers in another way.")
    refused(admin, made, ["answers"])
    refused(admin, as_code, ["answers"])
    define(settings, tmp_path, source=source, visibility="private")
    person("charlie")
    stranger = key_of("charlie")
    assert run(stranger, LEAD).status == 200  # in code, `answers` is a part of its lead
    by_lock(stranger, made, LEAD)
    answer = run(stranger, "answers", versions=made)
    assert (answer.status, answer.body["names"]) == (424, ["answers"])


def test_a_file_is_locked_by_its_commit_or_by_its_content(admin: Api, settings: Any, tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    define(settings, project.root)
    project.put({"instructions": "by hand"})
    in_file = locked(admin, LEAD)
    assert in_file["agents"]["answers"]["versionId"].startswith("file-")
    before = prompts_of(by_lock(admin, in_file, LEAD))
    commit = project.commit()
    made = locked(admin, LEAD)
    assert made["agents"]["answers"]["versionId"] == commit
    project.put({"instructions": "by hand again"})
    project.commit("Again")
    assert prompts_of(by_lock(admin, made, LEAD)) == before
    refused(admin, in_file, ["answers"])
