"""Trying out: a prompt block in an agent that uses it, the context of a run, and answers side by side."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest
from django.test import Client

from tests.conftest import Cast
from tests.studio.test_as_if_published import ECHO, run, streams_on
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.people import give_role, key_of, person
from tests.support.served import published_agent, published_block, reference, text
from tests.support.window import Seen, Window, page_of
from versioning.domain.access import Role


@pytest.fixture
def toned(cast: Cast) -> None:
    """The block `tone` (live 1, draft 2), which the published `writer` and the draft of `drafted` show."""
    published_block(cast.alice, "tone", "live tone for {{ tier || 'all' }}", name="Tone")
    PROMPT_BLOCKS.save(cast.alice, "tone", "drafted tone for {{ tier || 'all' }}")
    published_agent(cast.alice, "writer", [text("Write."), reference("tone")], model=ECHO)
    AGENTS.save(cast.alice, "writer", [text("A draft that is not tried.")])
    published_agent(cast.alice, "drafted", "plain", model=ECHO)
    AGENTS.save(cast.alice, "drafted", [text("Drafted."), reference("tone")])


def open_try(name: str, block: str = "tone", **query: str) -> Seen:
    return Window.of(name).get(page_of(PROMPT_BLOCKS, "try", block), **query)


def agents_on(seen: Seen) -> list[str]:
    """Return the ids of the agents that the page offers."""
    _, _, rest = seen.markup.partition('name="agent" data-submits>')
    return [unescape(one.split('"')[0]) for one in rest.partition("</select>")[0].split('value="')[1:]]


def status_of(name: str, stream: str) -> int:
    body = json.dumps({"messages": "Hello?"})
    answer: Any = Window.of(name).client.post(stream, body, content_type="application/json")
    return int(answer.status_code)


def test_a_draft_of_a_block_answers_beside_what_is_live_in_an_agent_that_uses_it(
    transactional_db: None, cast: Cast, toned: None
) -> None:
    seen = open_try("edgar")
    assert agents_on(seen) == ["writer", "drafted"]
    both = streams_on(seen)
    assert run("edgar", both["Draft"]) == "Write.\n\ndrafted tone for all\n\nHello?"
    assert run("edgar", both["Live"]) == "Write.\n\nlive tone for all\n\nHello?"


def test_an_agent_that_shows_the_block_in_its_draft_only_runs_its_draft(
    transactional_db: None, cast: Cast, toned: None
) -> None:
    seen = open_try("edgar", agent="drafted")
    assert "Its draft, because what is live of it does not show this block." in seen.text
    both = streams_on(seen)
    assert run("edgar", both["Draft"]) == "Drafted.\n\ndrafted tone for all\n\nHello?"
    assert run("edgar", both["Live"]) == "Drafted.\n\nlive tone for all\n\nHello?"


def test_a_draft_of_a_block_counts_in_sub_agents_too_and_brings_no_other_draft(
    transactional_db: None, cast: Cast, toned: None
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
    transactional_db: None, cast: Cast
) -> None:
    PROMPT_BLOCKS.make(cast.alice, "unborn", "unborn words")
    AGENTS.make(cast.alice, "writer", [text("Write."), reference("unborn")], model=ECHO)
    both = streams_on(open_try("edgar", "unborn"))
    assert run("edgar", both["Draft"]) == "Write.\n\nunborn words\n\nHello?"
    assert run("edgar", both["Live"]) == "Write.\n\nHello?"


def test_an_agent_in_code_shows_the_draft_of_a_block(transactional_db: None, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    person("ada", default=Role.ADMIN)
    ada = key_of("ada")
    published_block(ada, "tone", "live tone")
    PROMPT_BLOCKS.save(ada, "tone", "drafted tone")
    ada.post(AGENTS.path, {"id": "answers", "instructions": [reference("tone")], "autoPublish": True})
    both = streams_on(open_try("ada"))
    assert run("ada", both["Draft"]) == "drafted tone\n\nHello?"
    assert run("ada", both["Live"]) == "live tone\n\nHello?"


def test_who_may_not_read_drafts_tries_what_is_live(transactional_db: None, cast: Cast, toned: None) -> None:
    draft = streams_on(open_try("edgar"))["Draft"]
    seen = open_try("vera")
    assert agents_on(seen) == ["writer"] and streams_on(seen).keys() == {"Live"}
    assert "Save a draft" not in seen.text
    assert run("vera", streams_on(seen)["Live"]) == "Write.\n\nlive tone for all\n\nHello?"
    assert (status_of("vera", draft), status_of("charlie", draft)) == (403, 404)
    assert Client().post(draft, "{}", content_type="application/json").status_code == 401
    give_role("edgar", "acme", Role.VIEWER)
    assert status_of("edgar", draft) == 403


def test_a_stranger_can_neither_try_a_block_nor_show_its_draft_in_an_agent_of_their_own(
    transactional_db: None, cast: Cast, toned: None
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


def test_who_may_not_read_drafts_gets_no_name_of_the_draft_of_an_agent(cast: Cast, toned: None) -> None:
    published_agent(cast.alice, "labelled", "plain", model=ECHO)
    shows = AGENTS.save(cast.alice, "labelled", [reference("tone")])["latestVersionId"]
    released = {"versionId": shows, "released": True}
    assert cast.alice.put(AGENTS.url("labelled", "labels", "pilot"), released).status == 200
    AGENTS.save(cast.alice, "labelled", [reference("tone"), text("{{ secret_plan }}")])
    assert "secret_plan" in open_try("edgar", agent="labelled").markup
    seen = open_try("vera", agent="labelled")
    assert "only a version with a label does" in seen.text and not streams_on(seen)
    assert "secret_plan" not in seen.markup


def test_a_block_that_nobody_uses_says_how_it_can_be_tried(cast: Cast) -> None:
    published_block(cast.alice, "lonely", "words")
    seen = open_try("edgar", "lonely")
    assert "there is none yet that you can run" in seen.text and not streams_on(seen)


def test_the_context_of_a_run_has_the_fields_of_the_agent_and_is_read_by_their_types(
    cast: Cast, toned: None
) -> None:
    rule = {"field": "age", "operator": "greater_than", "value": 17}
    adults = {"operator": "AND", "conditions": [rule]}
    block = {"type": "prompt_block", "content": "For adults.", "rules": adults}
    published_agent(cast.alice, "strict", [block, reference("tone")], model=ECHO)
    window, address = Window.of("edgar"), page_of(PROMPT_BLOCKS, "try", "tone")
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
    window = Window.of("vera")
    typed = {"live": "Dear <b>Ada</b>,\r\nbye", "draft": "Dear <b>Bob</b>,\r\nbye"}
    seen = window.post("/studio/answers/", **typed)
    live, _, draft = seen.markup.partition('data-side="draft"')
    assert "Dear &lt;b&gt;<del>Ada</del>&lt;/b&gt;,\nbye" in live
    assert "Dear &lt;b&gt;<ins>Bob</ins>&lt;/b&gt;,\nbye" in draft
    assert window.post("/studio/answers/", live="a" * 200_001, draft="").status == 400
    assert Client().post("/studio/answers/", typed).status_code == 302
