"""The read-only prompt: with its placeholders marked, and with the blocks to which it refers."""

from __future__ import annotations

import pytest

from studio.templatetags.edit import MAX_PIECES, with_placeholders
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.calls import undone
from tests.support.configurations import FOR_GOLD
from tests.support.served import reference, text
from tests.support.studio import Visitor, page_of

MARKED = '<bdi class="prompt-variable" dir="ltr">{{ name || &quot;you&quot; }}</bdi>'
TEXT = 'Dear {{ name || "you" }}, <b>{{ not one }'


def test_placeholders_are_marked_for_a_viewer(cast: Cast) -> None:
    for kind, fields, is_marked in [
        (AGENTS, {"instructions": TEXT}, False),
        (AGENTS, {"instructions": [{"type": "text", "content": TEXT}]}, True),
        (PROMPT_BLOCKS, {"content": TEXT}, True),
    ]:
        with undone():
            kind.make(cast.paula, autoPublish=True, **fields)
            markup = Visitor("vera").get(page_of(kind, "change")).markup
            assert (MARKED in markup) is is_marked
            assert "&lt;b&gt;{{ not one }" in markup


def test_too_many_placeholders_for_a_page_are_left_unmarked() -> None:
    text = "{{ a }}<" * MAX_PIECES
    marked = with_placeholders(text)
    assert marked.count("<bdi") == MAX_PIECES // 2
    plain = marked.replace('<bdi class="prompt-variable" dir="ltr">', "").replace("</bdi>", "")
    assert plain == text.replace("<", "&lt;")


LINES = [f"Line {number} of the tone." for number in range(1, 5)]
THEIRS = "words of another workspace"


@pytest.fixture
def writer(cast: Cast) -> None:
    """A published agent with a shared block, whose draft has other words, and one that acme cannot read."""
    PROMPT_BLOCKS.make(cast.paula, "tone", "\n".join(LINES), name="Tone of voice", autoPublish=True)
    PROMPT_BLOCKS.save(cast.edgar, "tone", "drafted words")
    PROMPT_BLOCKS.make(cast.charlie, "theirs", THEIRS, name="Their block", autoPublish=True)
    gold = {"type": "prompt_block", "content": "Be generous.", "rules": FOR_GOLD}
    blocks = [text("Be brief."), reference("tone"), gold]
    AGENTS.make(cast.paula, "writer", instructions=blocks, autoPublish=True, visibility="public")
    more = {"instructions": [*blocks, reference("theirs")]}
    assert cast.edgar.patch(AGENTS.url("writer"), more).status == 200


def test_a_shared_block_is_shown_at_its_reference(writer: None) -> None:
    page = Visitor("edgar").get(page_of(AGENTS, "change"))
    words = page.words
    assert "Tone of voice Unpublished changes" in words and "drafted words Open Tone of voice" in words
    assert "A prompt block that does not exist, or that you may not read theirs" in words
    assert THEIRS not in words and "Their block" not in words


def test_a_viewer_reads_the_live_versions_of_agent_and_block(writer: None) -> None:
    words = Visitor("vera").get(page_of(AGENTS, "change")).words
    assert "Be brief." in words and "Shown when tier is gold. Be generous." in words
    assert f"Tone of voice Published {LINES[0]} {LINES[1]} Expand" in words
    assert "drafted words" not in words and "theirs" not in words


def test_a_non_member_reads_a_public_agent_without_its_blocks(writer: None) -> None:
    words = Visitor("charlie").get(page_of(AGENTS, "change")).words
    assert (
        "Be brief." in words and "A prompt block that does not exist, or that you may not read tone" in words
    )
    assert LINES[0] not in words and "Tone of voice" not in words


def test_a_newly_picked_block_is_shown_to_its_readers_only(cast: Cast, writer: None) -> None:
    edgar = Visitor("edgar")
    assert "drafted words" in edgar.get(page_of(AGENTS, "reference"), id="tone").markup
    for hidden in ("theirs", "nothing", "\x00", ""):
        page = edgar.get(page_of(AGENTS, "reference"), id=hidden)
        assert page.status == 200
        assert THEIRS not in page.markup and "Their block" not in page.markup
    assert Visitor("vera").get(page_of(AGENTS, "reference"), id="tone").status == 403
    PROMPT_BLOCKS.make(cast.alice, "writer")
    assert Visitor("charlie").get(page_of(PROMPT_BLOCKS, "reference"), id="tone").status == 404


def test_too_long_texts_are_omitted_and_the_page_says_so(cast: Cast) -> None:
    for number in range(3):
        PROMPT_BLOCKS.make(cast.alice, f"long/{number}", f"{number}" * 500_000)
    AGENTS.make(cast.alice, "writer", instructions=[reference(f"long/{number}") for number in range(3)])
    page = Visitor("edgar").get(page_of(AGENTS, "change"))
    assert len(page.content) < 1_500_000
    assert page.words.count("Its text is too long to be shown here.") == 2


def test_everything_that_a_viewer_reads_is_in_words(cast: Cast) -> None:
    gold = {"provider": "echo", "name": "golden"}
    AGENTS.make(
        cast.paula,
        "writer",
        description="Writes.",
        model=[{"value": {"provider": "echo", "name": "plain"}}, {"value": gold, "rules": FOR_GOLD}],
        tools={"search": {"description": "Look it up", "rules": FOR_GOLD}},
        agents=[{"value": {"writer/helper": {}}, "rules": FOR_GOLD}],
        memory={"size": 3},
        autoPublish=True,
    )
    words = Visitor("vera").get(page_of(AGENTS, "change")).words
    assert "Model plain echo Used when tier is gold. golden echo" in words
    assert "search Look it up Offered when tier is gold." in words
    assert "Used when tier is gold. writer/helper" in words
    assert "More settings Memory" in words and '"size": 3' in words


def test_the_number_of_agents_with_a_block_counts_only_readable_ones(cast: Cast) -> None:
    for who, count in [("edgar", 1), ("vera", 1), ("root", 2)]:
        with undone():
            PROMPT_BLOCKS.make(cast.alice, "writer", autoPublish=True)
            for api, agent_id in ((cast.alice, "ours"), (cast.root, "secret-agent")):
                home = "acme" if api is cast.alice else "elsewhere"
                fields = {"instructions": [reference("writer")], "workspaceId": home, "autoPublish": True}
                AGENTS.make(api, agent_id, **fields)
            page = Visitor(who).get(page_of(PROMPT_BLOCKS, "change"))
            words = page.words
            assert f"Live in {count} agent" in words and f"Used by {count}" in words
            assert "secret-agent" not in page.markup
