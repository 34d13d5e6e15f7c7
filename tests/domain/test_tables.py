"""Tables as spreadsheets write them: the separator and the encoding are found, and cells stay as typed."""

from __future__ import annotations

import csv
import io

import pytest
from editor_client.shared.errors import Invalid
from editor_client.shared.tables import ONE_COLUMN, SEPARATORS, WINDOWS, decode, read
from hypothesis import given
from hypothesis import strategies as st

KNOWN = frozenset({"input", "groundTruth", "externalId"})
_CELLS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff") | st.sampled_from('",;\t| \r\n'),
    max_size=12,
)


@st.composite
def _tables(draw: st.DrawFn) -> tuple[str, list[list[str]]]:
    """Return a separator, and rows of the same width with a header above, of which a name is known."""
    width = draw(st.integers(1, 5))
    names = draw(st.lists(_CELLS.map(str.strip).filter(bool), min_size=width, max_size=width))
    names[draw(st.integers(0, width - 1))] = draw(st.sampled_from(sorted(KNOWN)))
    rows = draw(st.lists(st.lists(_CELLS, min_size=width, max_size=width).filter(any), max_size=5))
    return draw(st.sampled_from(SEPARATORS)), [names, *rows]


@given(_tables(), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_every_table_is_read_as_it_was_typed(table: tuple[str, list[list[str]]], quoting: int) -> None:
    separator, rows = table
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator, quoting=quoting).writerows(rows)  # type: ignore[arg-type]  any of them
    found = read(out.getvalue(), is_known=KNOWN.__contains__)
    assert [found.header, *found.rows] == rows
    assert read(f"sep={separator}\r\n{out.getvalue()}", is_known=KNOWN.__contains__).rows == rows[1:]


FOUND = {
    "Frage (kurz, knapp);groundTruth\nWas?;Das\nWo, wann?;Hier\n": ";",
    'Frage;"Antwort, gut";externalId\nWie?;Gut;a1\n': ";",
    "Frage, kurz\tgroundTruth\nWie?\tGut\n": "\t",
    "Frage, kurz;Antwort\nWo, wann?;Hier\n": ";",
    "price;note\n1,50;a\n2,75;b\n": ";",
    "name,tags\na,x;y\nb,z\n": ",",
    "a|b\nc|d\n": "|",
    "question,answer\na,b,c\nd,e\n": ",",
    "input,groundTruth\na,b,c\n": ",",
    "a,b,c\n1,2\n3,4,5\n": ",",
    "question\nWhere, when?\nWho; what?\n": "",
    "Frage, kurz\nWas?\nWo, wann?\n": "",
    "": "",
}


@pytest.mark.parametrize("text", FOUND, ids=repr)
def test_the_separator_is_that_of_the_rows(text: str) -> None:
    assert read(text, is_known=KNOWN.__contains__).separator == FOUND[text]


def test_tables_as_spreadsheets_and_people_write_them() -> None:
    excel = read("sep=;\r\nquestion; groundTruth ;;\r\na,1;b;;\r\n")
    assert (excel.header, excel.rows) == (["question", "groundTruth"], [["a,1", "b"]])
    assert read('a, b\n1, "2, 3"\n').rows == [["1", "2, 3"]]
    assert read('x\ty\n"hi" he said\tb\n').rows == [['"hi" he said', "b"]]  # as it is copied
    assert read('x\ty\n"two\nlines"\tb\n').rows == [["two\nlines", "b"]]
    assert read('x\n"hi" he said\nand "hi"\n').rows == [['"hi" he said'], ['and "hi"']]
    assert read('x\n"two\nlines"\n5" wide\n').rows == [["two\nlines"], ['5" wide']]
    assert read("a;b\nc;d\n", has_header=False).rows == [["a", "b"], ["c", "d"]]
    assert read("a;b\nc;d\n", separator=ONE_COLUMN).rows == [["c;d"]]
    assert read("a,b,\n1,2,3\n").header == ["a", "b", ""]
    assert read("a,b\n\n,\n1,2\n").rows == [[], ["", ""], ["1", "2"]]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,2\n3,"4\n', 3),
        ('question,answer\nx,"a" b\n', 2),
        ('sep=;\na;b\n"1" x;2\n', 3),
        ('a,"b\n', 1),
        ('a\n"b\nc\n', 3),
    ],
)
def test_what_is_no_table_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(Invalid, match=f"in line {line}:"):
        read(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_says_the_encoding(encoding: str) -> None:
    assert decode("Größe €".encode(encoding))[0] == "Größe €"


def test_encodings_without_a_mark_are_named_or_refused_with_the_line() -> None:
    german = "a\nGröße €".encode("cp1252")
    with pytest.raises(Invalid, match="is not valid UTF-8 in line 2"):
        decode(german)
    assert decode(german, WINDOWS) == decode(german, "utf-8", WINDOWS) == ("a\nGröße €", WINDOWS)
    for damaged in ("Größe\n".encode() * 3 + b"\xff", b"a\n\x81"):  # UTF-8 with a fault; no letter of Windows
        with pytest.raises(Invalid, match="is not valid UTF-8 in line"):
            decode(damaged, "utf-8", WINDOWS)
    with pytest.raises(Invalid, match="UTF-16-LE in line 1"):
        decode(b"\xff\xfea")
    for name in ("idna", "base64", "no such encoding", "undefined", "a\0"):
        with pytest.raises(Invalid, match="which is not read"):
            decode(b"a", name)
