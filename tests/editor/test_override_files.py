"""Overrides as files: the file is authoritative, rows store the drafts, and no text is lost."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.override_files import Folder, define
from tests.support.people import key_of, person
from tests.support.served import published_block, reference, served
from versioning.conf import get_editor, get_framework
from versioning.domain.access import Role
from versioning.domain.agents import AGENT
from versioning.editor.catalog import list_filters
from versioning.models import AgentVersion, Event, Workspace

URL = AGENTS.url("answers")
ROLES = {"ada": Role.ADMIN, "pia": Role.PUBLISHER, "ed": Role.EDITOR, "vic": Role.VIEWER}


@pytest.fixture
def admin(db: None) -> Api:
    """An admin of the workspace of the code."""
    person("ada", default=Role.ADMIN)
    return key_of("ada")


def made(api: Api, **body: Any) -> dict[str, Any]:
    answer = api.post(AGENTS.path, {"id": "answers", **body})
    assert answer.status == 201, answer.body
    return dict(answer.body)


def record(api: Api, **query: str) -> dict[str, Any]:
    answer = api.get(URL, **query)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def texts(api: Api) -> list[str]:
    """Return the instructions of all versions, newest first."""
    return [version["instructions"] for version in AGENTS.versions(api, "answers")]


def activate(api: Api, version_id: str) -> Answer:
    return api.post(AGENTS.url("answers", "versions", version_id, "activate"))


# Publishing and saving


def test_publishing_writes_the_file_and_unpublishing_removes_it(admin: Api, folder: Folder) -> None:
    first = made(admin, instructions="one", name="Kept")["resolvedVersionId"]
    assert not folder.path().exists()
    AGENTS.publish(admin, "answers", first)
    assert folder.text() == '{\n  "instructions": "one"\n}\n'
    assert record(admin)["activeVersionId"] == first
    drafted = AGENTS.save(admin, "answers", "two")
    assert (drafted["status"], drafted["hasDraft"]) == ("published", True)
    assert folder.config() == {"instructions": "one"}
    assert served(admin, "answers")["instructions"] == "one"
    assert served(admin, "answers", status="draft")["instructions"] == "two"
    saved = AGENTS.save(admin, "answers", "three", autoPublish=True)
    assert folder.config() == {"instructions": "three"}
    assert (saved["activeVersionId"], saved["hasDraft"]) == (saved["resolvedVersionId"], False)
    assert activate(admin, first).body["activeVersionId"] == first
    assert folder.config() == {"instructions": "one"}
    assert (record(admin)["activeVersionId"], record(admin)["hasDraft"]) == (first, True)
    assert admin.post(f"{URL}/unpublish").body["activeVersionId"] is None
    assert not folder.path().exists()
    assert served(admin, "answers")["instructions"] == "code"
    third = saved["activeVersionId"]
    entries = Event.objects.filter(resource_id="answers", type__endswith="published").order_by("position")
    assert [(entry.type, entry.previous_version_id, entry.version_id) for entry in entries] == [
        ("agent.published", "", first),
        ("agent.published", first, third),
        ("agent.published", third, first),
        ("agent.unpublished", first, ""),
    ]
    AGENTS.publish(admin, "answers", first)
    assert admin.delete(URL).status == 200
    assert not folder.path().exists() and admin.get(URL).status == 404


def test_the_file_equals_the_export_with_sorted_keys(admin: Api, folder: Folder) -> None:
    tools = {"b": {}, "a": {"description": "1"}, "é": {}, "Z": {}}
    made(admin, instructions="été 🎉", tools=tools, name="Kept", autoPublish=True)
    export = admin.post(f"{URL}/export").body
    assert (export["fileName"], export["content"]) == ("agents/answers.json", folder.text())
    assert folder.config() == {"instructions": "été 🎉", "tools": tools}
    assert list(json.loads(folder.text())["tools"]) == ["Z", "a", "b", "é"]


def test_the_export_of_a_draft_is_the_file_that_publishing_would_write(admin: Api, folder: Folder) -> None:
    made(admin, instructions="one", autoPublish=True)
    draft = AGENTS.save(admin, "answers", "two")
    content = admin.post(f"{URL}/export?status=draft").body["content"]
    AGENTS.publish(admin, "answers", draft["resolvedVersionId"])
    assert folder.text() == content


def test_an_id_with_a_slash_names_one_file(admin: Api, folder: Folder) -> None:
    answer = admin.post(AGENTS.path, {"id": "team/lead", "instructions": "mine", "autoPublish": True})
    assert answer.status == 201
    assert [path.name for path in (folder.root / "agents").iterdir()] == ["team%2Flead.json"]
    assert served(admin, "team/lead")["instructions"] == "mine"


def test_a_publish_needs_its_prompt_blocks(admin: Api, folder: Folder) -> None:
    PROMPT_BLOCKS.make(admin, "tone")
    answer = admin.post(
        AGENTS.path, {"id": "answers", "instructions": [reference("tone")], "autoPublish": True}
    )
    assert (answer.status, answer.code) == (400, "unpublished_blocks")
    assert not folder.path().exists()
    assert admin.get(URL).status == 404


# The file changed by hand


def test_an_edit_by_hand_is_served_by_the_next_read_and_keeps_the_draft(admin: Api, folder: Folder) -> None:
    made(admin, instructions="one", autoPublish=True)
    folder.put({"instructions": "by hand"})
    agent = served(admin, "answers")
    assert (agent["instructions"], agent["status"]) == ("by hand", "published")
    found = record(admin)
    assert found["activeVersionId"] == agent["resolvedVersionId"] and found["hasDraft"] is False
    assert found["activeVersionId"].startswith("file-")
    assert len(found["activeVersionId"]) == len("file-") + 12
    assert served(admin, "answers", versionId=found["activeVersionId"])["instructions"] == "by hand"
    assert served(admin, "answers", status="draft")["instructions"] == "by hand"
    assert [version["state"] for version in AGENTS.versions(admin, "answers")] == ["historical"]
    draft = AGENTS.save(admin, "answers", "draft")["resolvedVersionId"]
    folder.put({"instructions": "by hand again"})
    assert served(admin, "answers", status="draft")["instructions"] == "draft"
    assert (record(admin)["latestVersionId"], record(admin)["hasDraft"]) == (draft, True)


def test_a_file_with_the_same_content_in_another_format_is_the_same_version(
    admin: Api, folder: Folder
) -> None:
    first = made(admin, mcpClients={"a": {"retries": 1.0}}, autoPublish=True)["activeVersionId"]
    assert '"retries": 1.0' in folder.text()
    AGENTS.save(admin, "answers", "two", autoPublish=True)
    for text in (
        b'\n{"mcpClients":  {"a":\r\n {"retries": 1}}}',
        b'{"mcpClients": {"\\u0061": {"retries": 1.0}}}',
    ):
        folder.put(text)
        assert record(admin)["activeVersionId"] == first
    folder.put({"mcpClients": {"a": {"retries": True}}})
    assert record(admin)["activeVersionId"].startswith("file-")


def test_after_deleting_the_file_the_code_is_served(admin: Api, folder: Folder) -> None:
    made(admin, instructions="one", autoPublish=True)
    folder.path().unlink()
    assert served(admin, "answers")["instructions"] == "code"
    found = record(admin)
    assert (found["status"], found["activeVersionId"], found["hasDraft"]) == ("draft", None, True)


INVALID = [
    b"",
    b"[]",
    b'{"instructions": "\xff"}',
    b'{"instructions": " "}',
    b'{"instructions": "x", "name": "Renamed"}',
    b'{"unknown": 1}',
    b'{"instructions": "a", "instructions": "b"}',
    b'{"instructions": [{"type": "text"}]}',
    b'{"tools": {"a": 1e999}}',
]


def test_an_invalid_file_is_an_error_and_the_code_is_served(
    admin: Api, folder: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    made(admin, instructions="one", autoPublish=True)
    for number, content in enumerate(INVALID):
        caplog.clear()
        folder.put(content)
        with caplog.at_level(logging.ERROR, "versioning"):
            assert served(admin, "answers")["instructions"] == "code"
        assert "the override file of 'answers' is ignored" in caplog.text
        assert record(admin)["activeVersionId"] is None
        AGENTS.save(admin, "answers", f"draft {number}")
        admin.post(f"{URL}/unpublish")
        assert folder.path().read_bytes() == content
        AGENTS.save(admin, "answers", f"text {number}", autoPublish=True)
        assert folder.config() == {"instructions": f"text {number}"}


def test_fields_that_the_code_owns_are_ignored_in_a_file(admin: Api, tmp_path: Any, settings: Any) -> None:
    define(settings, tmp_path, editor={"tools": True})
    folder = Folder(tmp_path)
    folder.put({"instructions": "not mine to say", "tools": {"a": {}}})
    assert served(admin, "answers")["instructions"] == "code"
    folder.put({"tools": {"a": {}}})
    assert set(served(admin, "answers")["tools"]) == {"a", "look_up"}


def test_the_next_edit_starts_from_the_file_written_by_hand(admin: Api, folder: Folder) -> None:
    made(admin, instructions="one", tools={"a": {}}, autoPublish=True)
    folder.put({"instructions": "by hand", "tools": {"a": {}, "b": {}}})
    admin.patch(URL, {"tools": {"c": {}}, "autoPublish": True})
    assert folder.config() == {"instructions": "by hand", "tools": {"c": {}}}


@pytest.mark.parametrize("move", ["publish", "unpublish"])
def test_content_that_only_the_file_held_is_stored_as_a_version(
    admin: Api, folder: Folder, move: str
) -> None:
    made(admin, instructions="one", autoPublish=True)
    draft = AGENTS.save(admin, "answers", "draft")["resolvedVersionId"]
    folder.put({"instructions": "by hand"})
    if move == "publish":
        AGENTS.publish(admin, "answers", draft)
    else:
        assert admin.post(f"{URL}/unpublish").status == 200
    assert "by hand" in texts(admin)
    assert record(admin, status="draft")["latestVersionId"] == draft
    assert served(admin, "answers")["instructions"] == ("draft" if move == "publish" else "code")


def test_the_etag_changes_with_the_file(admin: Api, folder: Folder) -> None:
    made(admin, instructions="one", autoPublish=True)
    tag = admin.get(URL).etag
    assert admin.get(URL).etag == tag
    folder.put({"instructions": "by hand"})
    assert admin.get(URL).etag != tag
    refused = admin.patch(URL, {"instructions": "stale"}, if_match=tag)
    assert (refused.status, refused.code) == (412, "edit_conflict")
    assert refused.body["current"]["activeVersionId"].startswith("file-")


# A file without a row


@pytest.fixture
def by_hand(admin: Api, folder: Folder) -> Folder:
    """A file that was written by hand; nothing is stored."""
    folder.put({"instructions": "by hand", "tools": {"a": {}}})
    return folder


def test_a_file_alone_is_a_record(admin: Api, by_hand: Folder) -> None:
    found = record(admin)
    assert (found["status"], found["instructions"], found["hasDraft"]) == ("published", "by hand", False)
    assert (found["workspaceId"], found["visibility"], found["authorId"]) == ("default", "public", None)
    assert found["activeVersionId"] == found["latestVersionId"] == found["resolvedVersionId"]
    assert admin.get(AGENTS.path).body["agents"] == [found]
    assert admin.get(f"{URL}/versions").body["total"] == 0
    assert admin.get(f"{URL}/dependents").body == {
        "dependents": [{"id": "team/lead", "name": "Lead"}],
        "hiddenCount": 0,
    }
    assert [label["name"] for label in admin.get(f"{URL}/labels").body["labels"]] == ["latest", "production"]
    agents = admin.get("/agents").body
    assert {name: one["instructions"] for name, one in agents.items()} == {
        "answers": "by hand",
        "team/lead": "lead",
    }
    answer = admin.post(AGENTS.path, {"id": "answers", "instructions": "mine"})
    assert (answer.status, answer.code) == (409, "id_taken")


def test_a_record_of_a_file_alone_can_be_changed_and_unpublished(admin: Api, by_hand: Folder) -> None:
    assert AGENTS.save(admin, "answers", "by hand")["hasDraft"] is False
    assert not AgentVersion.objects.exists()
    saved = admin.patch(URL, {"metadata": {"team": "blue"}}).body
    assert (saved["metadata"], saved["hasDraft"]) == ({"team": "blue"}, False)
    assert record(admin)["metadata"] == {"team": "blue"}
    draft = AGENTS.save(admin, "answers", "a rare word")["resolvedVersionId"]
    assert admin.get(AGENTS.path, search="RARE").body["total"] == 1
    assert admin.get(AGENTS.path, hasDraft="true").body["total"] == 1
    assert admin.delete(AGENTS.url("answers", "versions", draft)).status == 200
    assert (record(admin)["hasDraft"], record(admin)["instructions"]) == (False, "by hand")
    assert admin.post(f"{URL}/unpublish").body["status"] == "draft"
    assert not by_hand.path().exists()
    assert texts(admin) == ["by hand"]


def test_an_edit_of_a_file_alone_makes_the_first_draft(admin: Api, by_hand: Folder) -> None:
    saved = AGENTS.save(admin, "answers", "draft")
    assert (saved["status"], saved["hasDraft"], saved["tools"]) == ("published", True, {"a": {}})
    (version,) = AGENTS.versions(admin, "answers")
    assert (version["versionNumber"], version["state"]) == (1, "draft")
    assert sorted(version["changedFields"]) == ["instructions", "tools"]
    assert served(admin, "answers")["instructions"] == "by hand"


def test_an_update_in_python_publishes_over_a_file_alone(admin: Api, by_hand: Folder) -> None:
    get_editor().agent.update("answers", instructions="from python")
    assert by_hand.config() == {"instructions": "from python", "tools": {"a": {}}}
    assert sorted(texts(admin)) == ["by hand", "from python"]


def test_a_label_cannot_name_a_file(admin: Api, by_hand: Folder) -> None:
    version_id = record(admin)["activeVersionId"]
    answer = admin.put(AGENTS.url("answers", "labels", "stable"), {"versionId": version_id})
    assert (answer.status, answer.code) == (400, "read_only")


# Lists, references, rights


def test_lists_hold_overrides_in_files_in_their_order(admin: Api, folder: Folder) -> None:
    for number in range(5):
        AGENTS.make(admin, f"stored-{number}", autoPublish=True)
    folder.put({"instructions": "by hand"})
    AGENTS.make(admin, "last", autoPublish=True)
    whole = [agent["id"] for agent in admin.get(AGENTS.path).body["agents"]]
    assert whole == ["last", "answers", *(f"stored-{number}" for number in reversed(range(5)))]
    pages = [admin.get(AGENTS.path, page=page, perPage=2).body for page in range(4)]
    assert [agent["id"] for page in pages for agent in page["agents"]] == whole
    assert {page["total"] for page in pages} == {7}
    ascending = admin.get(AGENTS.path, **{"orderBy[direction]": "ASC"}).body["agents"]
    assert [agent["id"] for agent in ascending] == whole[::-1]


FILTERS: list[tuple[dict[str, str], bool]] = [
    ({"status": "published"}, True),
    ({"status": "draft"}, False),
    ({"status": "all"}, True),
    ({"search": "BY HAND"}, True),
    ({"search": "answers"}, True),
    ({"search": "elsewhere"}, False),
    ({"visibility": "public"}, True),
    ({"visibility": "private"}, False),
    ({"workspaceId": "default"}, True),
    ({"workspaceId": "other"}, False),
    ({"hasDraft": "false"}, True),
    ({"hasDraft": "true"}, False),
    ({"metadata": "{}"}, True),
    ({"metadata": '{"team": "red"}'}, False),
    ({"tag": "red"}, False),
    ({"authorId": "ada"}, False),
    ({"favoritedOnly": "false"}, True),
    ({"favoritedOnly": "true"}, False),
]


def test_filters_apply_to_files(admin: Api, by_hand: Folder) -> None:
    for query, kept in FILTERS:
        agents = admin.get(AGENTS.path, **query).body["agents"]
        assert [agent["id"] for agent in agents] == (["answers"] if kept else []), query
    refused = admin.get(AGENTS.path, search="x" * 201)
    assert (refused.status, refused.fields) == (400, ["search"])
    known = {one.parameter for one in list_filters(AGENT) if one.parameter}
    assert {name for query, _ in FILTERS for name in query} == known


def test_the_dependents_of_a_block_include_files(admin: Api, folder: Folder) -> None:
    published_block(admin, "tone", "Be kind.")
    folder.put({"instructions": [reference("tone")]})
    assert served(admin, "answers")["instructions"] == "Be kind."
    url = f"{PROMPT_BLOCKS.url('tone')}/dependents"
    assert admin.get(url).body["dependents"] == [{"id": "answers", "name": "Answers"}]
    AGENTS.save(admin, "answers", "no more")
    assert admin.get(url).body["dependents"] == [{"id": "answers", "name": "Answers"}]
    assert admin.get(url, status="draft").body["dependents"] == []
    assert admin.delete(f"{PROMPT_BLOCKS.url('tone')}?ifUnused=true").code == "in_use"


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_an_override_file_is_readable_for_the_readers_of_its_agent(
    db: None, tmp_path: Any, settings: Any, visibility: str
) -> None:
    define(settings, tmp_path, visibility=visibility)
    Folder(tmp_path).put({"instructions": "by hand"})
    person("vic", default=Role.VIEWER)
    person("stranger")
    viewer, stranger = key_of("vic"), key_of("stranger")
    assert record(viewer)["hasDraft"] is None
    assert viewer.get(URL, status="draft").status == 403
    assert viewer.get(f"{URL}/versions").status == 403
    assert viewer.patch(URL, {"instructions": "mine"}).status == 403
    assert viewer.get(AGENTS.path).body["total"] == 1
    seen = 200 if visibility == "public" else 404
    assert stranger.get(URL).status == seen
    assert stranger.get(AGENTS.path).body["total"] == (seen == 200)
    assert stranger.patch(URL, {"instructions": "mine"}).status == (403 if seen == 200 else 404)


def test_a_viewer_sees_no_record_without_a_file(admin: Api, folder: Folder) -> None:
    made(admin, instructions="draft")
    person("vic", default=Role.VIEWER)
    viewer = key_of("vic")
    assert viewer.get(URL).status == 404
    assert viewer.get(AGENTS.path, status="all").body["total"] == 0
    assert served(viewer, "answers")["instructions"] == "code"


def test_an_editor_drafts_and_a_publisher_publishes(db: None, folder: Folder) -> None:
    for name, role in ROLES.items():
        person(name, default=role)
    editor, publisher = key_of("ed"), key_of("pia")
    folder.put({"instructions": "by hand"})
    assert editor.patch(URL, {"instructions": "x", "autoPublish": True}).status == 403
    draft = AGENTS.save(editor, "answers", "draft")["resolvedVersionId"]
    assert activate(editor, draft).status == 403
    assert folder.config() == {"instructions": "by hand"}
    assert activate(publisher, draft).status == 200
    assert folder.config() == {"instructions": "draft"}


# Running, and other places


def test_runs_use_the_file(admin: Api, by_hand: Folder) -> None:
    answer = admin.post("/agents/answers/generate", {"messages": "hello"}).body
    assert answer["text"].startswith("by hand")
    assert answer["resolvedVersions"] == {"answers": record(admin)["activeVersionId"]}
    framework = get_framework()
    assert framework.get_agent_by_id("answers", status="published").instructions == "by hand"
    assert framework.get_agent_by_id("answers").instructions == "code"


def test_a_file_that_refers_to_a_block_of_another_workspace_does_not_show_it(
    admin: Api, folder: Folder
) -> None:
    Workspace.objects.create(id="elsewhere", name="Elsewhere")
    person("charlie", elsewhere=Role.ADMIN)
    published_block(key_of("charlie"), "theirs", "their words", workspaceId="elsewhere")
    published_block(admin, "ours", "our words", workspaceId="default")
    folder.put({"instructions": [reference("theirs"), reference("ours"), reference("nowhere")]})
    answer = served(admin, "answers")
    assert answer["instructions"] == "our words"
    assert [block["reason"] for block in answer["blocks"]] == ["missing", None, "missing"]
