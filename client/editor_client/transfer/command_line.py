"""The command line: `editor get | pull | push | diff | events | lock`, and the groups of commands.

Exit codes: 0 for success, and for `diff` if nothing differs; 1 if `diff` found differences; 2 for an error,
with the reason on standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from editor_client.errors import EditorError
from editor_client.reads.feed import After, EventFilters, LogEvent
from editor_client.shared import canonical
from editor_client.sync import Client
from editor_client.transfer import commands, evaluate_commands, transfer_commands
from editor_client.transfer.commands import ME, Group, add_command
from editor_client.transfer.folder import Folder, FolderError
from editor_client.transfer.pull_push import PullPush

DONE, DIFFERENT, FAILED = 0, 1, 2
GROUPS: tuple[Group, ...] = (*commands.GROUPS,)
"""The commands with subcommands."""
FILTERS = ("type", "kind", "id", "workspace_id", "actor")
BEYOND_THE_END = 10**18
SELECTOR = ("status", "version_id", "label", "release")

EPILOG = """\
environment:
  EDITOR_URL       the address of the server, instead of --url
  EDITOR_API_KEY   the key, instead of --api-key (where other users could see it)

exit codes:
  0  it is done; for diff: nothing differs
  1  diff has found differences
  2  it could not be done, or not all of it; standard error says why
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = _parser()
    args = parser.parse_args(arguments)
    if not args.url or not args.api_key:
        missing = "--url or EDITOR_URL" if not args.url else "--api-key or EDITOR_API_KEY"
        parser.error(f"{missing} is required")
    try:
        client = Client(args.url, api_key=args.api_key, timeout=args.timeout)
    except ValueError as error:
        parser.error(str(error))
    try:
        with client:
            return int(args.command(client, args))
    except (EditorError, FolderError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return FAILED


def _get(client: Client, args: argparse.Namespace) -> int:
    selector = _selector(args)
    record: Any
    if args.kind == "agent":
        record = client.get_agent(args.id, **selector).details()
    elif args.kind == "stored-agent":
        record = client.get_stored_agent(args.id).details(**selector)
    else:
        record = client.get_stored_prompt_block(args.id).details(**selector)
    sys.stdout.write(canonical.file_text(record.raw))
    return DONE


def _pull(client: Client, args: argparse.Namespace) -> int:
    work = _pull_push(client, args)
    with _telling(work):
        work.pull()
    return _code(work)


def _push(client: Client, args: argparse.Namespace) -> int:
    work = _pull_push(client, args)
    with _telling(work):
        work.push(message=args.message, publish=args.publish)
    return _code(work)


def _diff(client: Client, args: argparse.Namespace) -> int:
    work = _pull_push(client, args)
    with _telling(work):
        differ = work.diff()
    return DIFFERENT if differ else _code(work)


def _lock(client: Client, args: argparse.Namespace) -> int:
    agents = args.agents
    if not agents and not args.prompt_blocks:
        agents = sorted(client.list_agents(partial=True))
    lock = client.lock(agents, prompt_blocks=args.prompt_blocks, **_selector(args))
    sys.stdout.write(canonical.file_text(lock))
    return DONE


def _events(client: Client, args: argparse.Namespace) -> int:
    """Print the requested events, until Ctrl-C or until the reader of the output exits."""
    try:
        for event in _read_events(client, args):
            line = json.dumps(event.raw, ensure_ascii=False) if args.json else _line(event)
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        # Otherwise Python would try to flush the buffer at exit, and fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


def _read_events(client: Client, args: argparse.Namespace) -> Iterator[LogEvent]:
    chosen: dict[str, Any] = {name: getattr(args, name) for name in FILTERS}
    filters: EventFilters = {name: value for name, value in chosen.items() if value is not None}  # type: ignore[assignment]
    if args.follow:
        return client.events("now" if args.after is None else args.after, **filters)
    if args.after is not None:
        return iter(client.list_events(after=args.after, limit=args.limit, **filters).events)
    newest = client.list_events(before=BEYOND_THE_END, limit=args.limit, **filters)
    return reversed(newest.events)


def _position(text: str) -> After:
    if text == "now":
        return "now"
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError("is a whole number, or `now`")
    return int(text)


def _line(event: LogEvent) -> str:
    about = f"{event.resource.kind} {event.resource.id}" if event.resource else event.workspace_id or ""
    version = "" if event.version_number is None else f"version {event.version_number}"
    by = f"{event.actor.id or 'the application'} ({event.actor.via})"
    words = (f"{event.position:>6}", f"{event.created_at:%Y-%m-%d %H:%M:%S}", event.type, about, version, by)
    return "  ".join(word for word in words if word)


def _selector(args: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name in SELECTOR if (value := getattr(args, name)) is not None}


def _pull_push(client: Client, args: argparse.Namespace) -> PullPush:
    folder = Folder.open(args.folder, client.address)
    return PullPush(client=client, folder=folder, workspace=args.workspace, force=args.force)


@contextmanager
def _telling(work: PullPush) -> Iterator[None]:
    """Print the results, even after an interruption."""
    try:
        yield
    finally:
        for line in work.report.lines:
            sys.stdout.write(f"{line}\n")
        for problem in work.report.problems:
            sys.stderr.write(f"error: {problem}\n")


def _code(work: PullPush) -> int:
    return FAILED if work.report.problems else DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="editor",
        description="Agents and prompt blocks of an editor as files; events; administration.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_server(parser, os.environ)
    names = [
        "get",
        "pull",
        "push",
        "diff",
        "events",
        "lock",
        "import",
        "export",
        "datasets",
        "evaluate",
        ME.name,
    ]
    names += [group.name for group in GROUPS]
    commands = parser.add_subparsers(required=True, metavar=" | ".join(names))

    get = commands.add_parser("get", help="print one agent or prompt block as JSON")
    get.add_argument("kind", choices=("agent", "stored-agent", "prompt-block"))
    get.add_argument("id")
    _add_selector(get)
    get.set_defaults(command=_get)

    pull = commands.add_parser("pull", help="write all published resources as files")
    pull.add_argument("--force", action="store_true", help="overwrite local edits")
    pull.set_defaults(command=_pull)

    push = commands.add_parser("push", help="save the files that differ, as drafts; delete nothing")
    push.add_argument("-m", "--message", help="the reason, for the history")
    push.add_argument("--publish", action="store_true", help="publish the saved versions")
    push.add_argument("--force", action="store_true", help="overwrite changes made on the server")
    push.set_defaults(command=_push)

    diff = commands.add_parser("diff", help="show the differences between files and server")
    diff.set_defaults(command=_diff, force=False)

    events = commands.add_parser("events", help="show the newest events of the log")
    _add_event_arguments(events)
    events.set_defaults(command=_events)

    lock = commands.add_parser(
        "lock", help=("print the exact versions of agents and of everything that they contain")
    )
    lock.add_argument("agents", nargs="*", metavar="AGENT", help="by default all that the key may run")
    lock.add_argument("--prompt-block", dest="prompt_blocks", action="append", default=[], metavar="ID")
    _add_selector(lock)
    lock.set_defaults(command=_lock)

    for command in (pull, push, diff):
        command.add_argument("folder", type=Path, metavar="DIR")
        command.add_argument("--workspace", metavar="ID", help="only resources published in this workspace")
    for command in (get, pull, push, diff, events, lock):
        _add_server(command, {})
    transfer_commands.add_import_and_export(commands, lambda command: _add_server(command, {}))
    transfer_commands.add_datasets(commands, lambda command: _add_server(command, {}))
    evaluate_commands.add_to(commands, lambda command: _add_server(command, {}))
    add_command(commands, ME, lambda command: _add_server(command, {}))
    for group in GROUPS:
        group.add_to(commands, lambda command: _add_server(command, {}))
    return parser


def _add_selector(parser: argparse.ArgumentParser) -> None:
    version = parser.add_mutually_exclusive_group()
    version.add_argument("--status", choices=("published", "draft"))
    version.add_argument("--version-id", metavar="ID")
    version.add_argument("--label", metavar="NAME")
    version.add_argument("--release", metavar="ID")


def _add_event_arguments(command: argparse.ArgumentParser) -> None:
    extent = command.add_mutually_exclusive_group()
    extent.add_argument("--follow", action="store_true", help="continue with new events until Ctrl-C")
    extent.add_argument("--limit", type=int, default=100, metavar="N", help="the maximum number; 100")
    command.add_argument(
        "--after", type=_position, metavar="POSITION", help="the events after this one; `now` with --follow"
    )
    command.add_argument("--type", metavar="TYPES", help="such as agent.published,promptBlock.*")
    command.add_argument("--kind", choices=("agent", "promptBlock"))
    command.add_argument("--id", help="only about one resource")
    command.add_argument("--workspace", dest="workspace_id", metavar="ID")
    command.add_argument("--actor", metavar="NAME", help="only by this person")
    command.add_argument("--json", action="store_true", help="each event as JSON")


def _add_server(parser: argparse.ArgumentParser, environment: Mapping[str, str]) -> None:
    """Accept the options before and after the command."""
    defaults = {
        "url": environment.get("EDITOR_URL"),
        "api_key": environment.get("EDITOR_API_KEY"),
        "timeout": 30.0,
    }
    default = defaults if environment else dict.fromkeys(defaults, argparse.SUPPRESS)
    parser.add_argument("--url", default=default["url"], help="such as http://127.0.0.1:8000")
    parser.add_argument("--api-key", default=default["api_key"])
    parser.add_argument(
        "--timeout", type=float, default=default["timeout"], metavar="SECONDS", help="for each call; 30"
    )
