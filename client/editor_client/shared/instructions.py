"""Instructions: fill in templates, and assemble blocks into the text for a model.

Pure. The caller finds the texts of referenced prompt blocks (published, draft, a file) and passes them in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from editor_client.shared.canonical import display_text
from editor_client.shared.conditions import Evaluation, holds
from editor_client.shared.errors import Invalid, Issue, Message

MAX_LENGTH = 16 * 1024 * 1024
"""The maximum length of assembled instructions, in characters."""

PATH = r"[A-Za-z_][A-Za-z0-9_.]*+"
"""A path in the request context, as a regular expression."""

# Possessive quantifiers: a run of spaces is read once, so no text takes quadratic time.
_PLACEHOLDER = re.compile(
    rf"""\{{\{{\s*+(?P<path>{PATH})\s*+(?:\|\|\s*+(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)'))?\s*+\}}\}}"""
)


@dataclass(frozen=True, kw_only=True)
class BlockText:
    """A referenced prompt block as found: its version and its configuration."""

    version_id: str
    config: Mapping[str, Any]


class BlockReport(NamedTuple):
    """The result for one block of the instructions."""

    type: str
    position: int
    id: str | None = None
    version_id: str | None = None
    reason: str | None = None
    """Why the block was omitted: `rules`, `blank`, `missing`, `unpublished`; None when it is shown."""
    unresolved: tuple[str, ...] = ()
    """The paths of placeholders in its text that have neither a value nor a fallback, each once, in order."""

    @property
    def shown(self) -> bool:
        """Whether the block's text is part of the result."""
        return self.reason is None


class Origin(StrEnum):
    """The origin of a piece of assembled instructions."""

    TEXT = "text"
    """Literal text."""
    CONTEXT = "context"
    """A placeholder that was filled in from the context."""
    FALLBACK = "fallback"
    """A placeholder whose fallback replaces a value missing in the context."""
    MISSING = "missing"
    """A placeholder without a value or a fallback, which stays as written."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of assembled instructions."""

    text: str
    origin: Origin = Origin.TEXT
    path: str = ""
    """The dotted path in a placeholder; empty for text."""


def render(template: str, context: Mapping[str, Any] | Evaluation, *, limit: int = MAX_LENGTH) -> str:
    """Return the text with its placeholders filled in.

    `{{ path }}`, `{{ path || "text" }}` or `'text'`: a missing or null value gives the fallback, otherwise
    the placeholder stays as written. Objects and lists give compact JSON, with numbers as JavaScript prints
    them. Filled-in values are never treated as templates again. Raises `Invalid` once the text is longer
    than `limit`, or if filling it in would take more work than the evaluation allows.
    """
    return _render_traced(template, Evaluation.of(context), limit)[0]


def _render_traced(
    template: str, evaluation: Evaluation, limit: int = MAX_LENGTH
) -> tuple[str, tuple[str, ...]]:
    """Return the result of `render`, and the paths of the placeholders that stay as written."""
    room = limit - len(template)
    unresolved: dict[str, None] = {}  # an ordered set

    def fill(match: re.Match[str]) -> str:
        nonlocal room
        text, origin = _value(match, evaluation)
        if origin is Origin.MISSING:
            unresolved[match["path"]] = None
        # Counted on the way: a small template and a long value could fill the memory.
        room += len(match[0]) - len(text)
        if room < 0:
            raise _too_long(evaluation)
        return text

    return _PLACEHOLDER.sub(fill, template), tuple(unresolved)


def assemble(
    instructions: str | Sequence[Mapping[str, Any]],
    context: Mapping[str, Any] | Evaluation,
    blocks: Mapping[str, BlockText | str],
    *,
    field: str = "instructions",
) -> tuple[str, list[BlockReport]]:
    """Return the instructions as one text, and a report on every block.

    A text is not rendered. Blocks are; those whose rules do not hold or that are blank are omitted, and the
    others are joined by a blank line. White space at both ends of the result is removed. `blocks` maps the id
    of a referenced block to its text, or to the reason why there is none (`missing`, `unpublished`). Raises
    `Invalid` for a result of more than `MAX_LENGTH` characters, and for one that would take more work than
    the evaluation allows; `field` is the caller's name for the instructions.
    """
    if isinstance(instructions, str):
        return instructions.strip(), []
    evaluation = Evaluation.of(context)
    parts: list[str] = []
    reports: list[BlockReport] = []
    length = 0
    for position, block in enumerate(instructions):
        evaluation.field = f"{field}.{position}"
        text, report = _one_block(position, block, evaluation, blocks)
        length += len(text)
        if length > MAX_LENGTH:
            raise _too_long(evaluation)
        reports.append(report)
        if report.shown:
            parts.append(text)
    return "\n\n".join(parts).strip(), reports


def trace(
    instructions: str | Sequence[Mapping[str, Any]],
    context: Mapping[str, Any] | Evaluation,
    blocks: Mapping[str, BlockText | str],
    *,
    field: str = "instructions",
) -> tuple[list[Piece], list[BlockReport]]:
    """Return the instructions in pieces, each with its origin, and a report on every block.

    The pieces together are the text that `assemble` returns, and it raises `Invalid` as that does.
    """
    evaluation = Evaluation.of(context)
    text, reports = assemble(instructions, evaluation, blocks, field=field)
    if isinstance(instructions, str):
        return [Piece(text)] if text else [], reports
    # With a separate budget, so that everything that can be assembled can be traced.
    evaluation = Evaluation(evaluation.context, steps=evaluation.steps)
    pieces: list[Piece] = []
    for block, report in zip(instructions, reports, strict=True):
        if not report.shown:
            continue
        if pieces:
            pieces.append(Piece("\n\n"))
        target = blocks.get(block["id"]) if report.id is not None else None
        template = target.config["content"] if isinstance(target, BlockText) else block["content"]
        pieces.extend(_pieces(template, evaluation))
    return _trim(pieces), reports


def placeholders(template: str) -> Iterator[tuple[str, str | None]]:
    """Yield (path, fallback) for every placeholder in a text, in its order; the fallback may be missing."""
    for match in _PLACEHOLDER.finditer(template):
        yield match["path"], _fallback(match)


def split(template: str) -> Iterator[tuple[str, bool]]:
    """Yield the text in pieces, each with whether it is a placeholder; together they are the text."""
    end = 0
    for match in _PLACEHOLDER.finditer(template):
        if match.start() > end:
            yield template[end : match.start()], False
        yield match[0], True
        end = match.end()
    if end < len(template):
        yield template[end:], False


def as_one_text(blocks: Sequence[Mapping[str, Any]]) -> str:
    """Return one text that equals the blocks in every context.

    Raises `Invalid`, naming the blocks, if there is none: because a block is stored elsewhere, has
    conditions, or has placeholders, which are filled in only in blocks.
    """
    issues = [
        Issue("instructions", reason)
        for place, block in enumerate(blocks, 1)
        if (reason := _why_no_text(place, block))
    ]
    if issues:
        raise Invalid(issues)
    return "\n\n".join(block["content"] for block in blocks if block["content"].strip()).strip()


def _why_no_text(number: int, block: Mapping[str, Any]) -> str | None:
    if block["type"] == "prompt_block_ref":
        return Message("block {number} refers to a prompt block", number=number)
    if (block.get("rules") or {}).get("conditions"):
        return Message("block {number} has conditions", number=number)
    if _PLACEHOLDER.search(block["content"]):
        return Message("block {number} is filled in from the context", number=number)
    return None


def referenced_blocks(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (field, id) for every prompt block that the instructions refer to."""
    instructions = config.get("instructions")
    if not isinstance(instructions, list):
        return []
    return [
        (f"instructions.{position}.id", block["id"])
        for position, block in enumerate(instructions)
        if block["type"] == "prompt_block_ref"
    ]


def _pieces(template: str, evaluation: Evaluation) -> Iterator[Piece]:
    place = 0
    for match in _PLACEHOLDER.finditer(template):
        if match.start() > place:
            yield Piece(template[place : match.start()])
        text, origin = _value(match, evaluation)
        yield Piece(text, origin, match["path"])
        place = match.end()
    if place < len(template):
        yield Piece(template[place:])


def _trim(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces without the white space at both ends of their text."""
    while pieces and not pieces[0].text.strip():
        del pieces[0]
    while pieces and not pieces[-1].text.strip():
        del pieces[-1]
    if pieces:
        pieces[0] = replace(pieces[0], text=pieces[0].text.lstrip())
        pieces[-1] = replace(pieces[-1], text=pieces[-1].text.rstrip())
    return pieces


def _value(match: re.Match[str], evaluation: Evaluation) -> tuple[str, Origin]:
    value = evaluation.value_at(match["path"], None)
    if value is not None:
        text = (
            value if isinstance(value, str) else evaluation.once("text", value, lambda: display_text(value))
        )
        evaluation.spend(len(text))
        return text, Origin.CONTEXT
    fallback = _fallback(match)
    return (match[0], Origin.MISSING) if fallback is None else (fallback, Origin.FALLBACK)


def _fallback(match: re.Match[str]) -> str | None:
    return next((text for text in (match["double"], match["single"]) if text is not None), None)


def _too_long(evaluation: Evaluation) -> Invalid:
    message = Message("the assembled instructions are longer than {limit} characters", limit=MAX_LENGTH)
    return Invalid.field(evaluation.field, message, code="instructions_too_long")


def _one_block(
    position: int, block: Mapping[str, Any], evaluation: Evaluation, blocks: Mapping[str, BlockText | str]
) -> tuple[str, BlockReport]:
    version_id = None
    unresolved: tuple[str, ...] = ()
    if block["type"] == "prompt_block_ref":
        target = blocks.get(block["id"], "missing")
        if isinstance(target, BlockText):
            version_id = target.version_id
            # The same block in the same context is the same text, however often it is referred to.
            text, reason, unresolved = evaluation.once(
                "block", target, lambda: _render_block(target.config, evaluation)
            )
            evaluation.spend(len(text))
        else:
            text, reason = "", target
    else:
        text, reason, unresolved = _render_block(block, evaluation)
    return text, BlockReport(
        type=block["type"],
        position=position,
        id=block.get("id"),
        version_id=version_id,
        reason=reason,
        unresolved=unresolved,
    )


def _render_block(
    block: Mapping[str, Any], evaluation: Evaluation
) -> tuple[str, str | None, tuple[str, ...]]:
    """Return the text of a block in the context, why it is omitted, and its unresolved placeholders."""
    if not holds(block.get("rules"), evaluation):
        return "", "rules", ()
    text, unresolved = _render_traced(block["content"], evaluation)
    return text, None if text.strip() else "blank", unresolved
