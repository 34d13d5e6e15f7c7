"""The tests of a promptfoo configuration, wherever they stand, each with what the defaults say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any, Final

from editor_client.importing.collection import Collection, Unreadable, an_object, objects, shown
from editor_client.importing.documents import Documents, csv_rows
from editor_client.shared.promptfoo import expanded, merged

MAX_TESTS: Final = 10_000
_CODE: Final = (".js", ".cjs", ".mjs", ".ts", ".py", ".rb", ".sh")
_EXPECTED: Final = re.compile(
    r"(?P<type>(?:not-)?[a-z][a-z-]{1,40})(?:\((?P<threshold>[0-9.]{1,20})\))?:(?P<value>.*)", re.DOTALL
)
_ALIASES: Final = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}
Test = dict[str, Any]


@dataclass(frozen=True)
class Tests:
    """Reads the tests of a configuration."""

    documents: Documents
    collection: Collection
    templates: Mapping[str, Any]
    """The assertions that others name by `$ref`."""

    def read(self, config: Mapping[str, Any]) -> Iterator[Test]:
        """Yield each test with its defaults, one for each combination of variables that are lists."""
        found = self._expanded(config)
        yield from islice(found, MAX_TESTS)
        if next(found, None) is not None:
            raise Unreadable(f"There are more than {MAX_TESTS} tests.")

    def _expanded(self, config: Mapping[str, Any]) -> Iterator[Test]:
        default = self._objects_in(config.get("defaultTest"))
        base: Test = default[0] if default else {}
        for test in self._objects_in(config.get("tests")):
            yield from self._variants(merged(base, test))
        for scenario in self._objects_in(config.get("scenarios")):
            configs = self._objects_in(scenario.get("config")) or [{}]
            for inner, test in product(configs, self._objects_in(scenario.get("tests")) or [{}]):
                yield from self._variants(merged(merged(base, inner), test))

    def asserts(self, test: Test) -> list[dict[str, Any]]:
        """Return the assertions of a test; those that are named are looked up, sets are taken apart."""
        found: list[dict[str, Any]] = []
        pending = list(reversed(objects(test.get("assert"))))
        while pending and len(found) < 1_000:  # noqa: PLR2004
            one = pending.pop()
            named = one.get("$ref")
            if isinstance(named, str):
                one = an_object(self.templates.get(named.removeprefix("#/assertionTemplates/")))
                if not one:
                    self.collection.lose("assertion", "tests", f"{shown(named)} names no assertion here.")
                    continue
            if one.get("type") == "assert-set":
                message = "The assertions of a set count one by one; its threshold and weight are left out."
                self.collection.lose("assertion", "tests", message)
                pending += reversed([inner for inner in objects(one.get("assert")) if "$ref" not in inner])
            else:
                found.append(one)
        return found

    def _objects_in(self, value: Any) -> list[Test]:
        """Return the objects in a value, and in the files that it names."""
        found: list[Test] = []
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                found.append(one)
            elif isinstance(one, str):
                for path in self._paths(one):
                    found += self._from_file(path)
        return found

    def _paths(self, reference: str) -> list[Path]:
        """Return the files of a reference; none, which is noted, for code, addresses and paths elsewhere."""
        name = reference.removeprefix("file://")
        if any(ending in name.lower() for ending in _CODE) or reference.startswith(("http", "exec:")):
            message = f"{shown(reference)} is left out: nothing is executed, and no address is followed."
            self.collection.lose("not_followed", "tests", message)
            return []
        try:
            return self.documents.matching(name)
        except Unreadable as error:
            self.collection.lose("not_followed", "tests", str(error))
            return []

    def _from_file(self, path: Path) -> list[Test]:
        if path.suffix == ".csv":
            return list(map(self._row, csv_rows(self.documents.text(path), path.name)))
        if path.suffix == ".jsonl":
            return objects([one for _, one in self.documents.json_lines(path)])
        value = self.documents.value(path)
        return objects(value if isinstance(value, list) else [value])

    def _row(self, row: Mapping[str | None, Any]) -> Test:
        """Return the test in a row: columns are variables, those with two underscores say more."""
        test: Test = {"vars": {}, "assert": [], "metadata": {}}
        for column, cell in row.items():
            if column is None or cell is None:
                self.collection.lose("row", "tests", "A row has more or fewer cells than the header.")
            elif column.startswith("__expected"):
                if cell.strip():
                    test["assert"].append(expected(cell.strip()))
            elif column.startswith("__metadata:"):
                name = column.removeprefix("__metadata:")
                listed = [one.strip() for one in cell.split(",") if one.strip()]
                if cell:
                    test["metadata"][name.removesuffix("[]")] = listed if name.endswith("[]") else cell
            elif column == "__description":
                test["description"] = cell
            elif column.startswith("__") and cell:
                self.collection.lose("column", "tests", f"The column {shown(column)!r} is left out.")
            elif not column.startswith("__"):
                test["vars"][column] = cell
        return test

    def _variants(self, test: Test) -> Iterator[Test]:
        given = {name: self._variable(value) for name, value in an_object(test.get("vars")).items()}
        return expanded({**test, "vars": given})

    def _variable(self, value: Any) -> Any:
        """Return the value of a variable; that of a file in the folder is its content."""
        if not isinstance(value, str) or not value.startswith("file://"):
            return value
        paths = self._paths(value)
        if len(paths) != 1 or paths[0].suffix not in {".txt", ".md", ".json", ".yaml", ".yml"}:
            message = f"The variable {shown(value)} stays as text: it is no text in the folder."
            self.collection.lose("not_followed", "tests", message)
            return value
        [path] = paths
        return self.documents.text(path) if path.suffix in {".txt", ".md"} else self.documents.value(path)


def expected(cell: str) -> dict[str, Any]:
    """Return the assertion in a cell, such as `contains: x`, `similar(0.8): x`, or a text that is equal."""
    match = _EXPECTED.fullmatch(cell)
    if match is None or "://" in cell[: match.start("value") + 2]:
        return {"type": "equals", "value": cell}
    found: dict[str, Any] = {"type": _ALIASES.get(match["type"], match["type"])}
    if match["value"].strip():
        found["value"] = match["value"].strip()
    if match["threshold"]:
        found["threshold"] = _number(match["threshold"])
    return found


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
