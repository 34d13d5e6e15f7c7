"""Every door and the policy: without approvals nothing happens at all, with them each door opens.

`tests/editor/test_gate.py` finds code that bypasses the gate; tests/support/doors.py lists
the ways to publish.
"""

from __future__ import annotations

from typing import Any

import pytest

from capabilities.review.models import PublishedConfiguration, Review, ReviewPolicy
from tests.conftest import Cast
from tests.editor.test_gate import everything
from tests.support.api import Answer, Kind
from tests.support.calls import undone
from tests.support.doors import DRAFT, IN_PYTHON, IN_THE_STUDIO, OVER_HTTP, make_draft
from tests.support.override_files import Folder, define
from tests.support.people import command, person
from tests.support.reviews import approve, ask, require_approvals
from versioning.conf import get_editor
from versioning.domain.errors import Forbidden
from versioning.models import Event

REASON = "The customer waits."


@pytest.fixture
def draft(cast: Cast, kind: Kind) -> str:
    """A draft by edgar over a live version, where one approval is required."""
    draft = make_draft(cast, kind)
    require_approvals(1)
    return draft


def state() -> list[Any]:
    """Return all state that could have changed."""
    reviews = [sorted(model.objects.values_list(), key=str) for model in (PublishedConfiguration, Review)]
    return [*everything(), *reviews]


def live(cast: Cast, kind: Kind) -> set[str]:
    """Return all texts that a reader is served, by any selector."""
    found = [cast.vera.get(kind.url("writer"), **selector) for selector in ({}, {"label": "stable"})]
    found += [cast.vera.get(kind.url("writer"), label="beta"), cast.vera.get(kind.url("new"))]
    return {answer.body[kind.text] for answer in found if answer.status == 200}


def refused(answer: Answer) -> dict[str, Any]:
    """Return the part of a refusal about the review."""
    assert (answer.status, answer.code) == (403, "review_required")
    return dict(answer.body["review"])


@pytest.mark.both_kinds
def test_no_way_to_publish_over_the_api_works_without_the_approval(
    cast: Cast, kind: Kind, draft: str
) -> None:
    for door in OVER_HTTP:
        with undone():
            before = state()
            missing = {"id": None, "missing": 1, "changesRequestedBy": []}
            assert refused(OVER_HTTP[door](cast, kind, draft, None)) == missing
            assert (state(), live(cast, kind)) == (before, {"one"})
            review = ask(cast.edgar, kind)
            before = state()
            if door != "create":
                assert refused(OVER_HTTP[door](cast, kind, draft, None)) == {**missing, "id": review["id"]}
                assert state() == before
            approve(cast.paula, review)
            answer = OVER_HTTP[door](cast, kind, draft, None)
            if door == "create":  # a missing resource has no approvals
                assert refused(answer)
            else:
                assert (answer.status, DRAFT in live(cast, kind)) == (200, True)
                assert Review.objects.open().exists() == ("label" in door)


def test_an_admin_may_publish_in_every_way_over_the_api_with_a_reason(
    cast: Cast, kind: Kind, draft: str
) -> None:
    for door in OVER_HTTP:
        with undone():
            assert OVER_HTTP[door](cast, kind, draft, REASON).status in {200, 201}
            assert DRAFT in live(cast, kind)
            [entry] = Event.objects.filter(type="review.bypassed")
            assert (entry.actor, entry.detail) == ("alice", {"reviewId": None, "reason": REASON})
            [version] = [one for one in versions(cast, kind, door) if one["id"] == entry.version_id]
            assert version["bypassedBy"] == "alice"
            entry_id = "new" if door == "create" else "writer"
            assert (entry.resource_id, entry.audience, bool(entry.label)) == (
                entry_id,
                "editors",
                "label" in door,
            )


def versions(cast: Cast, kind: Kind, door: str) -> list[dict[str, Any]]:
    """Return the versions of the resource that a way to publish is about."""
    return kind.versions(cast.alice, "new" if door == "create" else "writer")


