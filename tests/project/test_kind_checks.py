"""Mistakes in a kind are reported by `manage.py check` and `migrate`, before a request or a worker fails."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import models
from django.template.loader import render_to_string

from capabilities.evaluation.scoring.kind import SCORER, ScorerConfig
from capabilities.evaluation.scoring.models import Scorer, ScorerVersion
from studio import kind_checks as of_studio
from studio.editing.forms import FieldView
from studio.field_words import Words
from studio.forms.inputs import Input
from studio.kind_words import FieldWords, KindWords
from versioning.domain.config import ConfigSchema
from versioning.models import kind_checks
from versioning.models.text_search import WordsOf

MISSING = KindWords.plain(SCORER, {"pass_if": FieldWords(title="Passes")})
TAKEN = KindWords.plain(SCORER, {"type": FieldWords(title="Type", control="line")})
TAKEN_BY_AGENTS = KindWords.plain(SCORER, {"model": FieldWords(title="Model", control="line")})


def reported(**options: Any) -> dict[str, str]:
    """Return the problems of the kinds of this project, by their ids."""
    return {str(one.id): f"{one.msg} {one.hint}" for one in kind_checks.check_kinds(**options)}


def test_our_own_kinds_have_no_problems() -> None:
    assert not reported(databases=["default"]) and not of_studio.check_words()
    assert not {one.id for one in run_checks()} & {"versioning.E003", "studio.E001"}


def test_the_text_field_is_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scorer, "kind", replace(SCORER, text_field="steps"))
    assert "Its fields are name, " in reported()["versioning.E003"]


def test_an_edit_requires_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = ConfigSchema(edit=ScorerConfig, whole=ScorerConfig)
    monkeypatch.setattr(Scorer, "kind", replace(SCORER, schema=schema))
    assert "would have to send name, type." in reported()["versioning.E004"]


def test_each_table_of_a_kind_says_what_its_rows_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_checks, "_RELATED", ("versions", "parts"))
    assert "related_name='parts'" in reported()["versioning.E005"]


def test_the_index_of_words_is_made_by_a_migration(monkeypatch: pytest.MonkeyPatch) -> None:
    migration = import_module("capabilities.evaluation.migrations.0001_initial").Migration
    kept = [one for one in migration.operations if not isinstance(one, WordsOf)]
    monkeypatch.setattr(migration, "operations", kept)
    assert not reported()  # makemigrations has to work before there is one
    assert "words_of('evaluation_scorerdocument')" in reported(databases=["default"])["versioning.E006"]


def test_the_managers_of_a_kind_write_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = models.Manager[ScorerVersion]()
    manager.model, manager.name = ScorerVersion, "every"
    monkeypatch.setitem(vars(ScorerVersion._meta), "managers", [manager])
    assert "ScorerVersion.every lets code change" in reported()["versioning.E007"]


@pytest.mark.parametrize(
    ("changes", "problem", "said"),
    [
        ({"studio_words": "nowhere.WORDS"}, "studio.E001", "No module named 'nowhere'"),
        ({"studio_words": f"{__name__}.MISSING"}, "studio.E002", "pass_if"),
        ({"studio_words": f"{__name__}.TAKEN"}, "studio.E003", "'type'"),
        ({"studio_words": f"{__name__}.TAKEN_BY_AGENTS"}, "studio.E003", "'model'"),
        ({"icon": "rocket"}, "studio.W001", "'rocket'"),
    ],
)
def test_what_the_studio_needs_exists(
    changes: dict[str, str], problem: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_studio, "KINDS", [replace(SCORER, **changes)])  # type: ignore[arg-type]
    (found,) = of_studio.check_words()
    assert found.id == problem and said in found.msg


def test_a_control_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="one of line, text, choice"):
        FieldWords(title="Passes", control="settings")


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ("", [("", True), ("staff", False)]),
        ("gone", [("gone", True), ("staff", False)]),
        ("staff", [("staff", True)]),
    ],
)
def test_a_choice_shows_what_is_saved(value: str, options: list[tuple[str, bool]]) -> None:
    words = Words(title="Audience", options={"staff": "Staff"})
    field = FieldView(name="audience", words=words, control=Input.showing(value, "audience"))
    page = render_to_string("studio/editing/choice.html", {"field": field})
    shown = [one.partition(">")[0] for one in page.split("<option ")[1:]]
    assert shown == [f'value="{one}"{" selected" if chosen else ""}' for one, chosen in options]
