"""Overrides under Git: commits are read-only versions in addition to those of the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.override_files import Repository, define, repository
from tests.support.people import give_role, key_of, person
from tests.support.served import published_block, reference, served
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.models import AgentVersion, Event, Workspace

URL = AGENTS.url("answers")


@pytest.fixture
def admin(db: None) -> Api:
    """An admin of the workspace of the code."""
    person("ada", default=Role.ADMIN)
    return key_of("ada")


@pytest.fixture
def repo(tmp_path: Path, settings: Any) -> Repository:
    """A repository with nothing in it."""
    made = repository(tmp_path / "project")
    define(settings, made.root)
    return made


def committed(repo: Repository, text: str, second: int) -> str:
    """Write the file by hand, commit it, and return the version's id."""
    repo.put({"instructions": text})
    return repo.commit(f"Say {text}", at=f"2026-01-01T12:00:{second:02d}Z")


@pytest.fixture
def history(admin: Api, repo: Repository) -> list[str]:
    """Three commits of the file, as version ids, oldest first."""
    return [committed(repo, text, second) for second, text in enumerate(["one", "two", "three"])]


def record(api: Api, **query: str) -> dict[str, Any]:
    answer = api.get(URL, **query)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def ids(api: Api, **query: Any) -> list[str]:
    answer = api.get(f"{URL}/versions", **query)
    assert answer.status == 200, answer.body
    return [version["id"] for version in answer.body["versions"]]


def version(api: Api, version_id: str, *rest: str, method: str = "GET", body: Any = None) -> Answer:
    return api.request(method, AGENTS.url("answers", "versions", version_id, *rest), body)


def test_commits_are_versions(admin: Api, repo: Repository, history: list[str]) -> None:
    versions = AGENTS.versions(admin, "answers")
    assert [found["id"] for found in versions] == history[::-1]
    assert versions[0] == {
        "id": history[2],
        "agentId": "answers",
        "versionNumber": 3,
        "instructions": "three",
        "changedFields": ["instructions"],
        "changeMessage": "Say three",
        "authorId": None,
        "authorName": "Ann Author",
        "commit": repo.git("rev-parse", "HEAD"),
        "createdAt": "2026-01-01T12:00:02.000Z",
        "source": "git",
        "readOnly": True,
        "state": "published",
        "labels": [],
        "bypassedBy": None,
    }
    assert [found["state"] for found in versions] == ["published", "historical", "historical"]
    assert not AgentVersion.objects.exists()
    found = record(admin)
    pointers = (found["activeVersionId"], found["latestVersionId"], found["hasDraft"])
    assert pointers == (history[2], history[2], False)
    labels = {label["name"]: label for label in admin.get(f"{URL}/labels").body["labels"]}
    assert labels["production"] == {
        "name": "production",
        "versionId": history[2],
        "versionNumber": 3,
        "kind": "computed",
        "released": False,
        "updatedAt": "2026-01-01T12:00:02.000Z",
        "updatedBy": "Ann Author",
    }
    assert served(admin, "answers", label="production")["resolvedVersionId"] == history[2]


def test_a_checkout_is_served_by_the_next_read(admin: Api, repo: Repository, history: list[str]) -> None:
    assert served(admin, "answers")["instructions"] == "three"
    repo.git("checkout", "--quiet", "HEAD~2")
    agent = served(admin, "answers")
    assert (agent["instructions"], agent["activeVersionId"]) == ("one", history[0])
    assert ids(admin) == history[:1]
    repo.git("checkout", "--quiet", "main")
    assert served(admin, "answers")["instructions"] == "three"


def test_a_version_published_by_the_editor_and_committed_is_active_as_the_commit(
    admin: Api, repo: Repository
) -> None:
    made = admin.post(AGENTS.path, {"id": "answers", "instructions": "one", "autoPublish": True}).body
    assert ids(admin) == [made["activeVersionId"]]
    commit = repo.commit("Publish", at="2099-01-01T00:00:00Z")
    assert record(admin)["activeVersionId"] == commit
    assert ids(admin) == [commit, made["activeVersionId"]]
    assert record(admin)["hasDraft"] is False


def test_the_newest_of_equal_configurations_is_active(admin: Api, history: list[str]) -> None:
    restored = version(admin, history[0], "restore", method="POST").body["id"]
    assert version(admin, restored, "activate", method="POST").status == 200
    assert record(admin)["activeVersionId"] == restored


