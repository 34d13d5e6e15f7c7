"""Released labels: their version is served to every caller who may read published versions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api, Kind
from tests.support.calls import History, make_history
from tests.support.override_files import Folder
from tests.support.people import give_role, key_of, person
from tests.support.runs import agent, draft, ran, run
from tests.support.served import ask, published_block, reference, served, text
from versioning.conf import get_editor
from versioning.models import Event


def put(kind: Kind, api: Api, name: str, version_id: str, **more: Any) -> Answer:
    return api.put(kind.url("writer", "labels", name), {"versionId": version_id, **more})


def release(kind: Kind, api: Api, name: str, version_id: str) -> None:
    answer = put(kind, api, name, version_id, released=True)
    assert (answer.status, answer.body["released"]) == (200, True)


def names(kind: Kind, api: Api) -> dict[str, bool]:
    """Return the names of the labels that a caller sees, and whether each is released."""
    labels = api.get(kind.url("writer", "labels")).body["labels"]
    return {label["name"]: label["released"] for label in labels}


def outcome(answer: Answer, kind: Kind) -> Any:
    return answer.body[kind.text] if answer.status == 200 else answer.status


@pytest.fixture
def history(cast: Cast, kind: Kind) -> History:
    return make_history(kind, cast.alice)


def test_readers_of_published_versions_read_a_version_by_its_released_label(
    cast: Cast, kind: Kind, history: History
) -> None:
    release(kind, cast.paula, "first", history.labelled)
    found = cast.vera.get(kind.url("writer"), label="first").body
    assert (found[kind.text], found["resolvedVersionId"]) == ("labelled words", history.labelled)
    assert (found["status"], found["activeVersionId"]) == ("published", history.published)
    assert (found["latestVersionId"], found["hasDraft"]) == (None, None)
    export = cast.vera.request("POST", kind.url("writer", "export"), query={"label": "first"})
    assert export.body["config"][kind.text] == "labelled words"
    # By its id it is a draft, as before.
    by_id = cast.vera.get(kind.url("writer", "versions", history.labelled))
    assert (by_id.status, cast.vera.get(kind.url("writer"), versionId=history.labelled).status) == (403, 403)
    two = {"from": history.labelled, "to": history.published}
    assert cast.vera.get(kind.url("writer", "versions", "compare"), **two).status == 403


def test_a_released_label_serves_also_while_nothing_is_published(
    cast: Cast, kind: Kind, history: History
) -> None:
    release(kind, cast.paula, "first", history.labelled)
    assert cast.alice.post(kind.url("writer", "unpublish")).status == 200
    found = cast.vera.get(kind.url("writer"), label="first").body
    assert (found[kind.text], found["status"], found["activeVersionId"]) == ("labelled words", "draft", None)
    assert cast.vera.get(kind.url("writer")).status == 404
    assert cast.vera.get(kind.url("writer"), label="stable").status == 404
    assert cast.vera.get(kind.url("writer"), versionId=history.labelled).status == 404
    assert cast.vera.get(kind.url("writer", "labels")).status == 404
    assert cast.vera.get(kind.path, status="all").body["total"] == 0
    assert cast.charlie.get(kind.url("writer"), label="first").status == 404


def test_a_moved_label_stays_released_unless_the_request_changes_that(
    cast: Cast, kind: Kind, history: History
) -> None:
    release(kind, cast.paula, "first", history.labelled)
    assert put(kind, cast.alice, "first", history.historical).body["released"] is True
    assert outcome(cast.vera.get(kind.url("writer"), label="first"), kind) == "historical words"
    assert put(kind, cast.alice, "first", history.historical, released=False).body["released"] is False
    assert cast.vera.get(kind.url("writer"), label="first").status == 403
    assert put(kind, cast.alice, "first", history.labelled).body["released"] is False
    assert put(kind, cast.alice, "new", history.labelled).body["released"] is False


def test_a_removed_label_is_not_served_and_a_new_label_of_that_name_is_not_released(
    cast: Cast, kind: Kind, history: History
) -> None:
    release(kind, cast.paula, "first", history.labelled)
    assert cast.paula.delete(kind.url("writer", "labels", "first")).status == 200
    assert cast.vera.get(kind.url("writer"), label="first").status == 404
    put(kind, cast.paula, "first", history.labelled)
    assert cast.vera.get(kind.url("writer"), label="first").status == 403


def test_a_viewer_sees_released_labels_and_labels_of_the_published_version(
    cast: Cast, kind: Kind, history: History
) -> None:
    release(kind, cast.paula, "next", history.draft)
    assert names(kind, cast.vera) == {"production": False, "next": True, "stable": False}
    assert set(names(kind, cast.edgar)) == {"latest", "production", "first", "next", "stable"}


def test_releasing_needs_the_right_to_publish(cast: Cast, kind: Kind, history: History) -> None:
    for api in (cast.edgar, cast.vera, key_of("paula", workspace="acme", role="editor")):
        assert put(kind, api, "first", history.labelled, released=True).status == 403
    assert put(kind, cast.charlie, "first", history.labelled, released=True).status == 404
    assert names(kind, cast.alice)["first"] is False


def test_released_is_true_or_false(cast: Cast, kind: Kind, history: History) -> None:
    for value in ("true", 1, None):
        answer = put(kind, cast.alice, "first", history.labelled, released=value)
        assert (answer.status, answer.fields) == (400, ["released"])


def test_releasing_and_withdrawing_a_label_are_logged_and_change_the_etag(
    cast: Cast, kind: Kind, history: History
) -> None:
    tags = [cast.vera.get(kind.url("writer")).etag]
    for released in (True, True, False):
        put(kind, cast.paula, "first", history.labelled, released=released)
        tags.append(cast.vera.get(kind.url("writer")).etag)
    cast.paula.delete(kind.url("writer", "labels", "stable"))
    assert len(set(tags)) == 3  # saying it twice changes nothing
    entries = Event.objects.filter(type__contains=".label").values_list(
        "type", "version_id", "label", "detail__released", "audience"
    )
    slug = "agent" if kind is AGENTS else "promptBlock"
    assert list(entries)[2:] == [
        (f"{slug}.labelMoved", history.labelled, "first", True, "readers"),
        (f"{slug}.labelMoved", history.labelled, "first", False, "readers"),
        (f"{slug}.labelRemoved", "", "stable", False, "editors"),
    ]


def test_a_resource_recreated_under_the_same_id_has_no_released_label(
    cast: Cast, kind: Kind, history: History
) -> None:
    release(kind, cast.paula, "first", history.labelled)
    assert cast.alice.delete(kind.url("writer")).status == 200
    kind.make(cast.alice, autoPublish=True)
    assert cast.vera.get(kind.url("writer"), label="first").status == 404


def test_a_clone_can_be_made_by_a_released_label_and_does_not_get_the_label(
    cast: Cast, kind: Kind, history: History
) -> None:
    release(kind, cast.paula, "first", history.labelled)
    give_role("vera", "elsewhere", "editor")
    body = {"newId": "copy", "workspaceId": "elsewhere"}
    copy = cast.vera.request("POST", kind.url("writer", "clone"), body, query={"label": "first"})
    assert (copy.status, copy.body[kind.text]) == (201, "labelled words")
    assert [label["name"] for label in cast.vera.get(kind.url("copy", "labels")).body["labels"]] == ["latest"]


@pytest.mark.usefixtures("committed_db")
def test_cached_answers_for_a_label_are_not_served_after_the_label_changed(
    cast: Cast, kind: Kind, history: History
) -> None:
    release(kind, cast.paula, "first", history.labelled)
    said = []
    for change in (
        {"versionId": history.labelled},
        {"versionId": history.historical},
        {"versionId": history.historical, "released": False},
        {"versionId": history.draft, "released": True},
    ):
        assert cast.paula.put(kind.url("writer", "labels", "first"), change).status == 200
        said += [outcome(cast.vera.get(kind.url("writer"), label="first"), kind) for _ in range(2)]
    expected = ["labelled words", "historical words", 403, "draft words"]
    assert said == [words for words in expected for _ in range(2)]


# Agents


def test_an_application_runs_a_version_by_its_released_label_with_the_key_of_a_viewer(cast: Cast) -> None:
    published_block(cast.alice, "tone", "published tone")
    PROMPT_BLOCKS.save(cast.alice, "tone", "draft tone")
    agent(cast.alice, visibility="public")
    version = draft(cast.alice, instructions=[text("new"), reference("tone")])
    release(AGENTS, cast.paula, "next", version)
    for api in (cast.vera, cast.charlie, key_of("paula", role="viewer"), cast.alice):
        found = served(api, label="next")
        assert (found["instructions"], found["resolvedVersionId"]) == ("new\n\npublished tone", version)
        assert (found["status"], found["selector"]) == ("published", {"label": "next"})
        answer = ran(api, query={"label": "next"})
        assert answer["text"] == "new\n\npublished tone\n\nhello"
        assert answer["resolvedVersions"] == {"writer": version}
        assert ran(api, versions={"self": {"label": "next"}})["text"] == answer["text"]
    assert served(cast.charlie)["instructions"] == "one"


def test_an_agent_with_nothing_published_runs_by_its_released_label_alone(cast: Cast) -> None:
    version = agent(cast.alice, visibility="public", autoPublish=False)
    release(AGENTS, cast.paula, "next", version)
    for api in (cast.vera, cast.charlie):
        found = served(api, label="next")
        assert (found["instructions"], found["status"], found["fallback"]) == ("one", "draft", None)
        assert (ask(api).status, run(api).status) == (404, 404)
        assert api.get("/agents").body == {}
        assert ran(api, query={"label": "next"})["text"] == "one\n\nhello"


def test_a_released_label_does_not_show_a_private_agent_to_non_members(cast: Cast) -> None:
    version = agent(cast.alice)
    release(AGENTS, cast.paula, "next", version)
    person("wanda", elsewhere="admin", acme="admin")
    for api in (cast.charlie, key_of("wanda", workspace="elsewhere")):
        assert (ask(api, label="next").status, run(api, query={"label": "next"}).status) == (404, 404)
    assert served(key_of("wanda", workspace="acme", role="viewer"), label="next")["instructions"] == "one"


def test_an_agent_run_by_a_released_label_runs_its_private_sub_agents(cast: Cast) -> None:
    agent(cast.alice, "writer", "one")
    agent(cast.alice, "helper", "helped", agents={})
    version = draft(cast.alice, instructions="lead", agents={"helper": {}})
    AGENTS.save(cast.alice, "writer", visibility="public")
    release(AGENTS, cast.paula, "next", version)
    answer = ran(cast.charlie, query={"label": "next"})
    assert answer["toolResults"][0]["result"] == "helped\n\nhello"


def test_a_sub_agent_is_selected_by_its_released_label(cast: Cast) -> None:
    agent(cast.alice, "writer", "one")
    agent(cast.alice, "lead", "lead", agents={"writer": {}})
    release(AGENTS, cast.paula, "next", draft(cast.alice))
    answer = ran(cast.vera, "lead", versions={"agents": {"writer": {"label": "next"}}})
    assert (answer["toolResults"][0]["result"], answer["warnings"]) == ("two\n\nhello", [])


def test_releasing_asks_for_published_blocks_as_publishing_does(cast: Cast) -> None:
    published_block(cast.alice, "tone", "tone")
    PROMPT_BLOCKS.make(cast.alice, "rules", "rules")
    published = agent(cast.alice)
    wrong = draft(cast.alice, instructions=[reference("rules"), reference("tone"), reference("missing")])
    for body in ({"versionId": wrong, "released": True}, {"versionId": wrong}):
        release(AGENTS, cast.alice, "live", published)
        name = "next" if "released" in body else "live"
        answer = cast.alice.put(AGENTS.url("writer", "labels", name), body)
        assert (answer.status, answer.code) == (400, "unpublished_blocks")
        assert answer.fields == ["instructions.0.id", "instructions.2.id"]
    assert names(AGENTS, cast.alice) == {"latest": False, "production": False, "live": True}
    assert served(cast.vera, label="live")["instructions"] == "one"
    assert put(AGENTS, cast.alice, "next", wrong).status == 200
    assert put(AGENTS, cast.alice, "next", wrong, released=True).code == "unpublished_blocks"


def test_a_block_that_takes_a_freed_id_is_not_read_through_a_released_label(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.charlie, "tone", "bait", autoPublish=True)
    version = AGENTS.make(cast.charlie, "writer", [text("spy"), reference("tone")])["latestVersionId"]
    release(AGENTS, cast.charlie, "next", version)
    assert served(cast.charlie, label="next")["instructions"] == "spy\n\nbait"
    assert cast.charlie.delete(PROMPT_BLOCKS.url("tone")).status == 200
    published_block(cast.alice, "tone", "secret tone")
    assert served(cast.charlie, label="next")["instructions"] == "spy"


def test_references_of_a_version_under_a_released_label_count_as_in_use(cast: Cast) -> None:
    for kind in (AGENTS, PROMPT_BLOCKS):
        kind.make(cast.alice, "target", autoPublish=True)
    fields = {"agents": {"target": {}}, "instructions": [reference("target")]}
    version = AGENTS.make(cast.alice, **fields)["latestVersionId"]
    release(AGENTS, cast.alice, "next", version)
    unused = {"ifUnused": "true"}
    for kind in (AGENTS, PROMPT_BLOCKS):
        assert cast.alice.request("DELETE", kind.url("target"), query=unused).code == "in_use"
    assert put(AGENTS, cast.alice, "next", version, released=False).status == 200
    for kind in (AGENTS, PROMPT_BLOCKS):
        assert cast.alice.request("DELETE", kind.url("target"), query=unused).status == 200


# Agents that code defines


def test_an_override_is_served_by_its_released_label(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    give_role("alice", "default", "admin")
    made = AGENTS.make(cast.alice, "answers", "override")
    body = {"versionId": made["latestVersionId"], "released": True}
    assert cast.alice.put(AGENTS.url("answers", "labels", "next"), body).status == 200
    assert served(cast.charlie, "answers", label="next")["instructions"] == "override"
    assert cast.charlie.get(AGENTS.url("answers"), label="next").status == 200
    assert served(cast.charlie, "answers")["instructions"] == "code"
    assert cast.charlie.get(AGENTS.url("answers")).status == 404


def test_an_override_in_addition_to_a_file_is_served_by_its_released_label(
    cast: Cast, folder: Folder
) -> None:
    give_role("alice", "default", "admin")
    AGENTS.make(cast.alice, "answers", "draft")
    labelled = AGENTS.save(cast.alice, "answers", "labelled")["latestVersionId"]
    AGENTS.save(cast.alice, "answers", "newest")
    body = {"versionId": labelled, "released": True}
    assert cast.alice.put(AGENTS.url("answers", "labels", "next"), body).status == 200
    for published in ("code", "by hand"):
        assert served(cast.charlie, "answers")["instructions"] == published
        assert served(cast.charlie, "answers", label="next")["instructions"] == "labelled"
        record = cast.charlie.get(AGENTS.url("answers"), label="next").body
        assert (record["resolvedVersionId"], record["latestVersionId"]) == (labelled, None)
        folder.put({"instructions": "by hand"})
    assert cast.charlie.get(AGENTS.url("answers"), versionId=labelled).status == 404


def test_a_label_is_released_in_python(cast: Cast, kind: Kind, history: History) -> None:
    collection: Any = get_editor().agent if kind is AGENTS else get_editor().prompt
    _, label = collection.label("writer", "first", history.labelled, released=True)
    assert (label.name, label.released) == ("first", True)
    assert outcome(cast.vera.get(kind.url("writer"), label="first"), kind) == "labelled words"
