"""The heads of `.prompty` and `.prompt` files, in the shapes that the specifications of both formats name."""

from __future__ import annotations

import pytest
from editor_client.transfer.importing.collection import Unreadable
from editor_client.transfer.importing.documents import FrontMatter, split_head
from editor_client.transfer.importing.formats.dotprompt import ENDINGS
from editor_client.transfer.importing.formats.prompty import MARKER

from tests.importing.conftest import Desk, losses

LICENCE = "# Copyright A\n#\n# Some licence\n"


def prompty(text: str) -> FrontMatter:
    """Return the parts of a `.prompty` file."""
    return split_head(text, "a.prompty", marker=MARKER)


def dotprompt(text: str) -> FrontMatter:
    """Return the parts of a `.prompt` file."""
    return split_head(text, "a.prompt", with_comments=True)


@pytest.mark.parametrize("read", [prompty, dotprompt])
@pytest.mark.parametrize(
    ("text", "head", "body", "line"),
    [
        ("---\nname: a\n---\nHello", {"name": "a"}, "Hello", 4),
        ("Only a text", {}, "Only a text", 1),
        ("---\n---\nOnly a body", {}, "Only a body", 3),
        ("---\n\n---\nOnly a body", {}, "Only a body", 4),
        ("\n \n---\nname: a\n---\nHello", {"name": "a"}, "Hello", 6),
        ("---  \nname: a\n--- \t\nHello", {"name": "a"}, "Hello", 4),
        ("---\r\nname: a\r\n---\r\nHello\r\n", {"name": "a"}, "Hello\n", 4),
        ("---\rname: a\r---\rHello", {"name": "a"}, "Hello", 4),
        ("---\nname: a\n---\n\n# Title\n---\nrest", {"name": "a"}, "\n# Title\n---\nrest", 4),
        ("---\nname: a\n---", {"name": "a"}, "", 4),
        ("---\na: |\n  x --- y\n---\nHello", {"a": "x --- y\n"}, "Hello", 5),
        ("----\nname: a\n----\nHello", {}, "----\nname: a\n----\nHello", 1),
        ("Hello\n---\nname: a\n---\n", {}, "Hello\n---\nname: a\n---\n", 1),
    ],
)
def test_heads_of_both(read: object, text: str, head: object, body: str, line: int) -> None:
    found = prompty(text) if read is prompty else dotprompt(text)
    assert (found.head, found.body, found.line, found.comments) == (head, body, line, "")


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("+++\nname: a\n+++\nHello", "Hello"),
        ("+++\nname: a\n---\nHello", "Hello"),
        ("---\nname: a\n+++\nHello", "Hello"),
        ("  ---\nname: a\n---\nHello", "Hello"),
        ("\n\t+++\nname: a\n  +++\nHello", "Hello"),
    ],
)
def test_other_heads_of_prompty(text: str, body: str) -> None:
    found = prompty(text)
    assert (found.head, found.body) == ({"name": "a"}, body)


@pytest.mark.parametrize(
    ("text", "comments"),
    [
        (f"{LICENCE}---\nname: a\n---\nHello", LICENCE.strip()),
        (f"{LICENCE}\n \t\n---\nname: a\n---\nHello", LICENCE.strip()),
        ("#!/usr/bin/env promptly\n---\nname: a\n---\nHello", "#!/usr/bin/env promptly"),
        (f"#!/bin/x\n\n{LICENCE}---\nname: a\n---\nHello", f"#!/bin/x\n\n{LICENCE}".strip()),
        (f"{LICENCE}---\nname: a\n---\nHello".replace("\n", "\r\n"), LICENCE.strip()),
    ],
)
def test_other_heads_of_dotprompt(text: str, comments: str) -> None:
    found = dotprompt(text)
    assert (found.head, found.body, found.comments) == ({"name": "a"}, "Hello", comments)


def test_a_title_is_no_comment_and_a_plus_no_head() -> None:
    title, plus = "# Title\n\nHello", "+++\nname: a\n+++\nHello"
    assert dotprompt(title) == FrontMatter({}, title, 1)
    assert dotprompt(plus) == FrontMatter({}, plus, 1)
    assert dotprompt("  ---\nname: a\n---\nHello").head == {}
    assert dotprompt("---\nname: |\n  ---\n---\nHello").head == {"name": "---\n"}
    assert prompty(f"{LICENCE}---\nname: a\n---\nHello").head == {}


@pytest.mark.parametrize("text", ["---\nname: a\nHello", "---\n- a\n---\nHello", "---\na: b: c\n---\nHello"])
def test_broken_heads_are_refused(text: str) -> None:
    for read in (prompty, dotprompt):
        with pytest.raises(Unreadable, match=r"a\.prompt"):
            read(text)


def test_comments_before_the_head_are_kept_and_named(desk: Desk) -> None:
    path = desk.write(f"a{ENDINGS[0]}", f"{LICENCE}---\nmodel: googleai/gemini-x\n---\nHello")
    plan = desk.plan("dotprompt", path)
    [agent, *_] = plan["resources"]
    assert agent["metadata"]["import"]["comments"] == LICENCE.strip()
    assert "comment" in losses(plan)


def test_a_head_that_cannot_be_one_is_named(desk: Desk) -> None:
    """A comment before the head of a prompty file makes all of it a text, which nobody means."""
    plan = desk.plan("prompty", desk.write("a.prompty", f"{LICENCE}---\nname: a\n---\nHello"))
    assert losses(plan) == {"head"}