def test_versions_and_commits_are_listed_in_chronological_order(admin: Api, repo: Repository) -> None:
    first = committed(repo, "one", 1)
    draft = AGENTS.save(admin, "answers", "draft")["resolvedVersionId"]
    repo.put({"instructions": "future"})
    last = repo.commit("Later", at="2099-01-01T00:00:00Z")
    assert ids(admin) == [last, draft, first]
    assert ids(admin, **{"orderBy[direction]": "ASC"}) == [first, draft, last]
    assert ids(admin, source="git") == [last, first]
    assert ids(admin, source="database") == [draft]
    assert [ids(admin, page=page, perPage=1) for page in range(4)] == [[last], [draft], [first], []]


def test_a_commit_can_be_read_selected_and_compared(admin: Api, history: list[str]) -> None:
    assert version(admin, history[0]).body["instructions"] == "one"
    assert record(admin, versionId=history[0])["instructions"] == "one"
    assert served(admin, "answers", versionId=history[0])["instructions"] == "one"
    compared = version(admin, f"compare?from={history[0]}&to={history[1]}").body
    assert compared["diffs"] == [{"field": "instructions", "previousValue": "one", "currentValue": "two"}]
    run = admin.post(
        "/agents/answers/generate", {"messages": "hi", "versions": {"self": {"versionId": history[1]}}}
    ).body
    assert (run["text"].split("\n")[0], run["resolvedVersions"]) == ("two", {"answers": history[1]})
    clone = admin.post(f"{URL}/clone?versionId={history[0]}", {"newId": "copy"})
    assert (clone.status, clone.body["instructions"], clone.body["name"]) == (201, "one", "Answers")
    for version_id in (f"git-{'0' * 40}", history[0][:-1], "git-", "file-000000000000"):
        assert version(admin, version_id).status == 404
        assert admin.get("/agents/answers", versionId=version_id).status == 404


def test_restoring_a_commit_makes_a_draft(admin: Api, repo: Repository, history: list[str]) -> None:
    restored = version(admin, history[0], "restore", method="POST")
    assert (restored.status, restored.body["instructions"], restored.body["state"]) == (201, "one", "draft")
    assert restored.body["changeMessage"] == f"Restored from Git {history[0][4:11]}"
    assert repo.config() == {"instructions": "three"}
    assert served(admin, "answers")["instructions"] == "three"
    entry = Event.objects.get(type="agent.versionCreated")
    assert (entry.detail["restoredFrom"], entry.version_id) == (history[0], restored.body["id"])


def test_activating_a_commit_writes_its_configuration_to_the_file(
    admin: Api, repo: Repository, history: list[str]
) -> None:
    answer = version(admin, history[0], "activate", method="POST")
    assert (answer.status, answer.body["activeVersionId"]) == (200, history[0])
    assert answer.body["message"] == f"Git {history[0][4:11]} is published."
    assert repo.text() == '{\n  "instructions": "one"\n}\n'
    assert record(admin)["activeVersionId"] == history[0]
    assert not AgentVersion.objects.exists()
    entry = Event.objects.get(type="agent.published")
    assert (entry.previous_version_id, entry.version_id) == (history[2], history[0])
    saved = admin.patch(URL, {"tools": {"a": {}}}).body  # from the commit
    assert (saved["instructions"], saved["hasDraft"]) == ("one", True)
    repo.put({"instructions": "not committed"})
    assert version(admin, history[1], "activate", method="POST").status == 200
    assert record(admin)["latestVersionId"] == saved["latestVersionId"]
    assert {"one", "not committed"} <= {one["instructions"] for one in AGENTS.versions(admin, "answers")}


def test_a_commit_can_be_neither_deleted_nor_labelled(admin: Api, history: list[str]) -> None:
    for answer in (
        version(admin, history[0], method="DELETE"),
        version(admin, history[2], method="DELETE"),
        admin.put(AGENTS.url("answers", "labels", "stable"), {"versionId": history[0]}),
    ):
        assert (answer.status, answer.code) == (400, "read_only")
    assert ids(admin) == history[::-1]


def test_history_remains_after_the_file_is_deleted(admin: Api, repo: Repository, history: list[str]) -> None:
    repo.path().unlink()
    assert served(admin, "answers")["instructions"] == "code"
    assert served(admin, "answers", status="draft")["instructions"] == "code"
    assert admin.get(URL).status == 404
    assert admin.post(f"{URL}/unpublish").status == 404
    assert admin.delete(URL).status == 404
    assert admin.get(AGENTS.path, status="all").body["total"] == 0
    assert ids(admin) == history[::-1]
    assert version(admin, history[1], "activate", method="POST").status == 200
    assert repo.config() == {"instructions": "two"}
    assert record(admin)["activeVersionId"] == history[1]


