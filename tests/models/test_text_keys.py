"""Keys of texts: Python, SQLite and PostgreSQL fold, compare and sort the same."""

from __future__ import annotations

import ast
import unicodedata
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F, Value
from editor_client.shared.text_keys import caseless, collation_key
from hypothesis import given
from hypothesis import strategies as st

from versioning.models.text_keys import (
    ByName,
    begins,
    contains,
    contains_caseless,
    equals_caseless,
)

ROOT = Path(__file__).parents[2]
PRODUCT = ("capabilities", "editor_project", "studio", "versioning")
OF_ONE_DATABASE = (
    "contains",
    "icontains",
    "startswith",
    "istartswith",
    "endswith",
    "iendswith",
    "iexact",
    "regex",
    "iregex",
)
IN_POSTGRESQL = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
EVERYTHING = [
    chr(code) for code in range(1, 0x110000) if unicodedata.category(chr(code)) not in {"Cs", "Cn", "Co"}
]


def in_database(texts: list[str]) -> list[str]:
    """Return the keys that the database has for some texts."""
    with connection.cursor() as cursor:
        values = ", ".join(["(%s, %s)"] * len(texts))
        given = [one for pair in enumerate(texts) for one in pair]
        cursor.execute(f"SELECT editor_caseless(column2) FROM (VALUES {values}) AS t ORDER BY column1", given)
        return [row[0] for row in cursor.fetchall()]


@pytest.mark.database
@pytest.mark.django_db
def test_a_database_folds_every_character_as_python_does() -> None:
    for start in range(0, len(EVERYTHING), 100_000):
        # Line feeds keep the characters apart, so that none of them combines with another.
        [folded] = in_database(["\n".join(EVERYTHING[start : start + 100_000])])
        wanted = caseless("\n".join(EVERYTHING[start : start + 100_000]))
        differing = [
            (one, other)
            for one, other in zip(folded.split("\n"), wanted.split("\n"), strict=True)
            if one != other
        ]
        assert not differing


@pytest.mark.database
@pytest.mark.django_db
@given(st.lists(st.text(IN_POSTGRESQL), min_size=1))
def test_a_database_folds_any_text_as_python_does(texts: list[str]) -> None:
    assert in_database(texts) == [caseless(text) for text in texts]


@given(st.text())
def test_case_and_normal_form_make_no_difference_to_a_key(text: str) -> None:
    key = caseless(text)
    assert caseless(key) == key
    assert unicodedata.is_normalized("NFC", key)
    for form in ("NFC", "NFD"):
        assert caseless(unicodedata.normalize(form, text)) == key
    assert caseless(text.casefold()) == key


@pytest.mark.database
@pytest.mark.django_db
def test_conditions_ignore_case_of_any_letters_or_of_none() -> None:
    names = ["älva", "Straße", "Team/a", "team/b", "Cafe\u0301", "ΣΊΣΥΦΟΣ", "İzmir", "50%", "a_b"]
    User.objects.bulk_create([User(username=f"{n}", first_name=name) for n, name in enumerate(names)])

    def found(condition: object) -> list[str]:
        return [*User.objects.filter(condition).order_by("pk").values_list("first_name", flat=True)]  # type: ignore[misc]

    for column in ("first_name", F("first_name")):
        assert found(equals_caseless(column, "ÄLVA")) == ["älva"]
        assert found(equals_caseless(column, "STRASSE")) == ["Straße"]
        assert found(equals_caseless(column, "CAF\u00c9")) == ["Cafe\u0301"]
        assert found(contains_caseless(column, "ΊΣΥΦΟς")) == ["ΣΊΣΥΦΟΣ"]
        assert found(contains_caseless(column, "TEAM/")) == ["Team/a", "team/b"]
        assert found(contains_caseless(column, "0%")) == ["50%"]
        assert found(contains_caseless(column, "a_")) == ["a_b"]
    assert found(begins(F("first_name"), Value("team/"))) == ["team/b"]
    assert found(contains(F("first_name"), Value("team"))) == ["team/b"]


NAMES_IN_ORDER = [
    "_draft",
    "10 rules",
    "2 rules",
    "Abteilung",
    "über",
    "Über uns",
    "Uhr",
    "Ulm",
    "Zebra",
    "αλφα",
    "йод",
    "яблоко",
    "แมว",
]


@pytest.mark.database
@pytest.mark.django_db
def test_names_are_sorted_as_people_expect() -> None:
    names = [*reversed(NAMES_IN_ORDER)]
    User.objects.bulk_create([User(username=f"{n}", first_name=name) for n, name in enumerate(names)])
    found = User.objects.filter(first_name__in=names).order_by(ByName("first_name"))
    assert [one.first_name for one in found] == NAMES_IN_ORDER
    assert sorted(names, key=collation_key) == NAMES_IN_ORDER


@given(st.lists(st.text()))
def test_sorting_puts_equal_names_next_to_each_other(texts: list[str]) -> None:
    spellings = [
        spelling for text in texts for spelling in (text, caseless(text), unicodedata.normalize("NFD", text))
    ]
    keys = [caseless(one) for one in sorted(spellings, key=collation_key)]
    assert (
        len([one for one, before in zip(keys, [None, *keys], strict=False) if one != before])
        <= len(set(keys)) * 3
    )


def test_no_query_depends_on_what_a_database_takes_for_equal() -> None:
    """Every condition on texts is made by `versioning.models.text_keys`, so both databases find the same."""
    faults = []
    for app in PRODUCT:
        for path in (ROOT / app).rglob("*.py"):
            if "migrations" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                words = [node.arg] if isinstance(node, ast.keyword) else []
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    words = node.value.split()
                faults += [
                    f"{path.relative_to(ROOT)}: {word}"
                    for word in words
                    if word
                    and word.rpartition("__")[0].strip("_")
                    and word.rpartition("__")[2] in OF_ONE_DATABASE
                ]
    assert not faults
