"""The examples do what their pages say; tests/project/test_pages.py follows the pages themselves."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from editor_client import Client
from editor_client.shared.arms import bucket

from tests.support.api import AGENTS
from tests.support.override_files import Repository
from tests.support.ports import free_port
from tests.support.programs import credentials, flask_application, run
from tests.support.receiver import receiving
from tests.support.remote import connected
from tests.support.service import ROOT, Service, running_service
from tests.support.webhooks import deliveries, make_webhook

pytestmark = pytest.mark.processes

ECHO = {"provider": "echo", "name": "echo"}
PEOPLE = ("ada", "bob", "cleo", "dan")


# A web application


def asked(address: str) -> tuple[str, str]:
    """Send a request to the application, and return the state and the text of its prompt."""
    answer = httpx2.get(f"{address}/answer", params={"question": "Where is it?"}, timeout=60).json()
    return answer["state"], answer["system"]


def test_the_application_continues_when_the_service_is_down(fresh_service: Service, tmp_path: Path) -> None:
    environment = credentials(fresh_service) | {"PROMPT_CACHE": str(tmp_path / "cache")}
    log = tmp_path / "flask.log"
    with Client(fresh_service.url, api_key=fresh_service.key) as client:
        client.create_stored_agent(id="answering", name="Answering", instructions="first", model=ECHO)
        with flask_application(environment, log) as address:
            assert asked(address) == ("live", "first")
            client.get_stored_agent("answering").update(instructions="second", auto_publish=True)
            assert asked(address) == ("live", "second")
            fresh_service.kill()
            assert asked(address) == ("stale", "second")
        with flask_application(environment, log) as restarted:
            assert asked(restarted) == ("stale", "second")
        with flask_application(environment | {"PROMPT_CACHE": str(tmp_path / "empty")}, log) as new:
            state, text = asked(new)
            assert state == "built in" and text
            fresh_service.start()
            assert asked(new) == ("live", "second")


# A canary


def test_the_same_share_of_people_always_gets_the_canary(tmp_path: Path) -> None:
    with (
        running_service(tmp_path, EDITOR_FRAMEWORK="examples.canary.team.framework") as service,
        Client(service.url, api_key=service.key) as client,
    ):
        client.create_stored_agent(id="writer", instructions="Write in plain prose.", auto_publish=True)
        canary = client.get_stored_agent("writer").update(instructions="Write in rhymes.").latest_version_id
        arms = [{"name": "rhymes", "version_id": canary, "weight": 5000}]
        rollout = client.create_rollout("agent", "writer", bucket_by="person", arms=arms)
        chosen = {person for person in PEOPLE if bucket(rollout.seed, person) < 5000}
        for person in PEOPLE:
            options = (person, "Describe rain.", "--helpful", "yes")
            done = run("-m", "examples.canary.ask", *options, **credentials(service))
            assert done.returncode == 0, done.stderr
            assert (
                ("Write in rhymes." in done.stdout) == ("writer rhymes" in done.stdout) == (person in chosen)
            )
        said = {one.arm: one.count for one in client.summarize_feedback("agent", "writer").summary}
        assert said.get("rhymes", 0) == len(chosen) == len(PEOPLE) - said.get(None, 0)


# A chat that receives publications


def test_the_chat_gets_each_publication_once(tmp_path: Path) -> None:
    internal = {"EDITOR_WEBHOOK_ALLOW": "127.0.0.1", "EDITOR_WORKER": "on"}
    port = free_port()
    with (
        running_service(tmp_path, **internal) as service,
        connected(service) as api,
        receiving() as chat,
    ):
        address = f"http://127.0.0.1:{port}/events"
        hook = make_webhook(api, address, "agent.published", workspace="default")
        rotated = api.post(f"/webhooks/{hook['id']}/rotate", {"keepPreviousHours": 0}).body["secret"]
        environment = {
            "WEBHOOK_SECRETS": f"{hook['secret']} {rotated}",
            "CHAT_URL": chat.url,
            "SEEN": str(tmp_path / "seen.sqlite3"),
        }
        chat.answer = lambda _message: (200 if len(chat.messages) > 1 else 500, {}, b"")
        with flask_application(environment, tmp_path / "app.log", app="examples.chat.app", port=port) as url:
            AGENTS.make(api, "support", workspaceId="default", autoPublish=True)
            chat.wait_for(2)  # the first was refused, and came again
            told = [json.loads(message.body) for message in chat.messages]
            assert told == [{"text": "tester: published support (version 1)"}] * 2
            eventually(lambda: [one["state"] for one in deliveries(api, hook)] == ["delivered"])
            [delivery] = deliveries(api, hook)
            replay = f"/webhooks/{hook['id']}/deliveries/{delivery['id']}/replay"
            assert api.post(replay).status == 200
            eventually(lambda: [one["state"] for one in deliveries(api, hook)] == ["delivered"])
            [after] = deliveries(api, hook)
            assert [one["statusCode"] for one in after["attempts"]] == [502, 204, 204]
            assert len(chat.messages) == 2
            forged = httpx2.post(f"{url}/events", json=delivery["event"], headers={"webhook-id": "msg_1"})
            assert forged.status_code == 401 and len(chat.messages) == 2


def eventually(holds: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


# Overrides reviewed by pull request


class Shop(Repository):
    """The example as a separate repository, with a branch without commits yet."""

    def check(self) -> tuple[int, str]:
        """Run the check against `main` and return its exit code and what it prints."""
        done = run("check_overrides.py", "main", folder=self.top, PYTHONPATH=str(ROOT))
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    top = tmp_path / "shop"
    shutil.copytree(ROOT / "examples/pull_requests", top, ignore=shutil.ignore_patterns("__pycache__"))
    made = Shop(root=top / "service/editor", top=top)
    made.git("init", "--quiet", "--initial-branch", "main")
    made.commit("Agents, and what is overridden of them")
    made.git("switch", "--quiet", "--create", "a-branch")
    return made


def test_the_check_ignores_a_file_that_is_only_formatted_differently(shop: Shop) -> None:
    shop.put(json.dumps(shop.config("support"), indent=8).encode(), "support")
    shop.commit()
    assert shop.check() == (0, "")


def test_the_check_shows_what_a_branch_changes(shop: Shop) -> None:
    shop.put({"instructions": "You help.\nBriefly."}, "support")
    shop.put({"instructions": "Sell."}, "shop/sales")
    shop.commit()
    code, shown = shop.check()
    assert code == 0
    assert shown.split("\n") == [
        "support",
        "  instructions",
        "    -You help customers with their orders. Look up the order first.",
        "    +You help.",
        "    +Briefly.",
        "shop/sales",
        "  instructions",
        "    +Sell.",
        "",
    ]


def test_the_check_compares_with_the_base_of_the_branch(shop: Shop) -> None:
    shop.put({"instructions": "Sell."}, "shop/sales")
    shop.commit()
    shop.git("switch", "--quiet", "main")
    shop.put({"instructions": "Someone else's."}, "support")
    shop.commit()
    shop.git("switch", "--quiet", "a-branch")
    code, shown = shop.check()
    assert code == 0 and "Sell." in shown and "support" not in shown


def test_the_check_reports_a_removed_override(shop: Shop) -> None:
    shop.path("support").unlink()
    shop.commit()
    code, shown = shop.check()
    assert code == 0
    assert shown.startswith("support: as its code says\n  instructions\n    -You help")


@pytest.mark.parametrize(
    ("agent_id", "content", "reason"),
    [
        ("support", b"{", "not valid JSON"),
        ("support", {"model": ECHO}, "model"),
        ("support", {"instructions": " "}, "instructions"),
        ("shop/sales", {"tools": {"order_status": {}}}, "tools"),
        ("unknown", {"instructions": "Anything."}, "belongs to no agent"),
    ],
)
def test_the_check_refuses_a_file_that_would_be_ignored(
    shop: Shop, agent_id: str, content: Any, reason: str
) -> None:
    shop.put(content, agent_id)
    shop.commit()
    code, shown = shop.check()
    assert code == 1
    assert agent_id in shown and reason in shown


@dataclass(frozen=True)
class Synchronized(Repository):
    """The checkout that a service runs on, with a remote to which developers push."""

    def synchronize(self) -> int:
        """Run the job, as a user whose Git knows no name, and return its exit code."""
        done = subprocess.run(["./synchronize.sh"], cwd=self.top, capture_output=True, text=True, check=False)
        assert done.returncode in {0, 1} and bool(done.stderr) == bool(done.returncode), done.stderr
        return done.returncode


@pytest.fixture
def remote(shop: Shop, tmp_path: Path) -> Path:
    """The bare repository that all clones share."""
    shop.git("clone", "--quiet", "--bare", "--branch", "main", str(shop.top), str(tmp_path / "remote.git"))
    return tmp_path / "remote.git"


def cloned(remote: Path, name: str) -> Synchronized:
    top = remote.with_name(name)
    made = Synchronized(root=top / "service/editor", top=top)
    subprocess.run(["git", "clone", "--quiet", "--branch", "main", str(remote), str(top)], check=True)
    return made


def test_publications_of_the_studio_are_pushed_and_pushes_by_developers_are_served(remote: Path) -> None:
    checkout, developer = cloned(remote, "checkout"), cloned(remote, "developer")
    checkout.put({"instructions": "Sell."}, "shop/sales")
    developer.put({"instructions": "Help, briefly."}, "support")
    developer.commit("Briefly")
    developer.git("push", "--quiet")
    assert checkout.synchronize() == 0
    assert checkout.config("support") == {"instructions": "Help, briefly."}
    developer.git("pull", "--quiet", "--ff-only")
    assert developer.config("shop/sales") == {"instructions": "Sell."}

    checkout.path("shop/sales").unlink()
    assert checkout.synchronize() == 0
    developer.git("pull", "--quiet", "--ff-only")
    assert not developer.path("shop/sales").exists()
    assert checkout.synchronize() == 0
    assert checkout.git("status", "--porcelain") == ""


def test_a_conflict_is_left_to_people_and_the_served_text_is_unchanged(remote: Path) -> None:
    checkout, developer = cloned(remote, "checkout"), cloned(remote, "developer")
    checkout.put({"instructions": "As published."}, "support")
    served = checkout.text("support")
    developer.put({"instructions": "As pushed."}, "support")
    developer.commit("Another text")
    developer.git("push", "--quiet")
    assert checkout.run("pull", "--ff-only").returncode != 0, "a plain pull would have done"
    assert [checkout.synchronize(), checkout.synchronize()] == [1, 1]
    assert checkout.text("support") == served

    developer.git("fetch", "--quiet")
    developer.git("merge", "--quiet", "--no-edit", "-X", "theirs", "origin/published-in-the-studio")
    developer.git("push", "--quiet")
    assert checkout.synchronize() == 0
    assert checkout.text("support") == developer.text("support") == served
    assert checkout.git("rev-parse", "HEAD") == developer.git("rev-parse", "HEAD")


def test_the_check_reports_a_missing_base(shop: Shop) -> None:
    done = run("check_overrides.py", "origin/main", folder=shop.top, PYTHONPATH=str(ROOT))
    assert done.returncode == 2 and "is it fetched?" in done.stderr
