"""Read the current HEAD of a repository from Git's own files, without starting a process.

The `git` command is called once for the folders of the repository, and again whenever its answer may have
changed. Then two small files give the commit of HEAD: `HEAD`, and the branch that it names (or
`packed-refs`). The `git` command handles unusual cases: links, pipes, symbolic branches, reftables, and names
that Git would not give a branch. So no file of a hostile repository is followed or blocks, and the answer is
always the same as Git's.
"""

from __future__ import annotations

import os
import re
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from versioning.sources import git
from versioning.sources.files import Identity, is_settled, read_identity
from versioning.sources.git import GitError, GitTooSlow

LOOK_AROUND_AFTER: Final = 1.0
"""Seconds after which to check again for a nearer repository or another configuration. Commits, branches
and everything else that moves HEAD are seen at once."""
MAX_REF: Final = 4096
MAX_PACKED: Final = 32 * 1024 * 1024
_COMMIT = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64})\s*")
_BRANCH = re.compile(rb"ref:\s*refs/heads/(\S+)\s*")
_REFUSED_IN_NAMES = re.compile(rb"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|(?:^|/)\.|\.lock(?:/|$)|[/.]$|^/")


class _Unusual(Exception):
    """The files do not have the ordinary form."""


@dataclass(frozen=True, kw_only=True)
class _Repository:
    """The folders of a repository, and their identities when the `git` command named them."""

    git_dir: str
    """Contains HEAD; each working tree has its own."""
    common_dir: str
    """Contains the branches."""
    dot_git: tuple[str, Identity]
    """The `.git` through which the repository was found."""
    identities: tuple[Identity | None, ...]


class _Files:
    """Reads files, and remembers their identities from before the read."""

    def __init__(self) -> None:
        self.seen: dict[str, Identity | None] = {}

    def look_at(self, path: str) -> Identity | None:
        self.seen[path] = identity = read_identity(path)
        return identity

    def read(self, path: str) -> bytes:
        """Return the content of a small file; raises as `_content` does."""
        self.look_at(path)
        return _content(path, MAX_REF)


@dataclass(frozen=True, kw_only=True)
class _Answer:
    """The commit of HEAD, and the identities of the files that determine it."""

    place: str | None
    folder: Identity | None
    files: dict[str, Identity | None]
    looked_around_at: float

    def is_right(self, folder: Path) -> bool:
        """Return whether none of these files has changed."""
        return (
            time.monotonic() - self.looked_around_at < LOOK_AROUND_AFTER
            and read_identity(folder) == self.folder
            and all(read_identity(path) == identity for path, identity in self.files.items())
        )


