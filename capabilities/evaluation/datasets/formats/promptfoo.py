"""The test cases of promptfoo: `vars` are the input, an assertion of equality has the ground truth. Pure.

What items have no place for (other assertions, a description, options) stays as it is in their metadata; what
test cases have no place for is exported in theirs. Nothing in a file is executed, and no other file is read.

promptfoo runs what it reads: an export holds data alone. What it would run (templates, references to files,
assertions that are code) stands in the metadata of the test case, as JSON in a text, which an import reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain, product
from typing import Any, Final

from editor_client.shared import canonical, yaml_files
from editor_client.shared.promptfoo import (
    CODE_TYPES,
    TYPES,
    data_text,
    escaped,
    expanded,
    is_plain,
    is_plain_within,
    merged,
    unescaped,
)

from capabilities.evaluation.datasets.formats.rows import Format, IdentifiedItem, Items, Row, row_of
from capabilities.evaluation.datasets.items import MAX_ITEMS
from versioning.domain.errors import Invalid, Message

_ITEM_MEMBERS: Final = "__editor"
"""The member of a test case's metadata with what test cases have no place for, as JSON in a text."""
_TEST_MEMBERS: Final = "promptfoo"
"""The member of an item's metadata with what items have no place for."""
_REFERENCES: Final = ("equals", "similar", "levenshtein")
"""The assertions that compare with a reference."""
_READ: Final = frozenset({"vars", "assert", "metadata"})
"""The members of a test case that become members of an item."""
_DATA: Final = frozenset({"description", "threshold", "options"})
"""The members of test cases that an export writes, besides those that it reads."""
_OPTIONS: Final = frozenset({"disableVarExpansion"})
_ASSERTION: Final = frozenset({"type", "value", "threshold", "weight", "metric"})
_FILE: Final = "file://"
MAX_MEMBERS: Final = 1_000_000
"""The values of all test cases together, with those that each repeats."""

Json = dict[str, Any]


def _read(text: str) -> Iterator[Row]:
    size = 0
    cases = chain.from_iterable(expanded(test) for test in _tests(yaml_files.parse(text)))
    for number, case in enumerate(cases, start=1):
        size += _members(case)
        if number > MAX_ITEMS:
            message = Message("a dataset has at most {limit} items", limit=MAX_ITEMS)
            raise Invalid.field("tests", message, code="too_many_items")
        if size > MAX_MEMBERS:
            raise Invalid.field("tests", Message("are too large with all that they repeat"))
        yield row_of(number, partial(_item, case))


def _members(case: Any) -> int:
    """Return how many values a test case has, which default values repeat in each."""
    given = case.values() if isinstance(case, dict) else ()
    return sum(len(one) if isinstance(one, dict | list) else 1 for one in given)


def _tests(document: Any) -> Iterator[Any]:
    """Yield the test cases of a configuration, or of a list of them."""
    config = {"tests": document} if isinstance(document, list) else document
    if not isinstance(config, dict) or not {"tests", "scenarios"} & set(config):
        raise Invalid.field("body", Message("has no tests"))
    default = _object(config.get("defaultTest"), "defaultTest")
    for test in _list(config, "tests"):
        yield merged(default, test)
    for number, scenario in enumerate(_list(config, "scenarios")):
        given = _object(scenario, f"scenarios.{number}")
        for base, test in product(_list(given, "config"), _list(given, "tests")):
            yield merged(merged(default, base), test)


def _list(given: Mapping[str, Any], name: str) -> list[Any]:
    found = given.get(name, [])
    if isinstance(found, str):
        raise Invalid.field(name, Message("names a file, which is not read; send the tests themselves"))
    if not isinstance(found, list):
        raise Invalid.field(name, Message("must be a list"))
    return found


def _object(value: Any, name: str) -> Json:
    if value is None:
        return {}
    if isinstance(value, str):
        raise Invalid.field(name, Message("names a file, which is not read; send the tests themselves"))
    if not isinstance(value, dict):
        raise Invalid.field(name, Message("must be an object"))
    return value


