"""A selector: at most one of a status, a version id and a label."""

from __future__ import annotations

from itertools import combinations

import pytest

from versioning.domain.errors import Invalid
from versioning.domain.selectors import DRAFT, PUBLISHED, Selector

ONE_OF_EACH = {"status": "draft", "versionId": "v1", "label": "blue"}


def test_selectors_are_parsed_from_json() -> None:
    for given, selector in (
        ({}, PUBLISHED),
        ({"status": "published"}, PUBLISHED),
        ({"status": "draft"}, DRAFT),
        ({"versionId": "v1"}, Selector(version_id="v1")),
        ({"label": "blue"}, Selector(label="blue")),
        ({"page": "3", "requestContext": "e30="}, PUBLISHED),
    ):
        assert Selector.parse(given) == selector


def test_combined_selectors_are_refused_and_each_is_named() -> None:
    for keys in (*combinations(ONE_OF_EACH, 2), tuple(ONE_OF_EACH)):
        with pytest.raises(Invalid) as refusal:
            Selector.parse({key: ONE_OF_EACH[key] for key in keys})
        assert [issue.field for issue in refusal.value.issues] == list(keys)


def test_an_unknown_status_is_refused() -> None:
    for status in ("", "Draft", "DRAFT", "latest", "historical", "archived", "all", " draft"):
        with pytest.raises(Invalid) as refusal:
            Selector.parse({"status": status})
        assert [issue.field for issue in refusal.value.issues] == ["status"]


def test_a_selector_is_written_as_it_is_read() -> None:
    for selector in (PUBLISHED, DRAFT, Selector(version_id="v1"), Selector(label="blue")):
        assert Selector.parse(selector.as_dict()) == selector
        assert len(selector.as_dict()) == 1
    assert Selector().as_dict() == {"status": "published"}
    with pytest.raises(Invalid):
        Selector.parse({"status": "published", "label": "blue"})
