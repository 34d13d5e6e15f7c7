"""Case, normal forms and clusters over Unicode's own test files: in Python, SQL and the studio's scripts."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import unicodedata
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from editor_client.shared import clipping
from editor_client.shared.text_keys import caseless, collation_key
from hypothesis import example, given
from hypothesis import strategies as st

from studio.diff.texts import Op, spans
from studio.limits import PageBudget, shorten
from tests.support import unicode
from versioning.domain import texts as graphemes
from versioning.domain.text_search import TextQuery, excerpt, mark_hits, words

ROOT = Path(__file__).parents[2]
PRODUCT = ("capabilities", "editor_project", "studio", "versioning")
SCRIPT = ROOT / "studio" / "static" / "studio" / "text.js"
CLUSTERS = unicode.clusters()
FOLDINGS = unicode.foldings()
SPELLINGS = unicode.spellings()
CONJOINED = {
    chr(code)
    for part in ((0x900, 0xE00), (0x1000, 0x10A0), (0x1780, 0x1D00), (0xA800, 0xAC00), (0x11000, 0x12000))
    for code in range(*part)
}
"""Letters and signs of South and Southeast Asia: their rule changed lately, so browsers differ."""
LANGUAGES = (
    "कृपया संक्षेप में उत्तर दें।",
    "ที่นี่มีน้ำ",
    "ខ្ញុំ\u200bស្រឡាញ់\u200bអ្នក",
    "தமிழ் மொழி",
    "مُحَمَّد",
    "שָׁלוֹם",
    "Cafe\u0301 au lait",
    "👩‍👩‍👧 🇩🇪🇫🇷 👍🏽 ❤️",
    "한국어 한국어",
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from([one for text in CLUSTERS for one in text]), max_size=12).map("".join),
    st.lists(st.sampled_from(LANGUAGES), max_size=3).map(" ".join),
)


def boundaries(text: str) -> set[int]:
    return {0, *accumulate(map(len, graphemes.clusters(text)))}


def run_script(body: str, given: Any) -> Any:
    """Return what a script returns that has imported the studio's `text.js`."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("The studio's scripts are also tested in a browser; this needs Node.js.")
    program = (
        f"import {{ caseless, clipped, graphemes, patternOf }} from {json.dumps(SCRIPT.as_uri())};\n"
        'import { readFileSync } from "node:fs";\n'
        'const given = JSON.parse(readFileSync(0, "utf-8"));\n'
        f"const answer = (() => {{ {body} }})();\n"
        "process.stdout.write(JSON.stringify(answer));"
    )
    command = [node, "--experimental-default-type=module", "--input-type=module", "-e", program]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def in_database(texts: list[str]) -> list[str]:
    with connection.cursor() as cursor:
        values = ", ".join(["(%s, %s)"] * len(texts))
        pairs = [one for pair in enumerate(texts) for one in pair]
        cursor.execute(f"SELECT editor_caseless(column2) FROM (VALUES {values}) AS t ORDER BY column1", pairs)
        return [row[0] for row in cursor.fetchall()]


# Case.


def test_letters_are_folded_as_unicode_says() -> None:
    for letter, folded in FOLDINGS:
        assert caseless(letter) == caseless(folded)
        assert collation_key(letter).partition("\x01")[0] == collation_key(folded).partition("\x01")[0]


@pytest.mark.database
@pytest.mark.django_db
def test_databases_fold_letters_as_unicode_says() -> None:
    folded = in_database([one for pair in FOLDINGS for one in pair])
    assert folded[::2] == folded[1::2] == [caseless(letter) for letter, _ in FOLDINGS]


def test_scripts_fold_letters_as_unicode_says() -> None:
    keys = run_script("return given.map(caseless);", [one for pair in FOLDINGS for one in pair])
    assert keys[::2] == keys[1::2]


# Normal forms.


def test_spellings_of_a_text_have_one_key() -> None:
    for source, composed, decomposed in SPELLINGS:
        assert caseless(source) == caseless(composed) == caseless(decomposed)
        assert unicodedata.is_normalized("NFC", caseless(source))
        assert words(source) == words(composed) == words(decomposed)


