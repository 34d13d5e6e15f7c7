"""Whether each value of a file is accounted for by the plan of its import, or by a loss that names it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from editor_client.transfer.importing.agents import model_from
from editor_client.transfer.importing.collection import Collection, excerpt

HEADED: Final = {".prompty": r"(?:---|\+\+\+)", ".prompt": "---"}
"""What stands before and after the head of a file, by the file's ending."""
MARKS: Final = {
    ".prompty": re.compile(
        r"\s*(?:#\s*)?(?:system|developer|user|assistant|tool|function)\s*:\s*", re.IGNORECASE
    ),
    ".prompt": re.compile(r"\{\{\s*(?:role\s+[\"']\w+[\"']|history)\s*\}\}"),
}
"""Which texts begin a message: they become its role."""
LEFT_OUT: Final = frozenset(
    {"credential", "default_settings", "empty", "input_message", "placeholder", "too_large"}
)
"""The losses of values that are kept nowhere."""
FOLLOWED: Final = frozenset({".csv", ".json", ".jsonl", ".md", ".txt", ".yaml", ".yml"})
DEFAULTS: Final = frozenset({("model", "apiType", "chat"), ("model", "api", "chat"), ("template", "jinja2")})
"""Values that say what holds without them."""
CLASSES: Final = frozenset({"id", "lc", "name", "type", "template_format"})
"""The members of a manifest that say how LangChain makes an object of it, besides its arguments."""
READ: Final = frozenset({"prompts", "tests", "defaultTest", "scenarios", "vars"})
"""The members of a configuration whose files an import reads."""
SHORT: Final = 3
"""Shorter values are looked for as they are, and in messages as words: most texts have their letters."""


class Leaf(NamedTuple):
    """A value of a file, or a line of a text in it."""

    place: tuple[str, ...]
    text: str
    is_line: bool = False
    """Whether it can be a part of a longer text."""


_FILE: Final = re.compile(r"\A(?:file://)?(?:\./)?")
_ASSERTION: Final = re.compile(r"\A[a-z-]+(?:\([0-9.]+\))?:\s*(?:file://)?")
_VARIABLE: Final = re.compile(r"\{\{[^{}]*\}\}")


@dataclass(frozen=True)
class Account:
    """What a plan has, and what its losses name."""

    values: frozenset[str]
    """All names and values, as `normal` returns them."""
    words: str
    """All texts together, without what translations of templates change."""
    texts: str
    models: frozenset[tuple[str, str]]
    losses: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, made: Any, losses: list[dict[str, Any]]) -> Account:
        """Return the account of what was made, with the losses of the plan."""
        texts = list(texts_in(made))
        return cls(
            values=frozenset(map(normal, texts)),
            words=" ".join(map(plain, texts)),
            texts="\n".join(texts),
            models=frozenset(models_in(made)),
            losses=tuple(losses),
        )

    def has(self, leaf: Leaf) -> bool:
        """Return whether a value was made into something, or is named."""
        is_mark = leaf.place[-1:] == ("role",) or (*leaf.place[-2:], leaf.text) in DEFAULTS
        if is_mark or normal(leaf.text) in self.values or not plain(leaf.text):
            return True
        if "kwargs" in leaf.place and leaf.place[-1] in CLASSES:
            return True
        if leaf.place[-1:] == ("$ref",):  # which is replaced by what it names
            return True
        return self._has_text(leaf) or self._is_named(leaf)

    def _has_text(self, leaf: Leaf) -> bool:
        text = _FILE.sub("", leaf.text)
        if leaf.place and leaf.place[-1].startswith("__expected"):
            text = _ASSERTION.sub("", text)
        words = plain(text)
        if len(words) < SHORT:
            found = leaf.is_line and leaf.text.strip() in self.texts
        else:
            # Variables may be filled in.
            parts = [plain(part) for part in _VARIABLE.split(text)]
            found = words in self.words or (len(parts) > 1 and all(part in self.words for part in parts))
        return found or self._has_model(text)

    def _has_model(self, text: str) -> bool:
        model = model_from(text, Collection("check"), "")
        return model is not None and (model["provider"], model["name"]) in self.models

    def _is_named(self, leaf: Leaf) -> bool:
        value = excerpt(leaf.text).strip()
        # The letters of a short value are in nearly every message: it has to stand there as a word.
        named = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)" if len(value) < SHORT else re.escape(value))
        for loss in self.losses:
            if named.search(loss["message"]) or (loss["code"] == "empty" and not self.values):
                return True
            if loss["code"] == "input_message" and plain(leaf.text) in plain(loss["message"]):
                return True
            member = re.split(r"[., ]+", loss["where"])[-1]
            if loss["code"] in LEFT_OUT and member in leaf.place:
                return True
        return False


