"""`editor.agent.update()` publishes only its own change: an unpublished draft remains a draft."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections

from tests.conftest import Cast
from tests.support.api import AGENTS, Api, Kind
from tests.support.lifecycle import record, served
from tests.support.override_files import Folder
from tests.support.people import give_role
from versioning.conf import get_editor
from versioning.domain.errors import EditConflict, Forbidden, Invalid
from versioning.editor import Editor
from versioning.models import Agent, AgentVersion, Event, Workspace
from versioning.models.guarded import unguard


@pytest.fixture
def editor(db: None) -> Editor:
    return get_editor()


def begin(kind: Kind, api: Api, **draft: Any) -> dict[str, Any]:
    """Make `writer`, published as `one`, with another person's draft; return the record of the draft."""
    kind.make(api, text="one", description="short", autoPublish=True)
    return kind.save(api, text="someone's draft", **draft)


def update(editor: Editor, kind: Kind, fields: dict[str, Any] | None = None, **more: Any) -> Any:
    """Update `writer` and publish the result."""
    collection: Any = editor.agent if kind is AGENTS else editor.prompt
    return collection.update("writer", fields, publish=True, **more)


def state(kind: Kind, api: Api) -> tuple[Any, ...]:
    """Return the state that must not change: pointers, and the ids of the versions."""
    found = record(kind, api)
    versions = [version["id"] for version in kind.versions(api)]
    return found["activeVersionId"], found["latestVersionId"], found["hasDraft"], versions


def test_an_update_publishes_only_its_change_and_applies_it_to_the_draft(
    cast: Cast, kind: Kind, editor: Editor
) -> None:
    begin(kind, cast.alice)
    by = User.objects.get(username="paula")
    made = update(editor, kind, {"description": "long"}, message="Longer", by=by)
    newest, published, waiting, _ = kind.versions(cast.alice)
    assert made.version.version_id == published["id"] == record(kind, cast.alice)["activeVersionId"]
    assert (published[kind.text], published["description"]) == ("one", "long")
    assert (published["changeMessage"], published["authorId"]) == ("Longer", "paula")
    assert set(published["changedFields"]) == {kind.text, "description"}
    assert (newest[kind.text], newest["description"]) == ("someone's draft", "long")
    assert (newest["state"], newest["changedFields"], newest["authorId"]) == ("draft", [kind.text], "paula")
    assert newest["changeMessage"] == "Version 2 with the change of version 3"
    assert (waiting[kind.text], waiting["state"]) == ("someone's draft", "historical")
    assert [version["versionNumber"] for version in kind.versions(cast.alice)] == [4, 3, 2, 1]
    assert record(kind, cast.alice)["hasDraft"] is True
    assert served(kind, cast) == "one"


def test_an_update_of_visibility_or_metadata_publishes_nothing(cast: Cast, editor: Editor) -> None:
    begin(AGENTS, cast.alice)
    before = state(AGENTS, cast.alice)
    for more in ({"metadata": {"team": "red"}}, {"visibility": "public"}, {}):
        made = update(editor, AGENTS, **more)
        assert state(AGENTS, cast.alice) == before
        assert made.version.version_id == before[0]
        found = record(AGENTS, cast.alice)
        assert {name: found[name] for name in more} == more
    update(editor, AGENTS, {"instructions": "one", "description": "short"})  # what is live
    assert state(AGENTS, cast.alice) == before
    assert served(AGENTS, cast) == "one"


def test_an_update_keeps_the_changes_of_the_draft_until_nothing_differs(
    cast: Cast, kind: Kind, editor: Editor
) -> None:
    begin(kind, cast.alice)
    update(editor, kind, {kind.text: "one", "description": None})  # the text again as it is live
    found = record(kind, cast.alice)
    assert (found[kind.text], "description" in found) == ("someone's draft", False)
    kind.save(cast.alice, text="someone's draft", description="long")
    update(editor, kind, {"description": "long"})  # which is in the draft already
    found = record(kind, cast.alice)
    assert (found[kind.text], found["description"], found["hasDraft"]) == ("someone's draft", "long", True)
    assert served(kind, cast) == "one"
    update(editor, kind, {kind.text: "three"})  # all that the draft says otherwise
    found = record(kind, cast.alice)
    assert (found["hasDraft"], found["activeVersionId"]) == (False, found["latestVersionId"])
    published = Event.objects.filter(type__endswith=".published").order_by("position")
    pointers = [(event.previous_version_id, event.version_id) for event in published]
    assert len(pointers) == 4 and all(one[1] == other[0] for one, other in pairwise(pointers))


