"""`editor import`, `editor export`: prompts of other systems. `editor datasets`: their items, as files."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, get_args

from editor_client.errors import EditorError
from editor_client.manage.datasets import DatasetFilters, FileFormat
from editor_client.manage.shapes import DatasetRecord, NewDataset
from editor_client.shared import canonical, ids, tables
from editor_client.shared.dataset_items import composed_name
from editor_client.shared.errors import Invalid
from editor_client.sync import Client
from editor_client.transfer.commands import CODES, DONE, REFUSED, UNDONE, CommandError, reporting_errors
from editor_client.transfer.exporting import langfuse, prompt_yml, promptfoo
from editor_client.transfer.exporting.published import Reader
from editor_client.transfer.importing.applying import Application
from editor_client.transfer.importing.collection import Unreadable, excerpt
from editor_client.transfer.importing.documents import MissingExtra
from editor_client.transfer.importing.formats.table import SOURCES, collect
from editor_client.transfer.importing.planning import UNMADE, check_plan, make_plan

EPILOG: Final = """\
exit codes:
  0  it is done
  1  something is left out, because an id is taken or has changed since the plan was made
  2  wrong usage, or a source or a plan that cannot be read
  4  the server has refused, or does not answer
"""
EXPORT_EPILOG: Final = """\
exit codes:
  0  it is done; standard error names what the format does not have
  2  wrong usage, or a file that cannot be written
  4  the server has refused, or does not answer; or there is no such agent
"""
FORMATS: Final = ("promptfoo", "prompt-yml", "langfuse")


def add_import_and_export(commands: Any, add_server: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the parsers of the commands."""
    parser = commands.add_parser(
        "import",
        help="plan and apply the import of files of other systems",
        usage="editor import SOURCE PATH --plan FILE | editor import --apply FILE [--release TITLE]",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "source", nargs="?", metavar="SOURCE", choices=[*SOURCES, None], help=", ".join(SOURCES)
    )
    parser.add_argument(
        "path", nargs="?", metavar="PATH", help="a file, a folder, or the address of a server"
    )
    parser.add_argument("--plan", type=Path, metavar="FILE", help="write the plan; change nothing")
    parser.add_argument(
        "--workspace", metavar="ID", help=("the target workspace; by default the key's only one")
    )
    parser.add_argument("--prefix", default="", metavar="TEXT", help="put before all ids, such as team/")
    parser.add_argument("--apply", type=Path, metavar="FILE", help="make the drafts of a plan, and a release")
    parser.add_argument("--release", metavar="TITLE", help="the title of the release")
    add_server(parser)
    _add_export(commands, add_server)
    parser.set_defaults(command=reporting_errors(_import, Unreadable, MissingExtra), usage_error=parser.error)


