"""Untrusted repositories: no program that they name is run, no outside file is touched, no request hangs."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import AGENTS, Answer, Api
from tests.support.git_histories import LONG, merge, moment, put_first_on_path, raw_commit, save
from tests.support.override_files import Folder, Repository, define, repository
from versioning.sources import git, histories
from versioning.sources.files import MAX_BYTES

pytestmark = [pytest.mark.processes, pytest.mark.processes]  # of Git, which may hang

SECONDS_FOR_A_TEST = 60
URL = AGENTS.url("answers")
FILE = "service/editor/agents/answers.json"
SECRET = "words from outside"


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """Abort a hanging test; normal runs take far less time."""

    def over(*_: Any) -> None:
        raise AssertionError(f"it hangs for more than {SECONDS_FOR_A_TEST} seconds")

    before = signal.signal(signal.SIGALRM, over)
    # Again and again: a view makes an answer of the first one, and then the next request hangs.
    signal.setitimer(signal.ITIMER_REAL, SECONDS_FOR_A_TEST, 1)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End hanging commands soon, and do not retry them during a test."""
    monkeypatch.setattr(git, "TIME_LIMIT", 0.3)
    monkeypatch.setattr(git, "PATIENCE", 0.6)
    monkeypatch.setattr(histories, "_REST", 1000)
    yield
    # Threads that still read would use the git of the next test.
    for thread in threading.enumerate():
        if thread.name == "versioning.sources":
            thread.join()


