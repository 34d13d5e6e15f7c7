"""A selector: at most one of a status, a version id and a label."""

from __future__ import annotations

from itertools import combinations

import pytest

from versioning.domain.errors import Invalid
from versioning.domain.selectors import DRAFT, PUBLISHED, Selector, Status

ONE_OF_EACH = {"status": "draft", "versionId": "v1", "label": "blue"}


@pytest.mark.parametrize(
    ("given", "selector"),
    [
        ({}, PUBLISHED),
        ({"status": "published"}, PUBLISHED),
        ({"status": "draft"}, DRAFT),
        ({"versionId": "v1"}, Selector(version_id="v1")),
        ({"label": "blue"}, Selector(label="blue")),
        ({"page": "3", "requestContext": "e30="}, PUBLISHED),
    ],
)
def test_json_makes_a_selector(given: dict[str, str], selector: Selector) -> None:
    assert Selector.parse(given) == selector


@pytest.mark.parametrize("keys", [*combinations(ONE_OF_EACH, 2), tuple(ONE_OF_EACH)], ids="+".join)
def test_two_selectors_at_once_are_refused_and_each_is_named(keys: tuple[str, ...]) -> None:
    with pytest.raises(Invalid) as refusal:
        Selector.parse({key: ONE_OF_EACH[key] for key in keys})
    assert [issue.field for issue in refusal.value.issues] == list(keys)


def test_the_default_beside_another_selector_is_two_at_once() -> None:
    with pytest.raises(Invalid):
        Selector.parse({"status": "published", "label": "blue"})


@pytest.mark.parametrize(
    "status", ["", "Draft", "DRAFT", "latest", "historical", "archived", "all", " draft"]
)
def test_an_unknown_status_is_refused(status: str) -> None:
    with pytest.raises(Invalid) as refusal:
        Selector.parse({"status": status})
    assert [issue.field for issue in refusal.value.issues] == ["status"]


@pytest.mark.parametrize("selector", [PUBLISHED, DRAFT, Selector(version_id="v1"), Selector(label="blue")])
def test_a_selector_is_written_as_it_is_read(selector: Selector) -> None:
    assert Selector.parse(selector.as_dict()) == selector
    assert len(selector.as_dict()) == 1


def test_a_selector_that_says_nothing_is_written_as_published() -> None:
    assert Selector().as_dict() == {"status": "published"}


def test_a_selector_names_the_draft_or_the_published_status() -> None:
    assert [status.value for status in Status] == ["published", "draft"]