def unaccounted(path: Path, made: Any, losses: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the values of a file that are neither in what was made of it nor named by a loss."""
    account = Account.of(made, losses)
    for leaf in leaves(path):
        if not account.has(leaf):
            yield f"{'.'.join(leaf.place)}: {leaf.text[:80]!r}"


def leaves(path: Path, *, follow: bool = True) -> Iterator[Leaf]:
    """Yield each value of a file, and each line of a text; of files that it names their values."""
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix in HEADED:
        yield from _headed(text, path.suffix)
        return
    for leaf in _in_values(_values(text, path.suffix)):
        named = path.parent / leaf.text.removeprefix("file://")
        is_read = follow and set(leaf.place) & READ and leaf.text.startswith("file://")
        if is_read and "*" in named.name:
            continue
        if is_read and named.suffix in FOLLOWED and named.is_file():
            yield from leaves(named, follow=False)
        else:
            yield leaf


def _headed(text: str, suffix: str) -> Iterator[Leaf]:
    before = r"(?:[ \t]*\n|#[^\n]*\n)*" if suffix == ".prompt" else r"\s*"
    mark = HEADED[suffix]
    pattern = rf"{before}{mark}[ \t]*\r?\n(.*?)(?:(?<=\n){mark}[ \t]*(?:\r?\n|\Z))"
    match = re.match(pattern, text, re.DOTALL)
    head, body = (match[1], text[match.end() :]) if match else ("", text)
    yield from _in_values([yaml.load(head, yaml.BaseLoader)])
    for line in body.splitlines():
        for part in MARKS[suffix].split(line) if suffix == ".prompt" else [line]:
            if not MARKS[suffix].fullmatch(part):
                yield Leaf((), part, is_line=True)


def _values(text: str, suffix: str) -> list[Any]:
    if suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    if suffix == ".json":
        with suppress(ValueError):  # a template can be JSON only when it is filled in
            return [json.loads(text)]
        return [text]
    if suffix == ".csv":
        header, *rows = csv.reader(io.StringIO(text))
        return [{name: cell} for row in rows for name, cell in zip_longest(header, row, fillvalue="")]
    if suffix in {".txt", ".md"}:
        return [text]
    return [yaml.load(text, yaml.BaseLoader)]


def _in_values(values: list[Any]) -> Iterator[Leaf]:
    pending: list[tuple[tuple[str, ...], Any]] = [((), value) for value in values]
    while pending:
        place, value = pending.pop()
        if isinstance(value, dict):
            pending += [((*place, str(name)), one) for name, one in value.items()]
        elif isinstance(value, list):
            pending += [(place, one) for one in value]
        elif value not in (None, ""):
            text = json.dumps(value) if isinstance(value, bool) else str(value)
            lines = text.splitlines()
            yield from (Leaf(place, line, is_line=len(lines) > 1) for line in lines)


def texts_in(value: Any) -> Iterator[str]:
    """Yield all texts and numbers in a value, names of members too."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from texts_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one)
    elif value is not None:
        yield json.dumps(value) if isinstance(value, bool) else str(value)


def models_in(value: Any) -> Iterator[tuple[str, str]]:
    """Yield provider and name of each model in a value."""
    if isinstance(value, dict):
        if isinstance(value.get("provider"), str) and isinstance(value.get("name"), str):
            yield value["provider"], value["name"]
        for one in value.values():
            yield from models_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from models_in(one)


def normal(text: str) -> str:
    """Return a value as it is compared: numbers by what they are, truth values in lower case."""
    text = text.strip()
    if text.lower() in {"true", "false"}:
        return text.lower()
    try:
        return repr(float(text))
    except ValueError:
        return text


def plain(text: str) -> str:
    """Return a text without what translations of templates change: all but letters and digits."""
    return "".join(one for one in text.lower() if one.isalnum())
