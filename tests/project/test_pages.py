"""The documentation is correct: every block of every page is run, in order, against a real server."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from tests.support import fork_server
from tests.support.pages import PAGES, RUN, Block, to_run
from tests.support.ports import free_port
from tests.support.service import ROOT, Service, demo_database, environment_of, running_service

MARK = "— the block is done —"
SECONDS = 120
NOT_IN_A_CHECKOUT = {".git", ".venv", "var"}
NPM_CLIENT = ROOT / "tests/api/npm_client"
IDENTITY = {
    f"GIT_{who}_{what}": "demo@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}

_INTERPRETER = f"""
import json, sys
names = {{"__name__": "__main__"}}
for line in sys.stdin:
    place, text = json.loads(line)
    exec(compile(text, place, "exec"), names)
    print({MARK!r}, flush=True)
"""


def checkout(folder: Path, secret: str) -> None:
    """Make a folder that looks like a checkout in which `make run` has been, but for its `.venv`."""
    folder.mkdir()
    for entry in ROOT.iterdir():
        if entry.name not in NOT_IN_A_CHECKOUT:
            (folder / entry.name).symlink_to(entry)
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "var").mkdir()
    (folder / "var/secret_key").write_text(secret)


class Session:
    """A program that is given one block after the other, and keeps their state."""

    def __init__(
        self, process: fork_server.Program | subprocess.Popen[str], stdin: IO[str], stdout: IO[str]
    ) -> None:
        self._process, self._stdin, self._stdout = process, stdin, stdout

    def run(self, text: str) -> str:
        """Give it a block and return the output; fail if the program ends."""
        self._stdin.write(text)
        self._stdin.flush()
        printed: list[str] = []
        watchdog = threading.Timer(SECONDS, self.close)
        watchdog.start()
        try:
            for line in self._stdout:
                if line.endswith(f"{MARK}\n"):
                    return "".join([*printed, line.removesuffix(f"{MARK}\n")])
                printed.append(line)
        finally:
            watchdog.cancel()
        raise AssertionError("the block failed:\n" + "".join(printed))

    def close(self) -> None:
        """End the program, and all processes that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._stdin, self._stdout):
            pipe.close()