def _add_export(commands: Any, add_server: Callable[[argparse.ArgumentParser], None]) -> None:
    parser = commands.add_parser(
        "export",
        help="write published agents in the format of another system",
        epilog=EXPORT_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("form", metavar="FORMAT", choices=FORMATS, help=", ".join(FORMATS))
    parser.add_argument("agents", nargs="+", metavar="AGENT")
    parser.add_argument(
        "-o",
        dest="output",
        type=Path,
        metavar="F",
        help="a file; for several agents as prompt-yml a folder; standard output by default",
    )
    add_server(parser)
    parser.set_defaults(command=reporting_errors(_export, MissingExtra), usage_error=parser.error)


def _export(client: Client, args: argparse.Namespace) -> int:
    agents = list(dict.fromkeys(args.agents))
    is_folder = args.form == "prompt-yml" and (len(agents) > 1 or (args.output and args.output.is_dir()))
    if is_folder and args.output is None:
        args.usage_error("several agents as prompt-yml are several files: give a folder with -o")
    reader = Reader(client)
    published = [reader.read(agent) for agent in agents]
    if args.form == "prompt-yml":
        texts = {f"{ids.encode(agent.id)}.prompt.yml": prompt_yml.write(agent, reader) for agent in published}
    else:
        write = langfuse.write if args.form == "langfuse" else promptfoo.write
        texts = {"": write(published, reader)}
    for name, text in texts.items():
        if args.output is None:
            sys.stdout.write(text)
            continue
        path = args.output / name if is_folder else args.output
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for loss in reader.losses.all_losses():
        sys.stderr.write(f"{loss.code}: {loss.where}: {loss.message}\n")
    return DONE


def _import(client: Client, args: argparse.Namespace) -> int:
    plans = args.source is not None and args.path is not None and args.plan is not None
    applies = args.source is None and args.plan is None and args.apply is not None
    if plans == applies or (plans and (args.apply or args.release)):
        args.usage_error("give SOURCE PATH --plan FILE, or --apply FILE")
    if applies:
        return _apply(client, args)
    collection = collect(args.source, args.path)
    plan = make_plan(client, collection, path=args.path, workspace=args.workspace, prefix=args.prefix)
    args.plan.write_text(canonical.file_text(plan), encoding="utf-8")
    _print_plan(plan)
    planned = [*plan["resources"], *plan["datasets"]]
    return UNDONE if any(resource["action"] in UNMADE for resource in planned) else DONE


def _apply(client: Client, args: argparse.Namespace) -> int:
    try:
        plan = check_plan(canonical.parse_file(args.apply.read_bytes(), field=args.apply.name))
    except Invalid as error:
        raise Unreadable(str(error)) from None
    report = Application(client, plan).run(args.release)
    for line in report.lines:
        sys.stdout.write(f"{line}\n")
    for problem in report.problems:
        sys.stderr.write(f"error: {problem}\n")
    if report.refused:
        return REFUSED
    return UNDONE if report.problems else DONE


def _print_plan(plan: Mapping[str, Any]) -> None:
    """Print the plan: a line for each resource and dataset, and every loss."""
    rows = [(resource, f"{resource['kind']} {excerpt(resource['id'])}") for resource in plan["resources"]]
    rows += [
        (dataset, f"dataset {excerpt(dataset['name'])}, {len(dataset['items'])} items")
        for dataset in plan["datasets"]
    ]
    for action, name in rows:
        reason = f": {action['reason']}" if "reason" in action else ""
        sys.stdout.write(f"{action['action']}: {name}{reason}\n")
    for loss in plan["losses"]:
        line = f", line {loss['line']}" if "line" in loss else ""
        sys.stdout.write(f"{loss['code']}: {loss['where']}{line}: {loss['message']}\n")
    counts = Counter(action["action"] for action, _ in rows)
    total = ", ".join(f"{count} {action}" for action, count in sorted(counts.items())) or "nothing"
    sys.stdout.write(f"{total}; {len(plan['losses'])} losses; {json.dumps(plan['planDigest'])}\n")


SUFFIXES: Final[dict[str, FileFormat]] = {
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".yaml", ".yml"), "promptfoo"),
}
"""The formats of files that are not JSON Lines."""