def test_only_admins_bypass_a_review_and_only_if_the_policy_allows_it(
    cast: Cast, kind: Kind, draft: str
) -> None:
    for door in OVER_HTTP:
        with undone():
            before = state()
            publisher = Cast(**{**vars(cast), "alice": cast.paula})
            answer = OVER_HTTP[door](publisher, kind, draft, REASON)
            assert (answer.status, answer.code, state()) == (403, "forbidden", before)
            ReviewPolicy.objects.update(bypass="nobody")
            answer = OVER_HTTP[door](cast, kind, draft, REASON)
            assert (answer.status, answer.code, state()) == (403, "forbidden", before)


def test_a_bypass_needs_a_reason(cast: Cast, kind: Kind) -> None:
    draft = make_draft(cast, kind)  # where nothing is required it is checked as well
    before = state()
    for door in OVER_HTTP:
        for given in ("  ", "x" * 501, 7, {"of": "admins"}):
            answer = OVER_HTTP[door](cast, kind, draft, given)
            assert (answer.status, answer.fields, state()) == (400, ["bypassReview.reason"], before)


def test_a_bypass_accepts_only_a_reason(cast: Cast, kind: Kind, draft: str) -> None:
    for given in [None, True, {}, {"reason": None}, {"reason": "x", "by": "root"}]:
        answer = cast.alice.post(kind.url("writer", "versions", draft, "activate"), {"bypassReview": given})
        assert answer.status == 400
        assert all(field.startswith("bypassReview") for field in answer.fields)


def test_publishing_accepts_no_other_options(cast: Cast, kind: Kind, draft: str) -> None:
    for name in ("endEverything", "reason", "autoPublish"):
        answer = cast.alice.post(kind.url("writer", "versions", draft, "activate"), {name: True})
        assert (answer.status, answer.fields) == (400, [name])


def test_unpublishing_and_deleting_accept_no_option_of_publishing(cast: Cast, kind: Kind, draft: str) -> None:
    for answer in (
        cast.alice.post(kind.url("writer", "unpublish"), {"bypassReview": {"reason": "x"}}),
        cast.alice.request("DELETE", kind.url("writer"), query={"bypassReview": "true"}),
    ):
        assert (answer.status, answer.fields) == (400, ["bypassReview"])


@pytest.mark.both_kinds
def test_no_way_to_publish_in_python_works_without_the_approval(cast: Cast, kind: Kind, draft: str) -> None:
    for door in IN_PYTHON:
        with undone():
            before = state()
            with pytest.raises(Forbidden) as refusal:
                IN_PYTHON[door](kind, draft, None)
            assert (refusal.value.code, state(), live(cast, kind)) == ("review_required", before, {"one"})
            if door != "create":
                approve(cast.paula, ask(cast.edgar, kind))
                IN_PYTHON[door](kind, draft, None)
                assert DRAFT in live(cast, kind)
                assert not Event.objects.filter(type="review.bypassed").exists()


def test_python_bypasses_with_a_reason_where_admins_may(cast: Cast, kind: Kind, draft: str) -> None:
    for door in IN_PYTHON:
        with undone():
            ReviewPolicy.objects.update(bypass="nobody")
            before = state()
            with pytest.raises(Forbidden) as refusal:
                IN_PYTHON[door](kind, draft, REASON)
            assert (refusal.value.code, state()) == ("forbidden", before)
            ReviewPolicy.objects.update(bypass="admin")
            IN_PYTHON[door](kind, draft, REASON)
            [entry] = Event.objects.filter(type="review.bypassed")
            assert (entry.actor, entry.detail["reason"], DRAFT in live(cast, kind)) == ("", REASON, True)


def test_no_way_to_publish_in_the_studio_works_without_the_approval(
    cast: Cast, kind: Kind, draft: str
) -> None:
    for door in IN_THE_STUDIO:
        with undone():
            before = state()
            seen = IN_THE_STUDIO[door](kind, draft, None)
            assert (state(), live(cast, kind)) == (before, {"one"})
            assert "one more approval" in seen.text.lower()
            approve(cast.paula, ask(cast.edgar, kind))
            IN_THE_STUDIO[door](kind, draft, None)
            assert DRAFT in live(cast, kind)


def test_an_admin_publishes_in_the_studio_with_a_reason(cast: Cast, kind: Kind, draft: str) -> None:
    IN_THE_STUDIO["publish"](kind, draft, REASON)
    [entry] = Event.objects.filter(type="review.bypassed")
    assert (entry.actor, entry.detail["reason"], live(cast, kind)) == ("alice", REASON, {DRAFT, "one"})


