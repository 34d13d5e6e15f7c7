"""The two distributions, built and unpacked without asking a registry."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from django.apps import apps

from tests.support.machine import once_in_a_run
from tests.support.service import ROOT

# Files of a checkout that are not sources; building would add more of them, so a copy is built.
_NO_SOURCE = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
_PACKAGES = sorted(
    {
        app.name.partition(".")[0]
        for app in apps.get_app_configs()
        if (ROOT / app.name.partition(".")[0]).is_dir()
    }
)
_SOURCES = {
    "editor-client": (ROOT / "client", ["editor_client"]),
    "editor-server": (ROOT, _PACKAGES),
}


def wheel_of(distribution: str) -> Path:
    """Return the wheel of `editor-client` or `editor-server`, which is built once in a run of the tests."""
    with once_in_a_run(distribution) as (folder, is_first):
        if is_first:
            _build(distribution, folder)
        return next(folder.glob("*.whl"))


def _build(distribution: str, folder: Path) -> None:
    source, packages = _SOURCES[distribution]
    copy = folder / distribution
    copy.mkdir(parents=True)
    for name in ["pyproject.toml", "README.md", "LICENSE", *packages]:
        if (source / name).is_dir():
            shutil.copytree(source / name, copy / name, ignore=_NO_SOURCE)
        else:
            shutil.copy(source / name, copy / name)
    # What pip asks of it in the end; before that, it would look for what is installed.
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    command = [sys.executable, "-c", build, str(folder)]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def installed(*distributions: str) -> Path:
    """Return a folder for `PYTHONPATH` with the wheels, which all tests of a run share."""
    wheels = [*map(wheel_of, distributions)]
    with once_in_a_run(f"installed-{len(distributions)}") as (folder, is_first):
        if is_first:
            for wheel in wheels:  # they are pure Python, which is installed by being unpacked
                ZipFile(wheel).extractall(folder / "site-packages")
        return folder / "site-packages"
