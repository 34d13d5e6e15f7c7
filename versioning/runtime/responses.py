"""Responses of models, put in order: storable texts, thoughts left out, and whether they are complete.

The agent library takes thoughts in tags, such as `<think>`, out of a whole response, but out of a streamed
one only where each tag is a piece of its own. Here both are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import groupby
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel

from versioning.domain.texts import storable_json, storable_text

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


IN_TAGS: Final = "content"
"""The id of thoughts that the agent library has taken out of the text of a streamed response."""
_LONGEST_NUMBER: Final = 4000  # digits; Python parses no number of 4 300 and more
_WITH_TAGS: Final = {"OpenAIChatModel", "GroqModel", "HuggingFaceModel"}
_WITHOUT_FINISH_REASON: Final = {"FunctionModel", "SnowflakeModel", "TestModel"}


def thinking_tags(model: Model) -> Tags | None:
    """Return the tags whose content the agent library takes out of the texts of a model; None for most."""
    kinds = _kinds(model)
    tags: Tags | None = model.profile.get("thinking_tags")
    return tags if kinds & _WITH_TAGS else None


def is_unfinished(response: ModelResponse, model: Model) -> bool:
    """Return whether a streamed response has ended without a finish reason, although the model gives one."""
    kinds = _kinds(model)
    if kinds & _WITHOUT_FINISH_REASON or "finish_reason" in (response.provider_details or {}):
        return False
    if "OpenAIChatModel" in kinds:  # for which the library says "stop" where there was none
        return response.finish_reason != "content_filter"
    return response.finish_reason is None


def put_in_order(response: ModelResponse, tags: Tags | None) -> None:
    """Make all of a response storable, in place; `tags` are those of a streamed one."""
    parts = list(response.parts if tags is None else _without_thoughts(response.parts, tags))
    for part in parts:
        _make_storable(part)
    response.parts = parts


def make_results_storable(node: Any) -> None:
    """Make the results of tools storable before a node sends them to the model, if it does.

    What is not made of JSON's types stays as it is.
    """
    request = getattr(node, "request", None)
    for part in request.parts if isinstance(request, ModelRequest) else ():
        if isinstance(part, ToolReturnPart):
            part.content = storable_json(part.content)


def is_empty(response: ModelResponse) -> bool:
    """Return whether a response has neither text nor a call of a tool."""
    return not response.text and not response.tool_calls


def _kinds(model: Model) -> set[str]:
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return {kind.__name__ for kind in type(model).__mro__}


def _make_storable(part: ModelResponsePart) -> None:
    for field in fields(part):
        value = getattr(part, field.name)
        if isinstance(part, ToolCallPart) and field.name == "args" and isinstance(value, str):
            changed: Any = _storable_args(value)
        elif isinstance(value, str | dict | list):
            changed = storable_json(value)
        else:
            continue
        if changed is not value:
            setattr(part, field.name, changed)


def _storable_args(text: str) -> str:
    """Return arguments in JSON; the model is told of those that cannot be parsed, which stay as they are."""
    try:
        args = json.loads(text, parse_int=_number)
        storable = storable_json(args)
    except (ValueError, RecursionError):
        return storable_text(text)
    return text if storable == args else json.dumps(storable, ensure_ascii=False)


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float("inf")


def _without_thoughts(parts: Iterable[ModelResponsePart], tags: Tags) -> Iterator[ModelResponsePart]:
    """Yield the parts of a streamed response, its texts split into texts and thoughts."""
    for is_text, grouped in groupby(parts, _is_text):
        group = list(grouped)
        text = "".join(text_with_tags(part, tags) for part in group) if is_text else ""
        if tags[0] not in text:
            yield from group
            continue
        splitter = ThoughtSplitter(tags)
        for piece in (*splitter.add(text), *splitter.end()):
            yield ThinkingPart(piece.text, id=IN_TAGS) if piece.is_thought else TextPart(piece.text)


def _is_text(part: ModelResponsePart) -> bool:
    return isinstance(part, TextPart) or is_in_tags(part)


def is_in_tags(part: object) -> bool:
    """Return whether a part is a thought that the agent library has taken out of the text."""
    return isinstance(part, ThinkingPart) and part.id == IN_TAGS


def text_with_tags(part: Any, tags: Tags) -> str:
    """Return what the model wrote of a text or of a thought in tags."""
    return f"{tags[0]}{part.content}{end_tag(part, tags)}" if is_in_tags(part) else str(part.content)


def end_tag(part: ThinkingPart, tags: Tags) -> str:
    """Return the end tag of a thought in tags, which its content lacks.

    If the content has one, text follows it: the library waits for an end tag that is a piece of its own.
    """
    return "" if tags[1] in part.content else tags[1]
