"""A configuration includes the resources that it refers to: another one with the same id changes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Cast
from tests.editor.test_gate import everything
from tests.schedules.conftest import run, scheduled
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Kind
from tests.support.calls import undone
from tests.support.override_files import Folder, define
from tests.support.people import give_role, person
from tests.support.reviews import approve, ask, read, reference, say
from tests.support.studio import Visitor
from versioning.conf import get_editor
from versioning.domain.errors import Forbidden
from versioning.models import BlockReference, SubAgentReference, Workspace

NAMING: dict[str, tuple[Kind, dict[str, Any]]] = {
    "a block": (PROMPT_BLOCKS, {"text": [{"type": "prompt_block_ref", "id": "tone"}]}),
    "a sub-agent": (AGENTS, {"text": "one", "agents": {"tone": {}}}),
}
"""What `writer` names as `tone`, and how."""
both = pytest.mark.parametrize("what", NAMING)


@pytest.fixture(autouse=True)
def mine(cast: Cast) -> None:
    """A separate workspace of paula, a publisher of acme; no approval is required there."""
    Workspace.objects.make("mine", "Mine")
    give_role("paula", "mine", "admin")


def make_writer(cast: Cast, what: str, *, live: bool = False) -> str:
    """Make `tone`, and `writer`, which refers to it; return the version. Then require one approval."""
    kind, fields = NAMING[what]
    kind.make(cast.alice, "tone", "kind words", autoPublish=True)
    version = str(AGENTS.make(cast.edgar, **fields)["latestVersionId"])
    if live:
        AGENTS.publish(cast.alice, "writer", version)
    get_editor().review_policy.set("acme", required=1, bypass="nobody")
    return version


def swap(cast: Cast, what: str, workspace: str = "mine") -> None:
    """Let paula delete `tone`, and publish another one with the same id; in acme alice approves."""
    kind, _ = NAMING[what]
    assert cast.paula.delete(kind.url("tone")).status == 200
    made = kind.make(cast.paula, "tone", "paula's words", workspaceId=workspace)
    if workspace == "acme":
        approve(cast.alice, ask(cast.paula, kind, "tone"))
    kind.publish(cast.paula, "tone", made["latestVersionId"])


def activate(cast: Cast, version: str) -> Answer:
    return cast.paula.post(AGENTS.url("writer", "versions", version, "activate"))


def release(cast: Cast, version: str) -> Answer:
    """Publish the version in a release."""
    item = {"resource": reference(AGENTS), "action": "publish", "versionId": version}
    made = cast.paula.post("/releases", {"workspaceId": "acme", "title": "R", "items": [item]})
    assert made.status == 201, made.body
    return cast.paula.post(f"/releases/{made.body['id']}/publish")


def label(cast: Cast, version: str) -> Answer:
    body = {"versionId": version, "released": True}
    return cast.paula.put(AGENTS.url("writer", "labels", "beta"), body)


def auto_publish(cast: Cast, version: str) -> Answer:
    """Save nothing new, and publish it."""
    return cast.paula.patch(AGENTS.url("writer"), {"name": "Writer", "autoPublish": True})


def restore(cast: Cast, version: str) -> Answer:
    """Publish a copy of the version."""
    copy = cast.paula.post(AGENTS.url("writer", "versions", version, "restore"))
    return activate(cast, copy.body["id"])


DOORS: dict[str, Callable[[Cast, str], Answer]] = {
    "activate": activate,
    "release": release,
    "label": label,
    "autoPublish": auto_publish,
    "restore": restore,
}


def state() -> list[Any]:
    """Return all state that could have changed, with the grants."""
    grants: list[Any] = [BlockReference, SubAgentReference]
    return [*everything()[:-1], *(sorted(one.objects.values_list(), key=str) for one in grants)]


@both
@pytest.mark.parametrize(("workspace", "live"), [("mine", True), ("acme", False)], ids=["live", "approved"])
def test_approvals_do_not_hold_after_a_referenced_resource_was_replaced(
    cast: Cast, what: str, workspace: str, live: bool
) -> None:
    version = make_writer(cast, what, live=live)
    if not live:
        approve(cast.alice, ask(cast.edgar, AGENTS))
    swap(cast, what, workspace)
    before = state()
    for door, publish in DOORS.items():
        with undone():
            answer = publish(cast, version)
            if door == "release":
                assert (answer.status, answer.code) == (409, "release_blocked")
                assert [one["code"] for one in answer.body["problems"]] == ["review_required"]
            else:
                assert (answer.status, answer.code) == (403, "review_required"), door
            if door != "restore":  # which has saved a draft
                assert state() == before, door
            if what == "a block" and workspace == "mine":
                assert "paula" not in str(cast.vera.get("/agents/writer").body), door


@both
def test_approvals_hold_while_the_referenced_resource_is_the_same(cast: Cast, what: str) -> None:
    version = make_writer(cast, what)
    approve(cast.alice, ask(cast.edgar, AGENTS))
    kind, _ = NAMING[what]
    later = kind.save(cast.paula, "tone", "other words")["latestVersionId"]  # the same resource
    approve(cast.alice, ask(cast.paula, kind, "tone"))
    kind.publish(cast.paula, "tone", later)
    assert activate(cast, version).status == 200
    for door in DOORS.values():
        assert door(cast, version).status == 200
    assert cast.paula.post(AGENTS.url("writer", "unpublish")).status == 200
    assert activate(cast, version).status == 200


@both
def test_new_approvals_cover_the_replaced_resource(cast: Cast, what: str) -> None:
    version = make_writer(cast, what)
    review = approve(cast.alice, ask(cast.edgar, AGENTS))
    assert (review["state"], review["missing"]) == ("approved", 0)
    swap(cast, what, "acme")
    review = read(cast.edgar, review)
    assert (review["state"], review["missing"]) == ("open", 1)
    assert [one["counts"] for one in review["verdicts"]] == [False]
    page = Visitor("edgar").get(f"/studio/versioning/agent/writer/reviews/{review['id']}/")
    assert "a block or sub-agent has been replaced since" in page.text
    approve(cast.alice, review)
    assert activate(cast, version).status == 200
    swap(cast, what, "acme")
    assert activate(cast, version).code == "review_required"


def test_approvals_do_not_cover_a_resource_that_is_created_later(cast: Cast) -> None:
    make_writer(cast, "a sub-agent")
    assert cast.paula.delete(AGENTS.url("tone")).status == 200
    version = AGENTS.save(cast.edgar, text="two")["latestVersionId"]
    approve(cast.alice, ask(cast.edgar, AGENTS))
    AGENTS.make(cast.paula, "tone", workspaceId="mine", autoPublish=True)
    assert activate(cast, version).code == "review_required"
    assert cast.paula.delete(AGENTS.url("tone")).status == 200
    assert activate(cast, version).status == 200  # no other agent has its id now
    AGENTS.make(cast.paula, "tone", workspaceId="mine", autoPublish=True)
    assert activate(cast, version).code == "review_required"


def test_a_request_for_changes_applies_only_to_its_configuration(cast: Cast) -> None:
    person("peter", acme="publisher")
    version = make_writer(cast, "a block")
    review = ask(cast.edgar, AGENTS)
    say(cast.alice, review, "requestChanges")
    swap(cast, "a block", "acme")
    refusal = activate(cast, version).body["review"]
    assert refusal == {"id": review["id"], "missing": 1, "changesRequestedBy": []}


@both
def test_an_earlier_schedule_does_not_publish_a_replaced_reference(cast: Cast, what: str) -> None:
    version = make_writer(cast, what)
    approve(cast.alice, ask(cast.edgar, AGENTS))
    made = scheduled(cast.paula, AGENTS, version)
    swap(cast, what)
    done = run(made, cast.paula)
    assert (done["state"], done["code"]) == ("failed", "review_required")


def test_content_of_a_file_gets_no_access_to_other_workspaces(
    cast: Cast, folder: Folder, settings: Any
) -> None:
    settings.EDITOR_CODE_WORKSPACE = "acme"
    define(settings, folder.root)
    editor = get_editor()
    PROMPT_BLOCKS.make(cast.alice, "tone", "kind words", autoPublish=True)
    held = {"instructions": [{"type": "prompt_block_ref", "id": "tone"}]}
    folder.put(held)
    editor.review_policy.set("acme", required=1, bypass="nobody")
    copy = editor.agent.restore("answers", editor.agent.find("answers").active.version_id).version
    swap(cast, "a block")
    assert editor.agent.find("answers").active.version_id == copy.version_id  # equals the file
    with pytest.raises(Forbidden, match="approval"):
        editor.agent.publish("answers", copy.version_id)
