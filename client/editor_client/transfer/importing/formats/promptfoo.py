"""Configurations of promptfoo: prompts, the model, tests and assertions. Nothing of them is executed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any, Final, NamedTuple

from editor_client.shared import canonical
from editor_client.shared.promptfoo import expand_variables, merge_tests, parse_assertion
from editor_client.transfer.importing.agents import AgentReader, model_from, settings_in, without_place
from editor_client.transfer.importing.collection import (
    Collection,
    Config,
    Dataset,
    Members,
    Unreadable,
    a_text,
    an_object,
    excerpt,
    nonempty,
    objects,
    remove_credentials,
)
from editor_client.transfer.importing.datasets import Cases
from editor_client.transfer.importing.documents import Documents, csv_rows, parse_json, parse_yaml
from editor_client.transfer.importing.messages import (
    Message,
    list_texts,
    messages_from,
    pieces,
    rename_variables,
    variables,
)
from editor_client.transfer.importing.scorers import LEFT_OUT, Scorers, literal

MAX_TESTS: Final = 10_000
_CODE: Final = re.compile(r"\.(?:js|cjs|mjs|ts|cts|mts|py|rb|sh|go)(?::[\w.]+)?\Z", re.ASCII | re.IGNORECASE)
_TESTS: Final = frozenset({".csv", ".json", ".jsonl", ".yaml", ".yml"})
_VALUES: Final = frozenset({".txt", ".md", ".json", ".yaml", ".yml"})
_KNOWN: Final = ("vars", "assert", "metadata", "options", "threshold", "description")
_INDEX: Final = re.compile(r"__expected([1-9][0-9]{0,3})?")
WRITTEN: Final = "editor"
"""The member of metadata with an export's data for an import."""
EXTERNAL_ID: Final = "externalId"
"""Its member with the external id of the item from which a test was written."""
DIGEST: Final = "digest"
"""Its member with the digest of the test as written."""
Test = dict[str, Any]
"""A test with its known members; `left` has the others."""


