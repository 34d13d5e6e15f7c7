"""Publishing several selected drafts: each separately, exactly the shown versions, and one report."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import undone
from tests.support.meanwhile import interrupted
from tests.support.people import give_role
from tests.support.served import reference
from tests.support.studio import KINDS, PageResponse, Visitor
from versioning.conf import get_editor
from versioning.domain.errors import Invalid
from versioning.editor.bulk import MAX_CHOSEN, ChosenVersion, Result, publish_chosen
from versioning.models import Event

PUBLISH = "/studio/publish/"
WAITING = "/studio/waiting/"


def value(kind: Kind, resource_id: str, version_id: str) -> str:
    """Return the value of the checkbox for a version."""
    return f"{KINDS[kind].slug}:{resource_id}:{version_id}"


def boxes(seen: PageResponse) -> list[str]:
    """Return the values of the checkboxes on a page."""
    return [html.unescape(one) for one in re.findall(r'name="chosen" value="([^"]*)"', seen.markup)]


def tags(seen: PageResponse) -> dict[str, str]:
    """Return the tags that a page would send along."""
    found = re.findall(r'name="(tag:[^"]*)" value="([^"]*)"', seen.markup)
    return {html.unescape(name): tag for name, tag in found}


def confirm(window: Visitor, *chosen: str, **more: Any) -> PageResponse:
    """Select drafts, and confirm on the next page."""
    asked = window.post(PUBLISH, chosen=list(chosen))  # type: ignore[arg-type]
    assert asked.status == 200
    return window.post(PUBLISH, chosen=boxes(asked), confirmed="yes", **tags(asked), **more)  # type: ignore[arg-type]


def drafts(cast: Cast, kind: Kind, *ids: str) -> list[str]:
    return [value(kind, one, kind.make(cast.edgar, one)["latestVersionId"]) for one in ids]


def live(cast: Cast, kind: Kind, resource_id: str = "writer") -> Any:
    return cast.alice.get(kind.url(resource_id), status="draft").body["activeVersionId"]


def test_only_the_selected_drafts_go_live(cast: Cast, kind: Kind) -> None:
    first, second, third = drafts(cast, kind, "a", "team/b:c", "d")
    asked = Visitor("paula").post(PUBLISH, chosen=[first, second])  # type: ignore[arg-type]
    assert "Publish 2 drafts?" in asked.text and boxes(asked) == [first, second]
    assert [live(cast, kind, one) for one in ("a", "team/b:c", "d")] == [None, None, None]
    seen = confirm(Visitor("paula"), first, second)
    assert (seen.status, "2 are now live" in seen.text) == (200, True)
    assert [live(cast, kind, one) for one in ("a", "team/b:c", "d")] == [
        *(one.rpartition(":")[2] for one in (first, second)),
        None,
    ]
    assert boxes(Visitor("paula").get(WAITING)) == [third]
    assert Event.objects.filter(type=f"{KINDS[kind].slug}.published", actor="paula").count() == 2


def test_a_block_goes_live_before_the_agents_that_need_it(cast: Cast) -> None:
    block = PROMPT_BLOCKS.make(cast.edgar, "tone", name="Tone")
    agent = AGENTS.make(cast.edgar, "writer", [reference("tone")])  # type: ignore[arg-type]
    chosen = [
        value(AGENTS, "writer", agent["latestVersionId"]),
        value(PROMPT_BLOCKS, "tone", block["latestVersionId"]),
    ]
    paula = Visitor("paula")
    alone = paula.post(PUBLISH, chosen=chosen[0])
    assert "The prompt block “ Tone ” is not published." in alone.text and boxes(alone) == []
    seen = paula.post(PUBLISH, chosen=chosen[0], confirmed="yes")
    assert "The prompt block “ Tone ” is not published." in seen.text and live(cast, AGENTS) is None
    assert "2 are now live" in confirm(Visitor("paula"), *chosen).text
    assert live(cast, AGENTS) == agent["latestVersionId"]


def test_one_refused_draft_does_not_stop_the_others(cast: Cast, kind: Kind) -> None:
    chosen = drafts(cast, kind, "a", "b", "c")
    paula = Visitor("paula")
    asked = paula.post(PUBLISH, chosen=chosen)  # type: ignore[arg-type]
    kind.save(cast.edgar, "b", "newer")
    seen = paula.post(PUBLISH, chosen=chosen, confirmed="yes", **tags(asked))  # type: ignore[arg-type]
    assert "2 published, 1 not" in seen.text and "The resource has changed since you read it" in seen.text
    assert [live(cast, kind, one) is None for one in ("a", "b", "c")] == [False, True, False]
    again = paula.post(PUBLISH, chosen=chosen, confirmed="yes", **tags(asked))  # type: ignore[arg-type]
    assert "2 were already live" in again.text
    assert Event.objects.filter(type=f"{KINDS[kind].slug}.published").count() == 2


def test_drafts_changed_since_the_list_was_opened_are_not_offered(cast: Cast, kind: Kind) -> None:
    stale, published, fresh = drafts(cast, kind, "a", "b", "c")
    kind.save(cast.edgar, "a", "newer")
    kind.publish(cast.alice, "b", published.rpartition(":")[2])
    asked = Visitor("paula").post(PUBLISH, chosen=[stale, published, fresh])  # type: ignore[arg-type]
    assert boxes(asked) == [fresh]
    assert "saved again since you looked" in asked.text and "It is already live." in asked.text


def test_a_change_after_the_confirmation_page_is_not_undone(cast: Cast, kind: Kind) -> None:
    for change in ["a save", "a publication", "a withdrawal", "a deletion and a namesake"]:
        with undone():
            first = kind.make(cast.alice, autoPublish=True)["activeVersionId"]
            shown = kind.save(cast.edgar, text="shown")["latestVersionId"]
            paula = Visitor("paula")
            asked = paula.post(PUBLISH, chosen=value(kind, "writer", shown))
            if change == "a save":
                kind.save(cast.edgar, text="newer")
            elif change == "a publication":
                kind.publish(cast.alice, "writer", kind.save(cast.edgar, text="newer")["latestVersionId"])
            elif change == "a withdrawal":
                cast.alice.post(kind.url("writer", "unpublish"))
            else:
                cast.alice.delete(kind.url("writer"))
                kind.make(cast.alice, text="namesake")
            before = live(cast, kind)
            seen = paula.post(PUBLISH, chosen=boxes(asked), confirmed="yes", **tags(asked))  # type: ignore[arg-type]
            assert "1 was not published" in seen.text
            assert live(cast, kind) == before != shown
            assert before in {first, None} or change == "a publication"


def test_a_version_saved_during_publishing_never_goes_live(cast: Cast, kind: Kind) -> None:
    paula = Visitor("paula", raise_request_exception=False)
    number = 0

    def prepare(_number: int) -> Any:
        nonlocal number
        number += 1
        resource_id, made = f"r{number}", kind.make(cast.edgar, f"r{number}")
        chosen = value(kind, resource_id, made["latestVersionId"])
        return (
            lambda: (made, resource_id, paula.post(PUBLISH, chosen=chosen, confirmed="yes")),
            lambda: kind.save(cast.edgar, resource_id, "newer"),
        )

    results = set()
    for answer in interrupted(prepare):
        made, resource_id, seen = answer  # type: ignore[misc]
        published = live(cast, kind, resource_id)
        assert published in {made["latestVersionId"], None}
        assert ("1 is now live" in seen.text) is (published is not None)
        results.add(published is not None)
    assert results == {True, False}


def test_the_confirmation_takes_as_many_queries_for_many_drafts_as_for_one(cast: Cast) -> None:
    chosen = [one for kind in (AGENTS, PROMPT_BLOCKS) for one in drafts(cast, kind, "a", "b", "c")]
    paula, counts = Visitor("paula"), []
    for some in ([chosen[0], chosen[-1]], [chosen[0], chosen[-1]], chosen):
        with CaptureQueriesContext(connection) as queries:
            assert len(boxes(paula.post(PUBLISH, chosen=some))) == len(some)  # type: ignore[arg-type]
        counts.append(len(queries))
    assert counts[1] == counts[2] <= 25


def test_everything_that_would_change_is_on_the_page(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "changed", "Be brief.\nBe polite.", autoPublish=True)
    kind.save(cast.edgar, "changed", "Be brief.\nBe <b>kind</b>.")
    newest = kind.url("changed")
    chosen = [value(kind, "changed", cast.alice.get(newest, status="draft").body["latestVersionId"])]
    chosen += drafts(cast, kind, "new")
    asked = Visitor("paula").post(PUBLISH, chosen=chosen)  # type: ignore[arg-type]
    assert "<del>polite</del>" in asked.markup and "&lt;b&gt;kind&lt;/b&gt;" in asked.markup
    assert "<b>kind" not in asked.markup and asked.markup.count("What changes") == 2
    assert asked.markup.count(" checked") == 2


def test_a_change_too_long_for_the_page_is_named_and_not_ticked(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "long", "x" * 10, autoPublish=True)
    kind.save(cast.edgar, "long", "\n".join(f"line {number}" for number in range(20_000)))
    long = cast.alice.get(kind.url("long"), status="draft").body["latestVersionId"]
    asked = Visitor("paula").post(PUBLISH, chosen=[*drafts(cast, kind, "short"), value(kind, "long", long)])  # type: ignore[arg-type]
    assert "This changes more than fits on this page." in asked.text
    ticked = re.findall(r'name="chosen" value="\w+:(\w+):[^"]*" checked', asked.markup)
    assert ticked == ["short"] and len(asked.markup) < 2_000_000


def test_what_changed_meanwhile_is_shown_again_and_can_be_published_then(cast: Cast, kind: Kind) -> None:
    [chosen] = drafts(cast, kind, "a")
    paula = Visitor("paula")
    asked = paula.post(PUBLISH, chosen=chosen)
    kind.save(cast.edgar, "a", "Said since then")
    refused = paula.post(PUBLISH, chosen=chosen, confirmed="yes", **tags(asked))
    assert "Changed since you looked: this is how it is now" in refused.text
    assert "Said since then" in refused.text and live(cast, kind, "a") is None
    assert boxes(refused) != [chosen] and " checked" not in refused.markup
    kind.save(cast.edgar, "a", "Said even later")
    paula.post(PUBLISH, chosen=boxes(refused), confirmed="yes", **tags(refused))  # type: ignore[arg-type]
    assert live(cast, kind, "a") is None
    again = paula.post(PUBLISH, chosen=boxes(refused), confirmed="yes", **tags(refused))  # type: ignore[arg-type]
    paula.post(PUBLISH, chosen=boxes(again), confirmed="yes", **tags(again))  # type: ignore[arg-type]
    assert live(cast, kind, "a") == boxes(again)[0].rpartition(":")[2]


def test_drafts_of_several_workspaces_stand_below_their_names(cast: Cast, kind: Kind) -> None:
    give_role("paula", "elsewhere", "publisher")
    [here] = drafts(cast, kind, "here")
    there = value(kind, "there", kind.make(cast.charlie, "there", workspaceId="elsewhere")["latestVersionId"])
    asked = Visitor("paula").post(PUBLISH, chosen=[here, there])  # type: ignore[arg-type]
    found = re.findall(r'<h2 class="section-title"[^>]*>(\w+)</h2>', asked.markup)
    assert found == ["Acme", "Elsewhere"] and boxes(asked) == [here, there]
    report = confirm(Visitor("paula"), here, there)
    assert re.search(r"here.*Acme.*there.*Elsewhere", report.text)


def test_callers_without_the_right_publish_nothing_and_learn_nothing(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice, name="Secret plan")["latestVersionId"]
    chosen = [value(kind, "writer", made), value(kind, "nothing", made)]
    for name in ("edgar", "vera", "charlie"):
        window = Visitor(name)
        asked = window.post(PUBLISH, chosen=chosen)  # type: ignore[arg-type]
        seen = window.post(PUBLISH, chosen=chosen, confirmed="yes")  # type: ignore[arg-type]
        assert live(cast, kind) is None and boxes(asked) == []
        if name == "edgar":
            assert "You may not publish in the workspace “ Acme ”." in seen.text
        else:
            # The same text for existing and for missing resources.
            assert seen.text.count("There is nothing here that you can read.") == 2
            assert "Secret plan" not in asked.text + seen.text
    own = kind.make(cast.charlie, "theirs", workspaceId="elsewhere")["latestVersionId"]
    both = [*chosen, value(kind, "theirs", own)]
    assert "1 is now live" in Visitor("charlie").post(PUBLISH, chosen=both, confirmed="yes").text  # type: ignore[arg-type]
    assert live(cast, kind) is None


def test_an_invalid_selection_is_refused_and_named(cast: Cast) -> None:
    for chosen, field in [
        (["agent:a"], "chosen.0"),
        (["user:a:b"], "chosen.0"),
        (["agent::b"], "chosen.0"),
        (["agent:a:b"] * 201, "chosen:"),
    ]:
        for more in ({}, {"confirmed": "yes"}):
            seen = Visitor("paula").post(PUBLISH, chosen=chosen, **more)  # type: ignore[arg-type]
            assert (seen.status, field in seen.text) == (400, True)


def test_the_next_url_leads_only_to_the_studio(cast: Cast) -> None:
    for address in [
        *("https://example.org/", "//example.org/studio/", "/api/", "javascript:alert(1)", "/studio/../api/"),
        *("/studio/%2e%2e/api/", "/studio/search/..\\../api/", "/studio/.%2E/", "/studio/.."),
    ]:
        assert Visitor("paula").post(PUBLISH, next=address).headers["Location"] == WAITING
        assert (
            Visitor("paula").post(PUBLISH, next=f"{WAITING}?page=2").headers["Location"]
            == f"{WAITING}?page=2"
        )


def test_in_python_the_report_has_the_order_of_the_choices(cast: Cast) -> None:
    block = PROMPT_BLOCKS.make(cast.edgar, "tone")["latestVersionId"]
    agent = AGENTS.make(cast.edgar, "writer", [reference("tone")])["latestVersionId"]  # type: ignore[arg-type]
    editor, paula = get_editor(), User.objects.get(username="paula")
    kinds = {kind.path: KINDS[kind] for kind in (AGENTS, PROMPT_BLOCKS)}
    choices = [
        ChosenVersion(kind=kinds[AGENTS.path], id="writer", version_id=agent),
        ChosenVersion(kind=kinds[AGENTS.path], id="nobody", version_id=agent),
        ChosenVersion(kind=kinds[PROMPT_BLOCKS.path], id="tone", version_id=block),
    ]
    found = publish_chosen(editor.collection, choices, by=paula)
    assert [one.result for one in found] == [Result.DONE, Result.REFUSED, Result.DONE]
    again = publish_chosen(editor.collection, choices, by=paula)
    assert [one.result for one in again] == [Result.NOTHING_TO_DO, Result.REFUSED, Result.NOTHING_TO_DO]
    with pytest.raises(Invalid, match="200"), transaction.atomic():
        publish_chosen(editor.collection, choices * MAX_CHOSEN, by=paula)
