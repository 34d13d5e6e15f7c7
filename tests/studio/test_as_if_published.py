"""Preview and Try: drafts with the blocks that publishing would deliver, or with drafts of blocks."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.people import give_role
from tests.support.served import published_agent, published_block, reference, served, text
from tests.support.studio import PageResponse, Visitor, page_of
from versioning.domain.access import Role

ECHO = {"provider": "echo", "name": "echo"}


@pytest.fixture
def drafted(cast: Cast) -> str:
    """An agent whose draft refers to `tone` (live 1, draft 2) and `unborn` (draft 1); the draft's id."""
    published_block(cast.alice, "tone", "live tone", name="Tone")
    PROMPT_BLOCKS.save(cast.alice, "tone", "drafted tone")
    PROMPT_BLOCKS.make(cast.alice, "unborn", "unborn words", name="Unborn")
    published_agent(cast.alice, "writer", "one", model=ECHO)
    blocks = [text("Write."), reference("tone"), reference("unborn")]
    return str(AGENTS.save(cast.alice, "writer", blocks)["latestVersionId"])


def seen(name: str, page: str, **query: str) -> str:
    return Visitor(name).get(page_of(AGENTS, page), **query).text


def streams(name: str, **query: str) -> dict[str, str]:
    """Return where the columns of the Try page post the messages, by their titles."""
    return streams_on(Visitor(name).get(page_of(AGENTS, "try"), **query))


def streams_on(seen: PageResponse) -> dict[str, str]:
    """Return where the columns of a Try page post the messages, by their titles."""
    found = re.findall(r'data-stream="([^"]*)".*?aria-label="([^"]*)"', seen.markup)
    return {title: unescape(stream) for stream, title in found}


def run(name: str, stream: str) -> str:
    """Send a message to a column of the Try page and return the answer as it streams in."""
    response: Any = Visitor(name).client.post(
        stream, json.dumps({"messages": "Hello?"}), content_type="application/json"
    )
    assert response.status_code == 200, response.content
    lines = b"".join(response.streaming_content).decode().splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    return "".join(event["payload"].get("text", "") for event in events)


def test_the_preview_of_a_draft_is_what_publishing_it_delivers(cast: Cast, drafted: str) -> None:
    PROMPT_BLOCKS.publish(
        cast.alice, "unborn", cast.alice.get(PROMPT_BLOCKS.url("unborn")).body["latestVersionId"]
    )
    shown = Visitor("edgar").get(page_of(AGENTS, "preview")).markup
    AGENTS.publish(cast.paula, "writer", drafted)
    assembled = re.search(r'aria-label="The assembled text">\n(.*?)</pre>', shown, re.DOTALL)
    assert assembled is not None
    assert assembled[1] == served(cast.vera)["instructions"] == "Write.\n\nlive tone\n\nunborn words"


def test_drafts_of_blocks_can_be_shown_in_the_draft_and_in_the_live_version(cast: Cast, drafted: str) -> None:
    assert "drafted tone unborn words" in seen("edgar", "preview", blocks="drafts")
    AGENTS.save(cast.alice, "writer", [reference("tone")])
    AGENTS.publish(cast.alice, "writer", cast.alice.get(AGENTS.url("writer")).body["latestVersionId"])
    assert "live tone" in seen("edgar", "preview", version="published")
    assert "drafted tone" in seen("edgar", "preview", version="published", blocks="drafts")


def test_the_preview_of_typed_text_shows_published_blocks_or_drafts_on_request(
    cast: Cast, drafted: str
) -> None:
    edgar = Visitor("edgar")
    form = edgar.form(AGENTS)
    now = edgar.post(page_of(AGENTS, "preview"), form).markup
    assert "live tone" in now and "drafted tone" not in now and "unborn words" not in now
    assert "draft 2, live 1" in now and "draft 1, not live" in now
    drafts = edgar.post(page_of(AGENTS, "preview"), form | {"blocks": "drafts"}).markup
    assert "drafted tone" in drafts and "unborn words" in drafts and "draft 2, live 1" in drafts


def test_without_the_right_to_read_drafts_the_preview_shows_none(cast: Cast, drafted: str) -> None:
    AGENTS.save(cast.alice, "writer", [reference("tone")])
    AGENTS.publish(cast.alice, "writer", cast.alice.get(AGENTS.url("writer")).body["latestVersionId"])
    told = seen("vera", "preview", blocks="drafts")
    assert "live tone" in told and "tone live 1" in told
    assert "draft" not in told.lower()


def test_a_block_of_a_foreign_workspace_is_neither_shown_nor_named(cast: Cast) -> None:
    published_block(cast.charlie, "theirs", "their words", name="Their block")
    PROMPT_BLOCKS.save(cast.charlie, "theirs", "their draft")
    AGENTS.make(cast.alice, "writer", [reference("theirs")])
    pages = [
        seen("alice", "preview"),
        seen("alice", "preview", blocks="drafts"),
        seen("alice", "publish"),
        seen("alice", "try"),
    ]
    for told in pages:
        assert not any(secret in told for secret in ("their words", "their draft", "Their block", "live 1"))
    assert "it does not exist, or you may not read it" in pages[0]


