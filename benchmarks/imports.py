"""What becomes of real files of other systems: planned, applied, planned again, exported and imported again.

    EDITOR_URL=http://127.0.0.1:8000 EDITOR_API_KEY=ek_… python -m benchmarks.imports [FOLDER …]

The files are those of published packages, which pip fetches; none is part of this project. Each folder that
is named, such as a checkout of a repository with examples, is searched for further ones. The key is that
of an admin; everything is made in its workspace, below ids of its own.

A value of a file is accounted for if the plan has it, or if a loss names it or an object around it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple
from uuid import uuid4

from editor_client import Client
from editor_client.exporting import langfuse, prompt_yml, promptfoo
from editor_client.exporting.published import Reader
from editor_client.importing.applying import Application
from editor_client.importing.collection import Unreadable
from editor_client.importing.formats.table import collected
from editor_client.importing.planning import make_plan

from benchmarks.import_losses import unaccounted


class Package(NamedTuple):
    """A package with files; `is_source` is whether only its source distribution has them."""

    name: str
    version: str
    is_source: bool


PACKAGES: Final = (
    Package("prompty", "0.1.50", is_source=True),
    Package("azure-ai-evaluation", "1.18.10", is_source=False),
    Package("promptflow-evals", "0.3.5", is_source=False),
    Package("evals", "3.0.1.post1", is_source=False),
)
MAX_FILES: Final = 60
"""The maximum number of files of one format from one package or folder, unless another one is given."""
MAX_SIZE: Final = 200 * 1024
SOURCES: Final = (
    (re.compile(r"\.prompty\Z"), "prompty"),
    (re.compile(r"\.prompt\Z"), "dotprompt"),
    (re.compile(r"[._]prompt\.ya?ml\Z"), "prompt-yml"),
    (re.compile(r"(\A|/)promptfooconfig[^/]*\.ya?ml\Z"), "promptfoo"),
    (re.compile(r"registry/data/.*\.jsonl\Z"), "openai-evals"),
    (re.compile(r"langfuse[^/]*\.json\Z"), "langfuse"),
)
EXPORTS: Final = {"promptfoo": "promptfooconfig.yaml", "prompt-yml": "a.prompt.yml", "langfuse": "a.json"}


@dataclass
class Row:
    """The results of one format."""

    files: int = 0
    unreadable: int = 0
    things: int = 0
    items: int = 0
    again: int = 0
    """The files whose second plan changes nothing."""
    back: Counter[str] = field(default_factory=Counter)
    """How many exports in the same format are imported without a change, and how many there are."""
    losses: Counter[str] = field(default_factory=Counter)
    silent: list[str] = field(default_factory=list)


def main() -> None:
    """Fetch, import and export; print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--most", type=int, default=MAX_FILES, help="files of one format from one folder")
    given = parser.parse_args()
    rows: dict[str, Row] = defaultdict(Row)
    with (
        TemporaryDirectory() as name,
        Client(os.environ["EDITOR_URL"], api_key=os.environ["EDITOR_API_KEY"]) as client,
    ):
        folder = Path(name)
        for package in PACKAGES:
            fetch(package, folder / package.name)
        folders = [*sorted(path for path in folder.iterdir() if path.is_dir()), *given.folders]
        for number, (source, path) in enumerate(
            found for one in folders for found in files_in(one, given.most)
        ):
            try:
                measure(client, source, path, f"corpus-{uuid4().hex[:6]}/{number}/", rows[source])
            except Unreadable as error:
                rows[source].unreadable += 1
                sys.stderr.write(f"{source}: {path.name}: {error}\n")
    report(rows)


def fetch(package: Package, folder: Path) -> None:
    """Fetch a package with pip, and unpack it into a folder; it is not installed."""
    folder.mkdir()
    form = ["--no-binary", ":all:"] if package.is_source else ["--only-binary", ":all:"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *form, "--dest", str(folder)]
    subprocess.run([*command, f"{package.name}=={package.version}"], check=True)
    for path in list(folder.iterdir()):
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder)
        else:
            unpack(path, folder)