@dataclass(frozen=True)
class Tests:
    """Reads the tests of a configuration."""

    documents: Documents
    collection: Collection
    templates: Mapping[str, Any]
    """The assertions that others name by `$ref`."""
    leftover: dict[str, Any] = field(default_factory=dict)
    """Data that belongs to no single test and has no place in the editor."""
    used_templates: set[str] = field(default_factory=set)

    def read(self, config: Members) -> Iterator[Test]:
        """Yield each test with its defaults, one for each combination of variables that are lists."""
        tests = self._expand(config)
        yield from islice(tests, MAX_TESTS)
        if next(tests, None) is not None:
            raise Unreadable(f"There are more than {MAX_TESTS} tests.")

    def _expand(self, config: Members) -> Iterator[Test]:
        defaults = self._objects_in(config.take("defaultTest"), "defaultTest")
        base = self._read_known(defaults[0]) if defaults else {}
        if leftover := base.pop("left", None):  # kept once, not with every test
            self.leftover["defaultTest"] = leftover
        if len(defaults) > 1:
            message = f"{len(defaults) - 1} further defaults of tests are left out; metadata.import has them."
            self.collection.lose("not_followed", "defaultTest", message)
            self.leftover["moreDefaults"] = remove_credentials(defaults[1:], self.collection, "defaultTest")
        test_entries = self._objects_in(config.take("tests"), "tests")
        scenarios = self._objects_in(config.take("scenarios"), "scenarios")
        if base and not test_entries and not scenarios:
            test_entries = [{}]  # promptfoo then makes one test of the defaults alone
        for test in test_entries:
            yield from self._variants(self._merge(base, self._read_known(test)))
        for number, scenario in enumerate(scenarios, 1):
            members = Members(scenario, self.collection, f"scenarios, {number}")
            inner = self._objects_in(members.take("config"), "scenarios") or [{}]
            tests = self._objects_in(members.take("tests"), "scenarios") or [{}]
            if leftover := members.take_rest():
                self.leftover.setdefault("scenarios", {})[str(number)] = leftover
            for setting, test in product(map(self._read_known, inner), map(self._read_known, tests)):
                yield from self._variants(self._merge(self._merge(base, setting), test))

    def _read_known(self, test: Mapping[str, Any]) -> Test:
        """Return a test with its known members; the others are noted, and kept in `left`."""
        members = Members(test, self.collection, "tests")
        result: Test = {}
        leftover: dict[str, Any] = {}
        for name in _KNOWN:
            if name == "vars" and isinstance(members.peek(name), str | list):
                result[name] = self._variables_in(members.take(name))
            elif name == "options":
                options = members.members(name)
                used_options = {"disableVarExpansion": options.take("disableVarExpansion")}
                used_options["provider"] = options.take("provider")
                result[name] = {key: value for key, value in used_options.items() if value is not None}
                leftover |= {"options": more} if (more := options.take_rest()) else {}
            elif name == "threshold":
                if members.peek(name) is not None:
                    self.collection.lose(
                        "threshold",
                        "tests",
                        "The thresholds of tests are left out; metadata.import has them.",
                    )
                    leftover[name] = members.take(name)
            elif name == "description":
                result[name] = members.text(name)
            elif name == "assert":
                result[name] = members.take_list(name)
            else:
                result[name] = members.mapping(name)
        leftover |= members.take_rest()
        if external_id := _read_exported_id(test):
            result["externalId"] = external_id
        result = {name: value for name, value in result.items() if value}
        return {**result, "left": leftover} if leftover else result

    @staticmethod
    def _merge(base: Test, test: Test) -> Test:
        merged: Test = merge_tests(base, test)
        leftover = {**base.get("left", {}), **test.get("left", {})}
        return {**merged, "left": leftover} if leftover else merged

    def asserts(self, test: Test) -> tuple[list[Any], list[Any]]:
        """Return the assertions of a test, and the parts of resolved ones that have no place in the editor.

        Named ones are looked up, and sets are split.
        """
        assertions: list[Any] = []
        leftover: list[Any] = []
        pending: list[Any] = list(reversed(test.get("assert", [])))
        for _ in range(10_000):
            if not pending or len(assertions) >= 1_000:
                break
            assertion = pending.pop()
            reference = assertion.get("$ref") if isinstance(assertion, dict) else None
            if isinstance(reference, str):
                name = reference.removeprefix("#/assertionTemplates/")
                template = an_object(self.templates.get(name))
                if not template:
                    self.collection.lose(
                        "assertion", "tests", f"{excerpt(reference)} names no assertion here."
                    )
                    leftover.append(assertion)
                    continue
                self.used_templates.add(name)
                assertion = {**template, **{key: value for key, value in assertion.items() if key != "$ref"}}
            if isinstance(assertion, dict) and assertion.get("type") == "assert-set":
                message = "The assertions of a set count one by one; its threshold and weight are left out."
                self.collection.lose("assertion", "tests", message)
                members = Members(assertion, self.collection, "tests, assert-set")
                members.skip("type")
                pending += reversed(members.take_list("assert"))
                if more := members.take_rest(code="assertion"):
                    leftover.append({"type": "assert-set", **more})
            else:
                assertions.append(assertion)
        if pending:
            self.collection.lose("assertion", "tests", f"{len(pending)} of too many assertions are left out.")
        return assertions, leftover

    def _objects_in(self, value: Any, where: str) -> list[Test]:
        """Return the objects in a value, and in the files that it names."""
        objects: list[Test] = []
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, dict) and isinstance(entry.get("path"), str) and where == "tests":
                members = Members(entry, self.collection, where)
                objects += self._in_files(members.text("path"), where)
                if leftover := members.take_rest():
                    self.leftover.setdefault(where, []).append(leftover)
            elif isinstance(entry, dict):
                objects.append(entry)
            elif isinstance(entry, str):
                objects += self._in_files(entry, where)
            elif entry is not None:
                message = f"{excerpt(entry)} is left out: it is no object. metadata.import has it."
                self.collection.lose("not_followed", where, message)
                self.leftover.setdefault(where, []).append(entry)
        return objects

    def _in_files(self, reference: str, where: str) -> list[Test]:
        objects: list[Test] = []
        for path in self._paths(reference, where, _TESTS):
            objects += self._from_file(path)
        return objects

    def _paths(self, reference: str, where: str, endings: frozenset[str]) -> list[Path]:
        """Return the files of a reference.

        References that are not followed are noted and kept: code, addresses, outside paths, files of other
        formats.
        """
        name = reference.removeprefix("file://")
        reason = ""
        paths: list[Path] = []
        if _CODE.search(name) or re.match(r"(?:https?|exec|huggingface|az|s3|python|package):", reference):
            reason = f"{excerpt(reference)} is left out: nothing is executed, and no address is followed."
        else:
            try:
                paths = self.documents.matching(name)
            except Unreadable as error:
                reason = str(error)
        for path in paths:
            if path.suffix.lower() not in endings:
                reason = f"{excerpt(path.name)} is left out: such files are not read."
            elif not path.is_file():
                reason = f"{excerpt(path.name)} is left out: it is not there."
        if not paths and not reason:
            reason = f"{excerpt(reference)} names no file."
        if reason:
            self.collection.lose("not_followed", where, reason)
            clean = remove_credentials(reference, self.collection, where)
            references = self.leftover.setdefault("notFollowed", [])
            if clean not in references:
                references.append(clean)
        return [path for path in paths if path.suffix.lower() in endings and path.is_file()]

    def _from_file(self, path: Path) -> list[Test]:
        suffix = path.suffix.lower()
        if suffix == ".csv":
            return list(map(self._row, csv_rows(self.documents.text(path), path.name, _is_own)))
        if suffix == ".jsonl":
            entries = [record for _, record in self.documents.json_lines(path)]
        else:
            value = self.documents.value(path)
            entries = value if isinstance(value, list) else [value]
        for entry in entries:
            if not isinstance(entry, dict):
                lost = f"{excerpt(entry)} in {excerpt(path.name)} is left out: it is no test."
                self.collection.lose("not_followed", "tests", lost)
        return objects(entries)

    def _row(self, row: Mapping[str | None, Any]) -> Test:
        """Return the test in a row: columns are variables; those with two underscores have other meanings."""
        test: Test = {"vars": {}, "assert": [], "metadata": {}, "options": {}}
        columns = {name: cell for name, cell in row.items() if name is not None and cell is not None}
        meta = {name: cell for name, cell in columns.items() if _means(name) and cell.strip()}
        if len(columns) < len(row):
            self.collection.lose("row", "tests", "A row has more or fewer cells than the header has names.")
            if more := row.get(None):
                test["cells"] = more
        for column, cell in columns.items():
            if column.startswith("__expected"):
                test["assert"] += [parse_assertion(cell.strip())] if cell.strip() else []
            elif not _means(column):
                test["vars"][column] = cell
        thresholds: dict[int, Any] = {}
        for column, cell in meta.items():
            self._read_column(column, cell, test, thresholds)
        for place, assertion in enumerate(test["assert"]):
            if metric := meta.get("__metric"):
                assertion["metric"] = metric
            if place in thresholds:
                assertion["threshold"] = thresholds[place]
        return test

    def _read_column(self, column: str, cell: str, test: Test, thresholds: dict[int, Any]) -> None:
        """Read a cell that is neither a variable nor an assertion into the test."""
        name, _, key = column[2:].partition(":")
        if name == "metadata" and key:
            parts = [part.strip().replace("\\,", ",") for part in re.split(r"(?<!\\),", cell)]
            test["metadata"][key.removesuffix("[]")] = parts if key.endswith("[]") else cell
        elif name in ("description", "providerOutput"):
            test[name] = cell
        elif name == "threshold":
            test[name] = _number(cell)
        elif name == "config":
            self._configure(column, cell, thresholds)
        elif name != "metric":
            self.collection.lose("column", "tests", f"The column {excerpt(column)!r} is left out.")
            if name in ("prefix", "suffix"):
                test["options"][name] = cell
            else:
                test.setdefault("columns", {})[column] = cell

    def _configure(self, column: str, cell: str, thresholds: dict[int, Any]) -> None:
        """Read a column such as `__config:__expected2:threshold`."""
        name, _, member = column.removeprefix("__config:").partition(":")
        match = _INDEX.fullmatch(name)
        if match is None or member != "threshold":
            self.collection.lose(
                "column", "tests", f"The column {excerpt(column)!r} is left out: {excerpt(cell)}."
            )
        else:
            thresholds[int(match[1] or 1) - 1] = _number(cell)

    def _variants(self, test: Test) -> Iterator[Test]:
        variables = {name: self._matching(value) for name, value in an_object(test.get("vars")).items()}
        for variant in expand_variables({**test, "vars": variables}):
            values = {name: self._variable(value) for name, value in variant["vars"].items()}
            yield {**variant, "vars": values}

    def _variables_in(self, value: Any) -> dict[str, Any]:
        """Return the variables in files; several are read into one object."""
        variables: dict[str, Any] = {}
        for reference in value if isinstance(value, list) else [value]:
            if isinstance(reference, dict):
                variables |= reference
                continue
            for path in self._paths(str(reference), "tests, vars", frozenset({".json", ".yaml", ".yml"})):
                inner = self.documents.value(path)
                if isinstance(inner, dict):
                    variables |= inner
                else:
                    lost = f"{excerpt(path.name)} is left out: it holds no object of variables."
                    self.collection.lose("not_followed", "tests, vars", lost)
        return variables

    def _matching(self, value: Any) -> Any:
        """Return a pattern of files as a list of them, which is expanded."""
        if not isinstance(value, str) or not value.startswith("file://") or "*" not in value:
            return value
        return [
            f"file://{self.documents.name(path)}" for path in self._paths(value, "tests", _VALUES)
        ] or value

    def _variable(self, value: Any) -> Any:
        """Return the value of a variable; that of a file in the folder is its content."""
        if not isinstance(value, str) or not value.startswith("file://"):
            return value
        paths = self._paths(value, "tests", _VALUES)
        if len(paths) != 1:
            message = f"The variable {excerpt(value)} stays as text: it is no text in the folder."
            self.collection.lose("not_followed", "tests", message)
            return value
        [path] = paths
        return self.documents.text(path) if path.suffix in {".txt", ".md"} else self.documents.value(path)