def test_without_a_live_version_the_latest_is_published_with_the_change(
    cast: Cast, kind: Kind, editor: Editor
) -> None:
    kind.make(cast.alice, text="one")
    update(editor, kind, metadata={"team": "red"})
    assert served(kind, cast) is None
    update(editor, kind, {"description": "long"})
    found = record(kind, cast.alice)
    assert (found[kind.text], found["description"], found["hasDraft"]) == ("one", "long", False)
    assert cast.alice.post(kind.url("writer", "unpublish")).status == 200
    update(editor, kind, {"description": "long"})
    assert (served(kind, cast), len(kind.versions(cast.alice))) == ("one", 2)


def test_an_update_checks_rights_conflicts_and_validity(cast: Cast, editor: Editor) -> None:
    begin(AGENTS, cast.alice)
    before = state(AGENTS, cast.alice)
    with pytest.raises(Forbidden):
        update(editor, AGENTS, {"description": "x"}, by=User.objects.get(username="edgar"))
    with pytest.raises(EditConflict):
        update(editor, AGENTS, {"description": "x"}, expect={"stale"})
    unpublished = [{"type": "prompt_block_ref", "id": "missing"}]
    for fields in ({"name": ""}, {"instructions": unpublished}):
        with pytest.raises(Invalid):
            update(editor, AGENTS, fields)
    assert state(AGENTS, cast.alice) == before
    update(editor, AGENTS, {"description": "x"}, expect={Agent.objects.get().etag})
    assert record(AGENTS, cast.alice)["description"] == "x"


def test_a_draft_with_unpublished_blocks_does_not_block_an_update(cast: Cast, editor: Editor) -> None:
    AGENTS.make(cast.alice, text="one", autoPublish=True)
    AGENTS.save(cast.alice, instructions=[{"type": "prompt_block_ref", "id": "missing"}])
    update(editor, AGENTS, {"description": "long"})
    found = record(AGENTS, cast.alice)
    assert (found["description"], found["instructions"][0]["id"]) == ("long", "missing")
    assert served(AGENTS, cast) == "one"


def test_an_update_is_applied_to_a_draft_that_current_rules_would_refuse(cast: Cast, editor: Editor) -> None:
    begin(AGENTS, cast.alice)
    old = AgentVersion.objects.first()
    assert old is not None
    config = '{"instructions":"old","name":"","tools":7}'
    unguard(AgentVersion.objects.filter(pk=old.pk)).update(config_json=config)
    update(editor, AGENTS, {"description": "long"})
    assert served(AGENTS, cast) == "one"
    newest = AgentVersion.objects.first()
    assert newest is not None
    assert newest.config == {"instructions": "old", "name": "", "tools": 7, "description": "long"}


def test_an_unpublished_draft_survives_the_pruning_of_versions(
    cast: Cast, kind: Kind, editor: Editor, settings: Any
) -> None:
    begin(kind, cast.alice)
    settings.EDITOR_KEEP_VERSIONS = 1
    for words in ("a", "b", "c"):
        update(editor, kind, {"description": words})
    newest, published, *_ = kind.versions(cast.alice)
    assert (newest[kind.text], newest["description"]) == ("someone's draft", "c")
    assert (published[kind.text], published["description"]) == ("one", "c")


# Overrides of agents that code defines


@pytest.fixture
def owner(cast: Cast) -> Api:
    give_role("alice", "default", "admin")
    return cast.alice


def override_drafted(api: Api, *, published: bool) -> None:
    """Save a draft of an override, over a published one or over the code alone."""
    if published:
        AGENTS.make(api, "answers", "published", autoPublish=True)
        AGENTS.save(api, "answers", "someone's draft")
    else:
        AGENTS.make(api, "answers", "someone's draft")


