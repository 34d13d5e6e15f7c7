"""Thoughts in the text of a model, between tags such as `<think>` and `</think>`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

Tags = tuple[str, str]
"""What a model writes before and after a thought."""


class Piece(NamedTuple):
    """A piece of what a model wrote."""

    text: str
    is_thought: bool = False


class ThoughtSplitter:
    """Splits a text that comes in pieces into text and thoughts, wherever the pieces begin and end.

    It does what the agent library does with a whole text: a thought that is never closed counts as text.
    """

    def __init__(self, tags: Tags) -> None:
        self._start, self._end = tags
        self._rest = ""
        """The end of the text so far, which may be the beginning of a tag."""
        self._thought: list[str] | None = None
        """What has come of an open thought; None outside of thoughts."""

    def add(self, text: str) -> Iterator[Piece]:
        """Yield what is certain after the next piece."""
        text, self._rest = self._rest + text, ""
        while text:
            before, tag, text = text.partition(self._start if self._thought is None else self._end)
            if not tag:
                self._hold(before)
                before = "" if self._thought is not None else before[: len(before) - len(self._rest)]
            if self._thought is None:
                if before:
                    yield Piece(before)
                if tag:
                    self._thought = []
            elif tag:
                yield Piece("".join((*self._thought, before)), is_thought=True)
                self._thought = None

    def end(self) -> Iterator[Piece]:
        """Yield what is left: the text has ended."""
        text = "".join((*(self._thought or ()), self._rest))
        self._thought, self._rest = None, ""
        if text:
            yield Piece(text)

    def _hold(self, text: str) -> None:
        """Hold back what may be the beginning of a tag; keep the rest of a thought until it is closed."""
        tag = self._start if self._thought is None else self._end
        lengths = range(min(len(text), len(tag) - 1), 0, -1)
        held = next((length for length in lengths if tag.startswith(text[-length:])), 0)
        self._rest = text[len(text) - held :]
        if self._thought is not None:
            self._thought.append(text[: len(text) - held])