def add_datasets(commands: Any, add_server: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the parsers of the commands."""
    group = commands.add_parser("datasets", help="the items of datasets, as files")
    inner = group.add_subparsers(required=True, metavar="push | pull")
    form: dict[str, Any] = {"dest": "file_format", "choices": get_args(FileFormat)}
    codes: dict[str, Any] = {"epilog": CODES, "formatter_class": argparse.RawDescriptionHelpFormatter}

    push = inner.add_parser("push", help="add the new items of a file", **codes)
    push.add_argument("name", metavar="NAME", help="of the dataset, which is created if missing")
    push.add_argument("file", metavar="FILE", type=Path)
    push.add_argument("--dry-run", action="store_true", help="print the result without changing anything")
    push.add_argument("--format", **form, help="by default from the ending of the file")
    push.add_argument(
        "--encoding", metavar="NAME", help=("of the file, such as windows-1252; by default UTF-8")
    )
    push.set_defaults(command=reporting_errors(_push))

    pull = inner.add_parser("pull", help="print the items, or write them to a file", **codes)
    pull.add_argument("name", metavar="NAME")
    pull.add_argument("-o", "--output", metavar="FILE", type=Path)
    pull.add_argument("--format", **form, help="by default from the file's ending, else jsonl")
    pull.add_argument("--version", type=int, metavar="N", help="as of this version of the dataset")
    pull.set_defaults(command=reporting_errors(_pull))
    for command in (push, pull):
        command.add_argument("--workspace", metavar="ID", help="only in this workspace")
        add_server(command)


def _push(client: Client, args: argparse.Namespace) -> int:
    content = args.file.read_bytes()
    if args.encoding is not None:
        try:
            content = tables.decode(content, args.encoding)[0].encode()
        except Invalid as error:
            raise CommandError(UNDONE, f"{args.file} {error.issues[0].message}") from None
    dataset = find_dataset(client, args.name, args.workspace)
    if dataset is not None:
        dataset_id = dataset.id
    elif args.dry_run:
        sys.stdout.write(f"There is no dataset {args.name!r}: it would be made. The rows are not checked.\n")
        return DONE
    else:
        fields: NewDataset = {"name": args.name}
        if args.workspace is not None:
            fields["workspace_id"] = args.workspace
        dataset_id = client.create_dataset(**fields).id
    form = args.file_format or SUFFIXES.get(args.file.suffix.lower(), "jsonl")
    try:
        result = client.get_dataset(dataset_id).import_file(content, form, dry_run=args.dry_run)
    except EditorError as error:
        # Without an answer, or with one of a broken server, the items may be stored.
        if dataset is None and error.status is not None and error.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            with suppress(EditorError):
                client.get_dataset(dataset_id).delete()
        if error.status not in {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}:
            raise
        if failed := error.details.get("failed"):
            return _report(failed)
        raise CommandError(UNDONE, f"{args.file}: {error}") from None
    would = " would be" if args.dry_run else ""
    counts = f"{result.created}{would} created, {result.unchanged} unchanged"
    sys.stdout.write(f"{counts}; version {result.version} of {args.name!r}\n")
    return _report(result.failed) if result.failed else DONE


def _pull(client: Client, args: argparse.Namespace) -> int:
    dataset = existing(client, args.name, args.workspace)
    suffix = "" if args.output is None else args.output.suffix.lower()
    form = args.file_format or SUFFIXES.get(suffix, "jsonl")
    text = client.get_dataset(dataset.id).export_file(form, version=args.version)
    if args.output is None:
        sys.stdout.write(text)
    else:
        args.output.write_bytes(text.encode())
    return DONE


def find_dataset(client: Client, name: str, workspace: str | None = None) -> DatasetRecord | None:
    """Return the dataset with this name or id, if there is one; raises `CommandError` for several."""
    filters: DatasetFilters = {"per_page": 100}
    if workspace is not None:
        filters["workspace_id"] = workspace
    datasets = [
        dataset
        for dataset in client.iter_datasets(**filters)
        if dataset.name == composed_name(name) or dataset.id == name
    ]
    if len(datasets) > 1:
        ids = ", ".join(f"{dataset.id} in {dataset.workspace_id}" for dataset in datasets)
        raise CommandError(UNDONE, f"several workspaces have a dataset {name!r}: {ids}")
    return datasets[0] if datasets else None


def existing(client: Client, name: str, workspace: str | None = None) -> DatasetRecord:
    """Return the dataset with this name or id; raises `CommandError` unless there is exactly one."""
    dataset = find_dataset(client, name, workspace)
    if dataset is None:
        raise CommandError(REFUSED, f"there is no dataset {name!r} that the key may read")
    return dataset


def _report(failed: Any) -> int:
    for row in failed:
        sys.stderr.write(f"error: row {row['row']}: {row['message']}\n")
    return UNDONE