def test_an_unnecessary_bypass_is_not_recorded(cast: Cast, kind: Kind, draft: str) -> None:
    approve(cast.paula, ask(cast.edgar, kind))
    assert OVER_HTTP["activate"](cast, kind, draft, REASON).status == 200
    assert kind.versions(cast.alice)[0]["bypassedBy"] is None
    assert not Event.objects.filter(type="review.bypassed").exists()


def test_a_bypass_names_the_open_review_and_ends_it(cast: Cast, kind: Kind, draft: str) -> None:
    review = ask(cast.edgar, kind)
    assert OVER_HTTP["activate"](cast, kind, draft, REASON).status == 200
    [entry] = Event.objects.filter(type="review.bypassed")
    assert entry.detail["reviewId"] == review["id"]
    assert cast.edgar.get(f"/reviews/{review['id']}").body["state"] == "published"


def test_without_a_policy_every_way_to_publish_works(cast: Cast, kind: Kind) -> None:
    draft = make_draft(cast, kind)
    for door in (OVER_HTTP[name] for name in OVER_HTTP):
        assert door(cast, kind, draft, None).status in {200, 201}


def test_with_a_policy_new_resources_are_drafts_by_default(cast: Cast, kind: Kind, draft: str) -> None:
    made = cast.alice.post(kind.path, kind.body(id="fresh"))
    assert (made.status, made.body["status"]) == (201, "draft")
    require_approvals(0)
    made = cast.alice.post(kind.path, kind.body(id="fresher"))
    assert made.body["status"] == ("published" if kind.text == "instructions" else "draft")


# Files


def test_an_override_file_is_written_only_with_approvals(cast: Cast, folder: Folder, settings: Any) -> None:
    define(settings, folder.root)
    editor = get_editor()
    draft = editor.agent.update("answers", instructions="two", publish=False).version
    folder.put({"instructions": "by hand"})
    editor.review_policy.set(settings.EDITOR_CODE_WORKSPACE, required=1)
    before = state()
    for publish in (
        lambda: editor.agent.publish("answers", draft.version_id),
        lambda: editor.agent.update("answers", instructions="three"),
    ):
        with pytest.raises(Forbidden, match="approval"):
            publish()
    assert (state(), folder.config()) == (before, {"instructions": "by hand"})
    home = {settings.EDITOR_CODE_WORKSPACE: "publisher"}
    review = editor.reviews.ask("agent", "answers", version_id=draft.version_id)
    editor.reviews.give_verdict(
        review.id, version_id=draft.version_id, verdict="approve", by=person("peter", **home)
    )
    editor.agent.publish("answers", draft.version_id)
    assert folder.config() == {"instructions": "two"}
    # The content of the file was live, so it may come back: a rollback needs no approval.
    [by_hand] = [
        one
        for one in editor.agent.versions("answers").versions
        if one.author is None and one.config == {"instructions": "by hand"}
    ]
    restored = editor.agent.restore("answers", by_hand.version_id).version
    editor.agent.publish("answers", restored.version_id)
    assert folder.config() == {"instructions": "by hand"}


def test_an_unpublished_file_may_be_restored(cast: Cast, folder: Folder, settings: Any) -> None:
    define(settings, folder.root)
    editor = get_editor()
    folder.put({"instructions": "by hand"})
    editor.review_policy.set(settings.EDITOR_CODE_WORKSPACE, required=1)
    editor.agent.unpublish("answers")
    [kept] = editor.agent.versions("answers").versions
    editor.agent.publish("answers", kept.version_id)
    assert folder.config() == {"instructions": "by hand"}


def test_importing_overrides_needs_the_approvals_too(cast: Cast, folder: Folder, settings: Any) -> None:
    define(settings, folder.root, source="database")
    folder.put({"instructions": "by hand"})
    get_editor().review_policy.set(settings.EDITOR_CODE_WORKSPACE, required=1)
    before = state()
    with pytest.raises(Exception, match="refused"):
        command("import_overrides")
    assert state() == before
    command("import_overrides", "--bypass-review", REASON)
    [entry] = Event.objects.filter(type="review.bypassed")
    assert (entry.via, entry.actor, entry.detail["reason"]) == ("command", "", REASON)
    assert get_editor().agent.find("answers").active.config == {"instructions": "by hand"}