def answers(api: Api, **query: str) -> tuple[str, list[str]]:
    """Return the instructions of `answers`, and the names of its tools."""
    found = api.get("/agents/answers", **query).body
    return found["instructions"], sorted(found["tools"])


def the_code(settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"


@pytest.mark.parametrize("published", [True, False], ids=["over an override", "over the code"])
@pytest.mark.parametrize("source", ["database", "files"])
def test_an_update_of_an_override_publishes_only_its_own_change(
    owner: Api, settings: Any, request: pytest.FixtureRequest, source: str, *, published: bool
) -> None:
    folder: Folder | None = request.getfixturevalue("folder") if source == "files" else None
    if folder is None:
        the_code(settings)
    override_drafted(owner, published=published)
    live = "published" if published else "code"
    get_editor().agent.update("answers", tools={"clock": {}}, metadata={"a": 1})
    assert answers(owner) == (live, ["clock", "look_up"])
    assert answers(owner, status="draft") == ("someone's draft", ["clock", "look_up"])
    found = owner.get(AGENTS.url("answers"), status="draft").body
    assert (found["hasDraft"], found["metadata"]) == (True, {"a": 1})
    numbers = [version["versionNumber"] for version in AGENTS.versions(owner, "answers")]
    assert numbers == list(range(len(numbers), 0, -1))
    if folder is not None:
        assert folder.config() == {"tools": {"clock": {}}} | ({"instructions": live} if published else {})


@pytest.mark.parametrize("source", ["database", "files"])
def test_an_update_of_the_metadata_of_an_override_publishes_nothing(
    owner: Api, settings: Any, request: pytest.FixtureRequest, source: str
) -> None:
    folder: Folder | None = request.getfixturevalue("folder") if source == "files" else None
    if folder is None:
        the_code(settings)
    get_editor().agent.update("answers", metadata={"a": 1})
    assert owner.get(AGENTS.url("answers"), status="draft").body["activeVersionId"] is None
    AGENTS.save(owner, "answers", "someone's draft")
    get_editor().agent.update("answers", metadata={"a": 2})
    assert answers(owner)[0] == "code"
    assert owner.get(AGENTS.url("answers"), status="draft").body["metadata"] == {"a": 2}
    assert folder is None or not folder.path().exists()


def test_an_update_preserves_a_file_written_by_hand_and_the_draft(owner: Api, folder: Folder) -> None:
    override_drafted(owner, published=True)
    folder.put({"instructions": "by hand"})
    get_editor().agent.update("answers", tools={"clock": {}})
    assert folder.config() == {"instructions": "by hand", "tools": {"clock": {}}}
    assert answers(owner, status="draft") == ("someone's draft", ["clock", "look_up"])
    assert {version["instructions"] for version in AGENTS.versions(owner, "answers")} == {
        "published",
        "someone's draft",
        "by hand",
    }


# At once


@pytest.mark.postgresql
@pytest.mark.usefixtures("committed_db")
def test_concurrent_updates_and_saves_lose_nothing() -> None:
    workspace = Workspace.objects.create(id="acme", name="Acme")
    editor = get_editor()
    editor.agent.create(id="writer", name="Writer", instructions="one", workspace=workspace.pk)
    editor.agent.edit("writer", instructions="draft")
    fields = ["description", "tools", "memory", "skills", "browser", "metadata"]

    def change(field: str) -> None:
        value = "words" if field == "description" else {"a": {}} if field == "tools" else {"name": field}
        try:
            if field == "browser":
                editor.agent.edit("writer", {field: value})
            else:
                editor.agent.update("writer", **{field: value})
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(fields)) as threads:
        list(threads.map(change, fields))
    live, draft = editor.agent.get("writer"), editor.agent.find("writer").latest
    assert set(live.version.config) == {
        "name",
        "instructions",
        "description",
        "tools",
        "memory",
        "skills",
    }
    assert live.version.config["instructions"] == "one"
    assert draft.config == {**live.version.config, "instructions": "draft", "browser": {"name": "browser"}}
    numbers = sorted(AgentVersion.objects.values_list("number", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))
