"""Datasets by the methods of both clients, on the command line, and in the editor in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from editor_client import Conflict, ValidationFailed
from editor_client.__main__ import main

from tests.support.service import Service

pytestmark = pytest.mark.processes


def test_a_dataset_is_filled_changed_and_deleted(client: Any, new_id: str) -> None:
    made = client.create_dataset(name=new_id, workspace_id="default", tags=["first"])
    dataset = client.get_dataset(made.id)
    assert (made.version, dataset.details().tags) == (0, ("first",))
    with pytest.raises(Conflict) as taken:
        client.create_dataset(name=new_id, workspace_id="default")
    assert taken.value.code == "name_taken"
    assert dataset.update(description="About it.").description == "About it."
    item = dataset.add_item("one", ground_truth={"a": 1}, external_id="first")
    assert dataset.add_item("one", ground_truth={"a": 1}, external_id="first").id == item.id
    added = dataset.add_items([{"input": "two"}, {"input": "three", "metadata": {"n": 1}}])
    assert added.count == 2
    assert [one.input for one in dataset.iter_items(per_page=2)] == ["three", "two", "one"]
    page = dataset.list_items(per_page=2, order_by="created_at", direction="ASC", version=1)
    assert (page.total, [one.external_id for one in page.entries]) == (1, ["first"])
    first = dataset.get_item(item.id)
    assert first.update(input="uno").dataset_version == 3
    assert [first.details(version=2).input, first.details().input] == ["one", "uno"]
    assert [(one.input, one.valid_to) for one in first.history().history] == [("uno", None), ("one", 3)]
    assert first.purge().success and first.details().input is None
    assert dataset.delete_items([added.item_records[0].id]).deleted_count == 1
    assert first.delete().success
    assert [one.version for one in dataset.list_versions().entries] == [5, 4, 3, 2, 1]
    assert made.id in {one.id for one in client.iter_datasets(workspace_id="default")}
    assert dataset.delete().success


def test_a_file_is_imported_and_exported(client: Any, new_id: str) -> None:
    dataset = client.get_dataset(client.create_dataset(name=new_id, workspace_id="default").id)
    table = "input,groundTruth\none,1\n"
    assert dataset.import_file(table, "csv", dry_run=True).created == 1
    assert dataset.import_file(table.encode(), "csv").version == 1
    assert dataset.import_file(dataset.export_file("csv"), "csv").unchanged == 1
    assert '"input":"one"' in dataset.export_file(version=1)
    with pytest.raises(ValidationFailed) as refused:
        dataset.import_file("{}\n{")
    assert [row["row"] for row in refused.value.details["failed"]] == [1, 2]
    [row, _] = dataset.import_file("{}\n{", dry_run=True).failed
    assert "input" in row.message


def test_files_are_pushed_and_pulled(
    live_service: Service, new_id: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def editor(*arguments: str) -> tuple[int, str, str]:
        server = ["--url", live_service.url, "--api-key", live_service.key]
        code = main([*server, "datasets", *arguments])
        return (code, *capsys.readouterr())

    table, lines = tmp_path / "items.csv", tmp_path / "items.jsonl"
    table.write_text("question,groundTruth\nWhere?,here\n")
    assert "would be made" in editor("push", new_id, str(table), "--dry-run")[1]
    assert editor("pull", new_id)[0] == 4
    code, out, _ = editor("push", new_id, str(table), "--workspace", "default")
    assert (code, out) == (0, f"1 created, 0 unchanged; version 1 of {new_id!r}\n")
    assert editor("push", new_id, str(table), "--dry-run")[1].startswith("0 would be created, 1 unchanged")
    assert editor("pull", new_id, "-o", str(lines)) == (0, "", "")
    assert '"input":{"question":"Where?"}' in lines.read_text()
    assert editor("push", new_id, str(lines))[1].startswith("0 created, 1 unchanged")
    assert editor("pull", new_id, "--format", "promptfoo")[1].startswith("tests:\n")
    lines.write_text('{"input": 1}\n{"groundTruth": 1}\n')
    code, _, err = editor("push", new_id, str(lines))
    assert (code, err) == (1, "error: row 2: input: is required\n")
    assert editor("push", new_id, str(tmp_path / "missing.csv"))[0] == 2
    table = tmp_path / "items.tsv"
    table.write_bytes("input\tgroundTruth\nGröße?\t3.10\n".encode("cp1252"))
    code, _, err = editor("push", new_id, str(table))
    assert code == 1 and "is not valid UTF-8 in line 2" in err
    assert editor("push", new_id, str(table), "--encoding", "nonsense")[0] == 1
    assert editor("push", new_id, str(table), "--encoding", "windows-1252")[1].startswith("1 created")
    assert '"groundTruth":"3.10"' in editor("pull", new_id)[1]


@pytest.mark.parametrize(
    "content",
    [
        b'{"input": 1}\n{"groundTruth": 1}\n',
        b"{",
        '{"input": "Größe"}'.encode("latin-1"),
        b'{"input": "%s"}' % (b"x" * 300_000),
    ],
    ids=["row", "no JSON", "encoding", "size"],
)
def test_a_refused_file_leaves_no_dataset(
    live_service: Service, client: Any, new_id: str, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    server = ["--url", live_service.url, "--api-key", live_service.key]
    push = [*server, "datasets", "push", new_id, str(path), "--workspace", "default"]
    assert main(push) == 1
    assert new_id not in {dataset.name for dataset in client.iter_datasets()}
    kept = client.create_dataset(name=new_id, workspace_id="default")
    assert main(push) == 1
    assert client.get_dataset(kept.id).details().version == 0


def test_a_scorer_is_tried(client: Any, new_id: str) -> None:
    client.create_stored_scorer(id=new_id, name="Exact", type="equals", workspace_id="default")
    exact = client.get_stored_scorer(new_id)
    assert exact.try_out("a", "b", ground_truth="b").passed is True
    assert exact.try_out("a", "b").not_scorable.reason
