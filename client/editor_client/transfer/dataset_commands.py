"""`editor datasets`: the items of a dataset to a file and from one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, get_args

from editor_client.errors import ValidationFailed
from editor_client.manage.datasets import DatasetFilters, FileFormat
from editor_client.manage.shapes import DatasetRecord, NewDataset
from editor_client.shared import tables
from editor_client.shared.dataset_items import composed_name
from editor_client.shared.errors import Invalid
from editor_client.sync import Client
from editor_client.transfer.commands import CODES, DONE, REFUSED, UNDONE, CommandError, reporting_errors

SUFFIXES: Final[dict[str, FileFormat]] = {
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".yaml", ".yml"), "promptfoo"),
}
"""The formats of files that are not JSON Lines."""


def add_to(commands: Any, add_server: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the parsers of the commands."""
    group = commands.add_parser("datasets", help="the items of datasets, as files")
    inner = group.add_subparsers(required=True, metavar="push | pull")
    form: dict[str, Any] = {"dest": "file_format", "choices": get_args(FileFormat)}
    codes: dict[str, Any] = {"epilog": CODES, "formatter_class": argparse.RawDescriptionHelpFormatter}

    push = inner.add_parser("push", help="add the items of a file that are not there yet", **codes)
    push.add_argument("name", metavar="NAME", help="of the dataset, which is made if there is none")
    push.add_argument("file", metavar="FILE", type=Path)
    push.add_argument("--dry-run", action="store_true", help="say what would be done, and change nothing")
    push.add_argument("--format", **form, help="by default as the file's name ends")
    push.add_argument("--encoding", metavar="NAME", help="of the file, such as windows-1252; else UTF-8")
    push.set_defaults(command=reporting_errors(_push))

    pull = inner.add_parser("pull", help="print the items, or write them to a file", **codes)
    pull.add_argument("name", metavar="NAME")
    pull.add_argument("-o", "--output", metavar="FILE", type=Path)
    pull.add_argument("--format", **form, help="by default as the file's name ends, else jsonl")
    pull.add_argument("--version", type=int, metavar="N", help="as of this version of the dataset")
    pull.set_defaults(command=reporting_errors(_pull))
    for command in (push, pull):
        command.add_argument("--workspace", metavar="ID", help="only in this workspace")
        add_server(command)


def _push(client: Client, given: argparse.Namespace) -> int:
    content = given.file.read_bytes()
    if given.encoding is not None:
        try:
            content = tables.decode(content, given.encoding)[0].encode()
        except Invalid as error:
            raise CommandError(UNDONE, f"{given.file} {error.issues[0].message}") from None
    found = find_dataset(client, given.name, given.workspace)
    if found is not None:
        dataset_id = found.id
    elif given.dry_run:
        sys.stdout.write(f"There is no dataset {given.name!r}: it would be made. The rows are not checked.\n")
        return DONE
    else:
        fields: NewDataset = {"name": given.name}
        if given.workspace is not None:
            fields["workspace_id"] = given.workspace
        dataset_id = client.create_dataset(**fields).id
    form = given.file_format or SUFFIXES.get(given.file.suffix.lower(), "jsonl")
    try:
        done = client.get_dataset(dataset_id).import_file(content, form, dry_run=given.dry_run)
    except ValidationFailed as error:
        failed = error.details.get("failed")
        if not failed:
            raise
        return _report(failed)
    would = " would be" if given.dry_run else ""
    counts = f"{done.created}{would} created, {done.unchanged} unchanged"
    sys.stdout.write(f"{counts}; version {done.version} of {given.name!r}\n")
    return _report(done.failed) if done.failed else DONE


def _pull(client: Client, given: argparse.Namespace) -> int:
    found = existing(client, given.name, given.workspace)
    suffix = "" if given.output is None else given.output.suffix.lower()
    form = given.file_format or SUFFIXES.get(suffix, "jsonl")
    text = client.get_dataset(found.id).export_file(form, version=given.version)
    if given.output is None:
        sys.stdout.write(text)
    else:
        given.output.write_bytes(text.encode())
    return DONE


def find_dataset(client: Client, name: str, workspace: str | None = None) -> DatasetRecord | None:
    """Return the dataset with this name or id, if there is one; raises `CommandError` for several."""
    filters: DatasetFilters = {"per_page": 100}
    if workspace is not None:
        filters["workspace_id"] = workspace
    found = [
        dataset
        for dataset in client.iter_datasets(**filters)
        if dataset.name == composed_name(name) or dataset.id == name
    ]
    if len(found) > 1:
        ids = ", ".join(f"{dataset.id} in {dataset.workspace_id}" for dataset in found)
        raise CommandError(UNDONE, f"several workspaces have a dataset {name!r}: {ids}")
    return found[0] if found else None


def existing(client: Client, name: str, workspace: str | None = None) -> DatasetRecord:
    """Return the dataset with this name or id; raises `CommandError` unless there is exactly one."""
    found = find_dataset(client, name, workspace)
    if found is None:
        raise CommandError(REFUSED, f"there is no dataset {name!r} that the key may read")
    return found


def _report(failed: Any) -> int:
    for row in failed:
        sys.stderr.write(f"error: row {row['row']}: {row['message']}\n")
    return UNDONE
