"""The activity pages: what happened, in sentences, and to each reader only what they may know."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from tests.conftest import Cast
from tests.support import toy_events
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import make_history
from tests.support.people import give_role
from tests.support.studio import Visitor, page_of, workspace_page
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION, Caller
from versioning.domain.events import Audience, EventSubject, EventType
from versioning.models import Agent, ApiKey, Membership, events
from versioning.serving.grants import target_of

pytestmark = pytest.mark.usefixtures("cast")

ALL = "/studio/activity/"
HOME = "/studio/"
ACME = workspace_page("activity")
NEW_WORKSPACE = "/studio/versioning/workspace/add/"


@pytest.fixture
def alice() -> Visitor:
    return Visitor("alice")


def lines(visitor: Visitor, address: str = ACME, **query: str) -> list[str]:
    """Return the sentences of a page."""
    answer = visitor.get(address, **query)
    assert answer.status == 200
    return list(sentences(answer.markup))


def sentences(markup: str) -> Iterator[str]:
    for found in re.findall(r'(?s)<div class="activity-text">(.*?)</div>', markup):
        sentence = html.unescape(" ".join(re.sub(r"<[^>]*>", "", found).split()))
        yield re.sub(r" by key( ek_\S+…)?$", "", sentence)


def prefix_of(name: str) -> str:
    return ApiKey.objects.get(owner__username=name).prefix


def test_keys_are_named_to_admins_and_to_those_who_use_them(cast: Cast, kind: Kind) -> None:
    kind.make(cast.paula, autoPublish=True)
    prefix = f"by key {prefix_of('paula')}…"
    told = {name: Visitor(name).get(ACME).words for name in ("alice", "paula", "edgar", "vera")}
    assert {name: prefix in seen for name, seen in told.items()} == {
        "alice": True,
        "paula": True,
        "edgar": False,
        "vera": False,
    }
    assert "by key" in told["vera"]
    ApiKey.objects.filter(owner__username="paula").update(name="make run")
    assert "with key “make run”" in Visitor("alice").get(ACME).words
    assert "make run" not in Visitor("vera").get(ACME).words


# Sentences


def test_the_activity_of_a_resource_lists_its_changes(cast: Cast, alice: Visitor, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    text = {AGENTS: "Instructions", PROMPT_BLOCKS: "Text"}[kind]
    noun = {AGENTS: "agent", PROMPT_BLOCKS: "prompt block"}[kind]
    cast.paula.post(kind.url("writer", "versions", history.draft, "activate"))
    cast.paula.put(kind.url("writer", "labels", "stable"), {"versionId": history.draft})
    cast.paula.put(kind.url("writer", "labels", "stable"), {"versionId": history.draft, "released": True})
    cast.paula.delete(kind.url("writer", "labels", "stable"))
    cast.edgar.post(kind.url("writer", "versions", history.historical, "restore"))
    cast.edgar.patch(kind.url("writer"), {"metadata": {"team": "desk"}})
    cast.paula.post(kind.url("writer", "unpublish"))
    told = [
        "paula unpublished version 4",
        f"edgar changed the metadata of this {noun}",
        "edgar restored version 2 as draft 5",
        "paula removed label stable from version 4",
        "paula released label stable on version 4",
        "paula moved label stable from version 3 to version 4",
        "paula published version 4 in place of version 3",
        "You set label stable on version 3",
        "You set label first on version 1",
        f"You saved draft 4: {text}",
        "You published version 3",
        f"You saved draft 3: {text}",
        f"You saved draft 2: {text}",
        f"You created this {noun}",
    ]
    assert lines(alice, page_of(kind, "activity")) == told
    in_workspace = lines(alice)
    assert in_workspace[0] == f"paula unpublished version 4 of {noun} Writer"
    assert f"paula moved label stable of {noun} Writer from version 3 to version 4" in in_workspace


def test_changes_of_visibility_and_deletions_are_listed(cast: Cast, alice: Visitor) -> None:
    first = AGENTS.make(cast.alice)["resolvedVersionId"]
    AGENTS.save(cast.alice, "writer", "other words")
    cast.alice.delete(AGENTS.url("writer", "versions", first))
    cast.alice.patch(AGENTS.url("writer"), {"visibility": "public"})
    cast.alice.patch(AGENTS.url("writer"), {"visibility": "private", "metadata": {"a": 1}})
    cast.alice.delete(AGENTS.url("writer"))
    assert lines(alice)[:4] == [
        "You deleted agent writer",
        "You changed the metadata of agent writer and made it private",
        "You made agent writer public",
        "You deleted version 1 of agent writer",
    ]


def test_events_about_members_keys_and_workspaces_are_shown_to_admins(alice: Visitor) -> None:
    give_role("charlie", "acme", "viewer")
    give_role("charlie", "acme", "editor")
    Membership.objects.end(
        Membership.objects.get(user__username="charlie", workspace_id="acme"), by=APPLICATION
    )
    alice.post(workspace_page("members"), username="lena", role="editor")
    alice.post(workspace_page("keys"), name="CI", role="viewer")
    prefix = ApiKey.objects.get(name="CI").prefix
    alice.post(workspace_page(f"keys/{prefix}/revoke"))
    alice.post(workspace_page("rename"), name="Acme & Sons")
    assert lines(alice) == [
        "You renamed the workspace from Acme to Acme & Sons",
        f"You revoked the API key “CI” of alice ({prefix}…, viewer)",
        f"You created the API key “CI” of alice ({prefix}…, viewer)",
        "You invited lena as editor",
        "The application removed charlie, who was editor",
        "The application changed the role of charlie from viewer to editor",
        "The application added charlie as viewer",
    ]
    root = Visitor("root")
    root.post(NEW_WORKSPACE, id="new", name="New")
    assert lines(root, workspace_page("activity", "new"))[-1] == "You created the workspace New"


def test_events_of_other_applications_are_shown_with_their_names(
    cast: Cast, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    types = [EventType(name="started")]
    toy_events.declare(monkeypatch, EventSubject(name="toy", audience=Audience.READERS, types=types))
    AGENTS.make(cast.alice)
    agent = target_of(Agent.objects.get(pk="writer"), get_editor().code)
    with events.transaction():
        events.record("toy.started", by=Caller(username="ada"), workspace_id="acme", resource=agent)
    assert lines(alice)[0] == "ada: toy started, agent Writer"
    assert lines(alice, type="toy.*") == ["ada: toy started, agent Writer"]


def test_events_about_reviews_have_their_own_sentences(cast: Cast, alice: Visitor) -> None:
    made = AGENTS.make(cast.alice)
    agent = Agent.objects.get(pk="writer")
    told = {
        "review.requested": "ada asked paula, bob to review version 1 of agent Writer",
        "review.approved": "ada approved version 1 of agent Writer",
        "review.changesRequested": "ada asked for changes to version 1 of agent Writer",
        "review.withdrawn": "ada withdrew their decision on version 1 of agent Writer",
        "review.bypassed": "ada bypassed the review of version 1 of agent Writer: “It burns”",
        "review.closed": "ada closed the review of version 1 of agent Writer",
        "comment.added": "ada commented on version 1 of agent Writer",
        "comment.changed": "ada edited a comment on version 1 of agent Writer",
        "comment.resolved": "ada resolved a comment on version 1 of agent Writer",
        "comment.reopened": "ada reopened a comment on version 1 of agent Writer",
        "comment.deleted": "ada deleted a comment on version 1 of agent Writer",
    }
    details: dict[str, Any] = {"reviewers": ["paula", "bob"], "reason": "It burns"}
    for event_type in told:
        with events.transaction():
            events.record(
                event_type,
                by=Caller(username="ada"),
                workspace_id="acme",
                resource=target_of(agent, get_editor().code),
                version=agent.latest,
                **details,
            )
    assert lines(alice)[: len(told)] == list(reversed(told.values()))
    alone = [one.replace(" of agent Writer", "") for one in reversed(told.values())]
    assert lines(alice, page_of(AGENTS, "activity"))[: len(told)] == alone
    assert made["latestVersionId"]


def test_a_change_of_a_block_is_shown_in_the_activity_of_agents_that_show_it(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", autoPublish=True)
    reference = [{"type": "prompt_block_ref", "id": "tone"}]
    AGENTS.make(cast.alice, "desk", instructions=reference, visibility="public", autoPublish=True)
    PROMPT_BLOCKS.save(cast.paula, "tone", "secret words", autoPublish=True)
    charlie = Visitor("charlie")
    assert (
        lines(charlie, page_of(AGENTS, "activity", "desk"))[0]
        == "The text of a prompt block changed in this agent"
    )
    shown = charlie.get(ALL)
    assert next(sentences(shown.markup)) == "The text of a prompt block changed in agent Writer"
    assert "paula" not in shown.words and "tone" not in shown.words


# Links


def links(visitor: Visitor, address: str) -> list[str]:
    shown = visitor.get(address).markup.partition('id="activity"')[2]
    return [html.unescape(link) for link in re.findall(r'href="([^"]*)"', shown)]


def test_every_link_leads_somewhere(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    cast.alice.post(kind.url("writer", "versions", history.draft, "activate"))
    cast.alice.delete(kind.url("writer", "versions", history.historical))
    for name in ("alice", "vera"):
        visitor = Visitor(name)
        found = {address: links(visitor, address) for address in (ACME, ALL, page_of(kind, "activity"))}
        assert found[ACME] and found[ALL]
        each = {link for on_page in found.values() for link in on_page}
        assert {link: visitor.get(link).status for link in each} == dict.fromkeys(each, 200)


def test_an_entry_links_to_the_comparison_or_version(cast: Cast, alice: Visitor, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    cast.alice.post(kind.url("writer", "versions", history.draft, "activate"))
    found = links(alice, page_of(kind, "activity"))
    compare = page_of(kind, "compare")
    assert f"{compare}?from={history.published}&to={history.draft}" in found  # published in place of
    assert f"{compare}?from={history.labelled}&to={history.historical}" in found  # saved after
    assert page_of(kind, "version", "writer", history.labelled) in found


def test_entries_about_a_deleted_resource_have_no_link(cast: Cast, alice: Visitor) -> None:
    make_history(AGENTS, cast.alice)
    assert page_of(AGENTS, "history") in links(alice, ACME)
    cast.alice.delete(AGENTS.url("writer"))
    assert links(alice, ACME) == []
    AGENTS.make(cast.charlie, workspaceId="elsewhere", visibility="public", autoPublish=True)
    assert links(alice, ACME) == []


# Rights


def test_a_viewer_sees_publications_and_no_drafts_in_the_activity(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    make_history(kind, cast.alice, "hidden")
    cast.alice.post(kind.url("hidden", "unpublish"))
    kind.make(cast.alice, "unborn")
    vera = Visitor("vera")
    assert lines(vera, page_of(kind, "activity")) == ["alice published version 3"]
    noun = {AGENTS: "agent", PROMPT_BLOCKS: "prompt block"}[kind]
    told = [  # vera may not know the name of what is not live any more
        f"alice unpublished version 3 of {noun} hidden",
        f"alice published version 3 of {noun} Writer",
    ]
    assert lines(vera) == lines(vera, ALL) == lines(vera, HOME) == told
    shown = vera.get(ACME).markup
    assert "/history/" not in shown and "/compare/" not in shown and "/versions/" not in shown
    assert vera.get(page_of(kind, "activity", "unborn")).status == 404


def test_all_members_open_the_page_of_their_workspace_and_admins_see_more(cast: Cast) -> None:
    AGENTS.make(cast.edgar)
    Visitor("alice").post(workspace_page("keys"), name="CI", role="viewer")
    for name, is_admin in (("alice", True), ("root", True), ("edgar", False), ("vera", False)):
        answer = Visitor(name).get(ACME)
        assert answer.status == 200
        shown = answer.markup
        told = " ".join(sentences(shown))
        assert ("API key" in told, 'value="member.*"' in shown) == (is_admin, is_admin), name
        assert ("created agent Writer" in told) == (name != "vera")
        assert 'value="agent.versionCreated">Draft saved' in shown
        tabs = [page for page in ("members", "keys", "activity") if workspace_page(page) in shown]
        assert tabs == (["members", "activity"] if is_admin else ["activity"])  # the keys are below settings
    assert Visitor("charlie").get(ACME).status == 404


def test_the_filters_of_a_resource_offer_its_own_types(cast: Cast, alice: Visitor) -> None:
    AGENTS.make(cast.edgar)
    of_agent = alice.get(page_of(AGENTS, "activity")).markup
    assert 'value="agent.*"' in of_agent
    assert not any(f'value="{other}.*"' in of_agent for other in ("member", "promptBlock", "key"))


# Filters and pages


def test_the_activity_can_be_filtered(cast: Cast, alice: Visitor) -> None:
    make_history(AGENTS, cast.alice)
    PROMPT_BLOCKS.make(cast.edgar, "tone")
    today = timezone.now().date().isoformat()
    assert len(lines(alice, type="agent.published")) == 1
    assert len(lines(alice, type="agent.*")) == 7 and len(lines(alice, type="promptBlock.*")) == 1
    assert lines(alice, actor="edgar") == ["edgar created prompt block Writer"]
    assert len(lines(alice, actor="alice", target="WRITER")) == 7
    assert lines(alice, actor="nobody") == lines(alice, since="2999-01-01") == []
    assert lines(alice, until="2001-01-01") == []
    assert len(lines(alice, since=today, until=today)) == len(lines(alice)) == 8
    assert len(lines(alice, type="eat", since="soon")) == 8
    assert len(lines(Visitor("vera"), type="agent.versionCreated")) == 0


def older(shown: str) -> list[str]:
    return re.findall(r'href="\?([^"]*before=[^"]*)"', shown)


def test_the_activity_has_pages(alice: Visitor) -> None:
    for number in range(52):
        give_role("vera", "acme", "editor" if number % 2 else "publisher")
    newest = alice.get(ACME, type="member.*").markup
    [query] = older(newest)
    further: dict[str, Any] = dict(part.split("=") for part in html.unescape(query).split("&"))
    assert further["type"] == "member.%2A" or further["type"] == "member.*"
    last = alice.get(ACME, type="member.*", before=further["before"]).markup
    first, second = [*sentences(newest)], [*sentences(last)]
    assert (len(first), len(second)) == (50, 2)
    assert older(last) == [] and "Newest" in last and 'id="live"' not in last
    assert (
        lines(alice, before="0") == [] and lines(alice, before="x") == lines(alice, before="9" * 40) == first
    )


def test_urls_of_the_former_audit_log_redirect_to_the_activity(alice: Visitor) -> None:
    for former, address in (("audit", ACME), ("../audit", ALL)):
        answer = alice.get(workspace_page(former).replace("acme/../", ""), type="key.created")
        assert (answer.status, answer.location) == (302, f"{address}?type=key.created")