@pytest.fixture
def repo(tmp_path: Path, made_once: Repository) -> Repository:
    """A copy of that repository for one test."""
    shutil.copytree(made_once.top, tmp_path / "top")
    return Repository(top=tmp_path / "top", root=tmp_path / "top" / made_once.root.relative_to(made_once.top))


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with every case in which git reads the history twice: a rename and a merge."""
    made = repository(tmp_path_factory.mktemp("made") / "top")
    save(made, 1, LONG, "before")
    made.git("checkout", "--quiet", "-b", "feature")
    (made.top / "README").write_text("something else")
    made.commit("Elsewhere", at=moment(2))
    made.git("checkout", "--quiet", "main")
    made.path("before").rename(made.path())
    save(made, 3, f"{LONG} more")
    merge(made, 4, "feature")
    save(made, 5, "five")
    return made


@pytest.fixture
def folder(repo: Repository, settings: Any) -> Repository:
    """The same repository, with overrides of `answers` in it."""
    define(settings, repo.root)
    return repo


def use_everything(api: Api) -> list[Answer]:
    """Read and change an override in every way that touches its file or its history."""
    reads = [
        lambda: api.get("/agents/answers"),
        lambda: api.get("/agents"),
        lambda: api.get(URL),
        lambda: api.get(f"{URL}/versions"),
        lambda: api.get(AGENTS.path),
    ]
    answers = [read() for read in reads]
    listed = answers[3].body.get("versions", [])
    answers += [api.get(f"{URL}/versions/{version['id']}") for version in listed[-1:]]
    body = {"instructions": "published", "autoPublish": True}
    answers.append(api.patch(URL, body))
    if answers[-1].status == 404:
        answers.append(api.post(AGENTS.path, {"id": "answers", **body}))
    answers += [api.post(f"{URL}/versions/{version['id']}/activate") for version in listed[-1:]]
    answers += [reads[0](), reads[3]()]
    answers += [api.post(f"{URL}/unpublish"), api.delete(URL)]
    return answers


def all_succeed(answers: list[Answer]) -> None:
    assert [answer.status for answer in answers if answer.status not in {200, 201}] == []


def is_no_problem(answer: Answer) -> bool:
    """Return whether an answer is a success, a refusal, or reports the unwritable file; never a bug."""
    return answer.status < 500 or (answer.status == 503 and answer.code == "override_not_written")


# Programs that a repository may name


@dataclass(frozen=True)
class Trap:
    """Something that makes a git command run a program, and a command that does run it.

    `{trap}` is the program, `{hooks}` a folder in which every hook is that program, `{included}` a file of
    settings that name it.
    """

    settings: tuple[str, ...]
    springs: str
    attributes: str = ""
    lost: bool = False
    """Whether an object is missing that could be fetched."""
    signed: bool = False


FETCH = "cat-file -p HEAD~1:" + FILE
FETCHED = ("core.repositoryFormatVersion=1", "extensions.partialClone=origin", "remote.origin.promisor=true")
TRAPS = {
    "hooks": Trap((), "commit --allow-empty --message x"),
    "core.hooksPath": Trap(("core.hooksPath={hooks}",), "commit --allow-empty --message x"),
    "include.path": Trap(("include.path={included}",), "status"),
    "includeIf.path": Trap(("includeIf.onbranch:main.path={included}",), "status"),
    "core.pager": Trap(("core.pager={trap}", "pager.log={trap}"), "grep -O instructions"),
    "diff.external": Trap(("diff.external={trap}",), "diff HEAD~3"),
    "diff.command": Trap(("diff.trap.command={trap}",), "diff HEAD~3", "diff=trap"),
    "textconv": Trap(("diff.trap.textconv={trap}",), "log -p", "diff=trap"),
    "smudge": Trap(("filter.trap.smudge={trap}",), f"cat-file --filters HEAD:{FILE}", "filter=trap"),
    "alias": Trap(
        tuple(f"alias.{name}=!{{trap}}" for name in ("log", "cat-file", "rev-parse", "springs")), "springs"
    ),
    "gpg": Trap(("log.showSignature=true", "gpg.program={trap}"), "log", signed=True),
    "core.sshCommand": Trap(
        (*FETCHED, "remote.origin.url=ssh://127.0.0.1/x", "core.sshCommand={trap}"), FETCH, lost=True
    ),
    "core.gitProxy": Trap(
        (*FETCHED, "remote.origin.url=git://127.0.0.1/x", "core.gitProxy={trap}"), FETCH, lost=True
    ),
    "protocol.ext": Trap(
        (*FETCHED, "remote.origin.url=ext::{trap}", "protocol.ext.allow=always"), FETCH, lost=True
    ),
    "remote.uploadpack": Trap(
        (*FETCHED, "remote.origin.url={top}", "remote.origin.uploadpack={trap}"), FETCH, lost=True
    ),
}


# What is lost is fetched in one of several ways, and a driver of attributes hides what is set for all files.
IN_ONE_REPOSITORY = [
    [name for name, trap in TRAPS.items() if not trap.lost and not trap.attributes],
    [name for name, trap in TRAPS.items() if trap.attributes],
    *([name] for name, trap in TRAPS.items() if trap.lost),
]


def lay(repo: Repository, name: str, trap: Trap, marker: Path, folder: Path) -> None:
    """Make the repository name a program, which writes the name of its trap into the marker."""
    (folder / "hooks").mkdir(parents=True)
    program, hooks, included = (folder / part for part in ("trap", "hooks", "included"))
    program.write_text(f"#!/bin/sh\necho '{name}' >> '{marker}'\nexit 0\n")
    program.chmod(0o755)
    for hook in ("pre-commit", "post-index-change", "reference-transaction", "post-checkout"):
        (hooks / hook).symlink_to(program)
    if name == "hooks":
        shutil.copytree(hooks, repo.top / ".git/hooks", symlinks=True, dirs_exist_ok=True)
    included.write_text(f"[core]\n\tfsmonitor = {program}\n[diff]\n\texternal = {program}\n")
    if trap.signed:
        signature = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n"
        repo.put({"instructions": "signed"})
        repo.git("add", "--all")
        raw_commit(repo, b"Ann <ann@example.com> 1767270000 +0000", header=signature)
    for file in (".gitattributes", ".git/info/attributes") if trap.attributes else ():
        with (repo.top / file).open("a") as attributes:
            attributes.write(f"*.json {trap.attributes}\n")
    if trap.lost:
        blob = repo.git("rev-parse", f"HEAD~1:{FILE}")
        (repo.top / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    for setting in trap.settings:
        key, _, value = setting.partition("=")
        repo.git("config", key, value.format(trap=program, hooks=hooks, included=included, top=repo.top))


@pytest.mark.parametrize("names", IN_ONE_REPOSITORY, ids=" ".join)
def test_no_program_that_a_repository_names_is_run(
    repo: Repository, admin: Api, settings: Any, tmp_path: Path, names: list[str]
) -> None:
    marker = tmp_path / "marker"
    for name in names:
        lay(repo, name, TRAPS[name], marker, tmp_path / "traps" / name)
        marker.unlink(missing_ok=True)
        repo.run(*TRAPS[name].springs.split())
        assert marker.exists() and name in marker.read_text().splitlines(), f"{name} does not work"
    marker.unlink()
    define(settings, repo.root)
    answers = use_everything(admin)
    assert not marker.exists(), marker.read_text()
    all_succeed(answers)
    assert TRAPS[names[0]].lost or len(answers[3].body["versions"]) >= 2


# Files that are none


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder outside the editor's, with a file in it that would be a valid override."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "answers.json").write_text(f'{{"instructions": "{SECRET}"}}')
    return folder


def snapshot_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return everything below a folder, with its modification times."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    }


def link_to_a_file(folder: Folder, outside: Path) -> None:
    folder.path().symlink_to(outside / "answers.json")


def link_to_nothing(folder: Folder, outside: Path) -> None:
    """Make the file a link to where a file could be made."""
    folder.path().symlink_to(outside / "new.json")


def link_by_another_link(folder: Folder, outside: Path) -> None:
    """Make the file a link to a link within the folder."""
    (folder.root / "step").symlink_to(outside)
    folder.path().symlink_to("../step/answers.json")


def link_of_the_folder(folder: Folder, outside: Path) -> None:
    """Make `agents` a link to another folder."""
    folder.path().parent.rmdir()
    folder.path().parent.symlink_to(outside)


LINKS = [
    link_to_a_file,
    link_to_nothing,
    link_by_another_link,
    link_of_the_folder,
]


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.__name__)
def test_a_link_out_of_the_folder_is_neither_read_nor_written(
    repo: Repository,
    admin: Api,
    settings: Any,
    outside: Path,
    link: Callable[[Folder, Path], None],
) -> None:
    repo.path().unlink()
    repo.path("before").unlink(missing_ok=True)
    link(repo, outside)
    before = snapshot_of(outside)
    define(settings, repo.root)
    if link is not link_to_nothing:
        assert admin.post(AGENTS.path, {"id": "answers", "instructions": "draft"}).status == 201
    answers = use_everything(admin)
    assert [answer for answer in answers if not is_no_problem(answer)] == []
    assert answers[0].body["instructions"] == "code"
    assert [answer for answer in answers if SECRET in str(answer.body)] == []
    refused = [answer.code for answer in answers if answer.status == 400]
    assert refused and set(refused) == {"path_refused"}
    assert snapshot_of(outside) == before
    assert repo.path().is_symlink() or repo.path().parent.is_symlink()


def test_a_link_within_the_folder_is_followed_and_stays(tmp_path: Path, admin: Api, settings: Any) -> None:
    folder = Folder(tmp_path / "overrides")
    folder.put({"instructions": "shared"}, "shared")
    folder.path().symlink_to("shared.json")
    define(settings, folder.root)
    assert admin.get("/agents/answers").body["instructions"] == "shared"
    assert admin.patch(URL, {"instructions": "new", "autoPublish": True}).status == 200
    assert folder.path().is_symlink()
    assert folder.config("shared") == {"instructions": "new"}


def pipe(path: Path) -> None:
    """Make the file a pipe."""
    os.mkfifo(path)


def link_to_a_pipe(path: Path) -> None:
    """Make the file a link to a pipe in the same folder."""
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def link_to_itself(path: Path) -> None:
    """Make the file a link that leads nowhere."""
    path.symlink_to(path.name)


def huge(path: Path) -> None:
    """Make the file larger than one that is read."""
    path.touch()
    os.truncate(path, MAX_BYTES + 1)


THINGS = [pipe, link_to_a_pipe, link_to_itself, huge]


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: thing.__name__)
def test_a_pipe_or_broken_link_is_not_served_and_blocks_no_request(
    repo: Repository, admin: Api, settings: Any, thing: Callable[[Path], None]
) -> None:
    repo.path().unlink()
    thing(repo.path())
    define(settings, repo.root)
    answers = use_everything(admin)
    assert [answer for answer in answers if not is_no_problem(answer)] == []
    assert answers[0].body["instructions"] == "code"
    # The history of a link is that of its target.
    assert len(answers[3].body["versions"]) == (0 if thing is link_to_a_pipe else 3)


def test_a_huge_file_in_a_commit_is_omitted_from_the_history(
    repo: Repository, admin: Api, settings: Any
) -> None:
    huge(repo.path())
    repo.commit("Huge", at=moment(6))
    save(repo, 7, "seven")
    define(settings, repo.root)
    listed = AGENTS.versions(admin, "answers")
    assert [version["versionNumber"] for version in listed] == [5, 3, 2, 1]


def test_a_repository_of_any_name_has_its_history(tmp_path: Path, admin: Api, settings: Any) -> None:
    for name in ("two\nlines", 'a "quoted" \\ name', "tab\there", " spaces ", "-C", "ünï", "*"):
        repo = repository(tmp_path / name, name)
        save(repo, 1, "one")
        save(repo, 2, "two")
        define(settings, repo.root)
        assert len(AGENTS.versions(admin, "answers")) == 2
    repo.git("clone", "--quiet", "--depth", "1", f"file://{repo.top}", str(tmp_path / f"{name}2"))
    clone = Repository(top=tmp_path / f"{name}2", root=tmp_path / f"{name}2" / name)
    define(settings, clone.root)
    assert len(AGENTS.versions(admin, "answers")) == 1
    clone.git("fetch", "--quiet", "--unshallow")
    assert len(AGENTS.versions(admin, "answers")) == 2


PIPES = {
    # What a command of Git waits for first would hide what it reads later.
    "files": [".mailmap", ".gitattributes"],
    **{place: [place] for place in (".git", ".git/HEAD", ".git/config", ".git/shallow", "service/.git")},
    # These are read without a command of Git.
    **{place: [place] for place in (".git/packed-refs", ".git/commondir", ".git/refs/heads/main")},
    "an object": [],
}
NAMED_PIPES = {
    "settings": ["core.attributesFile", "core.excludesFile", "diff.orderFile", "mailmap.file"],
    "an include": ["include.path"],
}


@pytest.mark.parametrize("where", [*PIPES, *NAMED_PIPES])
@pytest.mark.usefixtures("impatient")
def test_a_pipe_in_a_repository_blocks_no_request_for_long(
    folder: Repository, admin: Api, where: str
) -> None:
    places = PIPES.get(where, [".git/pipe"])
    for setting in NAMED_PIPES.get(where, []):
        folder.git("config", setting, str(folder.top / ".git/pipe"))
    if where == "an object":
        blob = folder.git("rev-parse", f"HEAD:{FILE}")
        places = [f".git/objects/{blob[:2]}/{blob[2:]}"]
    for place in places:
        if (folder.top / place).exists():
            (folder.top / place).rename(folder.top / "moved-away")
        os.mkfifo(folder.top / place)
    all_succeed(use_everything(admin))


def test_a_working_tree_elsewhere_is_not_touched(
    repo: Repository, admin: Api, settings: Any, outside: Path
) -> None:
    repo.git("config", "core.worktree", str(outside))
    before = snapshot_of(outside)
    define(settings, repo.root)
    answers = use_everything(admin)
    all_succeed(answers)
    assert [answer for answer in answers if SECRET in str(answer.body)] == []
    assert snapshot_of(outside) == before


# A git that does not answer


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Path]:
    """A file for the ids of processes; the remaining ones are ended after the test."""
    pids = tmp_path / "pids"
    pids.touch()
    yield pids
    for pid in pids.read_text().split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


@dataclass(frozen=True)
class Stubborn:
    """A git that misbehaves at one of its commands."""

    command: str
    does: str

    def __str__(self) -> str:
        return f"{self.command}: {self.does}"

    def put_first(self, monkeypatch: pytest.MonkeyPatch, folder: Path, pids: Path | None = None) -> None:
        """Let it run instead of Git."""
        script = f'case "$*" in *" {self.command} "*) {self.does};; esac'
        put_first_on_path(monkeypatch, folder, script.replace("PIDS", str(pids)))


COMMANDS = ["rev-parse", "log", "cat-file"]
SLEEPS = [
    "echo $$ >> PIDS; exec sleep 1000",
    "sleep 1000 & echo $! >> PIDS; wait",
    "exec 3<&0; sleep 1000 <&3 & echo $! >> PIDS; exit",
]
SLEEPING = [
    *(Stubborn(command, SLEEPS[0]) for command in COMMANDS),
    *(Stubborn("log", one) for one in SLEEPS[1:]),
]


@pytest.mark.parametrize("sleeping", SLEEPING, ids=str)
@pytest.mark.usefixtures("impatient")
def test_a_hanging_git_is_waited_for_once_and_leaves_no_process_behind(
    folder: Repository, admin: Api, written: Path, monkeypatch: pytest.MonkeyPatch, sleeping: Stubborn
) -> None:
    sleeping.put_first(monkeypatch, folder.top / "programs", written)
    answers = use_everything(admin)
    assert answers[0].body["instructions"] == "five"
    all_succeed(answers)
    assert answers[3].body["versions"] == []
    # Then a thread reads on, once for each of the two files, and no request waits for it.
    assert len(written.read_text().split()) <= 3


ENDS = ["exit 1", "echo nonsense; exit 0", "kill -9 $$"]
# The first command is answered, the second finds that the process has stopped reading.
HANGS_UP = "read question; exec 0<&-; echo x blob 99999999999; exit 0"


@pytest.mark.parametrize(
    "ending",
    [
        Stubborn("rev-parse", ENDS[1]),
        *(Stubborn("log", does) for does in ENDS),
        Stubborn("cat-file", HANGS_UP),
    ],
    ids=str,
)
def test_a_failing_git_gives_no_history_and_no_error(
    folder: Repository, admin: Api, monkeypatch: pytest.MonkeyPatch, ending: Stubborn
) -> None:
    ending.put_first(monkeypatch, folder.top / "programs")
    answers = use_everything(admin)
    all_succeed(answers)
    assert answers[0].body["instructions"] == "five"
