"""The isolation of the tests and their programs from the machine: only variables named here reach them.

A developer may have a Git identity, a proxy, a PostgreSQL, an API key of a model or settings of an
editor. None of them may make a test pass, or fail. pytest loads this before Django reads the
settings: `-p tests.support.machine` in pyproject.toml.
"""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

_LET_THROUGH = {
    "DATABASE_URL",  # on which database the tests run: `make test-postgres` says so
    "LD_LIBRARY_PATH",  # some Pythons do not start without it
    "PATH",
    "TERM",  # whether pytest may use colours
    "TMPDIR",
}
_LET_THROUGH_BY_PREFIX = ("PYTEST_", "PYTHON")
_SET = {
    "LC_ALL": "C.UTF-8",
    "SECRET_KEY": "test",
    "GIT_CONFIG_NOSYSTEM": "1",
}
_UMASK = 0o022
_RUN = "PYTEST_EDITOR_RUN"


def environment(given: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the permitted part of a machine's environment, with another, empty home."""
    left = {
        name: value
        for name, value in given.items()
        if name in _LET_THROUGH or name.startswith(_LET_THROUGH_BY_PREFIX)
    }
    left.pop("PYTHONWARNINGS", None)  # pytest has its own filters; the programs have the usual warnings
    left.pop("PYTHONDONTWRITEBYTECODE", None)  # every worker and every server would compile all that it loads
    return {**left, **_SET, "HOME": home}


def _isolate() -> str:
    home = tempfile.mkdtemp(prefix="editor-tests-home-")
    left = environment(os.environ, home)
    os.environ.clear()
    os.environ.update(left)
    os.umask(_UMASK)
    return home


# Importing and collecting the tests makes a million objects that stay. Looking for garbage among them again
# and again took a quarter of the time; tests/conftest.py goes on from here.
gc.set_threshold(50_000, 50, 100)

_HOME = _isolate()
_BEGINS_THE_RUN = _RUN not in os.environ
if _BEGINS_THE_RUN:
    os.environ[_RUN] = tempfile.mkdtemp(prefix="editor-tests-")


@contextmanager
def once_in_a_run(name: str) -> Iterator[tuple[Path, bool]]:
    """Yield a folder for data that is made once in a run of the tests, and whether it is still to be made.

    All processes of the run share it; later ones wait for the first.
    """
    folder = Path(os.environ[_RUN], name)
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = folder / "made"
        yield folder, not made.exists()
        made.touch()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the data that was made for the tests."""
    shutil.rmtree(_HOME, ignore_errors=True)
    if _BEGINS_THE_RUN:
        shutil.rmtree(os.environ[_RUN], ignore_errors=True)
