"""Configurations that are larger than a page: omitted parts are counted, and an edit never loses it."""

from __future__ import annotations

from typing import Any

import pytest

from studio.diff.texts import common_runs
from studio.limits import PageBudget
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.served import text
from tests.support.studio import Visitor, controls, page_of

MEGABYTE = 1_000_000
CONDITIONS = [{"field": "tier", "operator": "equals", "value": number} for number in range(300)]
RULES = {"operator": "OR", "conditions": CONDITIONS}
SPECIAL = "&'<" * 200_000


@pytest.fixture
def edgar(cast: Cast) -> Visitor:
    return Visitor("edgar")


def two_versions(cast: Cast, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Publish one configuration of an agent and save another."""
    AGENTS.make(cast.alice, autoPublish=True, **before)
    answer = cast.alice.patch(AGENTS.url("writer"), after)
    assert answer.status == 200, answer.body


def draft(cast: Cast, kind: Kind) -> dict[str, Any]:
    body: dict[str, Any] = cast.alice.get(kind.url("writer"), status="draft").body
    return body


def test_scattered_changes_of_a_long_list_are_shown_in_part_and_counted(cast: Cast) -> None:
    old = list(range(1_200))
    new = [-item if item % 3 == 1 else item for item in old]
    two_versions(cast, {"memory": {"list": old}}, {"memory": {"list": new}})
    answer = Visitor("paula").get(page_of(AGENTS, "compare"))
    assert answer.content.count(b'class="difference-part"') == PageBudget().changes == 300
    assert "… 100 more differences: too many for this page. Download both versions" in answer.words
    assert len(answer.content) < MEGABYTE


@pytest.mark.parametrize(
    ("before", "after"),
    [("x", SPECIAL), ("x", "\n" * 300_000), ("a\n" * 100_000, "b\n" * 100_000)],
    ids=["one line", "empty lines", "other lines"],
)
def test_a_long_text_is_compared_as_far_as_the_page_has_room(cast: Cast, before: str, after: str) -> None:
    two_versions(cast, {"description": before}, {"description": f"{after}."})
    answer = Visitor("paula").get(page_of(AGENTS, "compare"))
    assert answer.content.count(b'class="diff-row') <= PageBudget().lines
    assert len(answer.content) < 3 * MEGABYTE
    assert "too long for this page" in answer.words


def test_a_conflict_over_a_large_configuration_fits_on_a_page(cast: Cast, edgar: Visitor) -> None:
    AGENTS.make(cast.alice, memory={"list": list(range(2_000))})
    form = edgar.form(AGENTS)
    cast.alice.patch(AGENTS.url("writer"), {"memory": {"list": list(range(0, -2_000, -1))}})
    answer = edgar.post(page_of(AGENTS, "change"), {**form, "name": "Renamed"})
    assert answer.status == 409
    assert b'value="Renamed"' in answer.content
    assert "more differences: too many for this page" in answer.words
    assert len(answer.content) < 2 * MEGABYTE


def test_more_rows_than_a_form_has_room_for_are_edited_as_json(cast: Cast, edgar: Visitor) -> None:
    blocks = [text(f"piece {number}") for number in range(300)]
    tools = {f"tool-{number}": {} for number in range(300)}
    AGENTS.make(cast.alice, instructions=blocks, tools=tools)
    page = edgar.get(page_of(AGENTS, "change")).markup
    assert page.count("data-row>") < 20
    assert 'value="json" checked' in page
    before = draft(cast, AGENTS)
    assert edgar.post(page_of(AGENTS, "change"), controls(page, "edit-form")).status == 302
    assert draft(cast, AGENTS)["latestVersionId"] == before["latestVersionId"]


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (AGENTS, "instructions", "x" * 400_000),
        (AGENTS, "memory", {"notes": ["x" * 1_000] * 400}),
        (PROMPT_BLOCKS, "content", "x" * 400_000),
        (PROMPT_BLOCKS, "rules", RULES),
    ],
)
def test_a_field_too_large_for_the_form_is_marked_and_survives_an_edit(
    cast: Cast, edgar: Visitor, kind: Kind, field: str, value: Any
) -> None:
    kind.make(cast.alice, **{field: value})
    answer = edgar.get(page_of(kind, "change"))
    assert "Too large to edit here" in answer.words
    assert len(answer.content) < MEGABYTE
    form = controls(answer.markup, "edit-form")
    assert edgar.post(page_of(kind, "change"), form | {"name": "Renamed"}).status == 302
    saved = draft(cast, kind)
    assert (saved["name"], saved[field]) == ("Renamed", value)


def test_a_version_is_shown_as_far_as_the_page_has_room(cast: Cast, kind: Kind) -> None:
    made = kind.make(cast.alice, "writer", SPECIAL)
    answer = Visitor("edgar").get(page_of(kind, "version", "writer", made["latestVersionId"]))
    assert "… 300006 more characters: too many for this page. Download the version" in answer.words
    assert len(answer.content) < 3 * MEGABYTE


def test_a_very_long_name_takes_one_line(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, name="n" * 100_000)
    visitor = Visitor("edgar")
    pages = [page_of(kind, page) for page in ("history", "usage", "preview", "publish")]
    for address in (*pages, "/studio/", page_of(kind, "change").rpartition("writer")[0]):
        answer = visitor.get(address)
        assert answer.status in {200, 403} and b"n" * 201 not in answer.content


def test_a_comparison_does_no_work_for_text_that_does_not_fit() -> None:
    old = [str(number * number % 7) for number in range(50_000)]
    new = [str(number * number % 11 % 7) for number in range(50_000)]
    found = common_runs(["first", *old, "last"], ["first", *new, "last"], PageBudget(steps=0))
    assert (found[0].before, found[-1].before + found[-1].length) == (0, 50_002)
    assert sum(run.length for run in found) < 100
