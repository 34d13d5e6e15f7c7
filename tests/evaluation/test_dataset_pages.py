"""Datasets in the studio: a table that is edited in place, files, history, and who sees them."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from capabilities.evaluation.datasets.models import Dataset, Item
from capabilities.evaluation.datasets.verbs import Batch, make_content
from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.datasets import add_item, inputs, make_dataset
from tests.support.scorers import make_scorer
from tests.support.studio import Visitor, workspace_page
from versioning.domain.access import APPLICATION
from versioning.models import events


@pytest.fixture
def edgar(cast: Cast) -> Visitor:
    """An editor at the studio."""
    del cast
    return Visitor("edgar")


def page_of(dataset: str, *rest: str) -> str:
    """Return the address of a page about a dataset."""
    return workspace_page("/".join(["datasets", dataset.removeprefix("/datasets/"), *rest]))


def typed(visitor: Visitor, address: str, **changes: str) -> dict[str, Any]:
    """Return what the form of a table sends, with changes by the names of its cells."""
    page = visitor.get(address).markup
    form = page[page.index('name="base"') - 200 :]
    fields: dict[str, Any] = {"base": re.findall(r'name="base" value="(\d+)"', form)[0]}
    for name in ("item", "new"):
        fields[name] = re.findall(rf'name="{name}" value="([^"]+)"', form)
    for name, text in re.findall(r'(?s)<textarea[^>]* name="([^"]+)"[^>]*>\n(.*?)</textarea>', form):
        fields[name] = unescape(text)
    for tag in re.findall(r"<input[^>]*>", form):
        found = re.search(r'name="((?:tags|externalId)-[^"]+)" value="([^"]*)"', tag)
        if found:
            fields[found[1]] = unescape(found[2])
    return {**fields, **changes}


def test_a_dataset_is_made_and_its_table_edited_as_one_version(edgar: Visitor, alice: Api) -> None:
    made = edgar.submit(workspace_page("datasets/add"), name="Questions", description="What people ask.")
    assert "Questions" in made.words and "new" in made.words
    [found] = alice.get("/datasets").body["datasets"]
    dataset, address = f"/datasets/{found['id']}", page_of(f"/datasets/{found['id']}")
    cells = {
        "input-new-0": "Where?",
        "groundTruth-new-0": "here",
        "tags-new-0": "must, b",
        "input-new-2": '{"a": 1}',
    }
    saved = edgar.submit(address, **typed(edgar, address, **cells))
    assert "Saved as version 1." in saved.words
    first, second = alice.get(f"{dataset}/items", **{"orderBy[direction]": "ASC"}).body["items"]
    assert (first["input"], first["groundTruth"], first["metadata"]) == (
        "Where?",
        "here",
        {"tags": ["must", "b"]},
    )
    assert second["input"] == {"a": 1}
    alice.patch(f"{dataset}/items/{second['id']}", {"input": "a\r\nb", "metadata": {"n": 1}})
    third = add_item(alice, dataset, input="12")["id"]
    assert "Nothing has changed." in edgar.submit(address, **typed(edgar, address)).words
    changes = {f"groundTruth-{third}": "7", f"remove-{first['id']}": "on", f"tags-{second['id']}": "x"}
    assert (
        "1 item deleted; saved as version 4."
        in edgar.submit(address, **typed(edgar, address, **changes)).words
    )
    assert inputs(alice, dataset) == ["a\r\nb", "12"]
    items = {one["id"]: one for one in alice.get(f"{dataset}/items").body["items"]}
    assert items[third]["groundTruth"] == 7 and items[second["id"]]["metadata"] == {"n": 1, "tags": ["x"]}
    old = edgar.get(address, version="1").words
    assert "as they were in version 1" in old and "Where?" in old and "Save" not in old.split("Export")[1]
    assert "Version 4" in edgar.get(page_of(dataset, "versions")).words
    assert "Where?" not in edgar.get(address, q="12").words


def test_a_refused_save_keeps_what_was_typed(edgar: Visitor, alice: Api) -> None:
    dataset = make_dataset(alice, inputSchema={"type": "string"})
    item = add_item(alice, dataset)["id"]
    address = page_of(dataset)
    mine = typed(edgar, address, **{f"input-{item}": "mine", "input-new-0": "5"})
    add_item(alice, dataset, input="theirs")
    refused = edgar.post(address, mine)
    assert refused.status == 409 and ">\nmine</textarea>" in refused.markup
    assert "not saved" in refused.words and 'name="base" value="2"' in refused.markup
    wrong = edgar.post(address, {**mine, "base": "2"})
    assert wrong.status == 400 and "input: " in wrong.words
    empty = edgar.post(address, {**mine, "base": "2", f"input-{item}": "", "input-new-0": ""})
    assert empty.status == 400
    assert inputs(alice, dataset) == ["Hi", "theirs"]


def test_a_file_is_looked_at_and_then_imported(edgar: Visitor, alice: Api) -> None:
    dataset = make_dataset(alice)
    address, content = page_of(dataset, "import"), b"input,groundTruth\r\na,1\r\n"
    looked = edgar.post(address, {"file": SimpleUploadedFile("q.csv", content), "do": "look"})
    assert "1 new item, 0 duplicates" in looked.words
    assert alice.get(dataset).body["version"] == 0
    fields = dict(re.findall(r'name="(content|format)" value="([^"]+)"', looked.markup))
    assert "New items: 1." in edgar.submit(address, **fields, do="import").words
    pasted = edgar.submit(address, pasted="input\tgroundTruth\r\na\t1\r\nb, c\t2\r\n", do="look")
    assert "1 new item, 1 duplicate" in pasted.words
    for typed_text, word in (("input,input\n", "twice"), ("groundTruth\n1", "Row 1"), ("", "Choose a file")):
        assert word in edgar.submit(address, pasted=typed_text, do="import").words
    exported = edgar.get(page_of(dataset, "export"), {"format": "csv"})
    assert b"groundTruth\r\n" in exported.content
    assert edgar.get(page_of(dataset, "export"), format="xls").status == 404


def test_all_of_an_item_is_edited_and_purged(edgar: Visitor, alice: Api) -> None:
    dataset = make_dataset(alice)
    item = add_item(alice, dataset, input="SECRET", metadata={"n": 1})["id"]
    address = page_of(dataset, "items", item)
    assert "SECRET" in edgar.get(address).words
    edgar.post(address, payload='{"input": "SECRET 2", "requestContext": {"tier": "gold"}}')
    changed = alice.get(f"{dataset}/items/{item}").body
    assert (changed["input"], changed["metadata"], changed["requestContext"]) == (
        "SECRET 2",
        None,
        {"tier": "gold"},
    )
    for wrong in ("{", "[]", '{"colour": 1}'):
        assert edgar.post(address, {"payload": wrong}).status == 400
    assert "Since version 1" in edgar.get(address).words
    assert "cannot be undone" in edgar.get(f"{address}purge/").words
    after = edgar.submit(f"{address}purge/").words
    assert "SECRET" not in after and "Content removed." in after
    assert "SECRET" not in edgar.get(page_of(dataset)).words


def test_settings_and_deletion(edgar: Visitor, alice: Api) -> None:
    make_scorer(alice)
    dataset = make_dataset(alice)
    make_dataset(alice, "Other")
    address = page_of(dataset, "settings")
    assert "Exact" in edgar.get(address).words
    edgar.post(address, name="New", description="", scorers="exact", input_schema='{"type": "string"}')
    held = alice.get(dataset).body
    assert (held["name"], held["scorerIds"], held["inputSchema"]) == ("New", ["exact"], {"type": "string"})
    for wrong in ({"name": "Other"}, {"name": ""}, {"name": "New", "input_schema": "{"}):
        assert edgar.post(address, wrong).status == 400
    assert "“New” deleted" in edgar.submit(page_of(dataset, "delete")).words
    assert alice.get(dataset).status == 404


def test_what_was_tried_is_added_to_a_dataset(edgar: Visitor, alice: Api) -> None:
    address = "/studio/datasets/add-item/"
    assert "Create one first." in edgar.submit(address, tried='"Where?"', output="here").words
    dataset = make_dataset(alice)
    shown = unescape(edgar.submit(address, tried='"12"', output="here").markup)
    assert '"12"</textarea>' in shown and "here</textarea>" in shown
    added = {
        "dataset": dataset.removeprefix("/datasets/"),
        "input": '"12"',
        "ground_truth": "here",
        "tags": "must",
    }
    assert "Item added." in edgar.submit(address, do="add", **added).words
    [item] = alice.get(f"{dataset}/items").body["items"]
    assert (item["input"], item["groundTruth"], item["metadata"]) == ("12", "here", {"tags": ["must"]})
    assert edgar.post(address, {"do": "add", **added, "input": ""}).status == 400
    assert "Create one first." in Visitor("vera").get(address).words


def test_a_page_reads_its_own_items_alone(
    edgar: Visitor, alice: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = make_dataset(alice)
    row = Dataset.objects.get()
    batch = Batch(row, 1)
    for number in range(200):
        batch.add(Item(dataset=row), make_content({"input": f"Question {number}"}))
    with events.transaction():
        batch.store(APPLICATION)
    made: list[str] = []
    from_db = Item.from_db.__func__  # type: ignore[attr-defined]  a class method has it
    monkeypatch.setattr(
        Item, "from_db", classmethod(lambda cls, *row: made.append(cls.__name__) or from_db(cls, *row))
    )
    assert "Question 199" in edgar.get(page_of(dataset), page="4").markup
    assert len(made) == 50


def test_an_item_is_made_from_feedback_whose_input_is_typed(edgar: Visitor, alice: Api) -> None:
    AGENTS.make(alice, autoPublish=True)
    version = AGENTS.versions(alice)[0]["id"]
    about = {
        "resource": {"kind": "agent", "id": "writer"},
        "versionId": version,
        "name": "helpful",
        "value": False,
    }
    assert alice.post("/feedback", {**about, "comment": "It is <wrong>"}).status == 201
    dataset = make_dataset(alice)
    listed = edgar.get("/studio/versioning/agent/writer/runs/").markup
    assert "helpful: no" in listed and "It is &lt;wrong&gt;" in listed
    [said] = re.findall(r'name="about" value="([^"]*)"', listed)
    [address] = re.findall(r'action="([^"]*add-item/)"', listed)
    form = edgar.submit(address, about=unescape(said))
    assert "helpful: no It is &lt;wrong&gt;" in form.words or "It is <wrong>" in form.words
    [kept] = re.findall(r'name="about" value="([^"]*)"', form.markup)
    item = {"dataset": dataset.rpartition("/")[2], "input": "Where?", "ground_truth": "Here.", "tags": ""}
    edgar.post(address, do="add", about=unescape(kept), **item)
    [made] = alice.get(f"{dataset}/items").body["items"]
    assert made["input"] == "Where?"
    assert (made["metadata"]["feedback"]["comment"], made["metadata"]["feedback"]["value"]) == (
        "It is <wrong>",
        False,
    )
