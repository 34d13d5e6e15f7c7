"""Every method of the clients, against a real server; each test runs for both clients."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from editor_client import (
    Conflict,
    EditConflict,
    EditorError,
    Forbidden,
    NotFound,
    ValidationFailed,
)
from editor_client.parts import evaluate

from tests.support.clients import Clients
from tests.support.service import Service

pytestmark = pytest.mark.processes

ECHO = {"provider": "echo", "name": "echo"}


@dataclass(frozen=True)
class Kind:
    """One of the two kinds, with the names that the client uses."""

    singular: str
    text: str
    plural: str

    def make(self, client: Any, resource_id: str, text: str = "one", **more: Any) -> Any:
        """Create a published resource, and return its handle."""
        fields = {"name": "Writer", self.text: text, "auto_publish": True, **more}
        getattr(client, f"create_stored_{self.singular}")(id=resource_id, **fields)
        return self.get(client, resource_id)

    def get(self, client: Any, resource_id: str) -> Any:
        """Return the handle of a resource."""
        return getattr(client, f"get_stored_{self.singular}")(resource_id)

    def list(self, client: Any, **asked: Any) -> Any:
        """List resources."""
        return getattr(client, f"list_stored_{self.plural}")(**asked)

    def walk(self, client: Any, **asked: Any) -> Iterator[Any]:
        """Walk through resources."""
        walk: Iterator[Any] = getattr(client, f"iter_stored_{self.plural}")(**asked)
        return walk

    def text_of(self, found: Any) -> Any:
        """Return the text of a record or version."""
        return getattr(found, self.text)


KINDS = {
    "agents": Kind("agent", "instructions", "agents"),
    "prompt-blocks": Kind("prompt_block", "content", "prompt_blocks"),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def sort(request: pytest.FixtureRequest) -> Kind:
    """Both kinds: a test that uses this runs for each."""
    kind: Kind = request.param
    return kind


@pytest.fixture
def stored(client: Any, sort: Kind, new_id: str) -> Any:
    """A published resource."""
    return sort.make(client, new_id)


@pytest.fixture(scope="module")
def viewers_key(live_service: Service) -> str:
    return live_service.manage("create_api_key", "vera", "--workspace", "default", "--role", "viewer")


@pytest.fixture
def viewer(connect: Clients, live_service: Service, viewers_key: str) -> Any:
    """A client that may read published versions."""
    return connect(live_service.url, viewers_key)


class TestRecords:
    """Reading, editing and removing resources."""

    def test_a_record_describes_its_resource(self, sort: Kind, stored: Any) -> None:
        found = stored.details()
        assert (found.id, found.name, sort.text_of(found)) == (stored.id, "Writer", "one")
        assert (found.status, found.workspace_id, found.author_id) == ("published", "default", "tester")
        assert found.active_version_id == found.latest_version_id == found.resolved_version_id
        assert found.has_draft is False and found.metadata == {} and found.etag
        assert isinstance(found.created_at, datetime.datetime) and found.created_at.tzinfo
        assert found.config == {"name": "Writer", sort.text: "one"}

    def test_an_edit_changes_the_given_fields_in_a_draft(self, sort: Kind, stored: Any) -> None:
        stored.update(description="About it.", metadata={"team": "a"}, change_message="Why")
        saved = stored.update(
            description=None, metadata={"more": 1}, request_context_schema={"type": "object"}
        )
        found = stored.details(status="draft")
        assert (found.description, found.metadata) == (None, {"team": "a", "more": 1})
        assert found.request_context_schema == {"type": "object"} and sort.text_of(found) == "one"
        assert stored.details().request_context_schema is None
        stored.set_label("tested", saved.latest_version_id)
        for selector in ({"version_id": saved.latest_version_id}, {"label": "tested"}):
            assert stored.details(**selector).config == found.config

    def test_an_edit_on_a_base_that_has_changed_is_refused(
        self, client: Any, sort: Kind, stored: Any
    ) -> None:
        base = stored.details()
        first = stored.update(**{sort.text: "two"}, base=base)
        with pytest.raises(EditConflict) as raised:
            stored.update(**{sort.text: "mine"}, base=base)
        assert raised.value.status == 412 and raised.value.code == "edit_conflict"
        assert (raised.value.current["savedBy"], raised.value.current["changedFields"]) == (
            "tester",
            [sort.text],
        )
        second = stored.update(**{sort.text: "three"}, base=first)
        assert sort.text_of(stored.update(description="x", base=second.etag)) == "three"
        listed = next(one for one in sort.walk(client) if one.id == stored.id)
        with pytest.raises(ValueError, match="details"):
            stored.update(description="x", base=listed)

    def test_every_guarded_verb_takes_a_base(self, sort: Kind, stored: Any) -> None:
        version = stored.update(**{sort.text: "two"}).latest_version_id
        stored.set_label("tested", stored.details().active_version_id)
        for verb in (
            lambda: stored.activate_version(version, base='"stale"'),
            lambda: stored.restore_version(version, base='"stale"'),
            lambda: stored.create_version(base='"stale"'),
            lambda: stored.delete_version(version, base='"stale"'),
            lambda: stored.set_label("other", version, base='"stale"'),
            lambda: stored.remove_label("tested", base='"stale"'),
            lambda: stored.unpublish(base='"stale"'),
            lambda: stored.delete(base='"stale"'),
        ):
            with pytest.raises(EditConflict):
                verb()

    def test_a_clone_is_a_draft_of_the_selected_version(self, client: Any, sort: Kind, stored: Any) -> None:
        stored.update(**{sort.text: "two"})
        made = stored.clone(f"{stored.id}/copy", new_name="Copy", status="draft")
        assert (made.id, made.name, made.status, sort.text_of(made)) == (
            f"{stored.id}/copy",
            "Copy",
            "draft",
            "two",
        )
        assert sort.get(client, f"{stored.id}/copy").details(status="draft").name == "Copy"

    def test_an_export_is_the_file(self, sort: Kind, stored: Any) -> None:
        stored.update(**{sort.text: "two"})
        found = stored.export(status="draft")
        assert found.config == {"name": "Writer", sort.text: "two"}
        assert found.file_name.endswith(f"/{stored.id}.json")
        assert found.content == json.dumps(dict(found.config), indent=2, sort_keys=True) + "\n"
        assert stored.export({"name": "Other", "bogus": 1}).config == {"name": "Other"}

    def test_dependents_are_listed(self, client: Any, sort: Kind, stored: Any) -> None:
        uses = {"agents": {stored.id: {}}} if sort.singular == "agent" else {}
        block = {"type": "prompt_block_ref", "id": stored.id}
        instructions = "x" if uses else [block, {"type": "text", "content": "x"}]
        client.create_stored_agent(id=f"{stored.id}-lead", name="Lead", instructions=instructions, **uses)
        found = stored.dependents()
        assert [(one.id, one.name) for one in found.dependents] == [(f"{stored.id}-lead", "Lead")]
        assert found.hidden_count == 0
        assert stored.dependents(status="draft").dependents[0].id == f"{stored.id}-lead"
        with pytest.raises(Conflict) as raised:
            stored.delete(if_unused=True)
        assert raised.value.code == "in_use" and raised.value.details["dependents"]

    def test_any_id_can_be_used(self, client: Any, sort: Kind, new_id: str) -> None:
        for suffix in ("/below", " with space", "-ü%2F", "?x=1#y", "+&;"):
            stored = sort.make(client, new_id + suffix)
            assert stored.details().id == new_id + suffix
            assert stored.list_versions().total == 1
            assert stored.delete().success

    def test_invalid_arguments_are_refused_before_sending(self, client: Any, sort: Kind, stored: Any) -> None:
        for impossible in ("", "..", "a/../b", "a//b", "versions", "a\x00b", "\ud800"):
            with pytest.raises(ValidationFailed) as raised:
                sort.get(client, impossible)
            assert [issue.field for issue in raised.value.issues] == ["id"]
        for verb in (stored.get_version, stored.delete_version, stored.activate_version):
            with pytest.raises(ValidationFailed, match="versionId"):
                verb("..")
        for value in (float("nan"), {1, 2}, "\ud800"):
            with pytest.raises(ValidationFailed, match="body"):
                stored.update(metadata={"a": value})


class TestVersions:
    """The history of a resource."""

    def test_versions_are_listed_newest_first(self, sort: Kind, stored: Any) -> None:
        stored.update(**{sort.text: "two"}, change_message="Why")
        page = stored.list_versions()
        assert (page.total, page.has_more, len(page.versions)) == (2, False, 2)
        newest, oldest = page.versions
        assert (newest.version_number, newest.change_message, newest.state) == (2, "Why", "draft")
        assert (newest.changed_fields, newest.source, newest.read_only) == ((sort.text,), "database", False)
        assert (oldest.state, oldest.config) == ("published", {"name": "Writer", sort.text: "one"})
        assert stored.id in {newest.get("agentId"), newest.get("blockId")}
        assert stored.get_version(oldest.id).config == oldest.config
        page = stored.list_versions(
            page=1, per_page=1, order_by="version_number", direction="ASC", source="database"
        )
        assert [one.version_number for one in page.entries] == [2]
        assert stored.delete_version(newest.id).success
        with pytest.raises(NotFound):
            stored.get_version(newest.id)

    def test_exactly_the_named_version_is_published(self, sort: Kind, stored: Any, viewer: Any) -> None:
        second = stored.update(**{sort.text: "two"}).latest_version_id
        stored.update(**{sort.text: "three"})
        answer = stored.activate_version(second)
        assert (answer.success, answer.active_version_id) == (True, second)
        assert sort.text_of(stored.details()) == "two"
        assert stored.unpublish().status == "draft"
        with pytest.raises(NotFound):
            sort.get(viewer, stored.id).details()

    def test_versions_are_made_as_drafts_and_walked_through(self, sort: Kind, stored: Any) -> None:
        first = stored.details().active_version_id
        stored.update(**{sort.text: "two"}, auto_publish=True)
        made = stored.restore_version(first, change_message="Back")
        assert (made.version_number, made.change_message, sort.text_of(made)) == (3, "Back", "one")
        assert sort.text_of(stored.details()) == "two"
        made = stored.create_version(change_message="Again")
        assert (made.version_number, made.change_message, sort.text_of(made)) == (4, "Again", "two")
        assert stored.create_version().version_number == 5
        assert [one.version_number for one in stored.iter_versions(per_page=2)] == [5, 4, 3, 2, 1]
        ascending = stored.iter_versions(per_page=3, order_by="createdAt", direction="ASC")
        assert [one.version_number for one in ascending] == [1, 2, 3, 4, 5]

    def test_two_versions_can_be_compared(self, sort: Kind, stored: Any) -> None:
        first = stored.details().active_version_id
        second = stored.update(**{sort.text: "two"}).latest_version_id
        found = stored.compare_versions(first, second)
        assert [(one.field, one.previous_value, one.current_value) for one in found.diffs] == [
            (sort.text, "one", "two")
        ]
        assert (found.from_version.id, found.to_version.version_number) == (first, 2)


class TestLabels:
    """Names for versions."""

    def test_a_label_is_set_moved_and_removed(self, sort: Kind, stored: Any) -> None:
        first = stored.details().active_version_id
        second = stored.update(**{sort.text: "two"}).latest_version_id
        made = stored.set_label("tested", first)
        assert (made.name, made.version_id, made.kind, made.updated_by) == (
            "tested",
            first,
            "custom",
            "tester",
        )
        assert stored.set_label("tested", second).version_number == 2
        found = {one.name: (one.kind, one.version_id) for one in stored.list_labels().labels}
        assert found == {
            "latest": ("computed", second),
            "production": ("computed", first),
            "tested": ("custom", second),
        }
        assert stored.get_version(second).labels == ("tested",)
        assert stored.remove_label("tested").success
        with pytest.raises(NotFound):
            stored.details(label="tested")

    def test_a_released_label_is_read_with_the_key_of_a_viewer(
        self, sort: Kind, stored: Any, viewer: Any
    ) -> None:
        draft = stored.update(**{sort.text: "two"}).latest_version_id
        assert stored.set_label("next", draft).released is False
        assert stored.set_label("next", draft, released=True).released is True
        theirs = sort.get(viewer, stored.id)
        assert sort.text_of(theirs.details(label="next")) == "two"
        assert {one.name: one.released for one in theirs.list_labels().labels} == {
            "production": False,
            "next": True,
        }
        stored.set_label("next", draft, released=False)
        with pytest.raises(Forbidden):
            theirs.details(label="next")


class TestFavorites:
    """Favorites of people."""

    def test_a_favorite_is_marked_listed_and_unmarked(self, client: Any, viewer: Any, new_id: str) -> None:
        made = client.create_stored_agent(id=new_id, name="Writer", instructions="one")
        assert (made.is_favorited, made.favorite_count) == (False, 0)
        stored = client.get_stored_agent(new_id)
        base = stored.details()
        marked = stored.favorite()
        assert (marked.favorited, marked.favorite_count) == (True, 1)
        assert (stored.details().is_favorited, stored.details().favorite_count) == (True, 1)
        theirs = viewer.get_stored_agent(new_id).details()
        assert (theirs.is_favorited, theirs.favorite_count) == (False, 1)
        assert new_id in {one.id for one in client.iter_stored_agents(favorited_only=True)}
        assert stored.update(description="x", base=base).favorite_count == 1
        assert stored.unfavorite().favorite_count == 0
        assert new_id not in {one.id for one in client.iter_stored_agents(favorited_only=True)}


class TestLists:
    """Many resources."""

    def test_a_list_can_be_narrowed_ordered_and_paged(self, client: Any, sort: Kind, new_id: str) -> None:
        for number in range(5):
            sort.make(client, f"{new_id}-{number}", metadata={"run": new_id})
        sort.get(client, f"{new_id}-0").update(description="x")
        asked: dict[str, Any] = {"metadata": {"run": new_id}}
        page = sort.list(client, per_page=2, page=1, order_by="created_at", direction="ASC", **asked)
        assert [one.id for one in page.entries] == [f"{new_id}-2", f"{new_id}-3"]
        assert (page.total, page.page, page.per_page, page.has_more) == (5, 1, 2, True)
        assert [one.id for one in sort.walk(client, per_page=2, **asked)] == [
            f"{new_id}-{number}" for number in (4, 3, 2, 1, 0)
        ]
        walk = sort.walk(client, per_page=2, **asked)
        seen = [next(walk).id]
        sort.make(client, f"{new_id}-new", metadata={"run": new_id})  # not listed twice for that
        assert [*seen, *(one.id for one in walk)] == [f"{new_id}-{number}" for number in (4, 3, 2, 1, 0)]
        drafts = sort.list(client, has_draft=True, search=new_id, workspace_id="default", **asked)
        assert [one.id for one in drafts.entries] == [f"{new_id}-0"]
        assert sort.list(client, status="draft", author_id="tester", **asked).total == 0

    def test_a_list_is_narrowed_to_tags(self, client: Any, sort: Kind, new_id: str) -> None:
        for number, tags in enumerate((["red"], ["red", "blue"], "red", ["r,ed", " red", 1])):
            sort.make(client, f"{new_id}-{number}", metadata={"run": new_id, "tags": tags})

        def found(tag: Any) -> list[str]:
            asked = {"metadata": {"run": new_id}, "status": "all", "tag": tag}
            return sorted(one.id.removeprefix(f"{new_id}-") for one in sort.walk(client, **asked))

        assert (found("red"), found(["red", "blue"]), found("blue, red")) == (["0", "1"], ["1"], ["1"])
        assert (found("Red"), found(["red", "green"])) == ([], [])
        with pytest.raises(ValidationFailed) as refused:
            sort.list(client, tag=" ,")
        assert [issue.field for issue in refused.value.issues] == ["tag"]


class TestAgents:
    """Agents as applications use them."""

    def test_an_agent_is_read_resolved(self, client: Any, new_id: str) -> None:
        blocks = [{"type": "text", "content": "Hello {{ name || 'you' }}."}]
        client.create_stored_agent(id=new_id, name="Writer", instructions=blocks, model=ECHO)
        found = client.get_agent(new_id).details(request_context={"name": "Ann ü"})
        assert (found.instructions, found.model, found.provider) == ("Hello Ann ü.", ECHO, "echo")
        assert (found.source, found.status, found.selector) == (
            "stored",
            "published",
            {"status": "published"},
        )
        assert client.get_agent(new_id).details().instructions == "Hello you."

    def test_an_agent_is_read_in_parts(self, client: Any, new_id: str) -> None:
        client.create_stored_prompt_block(id=new_id, name="B", content="Hi {{ name }}.", auto_publish=True)
        shown = [{"type": "prompt_block_ref", "id": new_id}]
        client.create_stored_agent(id=new_id, name="Writer", instructions=shown)
        agent, context = client.get_agent(new_id), {"name": "Ann"}
        parts = agent.parts()
        assert (
            parts.config["instructions"] == shown
            and parts.prompt_blocks[new_id]["content"] == "Hi {{ name }}."
        )
        assert evaluate(parts, context) == dict(agent.details(request_context=context))
        gone = {"type": "prompt_block_ref", "id": "gone"}
        found = client.preview_instructions([*shown, gone], context=context)
        assert found.result == "Hi Ann."
        assert [(one.shown, one.reason) for one in found.blocks] == [(True, None), (False, "missing")]

    def test_all_agents_are_read_in_one_request(self, client: Any, new_id: str) -> None:
        client.create_stored_agent(id=new_id, name="Writer", instructions="{{ who }}")
        found = client.list_agents(request_context={"who": "me"})
        assert found[new_id].instructions == "{{ who }}" and found["support"].source == "code"
        assert client.list_agents(partial=True)[new_id].instructions is None

    def test_an_agent_is_run_in_any_version(self, client: Any, new_id: str) -> None:
        client.create_stored_agent(id=new_id, name="Writer", instructions="Be brief.", model=ECHO)
        agent = client.get_agent(new_id)
        answer = agent.generate("hello")
        assert answer.text == "Be brief.\n\nhello" and answer.finish_reason == "stop"
        assert answer.resolved_versions[new_id] and answer.usage["totalTokens"] >= 0
        messages = [{"role": "user", "content": "again"}]
        assert agent.generate(messages, max_steps=3).text.endswith("again")
        client.get_stored_agent(new_id).update(instructions="two")
        assert agent.generate("x", versions={"self": {"status": "draft"}}).text == "two\n\nx"
        assert client.get_agent(new_id, status="draft").generate("x").text == "two\n\nx"
        with pytest.raises(ValidationFailed) as raised:
            agent.generate("x", versions={"agents": {"writer": {}}})
        assert [issue.field for issue in raised.value.issues] == ["versions.agents.writer"]
        client.get_stored_agent(new_id).update(model=None, auto_publish=True)
        with pytest.raises(EditorError) as without:
            agent.generate("x")
        assert (type(without.value), without.value.status, without.value.code) == (
            EditorError,
            422,
            "no_model",
        )

    def test_agents_can_be_prefetched(self, client: Any, new_id: str) -> None:
        client.create_stored_agent(id=new_id, name="Writer", instructions="one")
        client.create_stored_prompt_block(id=new_id, name="Tone", content="kind", auto_publish=True)
        wanted = [new_id, client.get_stored_prompt_block(new_id), client.get_agent(new_id, status="draft")]
        served, block, draft = client.prefetch(wanted)
        assert (served.instructions, block.content, draft.selector) == ("one", "kind", {"status": "draft"})
        assert client.get_agent(new_id).details() is served
        with pytest.raises(NotFound):
            client.prefetch(["it-is-not-there", new_id])