def test_trying_a_draft_answers_as_after_publishing(committed_db: None, cast: Cast, drafted: str) -> None:
    before = streams("edgar")
    assert before.keys() == {"Draft", "Live"}
    assert run("edgar", before["Draft"]) == "Write.\n\nlive tone\n\nHello?"
    assert run("edgar", before["Live"]) == "one\n\nHello?"
    with_drafts = streams("edgar", blocks="drafts")
    assert with_drafts.keys() == {"Draft, with drafts of blocks", "Live"}
    drafts = run("edgar", with_drafts["Draft, with drafts of blocks"])
    assert drafts == "Write.\n\ndrafted tone\n\nunborn words\n\nHello?"
    assert run("edgar", with_drafts["Live"]) == "one\n\nHello?"


def test_the_publish_page_names_the_blocks_whose_changes_it_does_not_publish(
    cast: Cast, drafted: str
) -> None:
    window = Visitor("paula")
    before = window.get(page_of(AGENTS, "publish"))
    assert "2 blocks have unpublished changes" in before.text
    assert "Tone : draft 2, live 1" in before.text
    assert "Unborn : draft 1, not live" in before.text
    for block in ("tone", "unborn"):
        assert page_of(PROMPT_BLOCKS, "change", block) in before.links
        latest = cast.alice.get(PROMPT_BLOCKS.url(block), status="draft").body["latestVersionId"]
        PROMPT_BLOCKS.publish(cast.alice, block, latest)
    assert "unpublished changes" not in window.get(page_of(AGENTS, "publish")).text


@pytest.fixture
def toned(cast: Cast) -> None:
    """The block `tone` (live 1, draft 2), which the published `writer` and the draft of `drafted` show."""
    published_block(cast.alice, "tone", "live tone for {{ tier || 'all' }}", name="Tone")
    PROMPT_BLOCKS.save(cast.alice, "tone", "drafted tone for {{ tier || 'all' }}")
    published_agent(cast.alice, "writer", [text("Write."), reference("tone")], model=ECHO)
    AGENTS.save(cast.alice, "writer", [text("A draft that is not tried.")])
    published_agent(cast.alice, "drafted", "plain", model=ECHO)
    AGENTS.save(cast.alice, "drafted", [text("Drafted."), reference("tone")])


def open_try(name: str, block: str = "tone", **query: str) -> PageResponse:
    return Visitor(name).get(page_of(PROMPT_BLOCKS, "try", block), **query)


def agents_on(seen: PageResponse) -> list[str]:
    """Return the ids of the agents that the page offers."""
    _, _, rest = seen.markup.partition('name="agent" data-submits>')
    return [unescape(one.split('"')[0]) for one in rest.partition("</select>")[0].split('value="')[1:]]


def status_of(name: str, stream: str) -> int:
    body = json.dumps({"messages": "Hello?"})
    answer: Any = Visitor(name).client.post(stream, body, content_type="application/json")
    return int(answer.status_code)


def test_a_draft_of_a_block_is_tried_next_to_the_live_one_in_an_agent(
    committed_db: None, cast: Cast, toned: None
) -> None:
    seen = open_try("edgar")
    assert agents_on(seen) == ["writer", "drafted"]
    both = streams_on(seen)
    assert run("edgar", both["Draft"]) == "Write.\n\ndrafted tone for all\n\nHello?"
    assert run("edgar", both["Live"]) == "Write.\n\nlive tone for all\n\nHello?"


def test_an_agent_that_shows_the_block_in_its_draft_only_runs_its_draft(
    committed_db: None, cast: Cast, toned: None
) -> None:
    seen = open_try("edgar", agent="drafted")
    assert "Its draft, because its live version does not show this block." in seen.text
    both = streams_on(seen)
    assert run("edgar", both["Draft"]) == "Drafted.\n\ndrafted tone for all\n\nHello?"
    assert run("edgar", both["Live"]) == "Drafted.\n\nlive tone for all\n\nHello?"


def test_a_draft_of_a_block_counts_in_sub_agents_too_and_brings_no_other_draft(
    committed_db: None, cast: Cast, toned: None
) -> None:
    published_block(cast.alice, "other", "other live")
    PROMPT_BLOCKS.save(cast.alice, "other", "other draft")
    published_agent(cast.alice, "helper", [reference("tone"), reference("other")], model=ECHO)
    published_agent(cast.alice, "lead", [reference("tone")], model=ECHO, agents={"helper": {}})
    AGENTS.save(cast.alice, "helper", "drafted helper")
    answer = run("edgar", streams_on(open_try("edgar", agent="lead"))["Draft"])
    assert answer.count("drafted tone") == 2
    assert "other live" in answer and "live tone" not in answer and "drafted helper" not in answer


