"""A back-up of a server at work, by the commands of the page, restored on what might be another machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.browsing import is_signed_in, sign_in, visiting
from tests.support.installation import SQLITE, Installation, installation
from tests.support.pages import ADMINISTRATION, commands
from tests.support.remote import RemoteApi, connected
from tests.support.writing import DELICATE, Record, history, writing

DATABASE = "SQLite" if SQLITE else "PostgreSQL"
SAVES_BEFORE, SAVES_AFTER = 30, 12
PASSWORD = "a long password"
INVITE = """
from django.contrib.auth.models import User
from studio.workspaces import invitation_address
from versioning import installed
from versioning.access import Role
installed.editor().workspace.invite('default', 'lena', Role.VIEWER)
print(invitation_address(*installed.editor().workspace.invitation('default', 'lena')))
"""


@pytest.fixture
def old_service(tmp_path: Path) -> Iterator[Installation]:
    """The installation that is backed up; ada is its superuser."""
    with installation(tmp_path / "old", SECRET_KEY="the old secret") as old:
        old.service.manage("migrate", "--verbosity", "0")
        old.run(commands(ADMINISTRATION, "Workspaces and roles")[0], USERNAME="ada", PASSWORD=PASSWORD)
        old.service.key = old.service.manage(
            "create_api_key", "robot", "--workspace", "default", "--role", "publisher"
        )
        old.service.start()
        yield old


@pytest.fixture
def new_service(tmp_path: Path) -> Iterator[Installation]:
    """Another folder, another database, another secret."""
    with installation(tmp_path / "elsewhere/new", SECRET_KEY="the new secret") as new:
        yield new


def back_up_while_saving(old: Installation) -> list[Record]:
    """Back up while saves go on and are acknowledged; return what was acknowledged before."""

    def save(api: RemoteApi, writer: int, turn: int) -> Record:
        # Half of the writers publish what they save, the others leave drafts.
        text = f"{DELICATE}{writer}/{turn}"
        return AGENTS.save(api, f"busy-{writer % 2}", text, autoPublish=writer % 2 == 0)

    with writing(old.service, save) as acknowledged:
        acknowledged.wait_for(SAVES_BEFORE)
        before = list(acknowledged.records)
        old.run(*commands(ADMINISTRATION, f"Back up {DATABASE}"))
        acknowledged.wait_for_more(SAVES_AFTER)
    return before


def restore(old: Installation, new: Installation) -> None:
    """Carry the only back-up over and restore it, on top of what a crash has left behind."""
    old.service.kill()
    if SQLITE:
        shutil.copytree(old.folder / "var", new.folder / "var", dirs_exist_ok=True)
    [backup] = (old.folder / "backups").iterdir()
    shutil.copy(backup, new.folder / "carried-over")
    new.run(*commands(ADMINISTRATION, f"Restore {DATABASE}"), BACKUP="carried-over")
    new.service.key = old.service.key
    new.service.start()


def test_everything_that_was_acknowledged_before_a_back_up_is_in_it(
    old_service: Installation, new_service: Installation
) -> None:
    with connected(old_service.service) as api:
        for resource_id in ("busy-0", "busy-1"):
            first = AGENTS.make(api, resource_id, "first words", autoPublish=True)["latestVersionId"]
            label = api.put(AGENTS.url(resource_id, "labels", "first"), {"versionId": first})
            assert label.status == 200
        PROMPT_BLOCKS.make(api, "tone", "Be brief.", autoPublish=True)
    before = back_up_while_saving(old_service)

    restore(old_service, new_service)

    with connected(new_service.service) as api:
        for resource_id in ("busy-0", "busy-1"):
            versions = history(api, AGENTS, resource_id)
            saved = {version["id"]: version["instructions"] for version in versions}
            for record in before:
                if record["id"] == resource_id:
                    assert saved[record["latestVersionId"]] == record["instructions"]
            # Of one moment: no number is missing, and the pointers are those of the last save in it.
            assert [version["versionNumber"] for version in versions] == list(range(1, len(versions) + 1))
            record = api.get(AGENTS.url(resource_id), status="draft").body
            assert record["latestVersionId"] == versions[-1]["id"]
            published = versions[-1 if resource_id == "busy-0" else 0]
            served = api.get(f"/agents/{resource_id}").body
            assert served["resolvedVersionId"] == record["activeVersionId"] == published["id"]
            assert served["instructions"] == published["instructions"]
            assert api.get(AGENTS.url(resource_id), label="first").body["instructions"] == "first words"
            # And work goes on.
            AGENTS.save(api, resource_id, "after the restore")
            assert AGENTS.versions(api, resource_id)[0]["versionNumber"] == len(versions) + 1
        assert api.get(PROMPT_BLOCKS.url("tone")).body["content"] == "Be brief."


def test_another_secret_signs_people_out_and_leaves_them_their_passwords(
    old_service: Installation, new_service: Installation
) -> None:
    invitation = old_service.service.manage("shell", "--no-imports", "-c", INVITE)
    with visiting(old_service.service.url) as ada:
        assert sign_in(ada, "ada", PASSWORD)
        assert is_signed_in(ada)
        cookies = dict(ada.cookies)
    old_service.run(*commands(ADMINISTRATION, f"Back up {DATABASE}"))

    restore(old_service, new_service)

    new = new_service.service
    assert remembers(new.url, cookies, invitation) == (False, False)
    with connected(new) as api:
        assert api.get("/stored/agents").status == 200
    with visiting(new.url) as ada:
        assert not sign_in(ada, "ada", "another password")
        assert sign_in(ada, "ada", PASSWORD)

    new.stop()
    new.environment["SECRET_KEY"] = old_service.service.environment["SECRET_KEY"]
    new.start()
    assert remembers(new.url, cookies, invitation) == (True, True)
    with connected(new) as api:
        assert api.get("/stored/agents").status == 200


def remembers(url: str, cookies: dict[str, str], invitation: str) -> tuple[bool, bool]:
    """Say whether an old session and an old invitation hold."""
    with visiting(url) as ada, visiting(url) as lena:
        ada.cookies.update(cookies)
        return is_signed_in(ada), "Welcome, lena" in lena.get(invitation, follow_redirects=True).text


@pytest.mark.skipif(not SQLITE, reason="it is about SQLite's own command")
def test_sqlite_is_not_backed_up_over_a_back_up_nor_out_of_nothing(tmp_path: Path) -> None:
    with installation(tmp_path / "empty") as empty:
        [command] = commands(ADMINISTRATION, "Back up SQLite")
        with pytest.raises(AssertionError, match="unable to open database file"):
            empty.run(command)
        empty.service.manage("migrate", "--verbosity", "0")
        fixed = command.replace("$(date -u +%Y%m%dT%H%M%SZ)", "twice")
        assert fixed != command
        empty.run(fixed)
        with pytest.raises(AssertionError, match="already exists"):
            empty.run(fixed)
