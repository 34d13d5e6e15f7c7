"""Results as files."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.api import Api
from tests.support.datasets import add_item, make_dataset
from tests.support.experiments import make_experiment, results, submit
from tests.support.scorers import make_scorer


@pytest.fixture
def experiment(alice: Api) -> str:
    """Five items: one passes, one fails, one breaks, one cannot be scored, and one has no result yet."""
    make_scorer(alice, "exact")
    dataset = make_dataset(alice, scorerIds=["exact"])
    truths: list[dict[str, str]] = [{"groundTruth": "yes"}] * 3 + [{}, {}]
    items = [
        add_item(alice, dataset, input=f"Question {index}", **truth) for index, truth in enumerate(truths)
    ]
    ids = [str(one["id"]) for one in items]
    made = make_experiment(alice, dataset, name="By <hand>")
    submit(alice, made, ids[0], "yes")
    submit(alice, made, ids[1], "=no\x0b")
    submit(alice, made, ids[2], None, error={"message": "It\x01 broke"})
    submit(alice, made, ids[3], "perhaps")
    return made


def export(api: Api, experiment: str, form: str) -> str:
    """Return the file; it is sent little by little."""
    response: Any = api.client.get(
        f"{api.prefix}{experiment}/export?format={form}", headers={"authorization": f"Bearer {api.key}"}
    )
    assert response.status_code == 200
    return str(response.getvalue().decode())


def test_json_lines_are_the_results(alice: Api, experiment: str) -> None:
    lines = [json.loads(line) for line in export(alice, experiment, "jsonl").splitlines()]
    assert lines == results(alice, experiment) and len(lines) == 4


def test_a_table_has_columns_for_each_scorer(alice: Api, experiment: str) -> None:
    found = csv.DictReader(io.StringIO(export(alice, experiment, "csv"), newline=""))
    rows = sorted(found, key=lambda row: row["input"])
    assert [(one["output"], one["passed.exact"]) for one in rows] == [
        ("yes", "true"),
        ("'=no\x0b", "false"),
        ("", ""),
        ("perhaps", ""),
    ]
    assert json.loads(rows[2]["error"])["message"] == "It\x01 broke"


def test_junit_has_a_case_for_each_attempt(alice: Api, experiment: str) -> None:
    def kinds() -> list[str]:
        suite = ElementTree.fromstring(export(alice, experiment, "junit"))
        assert suite.get("name") == "By <hand>"
        found = [child.tag for case in suite for child in case] + [""]
        counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
        assert counts == {
            "tests": str(len(suite)),
            "failures": str(found.count("failure")),
            "errors": str(found.count("error")),
            "skipped": str(found.count("skipped")),
        }
        return ["".join(child.tag for child in case) for case in suite]

    assert sorted(kinds()) == sorted(["", "failure", "error", "skipped"])
    assert alice.post(f"{experiment}/finalize", {}).status == 200
    assert kinds().count("skipped") == 2


def test_what_cannot_be_exported_is_refused(alice: Api, experiment: str) -> None:
    assert alice.get(f"{experiment}/export", format="xlsx").status == 400
    assert alice.get(f"{experiment}x/export").status == 404
