"""Datasets as files: what an export holds is imported again, exactly; anything else is refused as a whole."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from hypothesis import given, settings
from hypothesis import strategies as st

from capabilities.evaluation.datasets import verbs
from capabilities.evaluation.datasets.formats import FORMATS, Row
from tests.conftest import Cast
from tests.evaluation.test_dataset_items import FULL
from tests.support.api import Answer, Api
from tests.support.datasets import add_item, inputs, make_dataset
from versioning.models import events

EVERY = sorted(FORMATS)


def import_file(api: Api, dataset: str, text: str | bytes, form: str = "jsonl", **query: str) -> Answer:
    body = text if isinstance(text, bytes) else text.encode()
    return api.request(
        "POST", f"{dataset}/import", body, query={"format": form, **query}, content_type="text/plain"
    )


def export_file(api: Api, dataset: str, form: str, **query: Any) -> str:
    asked = "&".join(f"{name}={value}" for name, value in {"format": form, **query}.items())
    answer: HttpResponse | StreamingHttpResponse = api.client.get(
        f"/api{dataset}/export?{asked}", HTTP_AUTHORIZATION=f"Bearer {api.key}"
    )
    assert answer.status_code == 200
    assert isinstance(answer, StreamingHttpResponse)
    assert FORMATS[form].suffix in answer["Content-Disposition"]
    return answer.getvalue().decode()


@pytest.mark.parametrize("form", EVERY)
def test_an_import_of_an_export_changes_nothing(alice: Api, form: str) -> None:
    make_scorer_names = {**FULL, "externalId": "full"}
    dataset = make_dataset(alice)
    make_scorer_names.pop("scorerIds")
    add_item(alice, dataset, **make_scorer_names)
    gone = add_item(alice, dataset, input="gone")["id"]
    for value in (
        "=1+1",
        "-5",
        -5,
        "'",
        "12",
        "",
        None,
        [],
        {},
        ["a", ["b"]],
        {"input": "x"},
        "a\r\nb",
        "file://x",
    ):
        add_item(alice, dataset, input=value, groundTruth=value, metadata={"": value, "a.b": value})
    add_item(alice, dataset, metadata={}, requestContext={})
    purged = add_item(alice, dataset, input="SECRET")["id"]
    alice.delete(f"{dataset}/items/{purged}/purge")
    alice.delete(f"{dataset}/items/{gone}")
    before = alice.get(dataset).body
    text = export_file(alice, dataset, form)
    assert "SECRET" not in text and "gone" not in text
    assert "gone" in export_file(alice, dataset, form, version=2)
    done = import_file(alice, dataset, text, form)
    assert (done.status, done.body) == (
        200,
        {"created": 0, "unchanged": 16, "failed": [], "version": before["version"]},
    )
    assert alice.get(dataset).body == before
    other = make_dataset(alice, "Copy")
    counts = [import_file(alice, other, text, form).body for _ in range(2)]
    assert [(one["created"], one["unchanged"], one["version"]) for one in counts] == [(15, 1, 1), (0, 16, 1)]
    copied = export_file(alice, other, "jsonl").splitlines()
    original = export_file(alice, dataset, "jsonl").splitlines()

    def contents(lines: list[str]) -> list[dict[str, Any]]:
        return [{**json.loads(line), "id": None} for line in lines if "__purged" not in line]

    assert contents(copied) == contents(original)


_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS
    | st.sampled_from(
        ["=A1", "'x", "1e3", "yes", "null", "2024-01-01", "0o7", "1:30", "<<", "~", "+1", "-", "\ufeff"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)
_OBJECTS = st.dictionaries(_TEXTS | st.sampled_from(["promptfoo", "__editor", "tags"]), _VALUES, max_size=3)
_ITEMS = st.fixed_dictionaries(
    {"id": st.uuids().map(str), "input": _VALUES},
    optional={
        "externalId": _TEXTS.filter(bool),
        "groundTruth": _VALUES.filter(lambda one: one is not None),
        "metadata": _OBJECTS,
        "requestContext": _OBJECTS,
        "source": st.just({"type": "csv"}),
        "toolMocks": st.just([{"toolName": "find", "args": {}, "output": None}]),
    },
)


@pytest.mark.parametrize("form", EVERY)
@settings(max_examples=60)
@given(items=st.lists(_ITEMS, max_size=4))
def test_every_item_is_read_as_it_was_written(form: str, items: list[dict[str, Any]]) -> None:
    text = "".join(FORMATS[form].write(lambda: iter(items)))
    rows = list(FORMATS[form].read(text)) if items or form != "jsonl" else []
    assert [row.issues for row in rows] == [()] * len(items)
    read = [
        {name: one for name, one in row.item.items() if one is not None or name == "input"} for row in rows
    ]
    assert json.dumps(read, sort_keys=True) == json.dumps(items, sort_keys=True)


def test_a_spreadsheet_runs_no_cell(alice: Api) -> None:
    dataset = make_dataset(alice)
    for start in "=+-@":
        add_item(
            alice, dataset, input=f"{start}1+1", groundTruth=f"{start}SUM(A1)", metadata={"a": f"{start}x"}
        )
    cells = [cell for row in csv.reader(io.StringIO(export_file(alice, dataset, "csv"))) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    assert "'=1+1" in cells


def test_columns_of_a_table_are_members_of_an_item(alice: Api) -> None:
    dataset = make_dataset(alice)
    header = "question,n,groundTruth,externalId,metadata.tags,metadata.n,requestContext.tier"
    rows = ['Where?,5,"{""a"":1}",7,"[""must""]","""5""",gold', "'=1+1,,'-5,8,,,", ",,,,,,"]
    done = import_file(alice, dataset, "\ufeff" + "\r\n".join([header, *rows]), "csv")
    assert (done.status, done.body["created"]) == (200, 2)
    first, second = reversed(alice.get(f"{dataset}/items", **{"orderBy[direction]": "DESC"}).body["items"])
    assert (first["input"], first["groundTruth"], first["externalId"]) == (
        {"question": "Where?", "n": 5},
        {"a": 1},
        "7",
    )
    assert (first["metadata"], first["requestContext"]) == ({"tags": ["must"], "n": "5"}, {"tier": "gold"})
    assert (second["input"], second["groundTruth"]) == ({"question": "=1+1"}, -5)
    again = import_file(alice, dataset, "\r\n".join([header, *rows]), "csv").body
    assert (again["created"], again["unchanged"], again["version"]) == (0, 2, 1)
    german = import_file(alice, dataset, "input;groundTruth\nHallo;Guten Tag, du\n", "csv").body
    assert german["created"] == 1


def test_an_import_is_one_version_all_or_nothing(alice: Api) -> None:
    dataset = make_dataset(alice, groundTruthSchema={"type": "string"})
    add_item(alice, dataset, externalId="a")
    lines = [
        {"input": "new"},
        {"input": "Hi", "externalId": "a"},
        {"input": "other", "externalId": "a"},
        {"input": 1, "groundTruth": 2},
        {"groundTruth": "no input"},
        {"input": "x", "colour": "red"},
        {"input": "x" * 256 * 1024},
        {"input": 1, "metadata": {"tags": "must"}},
    ]
    text = "\n".join([*map(json.dumps, lines), "{", "5"])
    dry = import_file(alice, dataset, text, dryRun="true")
    assert (dry.status, dry.body["created"], dry.body["unchanged"], dry.body["version"]) == (200, 1, 1, 1)
    refused = import_file(alice, dataset, text)
    assert (refused.status, refused.code) == (400, "validation_failed")
    assert refused.body["failed"] == dry.body["failed"]
    assert [one["row"] for one in refused.body["failed"]] == [3, 4, 5, 6, 7, 8, 9, 10]
    for one, word in zip(
        refused.body["failed"],
        ["another content", "groundTruth", "input", "colour", "256", "tags", "JSON", "object"],
        strict=True,
    ):
        assert word in one["message"]
    assert inputs(alice, dataset) == ["Hi"] and alice.get(dataset).body["version"] == 1
    good = "\n".join(map(json.dumps, [*lines[:2], {"input": "more"}]))
    dry = import_file(alice, dataset, good, dryRun="true")
    assert dry.body == {"created": 2, "unchanged": 1, "failed": [], "version": 1}
    done = import_file(alice, dataset, good)
    assert (done.status, done.body) == (200, {"created": 2, "unchanged": 1, "failed": [], "version": 2})
    assert import_file(alice, dataset, good).body["created"] == 0
    assert inputs(alice, dataset) == ["Hi", "new", "more"]


PROMPTFOO = """
defaultTest:
    vars: {tone: kind}
    assert: [{type: latency, threshold: 5}]
