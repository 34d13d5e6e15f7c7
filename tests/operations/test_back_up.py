"""A back-up of a working server, by the commands of the page, restored as if on another machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.installation import SQLITE, Installation, installation
from tests.support.pages import GUIDES, commands
from tests.support.remote import RemoteApi, connected
from tests.support.studio import visiting
from tests.support.writing import DELICATE, Record, history, writing

BACK_UP = GUIDES / "back-up.md"
SAVES_BEFORE, SAVES_AFTER = 30, 12
PUBLISHING = "published-at-once"
BUSY = [PUBLISHING, "left-as-drafts"]
"""The agents that are saved meanwhile."""
PASSWORD = "a long password"
PEOPLE = f"""
from django.contrib.auth.models import User
User.objects.create_superuser('ada', password={PASSWORD!r})
from studio.workspaces.views import invitation_address
from versioning.conf import get_editor
from versioning.domain.access import Role
_, secret = get_editor().invitation.invite('default', 'lena', Role.VIEWER)
print(invitation_address(secret))
"""


@dataclass(frozen=True)
class Restored:
    """The restored installation, and facts from before."""

    old: Installation
    new: Installation
    acknowledged: list[Record]
    """What the server had said is saved when the back-up began."""
    cookies: dict[str, str]
    """Of a person who was signed in."""
    invitation: str
    """A link that was not followed."""
    epoch: str
    """Of the log that was backed up."""


@pytest.fixture(scope="module")
def restored_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restored]:
    """A busy server, backed up, killed, and restored in another folder under another secret."""
    folder = tmp_path_factory.mktemp("back-up")
    with (
        installation(folder / "old", is_set_up=True, SECRET_KEY="the old secret") as old,
        installation(folder / "elsewhere/new", SECRET_KEY="the new secret") as new,
    ):
        invitation = set_up(old)
        with visiting(old.service.url) as ada:
            assert ada.sign_in("ada", PASSWORD)
            assert ada.is_signed_in
            cookies = dict(ada.http.cookies)
        acknowledged = back_up_while_saving(old)
        with connected(old.service) as api:
            epoch = api.get("/events", after="now").body["epoch"]
        restore(old, new)
        yield Restored(old, new, acknowledged, cookies, invitation, epoch)


def set_up(old: Installation) -> str:
    """Make the data to back up: ada is a superuser, two agents and a block are published, lena is invited.

    Returns her invitation.
    """
    invitation = old.python(PEOPLE)
    old.service.start()
    with connected(old.service) as api:
        for resource_id in BUSY:
            first = AGENTS.make(api, resource_id, "first words", autoPublish=True)["latestVersionId"]
            label = api.put(AGENTS.url(resource_id, "labels", "first"), {"versionId": first})
            assert label.status == 200
        PROMPT_BLOCKS.make(api, "tone", "Be brief.", autoPublish=True)
    return invitation


def back_up_while_saving(old: Installation) -> list[Record]:
    """Back up during acknowledged saves; return the answers acknowledged before."""

    def save(api: RemoteApi, writer: int, turn: int) -> Record:
        text = f"{DELICATE}{writer}/{turn}"
        resource_id = BUSY[writer % 2]
        return AGENTS.save(api, resource_id, text, autoPublish=resource_id == PUBLISHING)

    with writing(old.service, save) as acknowledged:
        acknowledged.wait_for(SAVES_BEFORE)
        before = list(acknowledged.records)
        old.run(*commands(BACK_UP, "Back up"))
        acknowledged.wait_for_more(SAVES_AFTER)
        [backup] = (old.folder / "backups").iterdir()
        with pytest.raises(AssertionError, match="is in use"):
            old.run(*commands(BACK_UP, "Restore"), BACKUP=str(backup))
    return before


def restore(old: Installation, new: Installation) -> None:
    """Copy the only back-up and restore it, over the leftovers of a crash."""
    old.service.kill()
    if SQLITE:
        shutil.copytree(old.folder / "var", new.folder / "var", dirs_exist_ok=True)
    [backup] = (old.folder / "backups").iterdir()
    shutil.copy(backup, new.folder / "carried-over")
    new.run(*commands(BACK_UP, "Restore"), BACKUP="carried-over")
    new.service.key = old.service.key
    new.service.start()


@pytest.mark.database
@pytest.mark.parametrize("resource_id", BUSY)
def test_a_back_up_contains_every_save_acknowledged_before(
    restored_service: Restored, resource_id: str
) -> None:
    with connected(restored_service.new.service) as api:
        versions = history(api, AGENTS, resource_id)
        record = api.get(AGENTS.url(resource_id), status="draft").body
        served = api.get(f"/agents/{resource_id}").body
        labelled = api.get(AGENTS.url(resource_id), label="first").body
    saved = {version["id"]: version["instructions"] for version in versions}
    acknowledged = [record for record in restored_service.acknowledged if record["id"] == resource_id]
    assert acknowledged
    assert all(saved[answer["latestVersionId"]] == answer["instructions"] for answer in acknowledged)
    # Of one moment: no number is missing, and the pointers are those of the last save in it.
    assert [version["versionNumber"] for version in versions] == list(range(1, len(versions) + 1))
    assert record["latestVersionId"] == versions[-1]["id"]
    published = versions[-1 if resource_id == PUBLISHING else 0]
    assert served["resolvedVersionId"] == record["activeVersionId"] == published["id"]
    assert served["instructions"] == published["instructions"]
    assert labelled["instructions"] == "first words"


def test_work_continues_after_a_restore(restored_service: Restored, kind: Kind) -> None:
    resource_id = BUSY[0] if kind is AGENTS else "tone"
    with connected(restored_service.new.service) as api:
        newest = kind.versions(api, resource_id)[0]["versionNumber"]
        kind.save(api, resource_id, "after the restore", autoPublish=True)
        assert kind.versions(api, resource_id)[0]["versionNumber"] == newest + 1
        assert api.get(kind.url(resource_id)).body[kind.text] == "after the restore"


def test_another_secret_key_signs_people_out_and_passwords_remain_valid(restored_service: Restored) -> None:
    new = restored_service.new.service
    assert remembered(restored_service) == {"key": True, "session": False, "invitation": True}
    with visiting(new.url) as ada:
        assert not ada.sign_in("ada", "another password")
        assert ada.sign_in("ada", PASSWORD)

    new.stop()
    new.environment["SECRET_KEY"] = restored_service.old.service.environment["SECRET_KEY"]
    new.start()
    assert remembered(restored_service) == {"key": True, "session": True, "invitation": True}


def remembered(restored: Restored) -> dict[str, bool]:
    """Return which of the secrets that people hold are still valid."""
    new = restored.new.service
    with visiting(new.url) as ada, visiting(new.url) as lena, connected(new) as robot:
        ada.http.cookies.update(restored.cookies)
        page = lena.get(restored.invitation, follow=True).markup
        return {
            "key": robot.get("/stored/agents").status == 200,
            "session": ada.is_signed_in,
            "invitation": "Welcome, lena" in page,
        }


def test_followers_learn_that_the_log_was_restored(restored_service: Restored) -> None:
    with connected(restored_service.new.service) as api:
        log = api.get("/events", after="now").body
        assert log["epoch"] and log["epoch"] != restored_service.epoch
        refused = api.get("/events", after=1, epoch=restored_service.epoch)
        assert (refused.status, refused.code) == (410, "cursor_ahead")


def test_a_restore_ends_sessions_and_revokes_keys_if_it_is_told_to(restored_service: Restored) -> None:
    """The last test of this module, because it restores once more."""
    new = restored_service.new
    new.service.stop()
    new.service.environment["SECRET_KEY"] = restored_service.old.service.environment["SECRET_KEY"]
    [block] = commands(BACK_UP, "End sessions and revoke keys")
    told = new.run(block.replace("2026-11-29", "9999-11-29"), BACKUP="carried-over")
    assert "Sessions ended: 1." in told and "Keys revoked: 1." in told
    new.service.start()
    assert remembered(restored_service) == {"key": False, "session": False, "invitation": True}
