"""Comments on words that stand in a text several times: which of them is meant, and where they go."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from capabilities.review.models import Comment
from capabilities.review.places import MAX_PLACES, Content, Hint, locate, occurrences, start_in
from studio.diff.texts import map_position
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.studio import Visitor, page_of

TEXT = "In mails:\nBe brief.\nOn the phone:\nBe brief.\nDo a-not-her or not.\nBe  brief."
BLOCKS = {
    "instructions": [{"type": "text", "content": "Be brief."}, {"type": "text", "content": "Be brief."}]
}


def write(kind: Kind, record: dict[str, Any], quote: str, **more: str) -> Comment:
    """Comment on words as the script of a page does."""
    answer = Visitor("edgar").post(
        page_of(kind, "comments", record["id"]),
        version=record["latestVersionId"],
        body="?",
        field=kind.text,
        quote=quote,
        **more,
    )
    assert answer.status == 302, answer.content
    return Comment.objects.latest("created_at")


def marked(kind: Kind, resource_id: str) -> list[tuple[str, int]]:
    """Return the controls in whose texts the edit page marks words, and where they begin."""
    page = Visitor("edgar").get(page_of(kind, "change", resource_id)).markup
    found = re.findall(r'data-mark data-control="([^"]*)" data-words="[^"]*" data-start="(\d+)"', page)
    return [(control, int(start)) for control, start in found]


def test_all_places_of_words_are_found_in_order() -> None:
    places = occurrences({"content": TEXT}, "content", "Be brief.")
    assert [place.line for place in places] == [2, 4, 6]
    assert [TEXT[place.start :][:2] for place in places] == ["Be"] * 3
    assert [place.path for place in occurrences(BLOCKS, "instructions", "brief")] == [
        "instructions.0.content",
        "instructions.1.content",
    ]
    assert [place.start for place in occurrences({"content": "aaa"}, "content", "aa")] == [0, 1]
    assert len(occurrences({"content": "a" * 5_000}, "content", "a")) == MAX_PLACES
    [place] = occurrences({"content": TEXT}, "content", "phone:\nBe")
    assert place.line is None  # of several lines
    assert not occurrences({"content": TEXT}, "content", " ")


def test_a_hint_chooses_the_text_the_line_and_the_place_in_it() -> None:
    def place(config: dict[str, Any], quote: str, *hint: Any) -> Any:
        return locate(config, next(iter(config)), quote, Hint(*hint))

    assert place({"content": TEXT}, "Be brief.").line == 2
    assert place({"content": TEXT}, "Be brief.", "content", 4, 0).line == 4
    starts = [place({"content": TEXT}, "not", "content", 5, earlier).start for earlier in (0, 1, 7)]
    assert starts == [TEXT.index("not"), TEXT.rindex("not"), TEXT.rindex("not")]
    assert place(BLOCKS, "Be brief.", "instructions.1.content", 1, 0).path == "instructions.1.content"
    # What does not fit is no error: the nearest place of the text, or the first one.
    assert place({"content": TEXT}, "Be brief.", "content", 3, 0).line in {2, 4}
    assert place(BLOCKS, "Be brief.", "instructions.7.content", 1, 0).path == "instructions.0.content"
    assert place({"content": TEXT}, "Be long.", "content", 1, 0) is None


@given(st.text("ab \n", max_size=60), st.data())
def test_the_line_and_the_number_in_it_identify_a_place(text: str, data: st.DataObject) -> None:
    places = [place for place in occurrences({"content": text}, "content", "a") if place.line is not None]
    if not places:
        return
    chosen = data.draw(st.sampled_from(places))
    earlier = sum(place.line == chosen.line and place.start < chosen.start for place in places)
    assert locate({"content": text}, "content", "a", Hint("content", chosen.line, earlier)) == chosen


def test_the_words_that_were_chosen_are_stored(cast: Cast) -> None:
    block = PROMPT_BLOCKS.make(cast.alice, "tone", TEXT)
    first = write(PROMPT_BLOCKS, block, "Be brief.")
    assert (first.line, first.start) == (2, TEXT.index("Be brief."))
    chosen = write(PROMPT_BLOCKS, block, "Be brief.", path="content", line="4", earlier="0")
    assert (chosen.line, chosen.start) == (4, TEXT.index("Be brief.", 20))
    second = write(PROMPT_BLOCKS, block, "not", path="content", line="5", earlier="1")
    assert (second.line, second.start) == (5, TEXT.rindex("not"))
    strange = write(PROMPT_BLOCKS, block, "not", path="x" * 500, line="-1", earlier="9" * 30)
    assert (strange.line, strange.start) == (5, TEXT.index("not"))
    assert [start for _control, start in marked(PROMPT_BLOCKS, "tone")] == [
        first.start,
        chosen.start,
        second.start,
        strange.start,
    ]


def test_of_two_equal_blocks_the_chosen_one_is_stored(cast: Cast) -> None:
    agent = AGENTS.make(cast.alice, "writer", BLOCKS["instructions"])  # type: ignore[arg-type]
    page = Visitor("edgar").get(page_of(AGENTS, "version", "writer", agent["latestVersionId"])).markup
    assert re.findall(r'data-path="(instructions[^"]*)"', page) == [
        "instructions.0.content",
        "instructions.1.content",
    ]
    comment = write(AGENTS, agent, "Be brief.", path="instructions.1.content", line="1", earlier="0")
    assert (comment.field, comment.line) == ("instructions.1.content", 1)


def test_words_from_the_edit_page_have_the_place_of_their_control(cast: Cast) -> None:
    agent = AGENTS.make(cast.alice, "writer", BLOCKS["instructions"])  # type: ignore[arg-type]
    second = write(AGENTS, agent, "Be brief.", control="instructions.blocks.1.content", line="1", earlier="0")
    assert (second.field, second.line) == ("instructions.1.content", 1)
    whole = AGENTS.make(cast.alice, "speaker", TEXT)
    fourth = write(AGENTS, whole, "Be brief.", control="instructions.text", line="4", earlier="0")
    assert (fourth.field, fourth.line) == ("instructions", 4)
    block = PROMPT_BLOCKS.make(cast.alice, "tone", TEXT)
    last = write(PROMPT_BLOCKS, block, "not", control="content", line="5", earlier="1")
    assert (last.line, last.start) == (5, TEXT.rindex("not"))
    answer = Visitor("edgar").post(
        page_of(PROMPT_BLOCKS, "comments", "tone"),
        version=block["latestVersionId"],
        body=" ",
        field="content",
        quote="not",
        control="content",
        line="5",
        earlier="1",
    )
    assert answer.status == 400
    for shown in ('name="control" value="content"', 'name="line" value="5"', 'name="earlier" value="1"'):
        assert shown in answer.markup
    for name in ("description", "instructions.json", "x" * 500, ""):
        assert write(PROMPT_BLOCKS, block, "not", control=name, line="5").start == TEXT.index("not")


def test_comments_from_the_api_begin_in_their_line(cast: Cast) -> None:
    block = PROMPT_BLOCKS.make(cast.alice, "tone", TEXT)
    about = {"resource": {"kind": "promptBlock", "id": "tone"}, "versionId": block["latestVersionId"]}
    for line, start in ((4, TEXT.index("Be brief.", 20)), (1, 0)):
        quote = {"quote": "Be brief."} if line == 4 else {}
        answer = cast.alice.post(
            "/comments", {**about, "field": "content", "line": line, "body": "?", **quote}
        )
        assert answer.status == 201
        assert Comment.objects.latest("created_at").start == start
    assert start_in(TEXT, None, "Be long.") is start_in(None, 1, "x") is start_in(TEXT, 1, "") is None


def test_a_quote_is_there_in_any_normal_form() -> None:
    content = Content({"content": "Offer cafe\u0301 au lait."})
    assert not content.lacks("content", "caf\u00e9  au") and content.lacks("content", "caf\u00e8")


def test_a_comment_stays_with_its_words_when_lines_come_above(cast: Cast) -> None:
    block = PROMPT_BLOCKS.make(cast.alice, "tone", TEXT)
    write(PROMPT_BLOCKS, block, "Be brief.", path="content", line="4", earlier="0")
    above = "Be polite.\nBe brief in chats.\nBe brief. Really.\n\n"
    PROMPT_BLOCKS.save(cast.alice, "tone", above + TEXT)
    assert marked(PROMPT_BLOCKS, "tone") == [("content", len(above) + TEXT.index("Be brief.", 20))]
    PROMPT_BLOCKS.save(cast.alice, "tone", "😀\n" + above + TEXT)
    # Scripts count units of UTF-16.
    assert marked(PROMPT_BLOCKS, "tone") == [("content", 3 + len(above) + TEXT.index("Be brief.", 20))]


def test_a_comment_goes_with_its_words_to_another_block(cast: Cast) -> None:
    blocks = [{"type": "text", "content": f"{name}:\nBe brief."} for name in ("In mails", "On the phone")]
    agent = AGENTS.make(cast.alice, "writer", blocks)  # type: ignore[arg-type]
    write(AGENTS, agent, "Be brief.", path="instructions.1.content", line="2", earlier="0")
    added = [{"type": "text", "content": "In chats:\nBe brief."}]
    AGENTS.save(cast.alice, "writer", added + blocks)  # type: ignore[arg-type]
    [(control, start)] = marked(AGENTS, "writer")
    assert "2" in control and start == len("On the phone:\n")


def test_comparisons_say_where_their_texts_are(cast: Cast) -> None:
    blocks = [{"type": "text", "content": one} for one in ("Be kind.", "Be brief.\nNever lie.")]
    agent = AGENTS.make(cast.alice, "writer", blocks)  # type: ignore[arg-type]
    changed = [
        blocks[0],
        {"type": "text", "content": "New."},
        {**blocks[1], "content": "Be brief.\nNever ever lie."},
    ]
    saved = AGENTS.save(cast.alice, "writer", changed)  # type: ignore[arg-type]
    page = Visitor("edgar").get(
        page_of(AGENTS, "compare"), **{"from": agent["latestVersionId"], "to": saved["latestVersionId"]}
    )
    assert set(re.findall(r'data-path="([^"]*)"', page.markup)) == {
        "instructions.1.content",
        "instructions.2.content",
    }


@given(st.text("ab\n ", max_size=40), st.text("ab\n ", max_size=40), st.data())
def test_a_position_goes_along_with_what_comes_before_it(text: str, more: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, max(len(text) - 1, 0)))
    assert map_position(text, text, position) == position
    assert 0 <= map_position(text, more, position) <= len(more)
