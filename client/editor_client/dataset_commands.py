"""`editor datasets`: the items of a dataset to a file and from one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, get_args

from editor_client.command_errors import CODES, DONE, REFUSED, UNDONE, reporting_errors
from editor_client.datasets import DatasetFilters, DatasetRecord, FileFormat, NewDataset
from editor_client.errors import ValidationFailed
from editor_client.sync import Client

SUFFIXES: Final[dict[str, FileFormat]] = {".csv": "csv", ".yaml": "promptfoo", ".yml": "promptfoo"}
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
    found = _named(client, given.name, given.workspace)
    if len(found) > 1:
        return _ambiguous(given.name)
    if found:
        dataset_id = found[0].id
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
    found = _named(client, given.name, given.workspace)
    if len(found) > 1:
        return _ambiguous(given.name)
    if not found:
        sys.stderr.write(f"error: there is no dataset {given.name!r} that the key may read\n")
        return REFUSED
    suffix = "" if given.output is None else given.output.suffix.lower()
    form = given.file_format or SUFFIXES.get(suffix, "jsonl")
    text = client.get_dataset(found[0].id).export_file(form, version=given.version)
    if given.output is None:
        sys.stdout.write(text)
    else:
        given.output.write_bytes(text.encode())
    return DONE


def _named(client: Client, name: str, workspace: str | None) -> list[DatasetRecord]:
    """Return the datasets with this name or id."""
    filters: DatasetFilters = {"per_page": 100}
    if workspace is not None:
        filters["workspace_id"] = workspace
    return [one for one in client.iter_datasets(**filters) if name in {one.name, one.id}]


def _ambiguous(name: str) -> int:
    sys.stderr.write(f"error: several workspaces have a dataset {name!r}: give --workspace\n")
    return UNDONE


def _report(failed: Any) -> int:
    for row in failed:
        sys.stderr.write(f"error: row {row['row']}: {row['message']}\n")
    return UNDONE
