"""The tests do not depend on the machine: none of its settings and identities reaches a test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from tests.support.service import ROOT

OF_SOMEBODY = {
    "ALL_PROXY": "http://127.0.0.1:9",
    "EDITOR_API_PREFIX": "/elsewhere",
    "EDITOR_URL": "http://127.0.0.1:9",
    "GIT_AUTHOR_NAME": "Somebody",
    "GIT_DIR": "/nowhere",
    "LC_ALL": "C",
    "OPENAI_API_KEY": "sk-somebody",
    "PGSERVICE": "somebody",
    "SECRET_KEY": "",
    "XDG_CONFIG_HOME": "/nowhere",
}
"""What people have in their environment, and what would change how a test ends."""


def test_variables_of_the_machine_do_not_reach_the_tests() -> None:
    for name in sorted(OF_SOMEBODY.keys() - {"LC_ALL", "SECRET_KEY"}):
        assert name not in os.environ


def test_settings_are_those_of_the_documentation() -> None:
    assert (settings.EDITOR_API_PREFIX, settings.SECRET_KEY) == ("api", "test")


def test_git_has_no_global_identity_or_settings() -> None:
    done = subprocess.run(["git", "config", "--list", "--global"], capture_output=True, check=False)
    assert done.stdout == b""


def test_the_home_directory_has_no_personal_settings() -> None:
    assert not [path for path in Path.home().iterdir() if path.name in {".gitconfig", ".npmrc", ".curlrc"}]


def test_new_files_are_readable_by_other_users(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_the_same_holds_on_a_machine_with_its_own_identity_and_settings(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Someone\n[commit]\n\tgpgsign = true\n")
    pytest_again = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--deselect",
        request.node.nodeid,
        __file__,
    ]
    done = subprocess.run(
        ["sh", "-c", 'umask 077; exec "$@"', "sh", *pytest_again],
        cwd=ROOT,
        env={**os.environ, **OF_SOMEBODY, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