def _shell(name: str, folder: Path, environment: Mapping[str, str]) -> Session:
    process = subprocess.Popen(
        [name, "-e"],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdin and process.stdout
    return Session(process, process.stdin, process.stdout)


def _interpreter(folder: Path, environment: Mapping[str, str]) -> Session:
    """Start Python; it is a fork, because most pages import what the fork server has imported."""
    (its_stdin, given), (printed, its_stdout) = os.pipe(), os.pipe()
    with open(its_stdin, "rb") as stdin, open(its_stdout, "wb") as stdout:  # noqa: PTH123  these are no paths
        command = ("-c", _INTERPRETER)
        files = {"stdin": stdin, "stdout": stdout, "stderr": stdout}
        process = fork_server.start(*command, env=environment, cwd=folder, **files)
    return Session(process, os.fdopen(given, "w"), os.fdopen(printed))


@dataclass(frozen=True)
class Reader:
    """Follows blocks in a folder that looks like a checkout.

    `written` maps texts of the pages to the real values here, such as the URL of the service.
    """

    folder: Path
    environment: Mapping[str, str]
    written: Mapping[str, str]
    shell: Session
    python: Session

    def follow(self, block: Block) -> None:
        """Run a block; fails when it does, when an answer is an error, and when it shows something else."""
        text = block.text
        for written, real in self.written.items():
            text = text.replace(written, real)
        try:
            printed = getattr(self, f"_run_{block.language}")(block.place, text)
        except AssertionError as error:
            raise AssertionError(f"{block.place}: {error}") from None
        for shown in block.shows:
            assert shown in printed, f"{block.place} does not show {shown!r}:\n{printed}"
        errors = set(re.findall(r'"error": ?".*?"code": ?"(\w+)"', printed))
        assert errors <= set(block.shows), f"{block.place} is answered with an error:\n{printed}"

    def _run_sh(self, place: str, text: str) -> str:
        pasted = self.folder / "var/pasted"
        pasted.write_text(text)
        return self.shell.run(f". ./var/pasted </dev/null; printf '%s\\n' '{MARK}'\n")

    def _run_python(self, place: str, text: str) -> str:
        return self.python.run(json.dumps([place, text]) + "\n")

    def _run_js(self, place: str, text: str) -> str:
        # In the folder of the npm client, which a block may import.
        done = subprocess.run(
            [str(shutil.which("node")), "--input-type=module", "-"],
            cwd=NPM_CLIENT,
            env=self.environment,
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"the block failed:\n{done.stdout}"
        return done.stdout


@contextmanager
def reader(folder: Path, service: Service, key: str, shell: str = "sh") -> Iterator[Reader]:
    """Sit down before a service, with a key, in a new folder."""
    port = free_port()
    written = {
        "http://127.0.0.1:8000": service.url,
        "127.0.0.1:5000": f"127.0.0.1:{port}",
        "--port 5000": f"--port {port}",
        "ek_…": key,
        "/var/cache/my-application": str(folder / "var/cache"),
        "timeout=2": "timeout=60",  # this machine may have other work
    }
    checkout(folder, service.environment["SECRET_KEY"])
    environment = {
        **service.environment,
        **IDENTITY,
        "HOME": str(folder / "var"),
        "PATH": os.pathsep.join([str(folder / ".venv/bin"), os.environ["PATH"]]),
        "PYTHONUNBUFFERED": "1",
        "KEY": key,
        "API": f"{service.url}/api",
    }
    sessions = [
        _shell(shell, folder, environment),
        _interpreter(folder, environment),
    ]
    try:
        yield Reader(folder, environment, written, *sessions)
    finally:
        for session in sessions:
            session.close()


pytestmark = pytest.mark.processes

ELSEWHERE = {
    "add-people.md",
    "back-up.md",
    "deploy.md",
    "issue-api-keys.md",
    "move.md",
    "restart-without-downtime.md",
}
"""What these pages show needs machines of its own: tests/operations runs it, heading by heading."""
FOLLOWED = [page for page in PAGES if to_run(page) and page.name not in ELSEWHERE]
SETTINGS: dict[str, dict[str, str]] = {
    "docs/guides/keep-overrides-in-git.md": {
        "EDITOR_SOURCE": "code",
        "EDITOR_CODE_PATH": "{checkout}/service/editor",
    },
    "docs/tutorials/first-evaluation.md": {"EDITOR_WORKER": "on"},
    "docs/guides/receive-webhooks.md": {"EDITOR_WEBHOOK_ALLOW": "127.0.0.1"},
    "examples/canary/README.md": {"EDITOR_FRAMEWORK": "examples.canary.team.framework"},
    "examples/evaluated_prompts/README.md": {"EDITOR_WORKER": "on"},
    "examples/pull_requests/README.md": {
        "PYTHONPATH": "{root}/examples/pull_requests",
        "EDITOR_FRAMEWORK": "team.framework.framework",
        "EDITOR_SOURCE": "code",
        "EDITOR_CODE_PATH": "{checkout}/shop/service/editor",
    },
}
"""What the service of a page is started with, where that is not what `make run` starts it with."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def follow(page: Path, folder: Path, shell: str, languages: Collection[str]) -> None:
    """Follow a page from its beginning, in front of a service as `make run` leaves it."""
    checkout = folder / "checkout"
    written = SETTINGS.get(name(page), {})
    settings = {key: value.format(checkout=checkout, root=ROOT) for key, value in written.items()}
    with (
        running_service(folder, template=demo_database(), **settings) as service,
        reader(checkout, service, service.key, shell) as follower,
    ):
        for block in to_run(page):
            if block.language in languages:
                follower.follow(block)


@pytest.mark.parametrize("page", FOLLOWED, ids=name)
def test_a_page_can_be_followed(page: Path, tmp_path: Path) -> None:
    with_node = shutil.which("node") is not None and (NPM_CLIENT / "node_modules").is_dir()
    follow(page, tmp_path, "bash", RUN if with_node else set(RUN) - {"js"})
    if not with_node and any(block.language == "js" for block in to_run(page)):
        pytest.skip("Node or the npm client is not installed; all but the JavaScript was run.")


def test_the_readme_can_be_followed_in_the_plainest_shell(tmp_path: Path) -> None:
    follow(ROOT / "README.md", tmp_path, "dash", {"sh"})


# Following the pages reveals errors in them.


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[Reader]:
    """A person who follows a page, without a service."""
    service = Service(
        url="http://127.0.0.1:9", environment=environment_of("sqlite://:memory:"), folder=tmp_path
    )
    with reader(tmp_path / "checkout", service, "ek_key") as found:
        yield found


def block(language: str, text: str, *shows: str) -> Block:
    return Block(page=ROOT / "README.md", line=1, language=language, text=text, not_run=None, shows=shows)


def test_each_block_can_use_the_results_of_earlier_blocks(follower: Reader) -> None:
    for language in ("sh", "python"):
        follower.follow(block(language, "NAME='Ada'\n"))
    follower.follow(block("sh", 'echo "Hello $NAME"\n', "Hello Ada"))
    follower.follow(block("python", 'print(f"Hello {NAME}", "ek_…")\n', "Hello Ada ek_key"))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (block("sh", "false\ntrue\n"), "README.md:1: the block failed"),
        (block("sh", 'echo "$NOT_HERE" | grep .\n'), "the block failed"),
        (block("python", "1 / 0\n"), "ZeroDivisionError"),
        (block("sh", "echo this\n", "that"), "does not show 'that'"),
        (block("sh", """echo '{"error":"No.","code":"not_found"}'\n"""), "is answered with an error"),
    ],
    ids=["a command fails", "a pipe fails", "a program fails", "another answer", "an error"],
)
def test_a_block_that_is_wrong_is_noticed(follower: Reader, wrong: Block, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        follower.follow(wrong)


def test_an_expected_error_of_a_page_is_accepted(follower: Reader) -> None:
    follower.follow(block("sh", """echo '{"error":"No.","code":"not_found"}'\n""", "not_found"))