def unpack(path: Path, folder: Path) -> None:
    """Write the regular files of an archive, which stay in the folder."""
    with tarfile.open(path) as archive:
        for member in archive:
            target = (folder / member.name).resolve()
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None and target.is_relative_to(folder.resolve()):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())


def files_in(folder: Path, most: int) -> Iterator[tuple[str, Path]]:
    """Yield the format and the path of each file in a folder that can be imported."""
    counts: Counter[str] = Counter()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        source = next((source for pattern, source in SOURCES if pattern.search(name)), None)
        if source is None or not path.is_file() or not 0 < path.stat().st_size <= MAX_SIZE:
            continue
        counts[source] += 1
        if counts[source] <= most:
            yield source, path


def measure(client: Client, source: str, path: Path, prefix: str, row: Row) -> None:
    """Plan, apply, plan again, publish, export and plan the export."""
    collection = collected(source, str(path))
    plan = make_plan(client, collection, path=str(path), prefix=prefix)
    row.files += 1
    row.things += len(plan["resources"]) + len(plan["datasets"])
    row.items += sum(len(one["items"]) for one in plan["datasets"])
    row.losses.update(loss["code"] for loss in plan["losses"])
    made = [plan["resources"], plan["datasets"]]
    row.silent += [f"{path.name}: {one}" for one in unaccounted(path, made, plan["losses"])]
    done = Application(client, plan).run()
    for problem in done.problems:
        row.losses["refused when applied"] += 1
        sys.stderr.write(f"{source}: {path.name}: {problem}\n")
    again = make_plan(client, collected(source, str(path)), path=str(path), prefix=prefix)
    planned = [*again["resources"], *again["datasets"]]
    row.again += {one["action"] for one in planned} <= {"unchanged"}
    releases = [one for one in client.iter_releases() if plan["planDigest"] in one.description]
    with suppress(Exception):  # a gate of the workspace can be in the way
        client.get_release(releases[0].id).publish()
    agents = [one["id"] for one in plan["resources"] if one["kind"] == "agent"]
    if agents and source in EXPORTS:
        row.back["of"] += 1
        row.back["unchanged"] += is_unchanged(client, source, agents, EXPORTS[source], path)


def is_unchanged(client: Client, form: str, agents: list[str], name: str, origin: Path) -> bool:
    """Return whether an export of these agents is imported without a change of any agent or block."""
    reader = Reader(client)
    published = [reader.read(agent) for agent in agents]
    with TemporaryDirectory() as folder:
        texts = {name: ""}
        if form == "prompt-yml":
            texts = {f"{one.id}.prompt.yml": prompt_yml.write(one, reader) for one in published}
        else:
            texts[name] = (langfuse if form == "langfuse" else promptfoo).write(published, reader)
        for file, text in texts.items():
            path = Path(folder) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        where = Path(folder) if form == "prompt-yml" else Path(folder) / name
        plan = make_plan(client, collected(form, str(where)), path=str(where))
    changed = [one for one in plan["resources"] if one["action"] != "unchanged" and one["kind"] != "scorer"]
    for one in changed:
        sys.stderr.write(f"{form} of {origin.name}: {one['action']} {one['kind']} {one['id']}\n")
    return not changed


def report(rows: dict[str, Row]) -> None:
    """Print a table of the formats, and one of the losses."""
    write = sys.stdout.write
    write("| format | files | unreadable | things | items | planned again, unchanged | silent | back |\n")
    write("|---" * 8 + "|\n")
    for source, row in sorted(rows.items()):
        counts = (row.files, row.unreadable, row.things, row.items, row.again, len(row.silent))
        back = f"{row.back['unchanged']} of {row.back['of']}" if source in EXPORTS else ""
        write(f"| {source} | {' | '.join(map(str, [*counts, back]))} |\n")
    codes = sorted({code for row in rows.values() for code in row.losses})
    write(f"\n| loss | {' | '.join(sorted(rows))} |\n{'|---' * (1 + len(rows))}|\n")
    for code in codes:
        write(f"| {code} | {' | '.join(str(rows[source].losses[code]) for source in sorted(rows))} |\n")
    for source, row in sorted(rows.items()):
        for one in row.silent:
            write(f"silent: {source}: {one}\n")


if __name__ == "__main__":
    main()