class Head:
    """Reads the commit of HEAD in the repository that contains a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._repository: _Repository | None = None
        self._packed: tuple[Identity, bytes, bytes | None] | None = None
        """The packed branches, by identity: the branch that was looked for, and its commit."""
        self._answer: _Answer | None = None

    def read(self) -> str | None:
        """Return the identity of the current history: the commit, and the end of a shallow clone.

        Returns None without a repository, without a commit, or without the `git` command. Raises
        `GitTooSlow`.
        """
        cached = self._answer
        if cached is not None and cached.is_right(self.folder):
            return cached.place
        self._answer = None
        try:
            return self._read()
        except (_Unusual, OSError):
            return _ask_git(self.folder)

    def _read(self) -> str | None:
        began, folder, files = time.monotonic(), read_identity(self.folder), _Files()
        dot_git = _nearest_dot_git(self.folder)
        if dot_git is None:
            return None
        repository = self._find_repository(dot_git)
        commit = self._commit(repository, files)
        cut_off = _cut_off(files.look_at(f"{repository.common_dir}/shallow"))
        place = None if commit is None else f"{commit.decode()} {cut_off}"
        if repository is self._repository and all(map(is_settled, files.seen.values())):
            self._answer = _Answer(place=place, folder=folder, files=files.seen, looked_around_at=began)
        return place

    def _find_repository(self, dot_git: tuple[str, Identity]) -> _Repository:
        """Return the repository of a `.git`, calling the `git` command unless the answer is cached."""
        repository = self._repository
        if (
            repository is None
            or repository.dot_git != dot_git
            or repository.identities != _identities(repository.git_dir, repository.common_dir)
        ):
            self._repository = None
            repository = _locate_repository(self.folder, dot_git)
            if all(map(is_settled, (dot_git[1], *repository.identities))):
                self._repository = repository
        return repository

    def _commit(self, repository: _Repository, files: _Files) -> bytes | None:
        """Return the commit of HEAD; None on a branch without commits. Raises `_Unusual` and `OSError`."""
        content = files.read(f"{repository.git_dir}/HEAD")
        if commit := _COMMIT.fullmatch(content):
            return commit[1]
        branch = _BRANCH.fullmatch(content)
        if branch is None or _REFUSED_IN_NAMES.search(branch[1]):
            raise _Unusual
        name = b"refs/heads/" + branch[1]
        try:
            content = files.read(f"{repository.common_dir}/{os.fsdecode(name)}")
        except FileNotFoundError:
            # Git writes the packed branches before it removes the branch that it has packed.
            path = f"{repository.common_dir}/packed-refs"
            return self._packed_commit(path, files.look_at(path), name)
        if not (commit := _COMMIT.fullmatch(content)):
            raise _Unusual
        return commit[1]

    def _packed_commit(self, path: str, identity: Identity | None, name: bytes) -> bytes | None:
        if identity is None:
            return None
        cached = self._packed
        if cached is None or cached[:2] != (identity, name):
            line = rb"^([0-9a-f]+) " + re.escape(name) + rb"$"
            match = re.search(line, _content(path, MAX_PACKED), re.MULTILINE)
            if match and not _COMMIT.fullmatch(match[1]):
                raise _Unusual
            cached = (identity, name, match[1] if match else None)
            self._packed = cached if is_settled(identity) else None
        return cached[2]


def _ask_git(folder: Path) -> str | None:
    """Return the commit of HEAD from the `git` command; raises `GitTooSlow`."""
    try:
        answer = git.run(folder, "rev-parse", "HEAD", "--git-common-dir")
    except GitTooSlow:
        raise
    except GitError:
        return None
    commit, _, common_dir = answer.decode("utf-8", "replace").strip().partition("\n")
    return f"{commit} {_cut_off(read_identity(git.nearest(folder) / common_dir / 'shallow'))}"


def _cut_off(shallow: Identity | None) -> int:
    """Return a value that changes when more of a shallow history is fetched, which does not move HEAD."""
    return shallow[4] if shallow and stat.S_ISREG(shallow[0]) else 0


def _nearest_dot_git(folder: Path) -> tuple[str, Identity] | None:
    """Return the nearest `.git` in a folder or above it, with its identity; None if there is none."""
    inside = os.path.realpath(folder)
    while True:
        path = f"{inside.rstrip('/')}/.git"
        about = read_identity(path)
        if about is not None:
            return path, about
        above = os.path.dirname(inside)  # noqa: PTH120  quicker
        if above == inside:
            return None
        inside = above


def _locate_repository(folder: Path, dot_git: tuple[str, Identity]) -> _Repository:
    """Return the folders of the repository from the `git` command.

    Raises `GitTooSlow`, and `_Unusual` if it finds another repository than that of this `.git`.
    """
    try:
        answer = git.run(folder, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
    except GitTooSlow:
        raise
    except GitError:
        raise _Unusual from None
    git_dir, _, common_dir = os.fsdecode(answer).removesuffix("\n").partition("\n")
    path, about = dot_git
    is_file = stat.S_ISREG(
        about[0]
    )  # belongs to another working tree or a submodule, and names the folder with the rest
    if not (is_file or (stat.S_ISDIR(about[0]) and Path(path).samefile(git_dir))):
        raise _Unusual
    return _Repository(
        git_dir=git_dir, common_dir=common_dir, dot_git=dot_git, identities=_identities(git_dir, common_dir)
    )


def _identities(git_dir: str, common_dir: str) -> tuple[Identity | None, ...]:
    """Return the identities of everything that makes Git accept the folders as a repository."""
    paths = (
        git_dir,
        f"{git_dir}/commondir",
        f"{git_dir}/config.worktree",
        f"{common_dir}/config",
        f"{common_dir}/objects",
        f"{common_dir}/refs",
    )
    identities = tuple(map(read_identity, paths))
    if any(identity and stat.S_ISLNK(identity[0]) for identity in identities):
        raise _Unusual
    return identities


def _content(path: str, most: int) -> bytes:
    """Return the content of a regular file; raises `_Unusual` for anything else, and if it is too large."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _Unusual
        content = bytearray()
        while part := os.read(descriptor, most + 1 - len(content)):
            content += part
        if len(content) > most:
            raise _Unusual
        return bytes(content)
    finally:
        os.close(descriptor)
