"""The documentation is correct: every block of every page is run, in order, against a real server."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.support.pages import PAGES, RUN, Block, to_run
from tests.support.reader import NPM_CLIENT, Reader, reader
from tests.support.service import ROOT, Service, demo_database, environment_of, running_service

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
