"""Assertions of promptfoo as scorers.

A value that differs from test to test stands in the metadata of the item, so that all tests share a scorer.
What cannot be translated, code above all, becomes a scorer that is to be filled in; nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.transfer.importing import credentials, models
from editor_client.transfer.importing.collection import Config, Unreadable, shown
from editor_client.transfer.importing.members import Members
from editor_client.transfer.importing.scorers import LEFT_OUT, Scorers, literal
from editor_client.transfer.importing.templates import pieces
from editor_client.transfer.importing.yaml_text import parse_yaml

MAX_SCORERS: Final = 200
_FIELD: Final = re.compile(r'\s*+"(?P<quoted>(?:[^"]|"")*+)"\s*+(?:,|\Z)|(?P<plain>[^,]++)(?:,|\Z)|,')
BY_ITEM: Final[Mapping[str, tuple[str, str, Config]]] = {
    "contains": ("contains", "values", {}),
    "icontains": ("contains", "values", {"ignoreCase": True}),
    "starts-with": ("startsWith", "value", {}),
}
"""Assertions whose value is a text: the type of our scorer, the member of its config, and other members."""
SEVERAL: Final[Mapping[str, Config]] = {
    "contains-all": {"mode": "all"},
    "contains-any": {"mode": "any"},
    "icontains-all": {"mode": "all", "ignoreCase": True},
    "icontains-any": {"mode": "any", "ignoreCase": True},
}
VERDICTS: Final = (
    {"label": "pass", "score": 1, "passes": True},
    {"label": "fail", "score": 0, "passes": False},
)


@dataclass
class Judged:
    """What the assertions of one test become."""

    ground_truth: Any = None
    values: dict[str, Any] = field(default_factory=dict)
    """The values that its scorers read from `metadata.assert`."""
    scorer_ids: list[str] = field(default_factory=list)
    left: list[Any] = field(default_factory=list)
    """The assertions, as far as the editor has no place for them."""


@dataclass
class Assertions:
    """Translates the assertions of all tests of a configuration."""

    scorers: Scorers
    _judge: Any = field(default=None, init=False)
    """The provider of judges for which the assertion names none."""
    _count: set[str] = field(default_factory=set, init=False)
    _judges: dict[str, Any] = field(default_factory=dict, init=False)
    """The providers of judges of all tests by their digests, as far as no scorer has them."""
    _used: set[str] = field(default_factory=set, init=False)

    def judged(self, asserts: list[Any], variables: Mapping[str, Any], judge: Any = None) -> Judged:
        """Return what these assertions become in a test with these variables and this provider of judges."""
        judged = Judged()
        self._judge = judge
        if judge is not None:
            self._judges.setdefault(canonical.digest(judge), judge)
        for assertion in asserts:
            scorer_id = self._one(assertion, variables, judged)
            if scorer_id is None:
                judged.left.append(
                    credentials.without(assertion, self.scorers.collection, self.scorers.folder)
                )
                continue
            self._count.add(scorer_id)
            if scorer_id not in judged.scorer_ids:
                judged.scorer_ids.append(scorer_id)
        return judged

    def judges_left(self) -> list[Any]:
        """Return what no scorer has of the providers of judges, and note those that no assertion uses."""
        where = f"{self.scorers.folder}, options.provider"
        for digest, one in self._judges.items():
            if digest not in self._used:
                message = f"The provider {shown(one)} is left out: no rubric uses it. metadata.import has it."
                self.scorers.collection.lose("judge", where, message)
        return [
            credentials.without(judge, self.scorers.collection, where)
            for judge in self._judges.values()
            if judge
        ]

    def _one(self, one: Any, variables: Mapping[str, Any], judged: Judged) -> str | None:
        kind = one.get("type") if isinstance(one, dict) else None
        if not isinstance(kind, str):
            self._left_out("assertion", f"{shown(one)} is left out: it has no type.")
            return None
        if len(self._count) >= MAX_SCORERS:
            self._left_out(kind, f"It is left out: more than {MAX_SCORERS} different ones are too many.")
            return None
        translate = _TRANSLATIONS.get(kind)
        value = _filled_in(one.get("value"), variables)
        found = None if translate is None or value is _LOGIC else translate(self, one, value, judged)
        if found is None:
            return self.scorers.to_be_filled_in(_slug(kind), dict(one), f"The assertion {shown(kind)!r}")
        where = f"{self.scorers.folder}/{_slug(kind)}"
        members = Members(one, self.scorers.collection, where)
        members.skip("type", "value", *_USED.get(kind, ()))
        if left := members.left(code="assertion"):
            judged.left.append({"type": kind, **left})
        return found

    def _equals(self, one: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        if value is None or judged.ground_truth is not None:
            return None if value is None else self._by_item(one, value, judged)
        judged.ground_truth = value
        return self.scorers.add("equals", "equals", {"value": "{{groundTruth}}", "trim": False})

    def _by_item(self, one: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        text = value if isinstance(value, str) else literal(value)
        if not text or not text.strip():
            return None
        kind = str(one["type"])
        ours, member, more = BY_ITEM.get(kind, ("equals", "value", {"trim": False}))
        number = 1
        while (key := _slug(kind).replace("-", "_") + (f"_{number}" if number > 1 else "")) in judged.values:
            number += 1
        judged.values[key] = text
        template = f"{{{{metadata.assert.{key}}}}}"
        config = {member: [template] if member == "values" else template, **more}
        return self.scorers.add(key.replace("_", "-"), ours, config)

    def _several(self, one: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        listed = comma_separated(value) if isinstance(value, str) else value
        texts = [literal(part) for part in listed] if isinstance(listed, list) else []
        if not 1 <= len(texts) <= 50 or None in texts:
            return None
        kind = str(one["type"])
        return self.scorers.add(_slug(kind), "contains", {"values": texts, **SEVERAL[kind]})

    def _regex(self, one: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        if not isinstance(value, str) or not value:
            return None
        return self.scorers.add("regex", "regex", {"pattern": value})

    def _is_json(self, one: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        if isinstance(value, str) and value.strip():
            try:
                value = parse_yaml(value, "schema")  # which JSON is, too
            except Unreadable:
                return None
        if value not in (None, "") and not isinstance(value, dict):
            return None
        return self.scorers.add("is-json", "jsonSchema", {"schema": value or {}})

    def _latency(self, one: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        limit = one.get("threshold")
        if isinstance(limit, bool) or not isinstance(limit, int | float) or limit <= 0:
            return None
        return self.scorers.add("latency", "maxMilliseconds", {"value": limit})

    def _rubric(self, one: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        if not isinstance(value, str) or not value.strip():
            return None
        where = f"{self.scorers.folder}/{_slug(str(one['type']))}"
        provider = one.get("provider", self._judge)
        members = Members(
            provider if isinstance(provider, dict) else {"id": provider}, self.scorers.collection, where
        )
        name = members.text("id")
        model = models.model_from(name, self.scorers.collection, where)
        left = {**models.without_place(name, model), **members.left(code="assertion")}
        if "provider" not in one and provider is not None:
            self._judges[digest := canonical.digest(provider)] = left
            self._used.add(digest)
        elif left:
            judged.left.append({"type": one["type"], "provider": left})
        message = "A judge of the editor asks in its own words; only the rubric is the same."
        self.scorers.collection.lose("judge", where, message)
        return self.scorers.judge(_slug(str(one["type"])), value, VERDICTS, model, None)

    def _left_out(self, kind: str, message: str) -> None:
        self.scorers.collection.lose(LEFT_OUT, f"{self.scorers.folder}/{_slug(kind)}", message)


Translation = Callable[[Assertions, Mapping[str, Any], Any, Judged], str | None]
_TRANSLATIONS: Final[Mapping[str, Translation]] = {
    "equals": Assertions._equals,  # noqa: SLF001
    **dict.fromkeys(BY_ITEM, Assertions._by_item),  # noqa: SLF001
    **dict.fromkeys(SEVERAL, Assertions._several),  # noqa: SLF001
    "regex": Assertions._regex,  # noqa: SLF001
    "is-json": Assertions._is_json,  # noqa: SLF001
    "latency": Assertions._latency,  # noqa: SLF001
    "llm-rubric": Assertions._rubric,  # noqa: SLF001
    "model-graded-closedqa": Assertions._rubric,  # noqa: SLF001
}
_USED: Final[Mapping[str, tuple[str, ...]]] = {
    "latency": ("threshold",),
    **dict.fromkeys(("llm-rubric", "model-graded-closedqa"), ("provider",)),
}
"""The members besides type and value that translations use."""
_LOGIC: Final = object()
"""A value that only the template engine of the source can fill in."""


def _filled_in(value: Any, variables: Mapping[str, Any]) -> Any:
    """Return a value with its variables filled in, as far as that is exact; otherwise `_LOGIC`."""
    if isinstance(value, list):
        found = [_filled_in(entry, variables) for entry in value]
        return _LOGIC if _LOGIC in found else found
    if not isinstance(value, str):
        return value
    if value.startswith(("file://", "package:", "python:", "javascript:")):
        return _LOGIC
    parts = []
    for piece in pieces(value, "jinja2"):
        if piece.kind in {"text", "literal"}:
            parts.append(piece.source if piece.kind == "text" else piece.name)
            continue
        known = piece.kind == "variable" and piece.name in variables
        given = variables[piece.name] if known else None
        if isinstance(given, bool) or not isinstance(given, str | int | float):
            return _LOGIC
        parts.append(given if isinstance(given, str) else canonical.dump(given))
    return "".join(parts)


def comma_separated(value: str) -> list[str]:
    """Return the values of `contains-any: a, "b, c"`, in which those with commas stand in quotation marks."""
    found = []
    for match in _FIELD.finditer(value):
        quoted, plain = match["quoted"], match["plain"]
        if quoted is not None:
            found.append(quoted.replace('""', '"'))
        elif plain.strip():
            found.append(plain.strip())
    return found


def _slug(kind: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", kind[:60].lower()).strip("-") or "assertion"
