"""Scorers in the studio: made by choosing a type, then edited with settings of that type."""

from __future__ import annotations

from html import unescape

from evaluation.scoring.configs import TYPES as EVERY_TYPE
from tests.conftest import Cast
from tests.support.api import SCORERS, Api
from tests.support.studio import Visitor


def test_a_scorer_is_made_by_its_type_and_edited(cast: Cast, alice: Api) -> None:
    del cast
    visitor, new = Visitor("alice"), "/studio/evaluation/scorer/add/"
    page = unescape(visitor.get(new).content.decode())
    assert "New scorer" in page and "regex: a part of the answer" in page and 'name="text"' not in page
    made = {"name": "Polite", "id": "polite", "workspace": "acme", "choice": "regex"}
    page = unescape(visitor.post(new, **made).content.decode())
    assert alice.get(SCORERS.url("polite"), status="draft").body["config"] == {"pattern": "."}
    assert "What the type needs" in page and "Instructions of the judge" in page
    assert visitor.post(new, **{**made, "id": "other", "choice": "guess"}).status_code == 400
    for kind in EVERY_TYPE:
        assert visitor.post(new, **{**made, "id": kind.lower(), "choice": kind}).status_code == 200