@pytest.mark.database
@pytest.mark.django_db
def test_databases_have_one_key_for_spellings_of_a_text() -> None:
    for start in range(0, len(SPELLINGS), 200):
        some = [one for three in SPELLINGS[start : start + 200] for one in three]
        assert in_database(some) == [caseless(one) for one in some]


def test_scripts_have_one_key_for_spellings_of_a_text() -> None:
    keys = run_script("return given.map(caseless);", [one for three in SPELLINGS for one in three])
    assert keys[::3] == keys[1::3] == keys[2::3]


# Grapheme clusters.


def test_no_query_cuts_a_text() -> None:
    """Databases cut between code points: only lengths are computed of what they have cut."""
    cuts = {"Left", "Right", "Substr", "Substring"}
    files = [path for app in PRODUCT for path in (ROOT / app).rglob("*.py")]
    found = {
        path.relative_to(ROOT).as_posix()
        for path in files
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in cuts
    }
    assert found == {"capabilities/review/api.py"}


def test_texts_are_cut_between_clusters() -> None:
    for parts in CLUSTERS:
        text = "".join(parts)
        assert graphemes.clusters(text) == parts
        places = {0, *accumulate(map(len, parts))}
        for limit in range(len(text) + 1):
            end = max(place for place in places if place <= limit)
            assert graphemes.boundary_before(text, limit) == end
            assert graphemes.clip(text, limit) == text[: end or limit]
            assert graphemes.boundary_after(text, limit) in places
            assert len(clipping.clip(text, limit)) in places or len(parts[0]) > limit


@given(TEXTS, st.integers(0, 60))
@example("0\u200c0\u0300", 3)
def test_any_text_is_cut_between_clusters(text: str, limit: int) -> None:
    places = boundaries(text)
    assert graphemes.boundary_before(text, limit) == max(one for one in places if one <= max(limit, 0))
    assert graphemes.boundary_after(text, limit) == min(one for one in places if one >= min(limit, len(text)))
    first = len(graphemes.clusters(text)[0]) if text else 0
    for cut in (shorten(text, limit).removesuffix("…"), PageBudget(characters=limit).take(text)):
        assert len(cut) in places or first > limit
    assert len(clipping.clip(text, limit)) in places or first > limit or limit == 0


@given(TEXTS, TEXTS)
@example("\n", "\r\n")
@example("a \r\nb", "a \nb")
def test_comparisons_leave_marks_with_their_letters(before: str, after: str) -> None:
    found = spans(before, after, PageBudget())
    for own, text in ((Op.REMOVED, before), (Op.ADDED, after)):
        pieces = [piece.text for piece in found if piece.op in {Op.SAME, own}]
        assert "".join(pieces) == text
        assert set(accumulate(map(len, pieces))) <= boundaries(text)


@given(TEXTS, TEXTS, st.booleans())
def test_hits_leave_marks_with_their_letters(text: str, typed: str, inside: bool) -> None:
    query = TextQuery(typed)
    pieces = [piece.text for piece in mark_hits(text, query, inside=inside)]
    assert "".join(pieces) == text
    assert set(accumulate(map(len, pieces))) <= boundaries(text)
    assert excerpt(text * 9, query, inside=inside) != []


def test_scripts_cut_between_clusters() -> None:
    known = [parts for parts in CLUSTERS if not CONJOINED.intersection("".join(parts))]
    texts = ["".join(parts) for parts in known]
    assert run_script("return given.map(graphemes);", texts) == known
    cut = run_script(
        "return given.map((text) => [...text].map((_one, at) => clipped(text, at).length));", texts
    )
    for text, lengths in zip(texts, cut, strict=True):
        units = {0, *accumulate(len(one.encode("utf-16-le")) // 2 for one in graphemes.clusters(text))}
        first = min(units - {0})
        assert all(length in units or length < first for length in lengths)


def test_scripts_find_any_words() -> None:
    found = run_script(
        "return given.map((words) => patternOf(words, 'i').exec(`a ${words} b`)?.[0]);",
        signs := ["follow-up", "- a", "a/b", "[a]{2}(b)|c*+?.^$\\", "a\u0301-b", "#&~@!\"'%,:;<=>`_"],
    )
    assert found == signs
