"""A Django team tests its project as docs/guides/test-a-django-project.md says, with what the wheels have."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages import blocks, commands
from tests.support.projects import API_HEADING, PAGE, fresh_project
from tests.support.service import ROOT

pytestmark = pytest.mark.processes

TESTING = ROOT / "docs/guides/test-a-django-project.md"


def test_the_tests_of_the_page_pass_in_a_fresh_project(tmp_path: Path) -> None:
    project = fresh_project(tmp_path)
    settings_file, urls_file = (project.folder / f"shop/{name}.py" for name in ("settings", "urls"))
    apps, api_urls = commands(PAGE, API_HEADING, "python")
    on_sqlite, _on_postgresql = commands(PAGE, "The database", "python")
    settings_file.write_text(settings_file.read_text() + apps + on_sqlite)
    urls_file.write_text(urls_file.read_text() + api_urls)
    conftest, *modules = (block.text for block in blocks(TESTING) if block.language == "python")
    (project.folder / "conftest.py").write_text(conftest)
    [configuration] = (block.text for block in blocks(TESTING) if "[pytest]" in block.text)
    (project.folder / "pytest.ini").write_text(configuration)
    for number, module in enumerate(modules):
        (project.folder / f"test_{number}.py").write_text(module)
    twice = "from test_2 import test_the_application_gets_the_published_prompt as test_again\n"
    (project.folder / "test_again.py").write_text(twice)
    # As Python starts it: what the fork server has imported is not rewritten by pytest.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=project.folder, env=project.environment, capture_output=True, text=True, check=False
    )
    assert re.search(r"\b5 passed", done.stdout), done.stdout + done.stderr
