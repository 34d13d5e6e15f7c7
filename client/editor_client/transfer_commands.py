"""`editor import`: files of other systems, planned and then applied."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from editor_client.command_errors import DONE, REFUSED, UNDONE, reporting_errors
from editor_client.importing.applying import Application
from editor_client.importing.collection import Unreadable, shown
from editor_client.importing.formats.table import SOURCES, collected
from editor_client.importing.planning import checked, make_plan
from editor_client.importing.yaml_text import MissingExtra
from editor_client.shared import canonical
from editor_client.shared.errors import Invalid
from editor_client.sync import Client

EPILOG: Final = """\
exit codes:
  0  it is done
  1  something is left out, because an id is taken or has changed since the plan was made
  2  wrong usage, or a source or a plan that cannot be read
  4  the server has refused, or does not answer
"""


def add_to(commands: Any, add_server: Callable[[argparse.ArgumentParser], None]) -> None:
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
    parser.add_argument("--plan", type=Path, metavar="FILE", help="write what would be made; change nothing")
    parser.add_argument("--workspace", metavar="ID", help="where it is made; the key's only one by default")
    parser.add_argument("--prefix", default="", metavar="TEXT", help="put before all ids, such as team/")
    parser.add_argument("--apply", type=Path, metavar="FILE", help="make the drafts of a plan, and a release")
    parser.add_argument("--release", metavar="TITLE", help="the title of the release")
    add_server(parser)
    parser.set_defaults(command=reporting_errors(_import, Unreadable, MissingExtra), usage_error=parser.error)


def _import(client: Client, given: argparse.Namespace) -> int:
    plans = given.source is not None and given.path is not None and given.plan is not None
    applies = given.source is None and given.plan is None and given.apply is not None
    if plans == applies or (plans and (given.apply or given.release)):
        given.usage_error("give SOURCE PATH --plan FILE, or --apply FILE")
    if applies:
        return _apply(client, given)
    collection = collected(given.source, given.path)
    plan = make_plan(client, collection, path=given.path, workspace=given.workspace, prefix=given.prefix)
    given.plan.write_text(canonical.file_text(plan), encoding="utf-8")
    _print_plan(plan)
    planned = [*plan["resources"], *plan["datasets"]]
    return UNDONE if any(one["action"] == "conflict" for one in planned) else DONE


def _apply(client: Client, given: argparse.Namespace) -> int:
    try:
        plan = checked(canonical.parse(given.apply.read_bytes(), field=given.apply.name))
    except Invalid as error:
        raise Unreadable(str(error)) from None
    report = Application(client, plan).run(given.release)
    for line in report.lines:
        sys.stdout.write(f"{line}\n")
    for problem in report.problems:
        sys.stderr.write(f"error: {problem}\n")
    if report.refused:
        return REFUSED
    return UNDONE if report.problems else DONE


def _print_plan(plan: Mapping[str, Any]) -> None:
    """Print what would be made, a line for each resource and dataset, and every loss."""
    named = [(one, f"{one['kind']} {shown(one['id'])}") for one in plan["resources"]]
    named += [(one, f"dataset {shown(one['name'])}, {len(one['items'])} items") for one in plan["datasets"]]
    for action, name in named:
        reason = f": {action['reason']}" if "reason" in action else ""
        sys.stdout.write(f"{action['action']}: {name}{reason}\n")
    for loss in plan["losses"]:
        line = f", line {loss['line']}" if "line" in loss else ""
        sys.stdout.write(f"{loss['code']}: {loss['where']}{line}: {loss['message']}\n")
    counts = Counter(one["action"] for one, _ in named)
    total = ", ".join(f"{count} {action}" for action, count in sorted(counts.items())) or "nothing"
    sys.stdout.write(f"{total}; {len(plan['losses'])} losses; {json.dumps(plan['planDigest'])}\n")
