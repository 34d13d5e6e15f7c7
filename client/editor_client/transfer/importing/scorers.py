"""Scorers from the assertions, evaluators and graders of other systems."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.instructions import placeholders
from editor_client.transfer.importing.agents import change_message
from editor_client.transfer.importing.collection import (
    Collection,
    Config,
    Resource,
    Snapshot,
    excerpt,
    remove_credentials,
)
from editor_client.transfer.importing.messages import Language, pieces, variables

LEFT_OUT: Final = "scorer"
TO_BE_FILLED_IN: Final = "scorer_to_be_filled_in"
MAX_FUNCTION: Final = 100
CHOICES: Final = range(2, 11)


@dataclass
class Scorers:
    """The scorers of one source, each made once however often the source has it."""

    collection: Collection
    folder: str
    """The prefix of their names: the name of the prompt or the file."""
    title: str = ""
    """The prefix of their names for people, if different."""
    _made: dict[str, str] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _functions: dict[str, str] = field(default_factory=dict)
    """The names of functions to register, by the digest of their sources."""

    def add(
        self, name: str, kind: str, config: Config | None = None, *, source: Any = None, **more: Any
    ) -> str:
        """Return the id of a scorer with this content; `source` is its origin, for the metadata."""
        content: Config = {"type": kind, **({} if config is None else {"config": config}), **more}
        digest = canonical.digest([name, content, source])
        if digest in self._made:
            return self._made[digest]
        number = self._numbers[name] = self._numbers.get(name, 0) + 1
        full = f"{self.folder}/{name}" + (f"-{number}" if number > 1 else "")
        scorer_id = self.collection.id_for(full, "scorer")
        extra = {} if source is None else {"source": remove_credentials(source, self.collection, full)}
        snapshot = Snapshot(
            config={"name": full.replace(self.folder, self.title or self.folder, 1), **content},
            message=change_message(self.collection, full, None),
        )
        self.collection.resources.append(
            Resource(
                kind="scorer",
                id=scorer_id,
                name=full,
                snapshots=[snapshot],
                extra=self.collection.fitting(extra, full),
            )
        )
        self._made[digest] = scorer_id
        return scorer_id

    def to_be_filled_in(self, name: str, source: Any, reason: str) -> str:
        """Return the id of a `code` scorer to replace one that cannot be translated, and note that.

        Each different `source` has its own function, with a valid Python name.
        """
        digest = canonical.digest([name, source])
        if digest in self._functions:
            function = self._functions[digest]
        else:
            function = self._functions[digest] = self._function_name(name)
        scorer_id = self.add(name, "code", {"name": function}, source=source)
        message = f"{excerpt(reason)}: a code scorer stands in its place; register the function {function!r}."
        self.collection.lose(TO_BE_FILLED_IN, f"{self.folder}/{name}", message)
        return scorer_id

    def _function_name(self, name: str) -> str:
        base = function_name(f"{self.folder}/{name}")
        number, candidate = 1, base
        while candidate in self._functions.values():
            number += 1
            candidate = f"{base}_{number}"
        return candidate

    def judge(
        self,
        name: str,
        instructions: str,
        choices: Sequence[Mapping[str, Any]],
        model: Mapping[str, Any] | None,
        source: Any,
    ) -> str | None:
        """Return the id of a judge; None, with a note, if its verdicts are unsuitable."""
        labels = [choice["label"] for choice in choices]
        where = f"{self.folder}/{name}"
        if len(labels) not in CHOICES or len(set(labels)) < len(labels):
            message = "It is left out: a judge needs two to ten different verdicts."
            self.collection.lose(LEFT_OUT, where, message)
            return None
        scores = [choice["score"] for choice in choices]
        low, high = min(0, *scores), max(1, *scores)
        more: Config = {} if model is None else {"model": dict(model)}
        if (low, high) != (0, 1):
            more["scoreRange"] = {"min": low, "max": high}
        text = remove_credentials(instructions, self.collection, where)
        if variables(text, "jinja2") or any(piece.kind == "logic" for piece in pieces(text, "jinja2")):
            message = (
                "A judge is shown input, answer and reference as data; its instructions are not filled in."
            )
            self.collection.lose("judge_template", where, message)
        config: Config = {"choices": [dict(choice) for choice in choices]}
        return self.add(name, "llm-judge", config, source=source, instructions=text, **more)


def literal(value: Any, language: Language = "none") -> str | None:
    """Return a value as a text that a scorer uses literally; None if it would be filled in, or is not a text.

    `language` is the template language of the source.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = value if isinstance(value, str) else canonical.dump(value)
    is_template = any(True for _ in placeholders(text)) or any(
        piece.kind != "text" for piece in pieces(text, language)
    )
    return None if is_template or not text.strip() else text


def function_name(text: str) -> str:
    """Return a text as the name of a function in Python."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")
    if len(name) > MAX_FUNCTION:
        name = f"{name[: MAX_FUNCTION - 9]}_{canonical.digest(text)[:8]}"
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"scorer_{name}".rstrip("_")