_SPECIAL_COLUMNS: Final = frozenset(
    {"config", "description", "metadata", "metric", "prefix", "providerOutput", "suffix", "threshold"}
)
"""The names, after two underscores, of columns that are not variables."""


def _read_exported_id(test: Mapping[str, Any]) -> str:
    """Return the external id of the item from which an export wrote a test; empty if it was changed."""
    metadata = an_object(test.get("metadata"))
    own = an_object(metadata.get(WRITTEN))
    rest = {name: value for name, value in metadata.items() if name != WRITTEN}
    plain = {name: value for name, value in test.items() if name != "metadata"}
    plain |= {"metadata": rest} if rest else {}
    external_id = own.get(EXTERNAL_ID)
    return external_id if isinstance(external_id, str) and own.get(DIGEST) == canonical.digest(plain) else ""


def _means(column: str) -> bool:
    """Return whether a column is not a variable."""
    return column.startswith("__") and column[2:].partition(":")[0] in _SPECIAL_COLUMNS


def _is_own(column: str) -> bool:
    """Return whether the name of a column has a meaning for promptfoo."""
    return column.startswith("__expected") or _means(column)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


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
    """The translation of the assertions of one test."""

    ground_truth: Any = None
    values: dict[str, Any] = field(default_factory=dict)
    """The values that its scorers read from `metadata.assert`."""
    scorer_ids: list[str] = field(default_factory=list)
    leftover: list[Any] = field(default_factory=list)
    """The assertions that the editor has no place for."""


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

    def judge(self, asserts: list[Any], variables: Mapping[str, Any], judge: Any = None) -> Judged:
        """Return the translation of assertions in a test with these variables and this provider of judges."""
        judged = Judged()
        self._judge = judge
        if judge is not None:
            self._judges.setdefault(canonical.digest(judge), judge)
        for assertion in asserts:
            scorer_id = self._one(assertion, variables, judged)
            if scorer_id is None:
                judged.leftover.append(
                    remove_credentials(assertion, self.scorers.collection, self.scorers.folder)
                )
                continue
            self._count.add(scorer_id)
            if scorer_id not in judged.scorer_ids:
                judged.scorer_ids.append(scorer_id)
        return judged

    def judges_left(self) -> list[Any]:
        """Return the providers of judges that no scorer has, and note those that no assertion uses."""
        where = f"{self.scorers.folder}, options.provider"
        for digest, provider in self._judges.items():
            if digest not in self._used:
                message = f"The provider {excerpt(provider)} is left out: no rubric uses it."
                message += " metadata.import has it."
                self.scorers.collection.lose("judge", where, message)
        return [
            remove_credentials(judge, self.scorers.collection, where)
            for judge in self._judges.values()
            if judge
        ]

    def _one(self, assertion: Any, variables: Mapping[str, Any], judged: Judged) -> str | None:
        kind = assertion.get("type") if isinstance(assertion, dict) else None
        if not isinstance(kind, str):
            self._left_out("assertion", f"{excerpt(assertion)} is left out: it has no type.")
            return None
        if len(self._count) >= MAX_SCORERS:
            self._left_out(kind, f"It is left out: more than {MAX_SCORERS} different ones are too many.")
            return None
        translate = _TRANSLATIONS.get(kind)
        value = _filled_in(assertion.get("value"), variables)
        scorer_id = (
            None if translate is None or value is _LOGIC else translate(self, assertion, value, judged)
        )
        if scorer_id is None:
            return self.scorers.to_be_filled_in(
                _slug(kind), dict(assertion), f"The assertion {excerpt(kind)!r}"
            )
        where = f"{self.scorers.folder}/{_slug(kind)}"
        members = Members(assertion, self.scorers.collection, where)
        members.skip("type", "value", *_USED.get(kind, ()))
        if leftover := members.take_rest(code="assertion"):
            judged.leftover.append({"type": kind, **leftover})
        return scorer_id

    def _equals(self, assertion: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        if value is None or judged.ground_truth is not None:
            return None if value is None else self._by_item(assertion, value, judged)
        judged.ground_truth = value
        return self.scorers.add("equals", "equals", {"value": "{{groundTruth}}", "trim": False})

    def _by_item(self, assertion: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        text = value if isinstance(value, str) else literal(value)
        if not text or not text.strip():
            return None
        kind = str(assertion["type"])
        ours, member, more = BY_ITEM.get(kind, ("equals", "value", {"trim": False}))
        number = 1
        while (key := _slug(kind).replace("-", "_") + (f"_{number}" if number > 1 else "")) in judged.values:
            number += 1
        judged.values[key] = text
        template = f"{{{{metadata.assert.{key}}}}}"
        config = {member: [template] if member == "values" else template, **more}
        return self.scorers.add(key.replace("_", "-"), ours, config)

    def _several(self, assertion: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        values = comma_separated(value) if isinstance(value, str) else value
        texts = [literal(part) for part in values] if isinstance(values, list) else []
        if not 1 <= len(texts) <= 50 or None in texts:
            return None
        kind = str(assertion["type"])
        return self.scorers.add(_slug(kind), "contains", {"values": texts, **SEVERAL[kind]})

    def _regex(self, assertion: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        if not isinstance(value, str) or not value:
            return None
        return self.scorers.add("regex", "regex", {"pattern": value})

    def _is_json(self, assertion: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        if isinstance(value, str) and value.strip():
            try:
                value = parse_yaml(value, "schema")  # which includes JSON
            except Unreadable:
                return None
        if value not in (None, "") and not isinstance(value, dict):
            return None
        return self.scorers.add("is-json", "jsonSchema", {"schema": value or {}})

    def _latency(self, assertion: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        limit = assertion.get("threshold")
        if isinstance(limit, bool) or not isinstance(limit, int | float) or limit <= 0:
            return None
        return self.scorers.add("latency", "maxMilliseconds", {"value": limit})

    def _rubric(self, assertion: Mapping[str, Any], value: Any, judged: Judged) -> str | None:
        if not isinstance(value, str) or not value.strip():
            return None
        where = f"{self.scorers.folder}/{_slug(str(assertion['type']))}"
        provider = assertion.get("provider", self._judge)
        members = Members(
            provider if isinstance(provider, dict) else {"id": provider}, self.scorers.collection, where
        )
        name = members.text("id")
        model = model_from(name, self.scorers.collection, where)
        leftover = {**without_place(name, model), **members.take_rest(code="assertion")}
        if "provider" not in assertion and provider is not None:
            self._judges[digest := canonical.digest(provider)] = leftover
            self._used.add(digest)
        elif leftover:
            judged.leftover.append({"type": assertion["type"], "provider": leftover})
        message = "A judge of the editor asks in its own words; only the rubric is the same."
        self.scorers.collection.lose("judge", where, message)
        return self.scorers.judge(_slug(str(assertion["type"])), value, VERDICTS, model, None)

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
"""Marker: a value that only the template engine of the source can fill in."""


def _filled_in(value: Any, variables: Mapping[str, Any]) -> Any:
    """Return a value with its variables filled in if that is exact; otherwise `_LOGIC`."""
    if isinstance(value, list):
        values = [_filled_in(entry, variables) for entry in value]
        return _LOGIC if _LOGIC in values else values
    if not isinstance(value, str):
        return value
    if value.startswith(("file://", "package:", "python:", "javascript:")):
        return _LOGIC
    parts = []
    for piece in pieces(value, "jinja2"):
        if piece.kind in {"text", "literal"}:
            parts.append(piece.source if piece.kind == "text" else piece.name)
            continue
        is_known = piece.kind == "variable" and piece.name in variables
        variable_value = variables[piece.name] if is_known else None
        if isinstance(variable_value, bool) or not isinstance(variable_value, str | int | float):
            return _LOGIC
        parts.append(
            variable_value if isinstance(variable_value, str) else canonical.display_text(variable_value)
        )
    return "".join(parts)


def comma_separated(value: str) -> list[str]:
    """Return the values of `contains-any: a, "b, c"`; values with commas are in quotation marks."""
    values = []
    for match in _FIELD.finditer(value):
        quoted, plain = match["quoted"], match["plain"]
        if quoted is not None:
            values.append(quoted.replace('""', '"'))
        elif plain.strip():
            values.append(plain.strip())
    return values


def _slug(kind: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", kind[:60].lower()).strip("-") or "assertion"


EXECUTED: Final = re.compile(r"(?:exec|python|javascript|ruby|webhook|https?|wss?|golang|file):")
MAX_PATH: Final = 300


class Prompt(NamedTuple):
    """A prompt and its name."""

    name: str
    content: Any
    """A text, or a list of messages."""
    leftover: Mapping[str, Any] = {}
    """Data that the editor has no place for."""


@dataclass(frozen=True)
class Prompts:
    """Reads the prompts of a configuration of this name."""

    documents: Documents
    collection: Collection
    name: str
    unread: list[Any] = field(default_factory=list)
    """The omitted prompts."""

    def read(self, value: Any) -> list[Prompt]:
        """Return the prompts in the member `prompts`."""
        if isinstance(value, dict):  # files, each with its label
            value = [{"id": path, "label": label} for path, label in value.items()]
        entries = value if isinstance(value, list) else [] if value is None else [value]
        prompts: list[Prompt] = []
        for number, entry in enumerate(entries, 1):
            prompts += self._prompts_in(entry, self.name if len(entries) == 1 else f"{self.name}/{number}")
        return prompts

    def _prompts_in(self, entry: Any, name: str) -> Iterator[Prompt]:
        leftover: dict[str, Any] = {}
        if isinstance(entry, dict):
            members = Members(entry, self.collection, name)
            key = next((key for key in ("raw", "id", "prompt") if members.peek(key)), "")
            text = members.take(key)
            name = members.text("label").strip() or name
            leftover = members.take_rest()
        else:
            text = entry
        if isinstance(text, list):
            yield Prompt(name, text, leftover)
        elif not isinstance(text, str):
            self._lose("prompt", name, "It is no text, and is left out.", entry)
        elif text.startswith("file://") or self._is_file(text):
            for prompt in self._prompts_in_files(text, name, labelled=isinstance(entry, dict)):
                yield prompt._replace(leftover={**leftover, **prompt.leftover})
        elif EXECUTED.match(text):
            self._lose("not_followed", name, f"{excerpt(text)} is left out: nothing is executed.", entry)
        else:
            yield Prompt(name, _chat_in(text), leftover)

    def _lose(self, code: str, name: str, message: str, entry: Any) -> None:
        self.collection.lose(code, name, message)
        self.unread.append(remove_credentials(entry, self.collection, name))

    def _is_file(self, text: str) -> bool:
        """Return whether a prompt is the name of a file, rather than its text."""
        if len(text) >= MAX_PATH or "\n" in text or not text.endswith(tuple(_READERS)):
            return False
        try:
            return bool(self.documents.matching(text)) and self.documents.matching(text)[0].is_file()
        except (Unreadable, OSError, ValueError):
            return False

    def _prompts_in_files(self, reference: str, name: str, *, labelled: bool) -> Iterator[Prompt]:
        reference = reference.removeprefix("file://")
        try:
            paths = self.documents.matching(reference)
        except Unreadable as error:
            self._lose("not_followed", name, str(error), reference)
            return
        if not paths:
            self._lose("not_followed", name, f"{excerpt(reference)} names no file.", reference)
        for path in paths:
            if path.suffix not in _READERS:
                message = f"{excerpt(path.name)} is left out: it is no text, and nothing is executed."
                self._lose("not_followed", name, message, reference)
                continue
            if not path.is_file():
                self._lose("not_followed", name, f"{excerpt(path.name)} is not there.", reference)
                continue
            entries = list(_READERS[path.suffix](self.documents.text(path), path.name))
            base = name if labelled and len(paths) == 1 else f"{self.name}/{path.stem}"
            for column in sorted({column for _, _, leftover in entries for column in leftover}):
                lost = f"The column {excerpt(column)!r} has no place in the editor: metadata.import has it."
                self.collection.lose("column", f"{name}, {path.name}", lost)
            for number, (label, content, leftover) in enumerate(entries, 1):
                yield Prompt(label or (base if len(entries) == 1 else f"{base}/{number}"), content, leftover)


_COLUMNS: Final = frozenset({"prompt", "label"})
"""The columns of a table of prompts that are read."""
Labelled = Iterator[tuple[str, Any, dict[str, Any]]]
"""Labels, which may be empty, contents, and the rest of rows."""


def _rows(text: str, name: str) -> Labelled:
    for row in csv_rows(text, name, _COLUMNS.__contains__):
        leftover = {key or "cells": cell for key, cell in row.items() if key not in _COLUMNS and cell}
        if a_text(row.get("prompt")).strip():
            yield a_text(row.get("label")).strip(), _chat_in(str(row["prompt"])), leftover


def _lines(text: str, name: str) -> Labelled:
    yield from (("", parse_json(line, name), {}) for line in text.split("\n") if line.strip())


def _value(parse: Callable[[str, str], Any], text: str, name: str) -> Labelled:
    """Yield a chat, or a text: one with template logic is JSON only once it is filled in."""
    try:
        value = parse(text, name)
    except Unreadable:
        value = None
    yield "", value if isinstance(value, list) else text, {}


def _sections(text: str, name: str) -> Labelled:
    for part in re.split(r"(?m)^---\s*$", text):
        if part.strip():
            yield "", _chat_in(part.strip("\n")), {}


def _whole(text: str, name: str) -> Labelled:
    yield "", _chat_in(text), {}


_READERS: Final[Mapping[str, Callable[[str, str], Labelled]]] = {
    ".txt": _sections,
    ".md": _whole,
    ".j2": _whole,
    ".json": partial(_value, parse_json),
    ".jsonl": _lines,
    ".yaml": partial(_value, parse_yaml),
    ".yml": partial(_value, parse_yaml),
    ".csv": _rows,
}


def _chat_in(text: str) -> Any:
    """Return the messages in a prompt that is JSON, otherwise the text."""
    if not text.lstrip().startswith("["):
        return text
    try:
        value = parse_json(text, "prompt")
    except Unreadable:
        return text
    is_chat = (
        isinstance(value, list)
        and value
        and all(isinstance(entry, dict) and "role" in entry for entry in value)
    )
    return value if is_chat else text


SYSTEM: Final = "promptfoo"
_NAMES: Final = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")
JOINED: Final = "joined"
"""The member of the metadata that an export writes: the variables whose texts are lists of pieces."""
JSON: Final = "json"
"""The member of the metadata of a test that an export writes: the variables whose texts are JSON."""
METADATA: Final = "metadata"
"""The member with metadata as JSON that promptfoo would not leave unchanged."""
NAMES: Final = "names"
"""The member of the metadata that an export writes: the names of agents, by the labels of their prompts."""
SOURCE: Final = "source"
"""The member with the name of the dataset in its original source."""


def read(documents: Documents) -> Collection:
    """Return the content of a configuration; PATH is its file, or the folder of a `promptfooconfig.yaml`."""
    path = documents.path
    if path.is_dir():
        paths = [path / name for name in _NAMES if (path / name).is_file()]
        if not paths:
            raise Unreadable(f"{excerpt(path.name)} holds no {_NAMES[0]}.")
        path = documents.resolve_reference(paths[0].name)
    config = documents.value(path)
    if not isinstance(config, dict) or not ({"prompts", "tests", "scenarios"} & set(config)):
        raise Unreadable(f"{excerpt(path.name)} is no configuration: it has neither prompts nor tests.")
    collection = Collection(SYSTEM)
    _Configuration(documents, collection, config).read()
    return collection


class _Configuration:
    def __init__(self, documents: Documents, collection: Collection, config: Mapping[str, Any]) -> None:
        self.documents = documents
        self.collection = collection
        self.name = a_text(config.get("description")).strip() or "promptfoo"
        self.members = Members(config, collection, self.name)
        self.titles: dict[str, str] = {}
        self.source = self.name
        self.leftover: dict[str, Any] = {}
        """Data of the whole configuration that has no place in the editor."""

    def read(self) -> None:
        """Read the tests first: their variables have the same names in all prompts."""
        since = self.collection.mark()
        self.members.text("description")
        templates = self.members.mapping("assertionTemplates")
        metadata = self.members.members("metadata")
        written = metadata.members(WRITTEN)
        joined = [name for name in written.take_list(JOINED) if isinstance(name, str)]
        self.titles = {
            name: value for name, value in written.mapping(NAMES).items() if isinstance(value, str)
        }
        self.source = written.text(SOURCE) or self.name
        source = Tests(self.documents, self.collection, templates)
        tests = [_with_joined(test, joined) for test in source.read(self.members)]
        variable_names = sorted({name for test in tests for name in test.get("vars", {})})
        readers = self._read_prompts(variable_names, joined)
        if tests:
            self._read_tests(tests, source, readers, variable_names)
        unused = Members(
            {name: template for name, template in templates.items() if name not in source.used_templates},
            self.collection,
            f"{self.name}, assertionTemplates",
        )
        self.leftover |= source.leftover
        self.leftover |= nonempty(assertionTemplates=unused.take_rest(code="configuration"))
        about = {**metadata.take_rest(code="configuration"), **nonempty(editor=written.take_rest())}
        self.leftover |= nonempty(metadata=about)
        self.leftover |= self.members.take_rest(code="configuration")
        self.collection.attach(nonempty(configuration=self.leftover), since, self.name)

    # Prompts

    def _read_prompts(
        self, variable_names: list[str], joined: Sequence[str]
    ) -> list[tuple[AgentReader, list[Message]]]:
        providers = self._providers()
        readers = []
        prompts = Prompts(self.documents, self.collection, self.name)
        used = set()
        for prompt in prompts.read(self.members.take("prompts")):
            place = next(
                (place for place, (_, names) in enumerate(providers) if not names or prompt.name in names),
                None,
            )
            model, settings, extra = (None, {}, {}) if place is None else self._model(providers[place][0])
            used.add(place)
            title = self.titles.get(prompt.name, "")
            reader = AgentReader(
                self.collection, prompt.name, "jinja2", title=title, more_names=variable_names
            )
            if isinstance(prompt.content, list):
                messages = messages_from(prompt.content, self.collection, prompt.name)
            else:
                messages = [Message(role="user", text=str(prompt.content))]
            if joined:  # variables that an export has written in pieces
                joins = re.compile(rf"\{{\{{ ({'|'.join(map(re.escape, joined))}) \| join \}}\}}")
                messages = [
                    replace(message, text=joins.sub(r"{{\1}}", message.text)) if message.text else message
                    for message in messages
                ]
            more = {**extra, **nonempty(prompt=prompt.leftover)}
            reader.add(messages, model=model, settings=settings, extra=more)
            reader.finish()
            readers.append((reader, messages))
        self.leftover |= nonempty(prompts=prompts.unread)
        where = f"{self.name}, providers"
        if unused := [provider for place, (provider, _) in enumerate(providers) if place not in used]:
            message = f"{len(unused)} providers are left out; metadata.import has them."
            self.collection.lose("providers", where, message)
            self.leftover["providers"] = remove_credentials(unused, self.collection, where)
        return readers

    def _providers(self) -> list[tuple[dict[str, Any], list[str]]]:
        """Return the providers as objects, each with the names of its prompts, if any."""
        entries = self.members.take("providers" if "providers" in self.members else "targets")
        providers = []
        for entry in entries if isinstance(entries, list) else [] if entries is None else [entries]:
            provider = entry if isinstance(entry, dict) else {"id": entry}
            if "id" not in provider and len(provider) == 1:
                [(name, about)] = provider.items()
                provider = {**an_object(about), "id": name}
            names = provider.get("prompts")
            is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
            if is_list:
                provider = {name: value for name, value in provider.items() if name != "prompts"}
            providers.append((provider, list(names) if is_list and names else []))
        return providers

    def _model(
        self, entry: Mapping[str, Any]
    ) -> tuple[dict[str, Any] | None, dict[str, Any], dict[str, Any]]:
        """Return the model of a provider, its settings, and its other data."""
        where = f"{self.name}, providers"
        provider = Members(dict(entry), self.collection, where)
        name = provider.take("id")
        config = provider.members("config")
        model = None
        if isinstance(name, str) and EXECUTED.match(name):
            self.collection.lose("not_followed", where, f"{excerpt(name)} is left out: nothing is executed.")
        else:
            model = model_from(name, self.collection, where)
        # Settings are those of a model: without one they stay with the provider.
        settings = {} if model is None else settings_in(config)
        rest = {**without_place(name, model), **provider.take_rest()}
        extra = nonempty(config=config.take_rest(), provider=remove_credentials(rest, self.collection, where))
        return model, settings, extra

    # Tests

    def _read_tests(
        self,
        tests: list[dict[str, Any]],
        source: Tests,
        readers: list[tuple[AgentReader, list[Message]]],
        variable_names: list[str],
    ) -> None:
        scorers = Scorers(self.collection, f"{self.name}/scorers", title=f"{self.source}/scorers")
        used = {
            name
            for _, messages in readers
            for text in list_texts(messages)
            for name in variables(text, "jinja2")
        }
        dropped = {tuple(reader.dropped_variables) for reader, _ in readers}
        input_names = list(dropped.pop()) if len(dropped) == 1 else []
        needed = used - set(input_names)
        names = rename_variables([*used, *variable_names])
        cases = Cases(self.collection, self.name, needed=needed, dropped=input_names, names=names)
        assertions = Assertions(scorers)
        for test in tests:
            asserts, unread = source.asserts(test)
            judge = test.get("options", {}).get("provider")
            judged = assertions.judge(asserts, test.get("vars", {}), judge)
            where = f"{self.name}, tests"
            clean = remove_credentials(test.get("vars", {}), self.collection, where, by_name=False)
            metadata = remove_credentials(test.get("metadata", {}), self.collection, where)
            leftover = dict(test.get("left", {})) | nonempty(asserts=[*unread, *judged.leftover])
            own = nonempty(description=test.get("description"), assert_=judged.values)
            for name, value in ((key.rstrip("_"), content) for key, content in own.items()):
                if name in metadata:
                    message = f"{name!r} in the metadata of tests has no place beside that of the test."
                    self.collection.lose("metadata", where, f"{message} metadata.import has it.")
                    leftover.setdefault("metadata", {})[name] = metadata[name]
                metadata[name] = value
            cases.add(
                clean,
                external=test.get("externalId"),
                leftover=leftover,
                groundTruth=judged.ground_truth,
                metadata=metadata,
                scorerIds=judged.scorer_ids or None,
            )
        self.leftover |= nonempty(judges=assertions.judges_left())
        agents = [reader.id for reader, _ in readers if reader.is_made]
        types = {
            scorer.id: scorer.snapshots[-1].config["type"]
            for scorer in self.collection.resources
            if scorer.kind == "scorer"
        }
        scorer_ids = dict.fromkeys(
            scorer_id for item in cases.items for scorer_id in item.get("scorerIds") or ()
        )
        # Those to be filled in do not run; the first of the others is the primary one.
        running = [scorer_id for scorer_id in scorer_ids if types[scorer_id] != "code"]
        running.sort(key=lambda scorer_id: types[scorer_id] == "maxMilliseconds")
        self.collection.datasets.append(
            Dataset(
                name=self.name,
                source_name=self.source,
                items=cases.items,
                agent_ids=agents,
                scorer_ids=running,
            )
        )


def _with_joined(test: Mapping[str, Any], joined: Sequence[str]) -> dict[str, Any]:
    """Return a test with the texts that an export of the editor has written in pieces, or as JSON."""
    variables, metadata = dict(test.get("vars", {})), dict(test.get("metadata", {}))
    own = an_object(metadata.get(WRITTEN))
    as_json = own.get(JSON)
    for name in joined:
        value = variables.get(name)
        if not isinstance(value, list):
            continue
        if value == []:
            del variables[name]
        elif not all(isinstance(entry, str) for entry in value):
            variables[name] = value[0] if len(value) == 1 else value
        else:
            text = "".join(value)
            is_json = isinstance(as_json, list) and name in as_json
            variables[name] = parse_json(text, f"vars.{name}") if is_json else text
    own_keys = {JSON, METADATA, EXTERNAL_ID, DIGEST}
    if set(own) & own_keys and not set(own) - own_keys:
        del metadata[WRITTEN]
        if isinstance(own.get(METADATA), str):
            metadata = {**an_object(parse_json(own[METADATA], WRITTEN)), **metadata}
    return {**test, "vars": variables, "metadata": metadata}
