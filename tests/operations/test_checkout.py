"""A checkout with only the packages of requirements.txt, which do not include the client in the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.support.service import ROOT


def test_the_server_finds_the_client_in_the_checkout(tmp_path: Path) -> None:
    """The project's package adds its folder to the path; every way to start the server imports that first."""
    # -S leaves out files such as editor-client.pth, by which the Python of the tests finds it.
    python = [sys.executable, "-S"]
    environment = {
        "PATH": os.defpath,
        "PYTHONPATH": f"{sysconfig.get_path('purelib')}{os.pathsep}{ROOT}",
        "SECRET_KEY": "test",
        "DATABASE_URL": f"sqlite:///{tmp_path}/editor.sqlite3",
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*python, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    assert "No module named 'editor_client'" in run("-c", "import editor_client").stderr
    done = run(str(ROOT / "manage.py"), "migrate", "--plan")
    assert done.returncode == 0, done.stderr
