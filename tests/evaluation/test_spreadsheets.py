"""Spreadsheets become datasets: as they are saved and copied, and as a person says above each column."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import override_settings

from tests.conftest import Cast
from tests.evaluation.test_dataset_files import export_file, import_file
from tests.evaluation.test_dataset_pages import page_of
from tests.support.api import Api
from tests.support.datasets import add_item, inputs, make_dataset
from tests.support.studio import Visitor


@pytest.fixture
def edgar(cast: Cast) -> Visitor:
    """An editor at the studio."""
    del cast
    return Visitor("edgar")


def items(api: Api, dataset: str) -> list[dict[str, Any]]:
    """Return its items, oldest first, with the members that they have."""
    lines = export_file(api, dataset, "jsonl").splitlines()
    return [{name: one for name, one in json.loads(line).items() if name != "id"} for line in lines]


TABLES = [
    "Frage (kurz, knapp);groundTruth\nWas?;Das\nWo, wann?;Hier\n",
    "sep=;\r\nFrage (kurz, knapp); groundTruth ;;\r\nWas?;Das;;\r\nWo, wann?;Hier;;\r\n",
    'Frage (kurz, knapp)\tgroundTruth\nWas?\tDas\n"Wo, wann?"\tHier\n',
    '"Frage (kurz, knapp)"|groundTruth\nWas?|Das\nWo, wann?|Hier\n',
    '"Frage (kurz, knapp)",groundTruth\nWas?,Das\n"Wo, wann?",Hier\n',
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_table_is_read_whatever_separates_its_cells(alice: Api, encoding: str) -> None:
    for number, text in enumerate(TABLES):
        dataset = make_dataset(alice, f"Questions {number}")
        assert import_file(alice, dataset, text.encode(encoding), "csv").status == 200
        assert items(alice, dataset) == [
            {"input": {"Frage (kurz, knapp)": "Was?"}, "groundTruth": "Das"},
            {"input": {"Frage (kurz, knapp)": "Wo, wann?"}, "groundTruth": "Hier"},
        ]


def test_one_column_stays_one_column(alice: Api) -> None:
    dataset = make_dataset(alice)
    assert import_file(alice, dataset, "input\nWhere, when?\nWho; what?\n", "csv").status == 200
    assert inputs(alice, dataset) == ["Where, when?", "Who; what?"]


def test_numbers_stay_as_they_were_typed(alice: Api, edgar: Visitor) -> None:
    cells = ["3.10", "2.50", "007", "1e5", "TRUE", "2026-01-02", "1,5", "'tis"]
    dataset = make_dataset(alice)
    table = "input;groundTruth\n" + "".join(f"{number};{cell}\n" for number, cell in enumerate(cells))
    assert import_file(alice, dataset, f"{table}8;2.5\n9;-4\n10;true\n", "csv").status == 200
    assert [one["groundTruth"] for one in items(alice, dataset)] == [*cells, 2.5, -4, True]
    text = export_file(alice, dataset, "csv")
    assert import_file(alice, dataset, text, "csv").body["unchanged"] == 11
    # The same in a table that is edited in place.
    dataset = make_dataset(alice, "Typed")
    new = {"base": "0", "new": ["new-0"], "input-new-0": "3.10", "groundTruth-new-0": "2.50"}
    edgar.post(page_of(dataset), new)
    assert items(alice, dataset) == [{"input": "3.10", "groundTruth": "2.50"}]


def test_an_encoding_is_named_or_refused_with_its_line(alice: Api) -> None:
    dataset, body = make_dataset(alice), "input\nGröße\n".encode("cp1252")
    refused = import_file(alice, dataset, body, "csv")
    assert (refused.status, refused.fields) == (400, ["body"])
    assert "is not valid UTF-8 in line 2" in refused.body["error"]

    def send(charset: str) -> int:
        kind = f"text/csv; charset={charset}"
        path = f"{dataset}/import"
        return alice.request("POST", path, body, query={"format": "csv"}, content_type=kind).status

    assert (send("idna"), send("Windows-1252")) == (400, 200)
    assert inputs(alice, dataset) == ["Größe"]


def test_a_member_in_one_column_and_in_several_is_put_together(alice: Api) -> None:
    dataset = make_dataset(alice)
    head = "input,__metadata,metadata.a\n"
    table = head + 'Hi,"{""b"": 1}",2\n'
    assert import_file(alice, dataset, table, "csv").status == 200
    assert items(alice, dataset) == [{"input": "Hi", "metadata": {"a": 2, "b": 1}}]
    for cell in ('"{""a"": 1}"', "text", "[]"):
        refused = import_file(alice, dataset, f"{head}Ho,{cell},2\n", "csv")
        assert (refused.status, refused.fields) == (400, ["rows.1.metadata"])
    for twice in ("input,__input\nHi,Ho\n", "__metadata,__metadata,input\n,,Hi\n"):
        refused = import_file(alice, dataset, twice, "csv")
        assert (refused.status, refused.fields) == (400, ["header"])


# In the studio


def looks(visitor: Visitor, dataset: str, content: bytes, name: str = "q.csv") -> Any:
    """Choose a file and look at it."""
    sent = {"file": SimpleUploadedFile(name, content), "do": "look"}
    return visitor.post(page_of(dataset, "import"), sent)


def form_of(answer: Any) -> dict[str, str]:
    """Return what the form of a page that was looked at would send."""
    page = answer.markup
    form = page[page.index('name="content"') - 40 : page.index("</form>", page.index('name="content"'))]
    fields = {
        name: unescape(value)
        for name, value in re.findall(r'<input[^>]* name="([^"]+)" value="([^"]*)"', form)
    }
    for name, options in re.findall(r'(?s)<select[^>]* name="([^"]+)">(.*?)</select>', form):
        fields[name] = unescape(re.findall(r'value="([^"]*)"[^>]* selected', options)[0])
    return fields


def imports(visitor: Visitor, dataset: str, fields: dict[str, str]) -> Any:
    """Press the button that imports."""
    return visitor.submit(page_of(dataset, "import"), **fields, do="import")


def test_the_first_rows_are_shown_as_they_would_become(edgar: Visitor, alice: Api) -> None:
    dataset = make_dataset(alice)
    looked = looks(
        edgar, dataset, b"EINGABE;A Good Answer;Schlagw\xc3\xb6rter;Metadaten.Quelle\nWas?;3.10;a, b;5\n"
    )
    assert "1 new item," in looked.words and "No column is called" not in looked.words
    fields = form_of(looked)
    assert [fields[f"member-{n}"] for n in range(4)] == ["input", "groundTruth", "tags", "metadata."]
    assert (fields["separator"], fields["key-3"], fields["type-1"]) == (";", "Quelle", "auto")
    assert "3.10" in looked.words and "5 number" in looked.words
    assert alice.get(dataset).body["version"] == 0
    assert "New items: 1." in imports(edgar, dataset, fields).words
    assert items(alice, dataset) == [
        {"input": "Was?", "groundTruth": "3.10", "metadata": {"tags": ["a", "b"], "Quelle": 5}}
    ]


def test_a_person_says_what_each_column_becomes(edgar: Visitor, alice: Api) -> None:
    dataset = make_dataset(alice)
    head = "Frage;Antwort;Preis;Aktiv;Kunde;Code;Daten;Notiz\n"
    body = head + 'Was?;Das;1.234,50;ja;gold;007;"{""a"": 1}";intern\n'
    looked = looks(edgar, dataset, body.encode())
    fields = form_of(looked)
    assert [fields[f"member-{n}"] for n in range(3)] == ["input", "groundTruth", "metadata."]
    chosen = [
        "input",
        "groundTruth",
        "metadata.",
        "metadata.",
        "requestContext.",
        "metadata.",
        "metadata.",
        "",
    ]
    fields |= {f"member-{number}": member for number, member in enumerate(chosen)}
    fields |= {
        "key-4": "tier",
        "type-2": "commaNumber",
        "type-3": "yesNo",
        "type-5": "number",
        "type-6": "json",
    }
    again = edgar.submit(page_of(dataset, "import"), **fields, do="look")
    assert "1234.5 number" in again.words and "true yes or no" in again.words
    assert form_of(again) == fields
    imports(edgar, dataset, form_of(again))
    assert items(alice, dataset) == [
        {
            "input": "Was?",
            "groundTruth": "Das",
            "metadata": {"Preis": 1234.5, "Aktiv": True, "Code": 7, "Daten": {"a": 1}},
            "requestContext": {"tier": "gold"},
        }
    ]


@pytest.mark.parametrize(
    ("header", "members"),
    [
        ("Question;Answer", ["input", "groundTruth"]),
        ("Product;Expected output;Prompt", ["metadata.", "groundTruth", "input"]),
        ("Question;Input", ["metadata.", "input"]),
        ("Question;Query", ["input", "metadata."]),
        ("Product;Price", ["input.", "input."]),
    ],
)
def test_other_words_for_input_and_good_answer_are_recognised(
    edgar: Visitor, alice: Api, header: str, members: list[str]
) -> None:
    body = f"{header}\n{';'.join('abc'[: len(members)])}\n"
    looked = looks(edgar, make_dataset(alice), body.encode())
    fields = form_of(looked)
    assert [fields[f"member-{number}"] for number in range(len(members))] == members
    assert ("No column is called" in looked.words) == (members[0] == "input.")


def test_a_column_of_metadata_that_is_a_text_is_named(edgar: Visitor, alice: Api) -> None:
    dataset = make_dataset(alice)
    looked = looks(edgar, dataset, b"Input;Tags;Metadata;id\nWas?;a, b;internal;q-1\n")
    assert looked.status == 200 and 'value="import"' not in looked.markup
    assert "metadata: has its own value" in looked.words
    assert "q-1 identifies the item and is not stored" in looked.words
    fields = form_of(looked) | {"member-2": "metadata.", "key-2": "note"}
    imports(edgar, dataset, fields)
    assert items(alice, dataset) == [{"input": "Was?", "metadata": {"tags": ["a", "b"], "note": "internal"}}]
    twice = edgar.submit(page_of(dataset, "import"), **fields | {"key-2": "tags"}, do="look")
    assert "names the column “tags” twice" in twice.words


def test_a_cell_that_is_not_of_the_chosen_type_is_named(edgar: Visitor, alice: Api) -> None:
    dataset = make_dataset(alice)
    fields = form_of(looks(edgar, dataset, b"input,n,yes\nHi,1,no\nHo,many,perhaps\n"))
    wrong = edgar.submit(
        page_of(dataset, "import"), **fields | {"type-1": "number", "type-2": "yesNo"}, do="look"
    )
    assert "Row 2" in wrong.words and "n: is not a number: “many”" in wrong.words
    assert "yes: is neither yes nor no: “perhaps”" in wrong.words
    assert 'value="import"' not in wrong.markup
    twice = edgar.submit(page_of(dataset, "import"), **fields | {"key-2": "n"}, do="import")
    assert "names the column “metadata.n” twice" in twice.words and form_of(twice)["key-2"] == "n"
    assert alice.get(dataset).body["version"] == 0


def test_the_first_row_and_the_separator_can_be_said_later(edgar: Visitor, alice: Api) -> None:
    dataset = make_dataset(alice)
    address = page_of(dataset, "import")
    looked = edgar.submit(address, pasted="Was?\tDas\r\nWo, wann?\tHier", do="look")
    assert ">\nWas?\tDas\r\nWo, wann?" in looked.markup  # to be mended
    example = edgar.submit(address, **form_of(looked) | {"first_row": "example"}, do="look")
    assert "2 new items," in example.words
    assert [form_of(example)[f"member-{n}"] for n in range(2)] == ["input", "groundTruth"]
    one = edgar.submit(address, **form_of(example) | {"separator": "\x1f"}, do="look")
    assert "Was?\tDas" in unescape(one.markup) and "member-1" not in form_of(one)
    imports(edgar, dataset, form_of(example))
    assert [(one["input"], one["groundTruth"]) for one in items(alice, dataset)] == [
        ("Was?", "Das"),
        ("Wo, wann?", "Hier"),
    ]


def test_a_file_of_windows_is_read_and_the_page_says_so(edgar: Visitor, alice: Api) -> None:
    dataset = make_dataset(alice)
    looked = looks(edgar, dataset, "input;groundTruth\nGröße?;5 €\n".encode("cp1252"))
    assert "is read as Windows-1252" in looked.words and "Größe?" in looked.words
    imports(edgar, dataset, form_of(looked))
    assert items(alice, dataset) == [{"input": "Größe?", "groundTruth": "5 €"}]
    damaged = looks(edgar, dataset, b"input\n\x81\n")
    assert damaged.status == 400 and "is not valid UTF-8 in line 2" in damaged.words


def test_an_export_is_recognised_in_the_studio(edgar: Visitor, alice: Api) -> None:
    dataset = make_dataset(alice)
    add_item(alice, dataset, toolMocks=[{"toolName": "find", "args": {}, "output": None}], groundTruth="=1+1")
    add_item(alice, dataset, input={"a": "1e5"}, metadata={"tags": ["ab"], "x": "007"})
    looked = looks(edgar, dataset, export_file(alice, dataset, "csv").encode())
    assert "0 new items, 2 duplicates" in looked.words


def test_the_choices_are_there_in_german(edgar: Visitor, alice: Api) -> None:
    dataset = make_dataset(alice)
    edgar.client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    page = looks(edgar, dataset, b"Thema;GOOD ANSWER?;A good ANSWER;tags\nx;y;1,5;a\n").words
    for words in (
        "Die ersten Zeilen, wie sie gespeichert würden",
        "Zwischen den Spalten stehen",
        "Semikolons",
    ):
        assert words in page
    for words in ("Teil der Eingabe", "Wie es aussieht", "Ja oder Nein", "Weglassen", "1 neuer Eintrag"):
        assert words in page


def test_what_is_sent_back_is_limited(edgar: Visitor, alice: Api) -> None:
    dataset = make_dataset(alice)
    fields = form_of(looks(edgar, dataset, b"input\n" + b"a" * 5000 + b"\n"))
    for content in ("x", ":eA==", ":" + "=" * 9, fields["content"][:-8]):
        refused = edgar.submit(page_of(dataset, "import"), content=content, format="csv", do="import")
        assert refused.status == 400 and "did not arrive completely" in refused.words
    with override_settings(EDITOR_MAX_BODY=4000):  # packed it is smaller
        refused = edgar.submit(page_of(dataset, "import"), **fields, do="import")
        assert refused.status == 400 and "did not arrive completely" in refused.words
    wide = looks(edgar, dataset, b",".join(b"c%d" % n for n in range(201)) + b"\n")
    assert wide.status == 400 and "has 201 columns" in wide.words
    assert inputs(alice, dataset) == []
