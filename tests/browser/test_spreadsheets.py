"""A spreadsheet is imported: its first rows are shown, with a choice above each column, at every width."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, WIDE, Enter
from tests.browser.flaws import flaws
from tests.support.remote import RemoteApi

TABLE = (
    "EINGABE;Eine gute Antwort;Tags;Preis (EUR);Interne Notiz;Ausführlicher Hinweis für die Redaktion\r\n"
    "Wo ist meine Bestellung?;Bitten Sie um die Bestellnummer.;Pflicht, Bestellung;1.234,50;egal;ja\r\n"
    '"Wie lange kann ich zurückgeben,\r\nund wer zahlt?";30 Tage. Wir zahlen.;Pflicht;2,75;;nein\r\n'
    "Was kostet der Versand?;3.10;;4;egal;ja\r\n"
).encode("cp1252")


@pytest.mark.parametrize("width", [NARROW, 768, WIDE])
@pytest.mark.parametrize("has_scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_person_says_what_becomes_of_each_column(
    enter: Enter, api_of: Callable[[str], RemoteApi], width: int, has_scripts: bool
) -> None:
    edgar = api_of("edgar")
    made = edgar.post("/datasets", {"name": f"Sheet {width} {has_scripts}", "workspaceId": "acme"})
    path = f"versioning/workspace/acme/datasets/{made.body['id']}/import/"
    page = enter("edgar", path, width=width, has_scripts=has_scripts)
    page.get_by_label("File", exact=True).set_input_files(
        {"name": "fragen.csv", "mimeType": "text/csv", "buffer": TABLE}
    )
    page.get_by_role("button", name="Preview import").click()
    expect(page.get_by_text("3 new items")).to_be_visible()
    expect(page.get_by_text("It is read as Windows-1252")).to_be_visible()
    price = page.get_by_role("group", name="Preis (EUR)")
    price.get_by_label("Becomes").select_option("Metadata")
    price.get_by_label("with the name").fill("price")
    price.get_by_label("as", exact=True).select_option("Number, such as 1.234,5")
    note = page.get_by_role("group", name="Interne Notiz")
    expect(note.get_by_label("with the name")).to_be_visible()
    note.get_by_label("Becomes").select_option("Leave out")
    expect(note.get_by_label("with the name")).to_be_hidden()
    last = page.get_by_role("group", name="Ausführlicher Hinweis")
    last.get_by_label("Becomes").select_option("Request context")
    last.get_by_label("with the name").fill("hint")
    last.get_by_label("as", exact=True).select_option("Yes or no")
    page.get_by_role("button", name="Update preview").click()
    expect(page.get_by_text("1234.5 number")).to_be_visible()
    if has_scripts:
        assert flaws(page) == []
    page.get_by_role("button", name="Import items").click()
    expect(page.get_by_text("New items: 3. Duplicates: 0.")).to_be_visible()
    items = edgar.get(f"/datasets/{made.body['id']}/items").body["items"]
    [item] = [one for one in items if one["input"] == "Wo ist meine Bestellung?"]
    assert item["metadata"] == {"tags": ["Pflicht", "Bestellung"], "price": 1234.5}
    assert item["requestContext"] == {"hint": True}
    assert item["groundTruth"] == "Bitten Sie um die Bestellnummer."
    assert "3.10" in [one["groundTruth"] for one in items]