def _item(test: Any) -> Json:
    """Return the item of a test case; raises `Invalid`."""
    if not isinstance(test, dict):
        raise Invalid.field("tests", Message("must be objects; files are not read"))
    given = _variables(test)
    metadata = dict(_object(test.get("metadata"), "metadata"))
    own = metadata.pop(_ITEM_MEMBERS, {})
    if isinstance(own, str):
        own = canonical.parse(own, field=f"metadata.{_ITEM_MEMBERS}")
    item: Json = {"input": given["input"] if set(given) == {"input"} else given}
    asserts = test.get("assert") or []
    if not isinstance(asserts, list) or not all(isinstance(one, dict) for one in asserts):
        raise Invalid.field("assert", Message("must be a list of objects"))
    truth = _reference(asserts)
    if truth is not None:
        item["groundTruth"] = truth
    kept = {name: value for name, value in test.items() if name not in _READ}
    if asserts and [{**one, "value": None} for one in asserts] != [{"type": "equals", "value": None}]:
        kept["assert"] = asserts
    if kept:
        metadata[_TEST_MEMBERS] = kept
    if metadata:
        item["metadata"] = metadata
    return {**item, **own} if isinstance(own, dict) else item


def _variables(test: Json) -> Json:
    given = _object(test.get("vars"), "vars")
    for name, value in given.items():
        if isinstance(value, str) and value.startswith(_FILE):
            message = Message("names the file {file!r}, which is not read", file=value)
            raise Invalid.field(f"vars.{name}", message)
    return given


def _reference(asserts: list[Json]) -> Any:
    """Return the value of the first assertion that compares with a reference; None if there is none."""
    found = (one.get("value") for kind in _REFERENCES for one in asserts if one.get("type") == kind)
    value = next((one for one in found if one is not None), None)
    return unescaped(value) if isinstance(value, str) else value


def _write(items: Items) -> Iterator[str]:
    is_empty = True
    for item in items():
        yield ("tests:\n" if is_empty else "") + yaml_files.dump([_test(item)])
        is_empty = False
    if is_empty:
        yield "tests: []\n"


def _test(item: IdentifiedItem) -> Json:
    """Return the test case from which the same item is read, and in which promptfoo runs nothing."""
    metadata = {name: value for name, value in item.get("metadata", {}).items() if name != _ITEM_MEMBERS}
    kept = metadata.pop(_TEST_MEMBERS) if isinstance(metadata.get(_TEST_MEMBERS), dict) else {}
    given = item["input"] if isinstance(item["input"], dict) else {"input": item["input"]}
    truth = item.get("groundTruth")
    test: Json = {name: value for name, value in kept.items() if name in _DATA and is_plain_within(value)}
    if isinstance(test.get("options"), dict):
        test["options"] = {name: option for name, option in test["options"].items() if name in _OPTIONS}
    if is_plain_within(given):
        test["vars"] = given
    else:
        test["vars"] = {}
        names = (item.get(name) for name in ("externalId", "id"))
        name = next((one for one in names if one and is_plain(one)), "")
        test["description"] = f"Item {name}: promptfoo would run a part of it, so that it has no variables."
    if any(isinstance(one, list) for one in given.values()):
        test["options"] = {**_options(test), "disableVarExpansion": True}
    if isinstance(kept.get("assert"), list):
        test["assert"] = [one for one in kept["assert"] if _is_data(one)]
    elif isinstance(truth, str):
        test["assert"] = [{"type": "equals", "value": escaped(truth)}]
    elif truth is not None and is_plain_within(truth):
        test["assert"] = [{"type": "equals", "value": truth}]
    if not is_plain_within(metadata):
        metadata = {}
    try:
        read = _item({**test, "metadata": dict(metadata)})
    except Invalid:  # by what is kept, which anybody may have written
        return {"vars": {}, "metadata": {_ITEM_MEMBERS: data_text(item)}}
    own = {name: one for name, one in item.items() if name not in read or not canonical.same(read[name], one)}
    own |= {name: None for name in read if name not in item}
    test["metadata"] = {**metadata, _ITEM_MEMBERS: data_text(own)} if own else metadata
    return test


def _options(test: Json) -> Json:
    return test["options"] if isinstance(test.get("options"), dict) else {}


def _is_data(one: Any) -> bool:
    """Return whether promptfoo compares with an assertion, and runs nothing of it."""
    if not isinstance(one, dict) or not isinstance(one.get("type"), str) or not set(one) <= _ASSERTION:
        return False
    return one["type"].removeprefix("not-") in TYPES - CODE_TYPES and is_plain_within(one)


PROMPTFOO: Final = Format(media_type="application/yaml", suffix="yaml", read=_read, write=_write)
