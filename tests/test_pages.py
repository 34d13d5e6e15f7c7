"""What the documentation shows is true: every block of every page is run, in order, against a real server."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.support.pages import PAGES, RUN, to_run
from tests.support.reader import NPM_CLIENT, reader
from tests.support.service import ROOT, running_service

FOLLOWED = [page for page in PAGES if to_run(page)]
SETTINGS: dict[str, dict[str, str]] = {
    "docs/code-source.md": {"EDITOR_SOURCE": "code", "EDITOR_CODE_PATH": "{checkout}/service/editor"},
    "examples/canary/README.md": {"EDITOR_FRAMEWORK": "examples.canary.team.framework"},
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
    with running_service(folder, **settings) as service:
        key = next(word for word in service.manage("demo").split() if word.startswith("ek_"))
        with reader(checkout, service, key, shell) as somebody:
            for block in to_run(page):
                if block.language in languages:
                    somebody.follow(block)


@pytest.mark.parametrize("page", FOLLOWED, ids=name)
def test_a_page_can_be_followed(page: Path, tmp_path: Path) -> None:
    with_node = shutil.which("node") is not None and (NPM_CLIENT / "node_modules").is_dir()
    follow(page, tmp_path, "bash", RUN if with_node else set(RUN) - {"js"})
    if not with_node and any(block.language == "js" for block in to_run(page)):
        pytest.skip("Node or the npm client is not installed; all but the JavaScript was run.")


def test_the_readme_can_be_followed_in_the_plainest_shell(tmp_path: Path) -> None:
    follow(ROOT / "README.md", tmp_path, "dash", {"sh"})
