"""What preview, Try and the publish page show of an agent's prompt blocks: what publishing delivers."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.forms import Person
from tests.support.people import key_of, person
from tests.support.served import published_agent, published_block, reference, served, text
from tests.support.window import Seen, Window, page_of
from versioning.domain.access import Role

ECHO = {"provider": "echo", "name": "echo"}
TONE = PROMPT_BLOCKS.url("tone")


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
    """Return the words of a page about the agent."""
    return Window.of(name).get(page_of(AGENTS, page), **query).text


def streams(name: str, **query: str) -> dict[str, str]:
    """Return where the columns of the Try page post the messages, by their titles."""
    return streams_on(Window.of(name).get(page_of(AGENTS, "try"), **query))


def streams_on(seen: Seen) -> dict[str, str]:
    """Return where the columns of a Try page post the messages, by their titles."""
    found = re.findall(r'data-stream="([^"]*)".*?aria-label="([^"]*)"', seen.markup)
    return {title: unescape(stream) for stream, title in found}


def run(name: str, stream: str) -> str:
    """Send a message to a column of the Try page and return the answer as it streams in."""
    response: Any = Window.of(name).client.post(
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
    shown = Window.of("edgar").get(page_of(AGENTS, "preview")).markup
    AGENTS.publish(cast.paula, "writer", drafted)
    assembled = re.search(r'aria-label="The assembled text">(.*?)</pre>', shown, re.DOTALL)
    assert assembled is not None
    assert assembled[1] == served(cast.vera)["instructions"] == "Write.\n\nlive tone\n\nunborn words"


def test_the_preview_says_where_each_block_stands_and_what_is_left_out(cast: Cast, drafted: str) -> None:
    window = Window.of("edgar")
    seen = window.get(page_of(AGENTS, "preview"))
    assert "Prompt block tone draft 2, live 1" in seen.text and "live tone" in seen.text
    assert "Prompt block unborn draft 1, not live : the prompt block is not published" in seen.text
    assert "drafted tone" not in seen.text and "unborn words" not in seen.text
    assert page_of(PROMPT_BLOCKS, "change", "tone") in seen.links


def test_a_switch_shows_all_drafts_of_blocks_in_the_draft_and_in_what_is_live(
    cast: Cast, drafted: str
) -> None:
    assert "drafted tone unborn words" in seen("edgar", "preview", blocks="drafts")
    AGENTS.save(cast.alice, "writer", [reference("tone")])
    AGENTS.publish(cast.alice, "writer", cast.alice.get(AGENTS.url("writer")).body["latestVersionId"])
    assert "live tone" in seen("edgar", "preview", version="published")
    assert "drafted tone" in seen("edgar", "preview", version="published", blocks="drafts")


def test_the_preview_of_what_is_typed_shows_published_blocks_unless_asked_for_drafts(
    cast: Cast, drafted: str
) -> None:
    edgar = Person("edgar")
    form = edgar.form(AGENTS)
    now = edgar.post(AGENTS, form, "preview").content.decode()
    assert "live tone" in now and "drafted tone" not in now and "unborn words" not in now
    assert "draft 2, live 1" in now and "draft 1, not live" in now
    drafts = edgar.post(AGENTS, form | {"blocks": "drafts"}, "preview").content.decode()
    assert "drafted tone" in drafts and "unborn words" in drafts and "draft 2, live 1" in drafts


def test_who_may_not_read_drafts_of_a_block_learns_nothing_of_them(cast: Cast, drafted: str) -> None:
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


def test_the_preview_says_that_placeholders_in_one_text_stay_as_they_are(cast: Cast) -> None:
    AGENTS.make(cast.alice, "writer", "Greet {{ name }}.")
    assert "in which no placeholder is filled in" in seen("edgar", "preview")
    AGENTS.save(cast.alice, "writer", [text("Greet {{ name }}.")])
    told = seen("edgar", "preview")
    assert "in which no placeholder is filled in" not in told and "Missing name" in told


def test_pages_of_prompt_blocks_have_no_switch(cast: Cast) -> None:
    published_block(cast.alice, "writer", "words")
    PROMPT_BLOCKS.save(cast.alice, "writer", "new words")
    for page in ("preview", "change"):
        told = Window.of("edgar").get(page_of(PROMPT_BLOCKS, page)).text
        assert "new words" in Window.of("edgar").get(page_of(PROMPT_BLOCKS, page)).markup
        assert "drafts of blocks" not in told


def test_trying_a_draft_answers_as_it_will_once_it_is_published(
    transactional_db: None, cast: Cast, drafted: str
) -> None:
    before = streams("edgar")
    assert before.keys() == {"Draft", "Live"}
    assert run("edgar", before["Draft"]) == "Write.\n\nlive tone\n\nHello?"
    assert run("edgar", before["Live"]) == "one\n\nHello?"
    with_drafts = streams("edgar", blocks="drafts")
    assert with_drafts.keys() == {"Draft, with drafts of blocks", "Live"}
    drafts = run("edgar", with_drafts["Draft, with drafts of blocks"])
    assert drafts == "Write.\n\ndrafted tone\n\nunborn words\n\nHello?"
    assert run("edgar", with_drafts["Live"]) == "one\n\nHello?"


def test_drafts_of_blocks_can_be_tried_in_an_agent_that_has_no_draft(
    transactional_db: None, cast: Cast
) -> None:
    published_block(cast.alice, "tone", "live tone")
    published_agent(cast.alice, "writer", [reference("tone")], model=ECHO)
    PROMPT_BLOCKS.save(cast.alice, "tone", "drafted tone")
    assert run("edgar", streams("edgar")["Live"]) == "live tone\n\nHello?"
    with_drafts = streams("edgar", blocks="drafts")
    assert run("edgar", with_drafts["Live, with drafts of blocks"]) == "drafted tone\n\nHello?"
    assert streams("vera", blocks="drafts").keys() == {"Live"}


def test_a_draft_that_is_tried_delegates_to_published_sub_agents_only(
    transactional_db: None, cast: Cast
) -> None:
    AGENTS.make(cast.alice, "helper", "unpublished helper", model=ECHO)
    AGENTS.make(cast.alice, "writer", "Lead.", model=ECHO, agents={"helper": {}})
    stream = streams("edgar")["Draft"]
    tried = run("edgar", stream)
    assert "unpublished helper" not in tried
    AGENTS.publish(cast.alice, "helper", cast.alice.get(AGENTS.url("helper")).body["latestVersionId"])
    AGENTS.save(cast.alice, "helper", "drafted helper")
    tried = run("edgar", stream)
    assert "unpublished helper" in tried and "drafted helper" not in tried


def test_an_override_is_tried_as_if_it_were_published(transactional_db: None, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    person("ada", default=Role.ADMIN)
    ada = key_of("ada")
    published_block(ada, "tone", "live tone")
    PROMPT_BLOCKS.save(ada, "tone", "drafted tone")
    ada.post(AGENTS.path, {"id": "answers", "instructions": [reference("tone")], "autoPublish": False})
    window = Window.of("ada")
    markup = window.get(page_of(AGENTS, "try", "answers")).markup
    draft, live = (unescape(found) for found in re.findall(r'data-stream="([^"]*)"', markup))
    assert run("ada", draft) == "live tone\n\nHello?"
    assert run("ada", live) == "code\n\nHello?"
    assert "1 block has unpublished changes" in window.get(page_of(AGENTS, "publish", "answers")).text


def test_only_who_may_run_it_can_try_it_and_from_a_page_of_the_studio(cast: Cast, drafted: str) -> None:
    body = json.dumps({"messages": "Hello?"})
    draft = streams("edgar")["Draft"]
    statuses = {
        name: Window.of(name).client.post(draft, body, content_type="application/json").status_code
        for name in ("vera", "charlie")
    }
    assert statuses == {"vera": 403, "charlie": 404}
    assert Client().post(draft, body, content_type="application/json").status_code == 401
    forged = Client(enforce_csrf_checks=True)
    forged.cookies = Window.of("edgar").client.cookies
    assert forged.post(draft, body, content_type="application/json").status_code == 403


def test_the_publish_page_names_the_blocks_whose_changes_it_does_not_publish(
    cast: Cast, drafted: str
) -> None:
    window = Window.of("paula")
    before = window.get(page_of(AGENTS, "publish"))
    assert "2 blocks have unpublished changes" in before.text
    assert "Tone tone : draft 2, live 1" in before.text
    assert "Unborn unborn : draft 1, not live" in before.text
    for block in ("tone", "unborn"):
        assert page_of(PROMPT_BLOCKS, "change", block) in before.links
        latest = cast.alice.get(PROMPT_BLOCKS.url(block), status="draft").body["latestVersionId"]
        PROMPT_BLOCKS.publish(cast.alice, block, latest)
    assert "unpublished changes" not in window.get(page_of(AGENTS, "publish")).text


def test_the_page_of_a_version_says_where_its_blocks_stand(cast: Cast, drafted: str) -> None:
    told = Window.of("edgar").get(page_of(AGENTS, "version", "writer", drafted)).text
    assert "Tone tone : draft 2, live 1" in told and "Unborn unborn : draft 1, not live" in told


def test_asking_where_blocks_stand_takes_one_query_however_many(
    cast: Cast, django_assert_max_num_queries: Any
) -> None:
    def counted(kind: Kind, number: int) -> int:
        for one in range(number):
            published_block(cast.alice, f"b{number}-{one}", "x")
        AGENTS.make(cast.alice, f"a{number}", [reference(f"b{number}-{one}") for one in range(number)])
        window = Window.of("paula")
        window.get(page_of(AGENTS, "publish", f"a{number}"))
        with django_assert_max_num_queries(60) as queries:
            window.get(page_of(AGENTS, "publish", f"a{number}"))
        return len(queries)

    assert counted(AGENTS, 2) == counted(AGENTS, 12)