def test_a_removed_override_can_be_restored_or_started_over(
    admin: Api, repo: Repository, history: list[str]
) -> None:
    repo.path().unlink()
    assert version(admin, history[1], "restore", method="POST").status == 201
    assert (record(admin)["status"], record(admin)["instructions"]) == ("draft", "two")
    assert admin.delete(URL).status == 200
    saved = admin.patch(URL, {"instructions": "anew"})
    assert (saved.status, saved.body["status"], saved.body["instructions"]) == (200, "draft", "anew")
    assert not repo.path().exists()
    assert ids(admin) == [saved.body["latestVersionId"], *history[::-1]]
    assert admin.delete(URL).status == 200
    get_editor().agent.update("answers", instructions="new")
    assert repo.config() == {"instructions": "new"}


def test_only_readers_of_drafts_see_history(admin: Api, history: list[str]) -> None:
    person("vic", default=Role.VIEWER)
    viewer = key_of("vic")
    assert viewer.get(f"{URL}/versions").status == 403
    assert version(viewer, history[0]).status == 403
    assert version(viewer, history[2]).status == 200
    assert viewer.get("/agents/answers", versionId=history[0]).status == 403
    assert version(viewer, history[0], "activate", method="POST").status == 403
    stranger = key_of(person("stranger").username)
    assert stranger.get("/agents/answers", versionId=history[0]).status == 404


def test_a_conflict_names_the_author_of_the_commit(admin: Api, repo: Repository, history: list[str]) -> None:
    tag = admin.get(URL).etag
    newest = committed(repo, "four", 30)
    answer = admin.patch(URL, {"instructions": "stale"}, if_match=tag)
    assert (answer.status, answer.code) == (412, "edit_conflict")
    assert answer.body["current"] == {
        "latestVersionId": newest,
        "activeVersionId": newest,
        "savedBy": "Ann Author",
        "savedAt": "2026-01-01T12:00:30.000Z",
        "changedFields": ["instructions"],
    }


def test_a_draft_remains_a_draft_across_commits_of_the_file(admin: Api, repo: Repository) -> None:
    published = admin.post(AGENTS.path, {"id": "answers", "instructions": "one", "autoPublish": True}).body
    draft = AGENTS.save(admin, "answers", "draft")["latestVersionId"]
    # The published text is committed, then another text, and then the first one again.
    commits = [repo.commit("Publish", at="2099-01-01T00:00:00Z")]
    for minute, text in enumerate(["two", "one"], start=1):
        repo.put({"instructions": text})
        commits.append(repo.commit(f"Say {text}", at=f"2099-01-01T00:0{minute}:00Z"))
        found = record(admin)
        assert (found["activeVersionId"], found["instructions"]) == (commits[-1], text)
        assert (found["latestVersionId"], found["hasDraft"]) == (draft, True)
        assert served(admin, "answers", status="draft")["instructions"] == "draft"
    states = {one["id"]: one["state"] for one in AGENTS.versions(admin, "answers")}
    assert states == {
        **dict.fromkeys([published["activeVersionId"], *commits[:2]], "historical"),
        draft: "draft",
        commits[2]: "published",
    }


def test_a_copy_or_commit_of_the_live_version_does_not_lose_its_block(admin: Api, repo: Repository) -> None:
    """The commit grants no block to a file with other content, and no new block with the same id."""
    person("ed", default=Role.EDITOR)
    Workspace.objects.make("elsewhere", "Elsewhere")
    give_role("ada", "elsewhere", "admin")
    published_block(admin, "theirs", "their words", workspaceId="elsewhere")
    live = AGENTS.save(admin, "answers", [reference("theirs")])["latestVersionId"]
    AGENTS.publish(admin, "answers", live)
    copy = version(key_of("ed"), live, "restore", method="POST").body["id"]
    assert (record(admin)["activeVersionId"], served(admin, "answers")["instructions"]) == (
        copy,
        "their words",
    )
    commit = repo.commit("Keep it", at="2036-01-01T12:00:00Z")
    assert (record(admin)["activeVersionId"], served(admin, "answers")["instructions"]) == (
        commit,
        "their words",
    )
    for source in (live, commit):  # either of them goes live again
        AGENTS.publish(admin, "answers", source)
        assert served(key_of("ed"), "answers")["instructions"] == "their words"
    repo.put({"instructions": [{"type": "text", "content": "mine"}, reference("theirs")]})
    assert served(admin, "answers")["instructions"] == "mine"
    repo.git("checkout", "--", ".")
    assert served(admin, "answers")["instructions"] == "their words"
    assert admin.delete(PROMPT_BLOCKS.url("theirs")).status == 200
    published_block(admin, "theirs", "a namesake's", workspaceId="elsewhere")
    assert served(admin, "answers")["instructions"] == ""