tests:
    - vars: {question: [Where?, When?], day: 2024-01-01, ok: yes}
      assert: [{type: equals, value: here}]
      metadata: {tags: [must]}
    - description: plain
      vars: {question: Why?}
"""


def test_test_cases_of_promptfoo_are_items(alice: Api) -> None:
    dataset = make_dataset(alice)
    assert import_file(alice, dataset, PROMPTFOO, "promptfoo").body["created"] == 3
    items = alice.get(f"{dataset}/items", **{"orderBy[direction]": "ASC"}).body["items"]
    assert items[0]["input"] == {"tone": "kind", "question": "Where?", "day": "2024-01-01", "ok": "yes"}
    assert (items[1]["input"]["question"], items[1]["groundTruth"]) == ("When?", "here")
    assert items[0]["metadata"]["tags"] == ["must"]
    assert items[2]["metadata"]["promptfoo"]["description"] == "plain"
    assert import_file(alice, dataset, PROMPTFOO, "promptfoo").body["unchanged"] == 3


_DEEP = "[" * 100_000
_LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)


WRONG: list[tuple[Any, ...]] = [
    ("csv", "input,input\na,b", "header"),
    ("csv", 'input\n"a', "body"),
    ("csv", b"input\n\xff", "body"),
    ("jsonl", b"\xff", "body"),
    ("jsonl", _DEEP, "rows.1.row"),
    ("jsonl", '{"input": "\\u0000"}', "rows.1.row"),
    ("jsonl", '{"input": 1, "input": 2}', "rows.1.row"),
    ("csv", "input,groundTruth\na,b,c", "rows.1.row"),
    ("csv", "input,colour\na,red", "rows.1.input"),
    ("csv", "input\n\0", "rows.1.input"),
    ("csv", "question,input.n\nHi,1\nH\0i,2", "rows.2.input.question"),
    ("csv", "externalId,input\na\0b,Hi", "rows.1.externalId"),
    ("csv", "id,input\na\0b,Hi", "rows.1.id"),
    ("promptfoo", "tests: file://tests.yaml", "tests"),
    ("promptfoo", "tests: [file://tests.yaml]", "rows.1.tests"),
    ("promptfoo", "tests: [{vars: {a: 'file:///etc/passwd'}}]", "rows.1.vars.a"),
    ("promptfoo", "tests: [{vars: {a: !!python/object/apply:os.system [date]}}]", "body"),
    ("promptfoo", "tests: [{vars: {a: !env HOME}}]", "body"),
    ("promptfoo", "tests: &t [{vars: *t}]", "body"),
    ("promptfoo", _LAUGHS + "tests: *a29", "body"),
    ("promptfoo", _DEEP, "body"),
    ("promptfoo", "tests: [{vars: {a: 1, a: 2}}]", "body"),
    ("promptfoo", "tests: [{vars: {1: 2}}]", "body"),
    ("promptfoo", "a: 1", "body"),
    ("promptfoo", "a: [", "body"),
    ("promptfoo", "a: 1\n---\nb: 1", "body"),
    ("promptfoo", f"tests: [{{vars: {{a: {list('ab' * 51)}, b: {list('ab' * 51)}}}}}]", "tests"),
]


def test_a_file_that_cannot_be_read_is_refused(alice: Api) -> None:
    dataset = make_dataset(alice)
    for form, text, field in WRONG:
        refused = import_file(alice, dataset, text, form)
        assert (refused.status, refused.fields) == (400, [field]), refused.body
        assert alice.get(dataset).body["version"] == 0


def test_sizes_and_formats_of_files(alice: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = make_dataset(alice)
    monkeypatch.setattr(verbs, "MAX_ITEMS", 2)
    many = import_file(alice, dataset, '{"input":1}\n' * 3)
    assert (many.status, many.code) == (400, "too_many_items")
    assert import_file(alice, dataset, "", "xml").fields == ["format"]
    form = alice.request(
        "POST", f"{dataset}/import", b"--a--", content_type="multipart/form-data; boundary=a"
    )
    assert form.status == 415
    assert alice.get(f"{dataset}/export", version=1).status == 404


def test_what_a_model_would_do_is_not_there(alice: Api, cast: Cast) -> None:
    dataset = make_dataset(alice)
    asked = {"modelId": "openai/gpt-5", "prompt": "More", "count": 2}
    for path in (f"{dataset}/generate-items", "/datasets/cluster-failures"):
        answer = alice.post(path, asked)
        assert (answer.status, answer.code) == (501, "not_implemented")
    assert cast.charlie.post(f"{dataset}/generate-items", asked).status == 404


def test_a_file_is_read_before_anything_is_locked_and_checked_against_the_schemas_of_then(
    alice: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = make_dataset(alice)
    schemas = [{"type": "integer"}, {"type": "string"}]

    def change_schema_and_read(text: str) -> Iterator[Row]:
        """Read a file that takes so long that an admin changes the dataset meanwhile."""
        if schemas:
            assert events._open.transaction is None  # otherwise all saves would be waiting
            assert alice.patch(dataset, {"inputSchema": schemas.pop()}).status == 200
        return FORMATS["csv"].read(text)

    slow = replace(FORMATS["jsonl"], read=change_schema_and_read)
    monkeypatch.setattr(verbs, "FORMATS", {**FORMATS, "jsonl": slow})
    answer = import_file(alice, dataset, "input\nno number\n")
    assert (answer.status, answer.fields) == (400, ["rows.1.input"])
    assert import_file(alice, dataset, "input\n12\n").body["created"] == 1