def test_a_block_that_is_not_live_is_tried_against_the_agent_without_it(
    committed_db: None, cast: Cast
) -> None:
    PROMPT_BLOCKS.make(cast.alice, "unborn", "unborn words")
    AGENTS.make(cast.alice, "writer", [text("Write."), reference("unborn")], model=ECHO)
    both = streams_on(open_try("edgar", "unborn"))
    assert run("edgar", both["Draft"]) == "Write.\n\nunborn words\n\nHello?"
    assert run("edgar", both["Live"]) == "Write.\n\nHello?"


def test_without_the_right_to_read_drafts_only_the_published_version_is_tried(
    committed_db: None, cast: Cast, toned: None
) -> None:
    draft = streams_on(open_try("edgar"))["Draft"]
    seen = open_try("vera")
    assert agents_on(seen) == ["writer"] and streams_on(seen).keys() == {"Live"}
    assert "Save a draft" not in seen.text
    assert run("vera", streams_on(seen)["Live"]) == "Write.\n\nlive tone for all\n\nHello?"
    assert (status_of("vera", draft), status_of("charlie", draft)) == (403, 404)
    assert Client().post(draft, "{}", content_type="application/json").status_code == 401
    give_role("edgar", "acme", Role.VIEWER)
    assert status_of("edgar", draft) == 403


def test_non_members_cannot_try_a_block_or_show_its_draft_in_their_own_agent(
    committed_db: None, cast: Cast, toned: None
) -> None:
    assert open_try("charlie").status == 404
    published_agent(cast.charlie, "theirs", "plain", model=ECHO)
    run_theirs = f"{page_of(AGENTS, 'try', 'theirs')}run/"
    assert status_of("charlie", f"{run_theirs}?draftBlock=tone") == 404
    assert status_of("charlie", f"{run_theirs}?draftBlock=no-such-block") == 404
    assert status_of("charlie", run_theirs) == 200
    assert status_of("charlie", f"{run_theirs}?draftBlock=") == 400


def test_agents_that_the_caller_may_not_run_are_neither_offered_nor_taken(cast: Cast, toned: None) -> None:
    published_agent(cast.alice, "unrelated", "plain", model=ECHO)
    for agent in ("unrelated", "no-such-agent"):
        assert open_try("edgar", agent=agent).status == 404
    assert open_try("vera", agent="drafted").status == 404


def test_without_the_right_to_read_drafts_no_name_from_a_draft_is_shown(cast: Cast, toned: None) -> None:
    published_agent(cast.alice, "labelled", "plain", model=ECHO)
    shows = AGENTS.save(cast.alice, "labelled", [reference("tone")])["latestVersionId"]
    released = {"versionId": shows, "released": True}
    assert cast.alice.put(AGENTS.url("labelled", "labels", "pilot"), released).status == 200
    AGENTS.save(cast.alice, "labelled", [reference("tone"), text("{{ secret_plan }}")])
    assert "secret_plan" in open_try("edgar", agent="labelled").markup
    seen = open_try("vera", agent="labelled")
    assert "only a version with a label does" in seen.text and not streams_on(seen)
    assert "secret_plan" not in seen.markup


def test_the_context_of_a_run_has_the_fields_of_the_agent_and_is_read_by_their_types(
    cast: Cast, toned: None
) -> None:
    rule = {"field": "age", "operator": "greater_than", "value": 17}
    adults = {"operator": "AND", "conditions": [rule]}
    block = {"type": "prompt_block", "content": "For adults.", "rules": adults}
    published_agent(cast.alice, "strict", [block, reference("tone")], model=ECHO)
    window, address = Visitor("edgar"), page_of(PROMPT_BLOCKS, "try", "tone")
    typed = {"agent": "strict", "do": "read", "given.age": "18", "given.tier": "gold"}
    assert json.loads(window.post(address, **typed).markup) == {"context": {"age": 18, "tier": "gold"}}
    refused = window.post(address, **typed | {"given.age": "many"})
    assert refused.status == 400 and "This must be a number." in refused.text
    kept = window.post(address, **typed | {"do": "save_as", "example_name": "Adult"})
    assert kept.status == 200 and "Saved as the example" in kept.text
    several = open_try("edgar", mode="several")
    assert "Adult" in several.text and "Without a context" in several.text
    assert "Adult" not in open_try("vera", mode="several").text


def test_answers_are_compared_word_by_word_and_nothing_in_them_is_markup(cast: Cast) -> None:
    window = Visitor("vera")
    typed = {"live": "Dear <b>Ada</b>,\r\nbye", "draft": "Dear <b>Bob</b>,\r\nbye"}
    seen = window.post("/studio/answers/", **typed)
    live, _, draft = seen.markup.partition('data-side="draft"')
    assert "Dear &lt;b&gt;<del>Ada</del>&lt;/b&gt;,\nbye" in live
    assert "Dear &lt;b&gt;<ins>Bob</ins>&lt;/b&gt;,\nbye" in draft
    assert window.post("/studio/answers/", live="a" * 200_001, draft="").status == 400
    assert Client().post("/studio/answers/", typed).status_code == 302
