"""The tests of a promptfoo configuration, wherever they stand, each with what the defaults say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.promptfoo import expanded, expected, merged
from editor_client.transfer.importing import credentials
from editor_client.transfer.importing.collection import Collection, Unreadable, an_object, objects, shown
from editor_client.transfer.importing.documents import Documents, csv_rows
from editor_client.transfer.importing.members import Members

MAX_TESTS: Final = 10_000
_CODE: Final = re.compile(r"\.(?:js|cjs|mjs|ts|cts|mts|py|rb|sh|go)(?::[\w.]+)?\Z", re.ASCII | re.IGNORECASE)
_TESTS: Final = frozenset({".csv", ".json", ".jsonl", ".yaml", ".yml"})
_VALUES: Final = frozenset({".txt", ".md", ".json", ".yaml", ".yml"})
_KNOWN: Final = ("vars", "assert", "metadata", "options", "threshold", "description")
_INDEX: Final = re.compile(r"__expected([1-9][0-9]{0,3})?")
WRITTEN: Final = "editor"
"""The member of metadata with what an export says to an import."""
EXTERNAL_ID: Final = "externalId"
"""Its member with the external id of the item that a test was written of."""
DIGEST: Final = "digest"
"""Its member with the digest of the test as it was written."""
Test = dict[str, Any]
"""A test with those members that are known; `left` has the others."""


@dataclass(frozen=True)
class Tests:
    """Reads the tests of a configuration."""

    documents: Documents
    collection: Collection
    templates: Mapping[str, Any]
    """The assertions that others name by `$ref`."""
    left: dict[str, Any] = field(default_factory=dict)
    """What belongs to no single test, and has no place in the editor."""
    used_templates: set[str] = field(default_factory=set)

    def read(self, config: Members) -> Iterator[Test]:
        """Yield each test with its defaults, one for each combination of variables that are lists."""
        found = self._expanded(config)
        yield from islice(found, MAX_TESTS)
        if next(found, None) is not None:
            raise Unreadable(f"There are more than {MAX_TESTS} tests.")

    def _expanded(self, config: Members) -> Iterator[Test]:
        defaults = self._objects_in(config.take("defaultTest"), "defaultTest")
        base = self._default(defaults[0]) if defaults else {}
        if len(defaults) > 1:
            message = f"{len(defaults) - 1} further defaults of tests are left out; metadata.import has them."
            self.collection.lose("not_followed", "defaultTest", message)
            self.left["moreDefaults"] = credentials.without(defaults[1:], self.collection, "defaultTest")
        listed = self._objects_in(config.take("tests"), "tests")
        scenarios = self._objects_in(config.take("scenarios"), "scenarios")
        if base and not listed and not scenarios:
            listed = [{}]  # promptfoo then makes one test of the defaults alone
        for test in listed:
            yield from self._variants(self._merged(base, self._known(test)))
        for number, scenario in enumerate(scenarios, 1):
            members = Members(scenario, self.collection, f"scenarios, {number}")
            inner = self._objects_in(members.take("config"), "scenarios") or [{}]
            tests = self._objects_in(members.take("tests"), "scenarios") or [{}]
            if left := members.left():
                self.left.setdefault("scenarios", {})[str(number)] = left
            for one, test in product(map(self._known, inner), map(self._known, tests)):
                yield from self._variants(self._merged(self._merged(base, one), test))

    def _default(self, test: Mapping[str, Any]) -> Test:
        """Return the defaults of all tests; what has no place is kept once, not with every test."""
        known = self._known(test)
        if left := known.pop("left", None):
            self.left["defaultTest"] = left
        return known

    def _known(self, test: Mapping[str, Any]) -> Test:
        """Return a test with its known members; the others are noted, and kept in `left`."""
        members = Members(test, self.collection, "tests")
        found: Test = {}
        left: dict[str, Any] = {}
        for name in _KNOWN:
            if name == "vars" and isinstance(members.peek(name), str | list):
                found[name] = self._variables_in(members.take(name))
            elif name == "options":
                options = members.members(name)
                known = {"disableVarExpansion": options.take("disableVarExpansion")}
                known["provider"] = options.take("provider")
                found[name] = {key: value for key, value in known.items() if value is not None}
                left |= {"options": more} if (more := options.left()) else {}
            elif name == "threshold":
                if members.peek(name) is not None:
                    self.collection.lose(
                        "threshold",
                        "tests",
                        "The thresholds of tests are left out; metadata.import has them.",
                    )
                    left[name] = members.take(name)
            elif name == "description":
                found[name] = members.text(name)
            elif name == "assert":
                found[name] = members.listed(name)
            else:
                found[name] = members.mapping(name)
        left |= members.left()
        if external_id := _written_of(test):
            found["externalId"] = external_id
        found = {name: value for name, value in found.items() if value}
        return {**found, "left": left} if left else found

    @staticmethod
    def _merged(base: Test, test: Test) -> Test:
        both: Test = merged(base, test)
        left = {**base.get("left", {}), **test.get("left", {})}
        return {**both, "left": left} if left else both

    def asserts(self, test: Test) -> tuple[list[Any], list[Any]]:
        """Return the assertions of a test, and what has no place in the editor of those that were resolved.

        Those that are named are looked up, sets are taken apart.
        """
        found: list[Any] = []
        left: list[Any] = []
        pending: list[Any] = list(reversed(test.get("assert", [])))
        for _ in range(10_000):
            if not pending or len(found) >= 1_000:
                break
            one = pending.pop()
            named = one.get("$ref") if isinstance(one, dict) else None
            if isinstance(named, str):
                name = named.removeprefix("#/assertionTemplates/")
                template = an_object(self.templates.get(name))
                if not template:
                    self.collection.lose("assertion", "tests", f"{shown(named)} names no assertion here.")
                    left.append(one)
                    continue
                self.used_templates.add(name)
                one = {**template, **{key: value for key, value in one.items() if key != "$ref"}}
            if isinstance(one, dict) and one.get("type") == "assert-set":
                message = "The assertions of a set count one by one; its threshold and weight are left out."
                self.collection.lose("assertion", "tests", message)
                members = Members(one, self.collection, "tests, assert-set")
                members.skip("type")
                pending += reversed(members.listed("assert"))
                if more := members.left(code="assertion"):
                    left.append({"type": "assert-set", **more})
            else:
                found.append(one)
        if pending:
            self.collection.lose("assertion", "tests", f"{len(pending)} of too many assertions are left out.")
        return found, left

    def _objects_in(self, value: Any, where: str) -> list[Test]:
        """Return the objects in a value, and in the files that it names."""
        found: list[Test] = []
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, dict) and isinstance(entry.get("path"), str) and where == "tests":
                members = Members(entry, self.collection, where)
                found += self._in_files(members.text("path"), where)
                if left := members.left():
                    self.left.setdefault(where, []).append(left)
            elif isinstance(entry, dict):
                found.append(entry)
            elif isinstance(entry, str):
                found += self._in_files(entry, where)
            elif entry is not None:
                message = f"{shown(entry)} is left out: it is no object. metadata.import has it."
                self.collection.lose("not_followed", where, message)
                self.left.setdefault(where, []).append(entry)
        return found

    def _in_files(self, reference: str, where: str) -> list[Test]:
        found: list[Test] = []
        for path in self._paths(reference, where, _TESTS):
            found += self._from_file(path)
        return found

    def _paths(self, reference: str, where: str, endings: frozenset[str]) -> list[Path]:
        """Return the files of a reference.

        What is not followed is noted and kept: code, addresses, paths elsewhere, files of other formats.
        """
        name = reference.removeprefix("file://")
        reason = ""
        paths: list[Path] = []
        if _CODE.search(name) or re.match(r"(?:https?|exec|huggingface|az|s3|python|package):", reference):
            reason = f"{shown(reference)} is left out: nothing is executed, and no address is followed."
        else:
            try:
                paths = self.documents.matching(name)
            except Unreadable as error:
                reason = str(error)
        for path in paths:
            if path.suffix.lower() not in endings:
                reason = f"{shown(path.name)} is left out: such files are not read."
            elif not path.is_file():
                reason = f"{shown(path.name)} is left out: it is not there."
        if not paths and not reason:
            reason = f"{shown(reference)} names no file."
        if reason:
            self.collection.lose("not_followed", where, reason)
            clean = credentials.without(reference, self.collection, where)
            kept = self.left.setdefault("notFollowed", [])
            if clean not in kept:
                kept.append(clean)
        return [path for path in paths if path.suffix.lower() in endings and path.is_file()]

    def _from_file(self, path: Path) -> list[Test]:
        suffix = path.suffix.lower()
        if suffix == ".csv":
            return list(map(self._row, csv_rows(self.documents.text(path), path.name, _is_own)))
        if suffix == ".jsonl":
            listed = [record for _, record in self.documents.json_lines(path)]
        else:
            value = self.documents.value(path)
            listed = value if isinstance(value, list) else [value]
        for entry in listed:
            if not isinstance(entry, dict):
                lost = f"{shown(entry)} in {shown(path.name)} is left out: it is no test."
                self.collection.lose("not_followed", "tests", lost)
        return objects(listed)

    def _row(self, row: Mapping[str | None, Any]) -> Test:
        """Return the test in a row: columns are variables, those with two underscores say more."""
        test: Test = {"vars": {}, "assert": [], "metadata": {}, "options": {}}
        columns = {name: cell for name, cell in row.items() if name is not None and cell is not None}
        meta = {name: cell for name, cell in columns.items() if _means(name) and cell.strip()}
        if len(columns) < len(row):
            self.collection.lose("row", "tests", "A row has more or fewer cells than the header has names.")
            if more := row.get(None):
                test["cells"] = more
        for column, cell in columns.items():
            if column.startswith("__expected"):
                test["assert"] += [expected(cell.strip())] if cell.strip() else []
            elif not _means(column):
                test["vars"][column] = cell
        thresholds: dict[int, Any] = {}
        for column, cell in meta.items():
            self._read_column(column, cell, test, thresholds)
        for place, one in enumerate(test["assert"]):
            if metric := meta.get("__metric"):
                one["metric"] = metric
            if place in thresholds:
                one["threshold"] = thresholds[place]
        return test

    def _read_column(self, column: str, cell: str, test: Test, thresholds: dict[int, Any]) -> None:
        """Read a cell that is no variable and no assertion into the test."""
        name, _, key = column[2:].partition(":")
        if name == "metadata" and key:
            listed = [part.strip().replace("\\,", ",") for part in re.split(r"(?<!\\),", cell)]
            test["metadata"][key.removesuffix("[]")] = listed if key.endswith("[]") else cell
        elif name in ("description", "providerOutput"):
            test[name] = cell
        elif name == "threshold":
            test[name] = _number(cell)
        elif name == "config":
            self._configure(column, cell, thresholds)
        elif name != "metric":
            self.collection.lose("column", "tests", f"The column {shown(column)!r} is left out.")
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
                "column", "tests", f"The column {shown(column)!r} is left out: {shown(cell)}."
            )
        else:
            thresholds[int(match[1] or 1) - 1] = _number(cell)

    def _variants(self, test: Test) -> Iterator[Test]:
        given = {name: self._matching(value) for name, value in an_object(test.get("vars")).items()}
        for variant in expanded({**test, "vars": given}):
            values = {name: self._variable(value) for name, value in variant["vars"].items()}
            yield {**variant, "vars": values}

    def _variables_in(self, value: Any) -> dict[str, Any]:
        """Return the variables in files; several are read into one object."""
        found: dict[str, Any] = {}
        for reference in value if isinstance(value, list) else [value]:
            if isinstance(reference, dict):
                found |= reference
                continue
            for path in self._paths(str(reference), "tests, vars", frozenset({".json", ".yaml", ".yml"})):
                inner = self.documents.value(path)
                if isinstance(inner, dict):
                    found |= inner
                else:
                    lost = f"{shown(path.name)} is left out: it holds no object of variables."
                    self.collection.lose("not_followed", "tests, vars", lost)
        return found

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
            message = f"The variable {shown(value)} stays as text: it is no text in the folder."
            self.collection.lose("not_followed", "tests", message)
            return value
        [path] = paths
        return self.documents.text(path) if path.suffix in {".txt", ".md"} else self.documents.value(path)


_COLUMNS: Final = frozenset(
    {"config", "description", "metadata", "metric", "prefix", "providerOutput", "suffix", "threshold"}
)
"""The names, after two underscores, of columns that are no variables."""


def _written_of(test: Mapping[str, Any]) -> str:
    """Return the external id of the item that an export has written a test of; empty if it was changed."""
    metadata = an_object(test.get("metadata"))
    own = an_object(metadata.get(WRITTEN))
    rest = {name: value for name, value in metadata.items() if name != WRITTEN}
    plain = {name: value for name, value in test.items() if name != "metadata"}
    plain |= {"metadata": rest} if rest else {}
    found = own.get(EXTERNAL_ID)
    return found if isinstance(found, str) and own.get(DIGEST) == canonical.digest(plain) else ""


def _means(column: str) -> bool:
    """Return whether a column is no variable."""
    return column.startswith("__") and column[2:].partition(":")[0] in _COLUMNS


def _is_own(column: str) -> bool:
    """Return whether the name of a column has a meaning for promptfoo."""
    return column.startswith("__expected") or _means(column)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
