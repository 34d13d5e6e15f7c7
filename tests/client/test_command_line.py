"""The command line: get, pull, push and diff, and the exit codes that scripts rely on."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from editor_client import Client, NotFound
from editor_client.__main__ import main

from tests.support import fork_server
from tests.support.relay import relay_to
from tests.support.service import Service

pytestmark = pytest.mark.processes

DONE, DIFFERENT, FAILED = 0, 1, 2


@dataclass
class Outcome:
    """The result of a command."""

    code: int
    out: str
    err: str


@dataclass
class Desk:
    """A person with a folder, their own workspace on the real server, and the command line."""

    client: Client
    workspace: str
    folder: Path
    run: Callable[..., Outcome]

    def path(self, resource_id: str, kind: str = "agents") -> Path:
        """Return the file of a resource."""
        return self.folder / kind / f"{quote(resource_id, safe='')}.json"

    def edit(self, resource_id: str, kind: str = "agents", **changes: Any) -> None:
        """Edit a file; None removes a field."""
        path = self.path(resource_id, kind)
        config = {**json.loads(path.read_text()), **changes}
        path.write_text(json.dumps({name: value for name, value in config.items() if value is not None}))

    def does(self, command: str, *more: str) -> Outcome:
        """Pull, push or diff the folder."""
        return self.run(command, str(self.folder), "--workspace", self.workspace, *more)

    def agent(self, resource_id: str, text: str = "one", **more: Any) -> Any:
        fields = {"name": "Writer", "instructions": text, "auto_publish": True, **more}
        self.client.create_stored_agent(id=resource_id, workspace_id=self.workspace, **fields)
        return self.client.get_stored_agent(resource_id)

    def everything(self) -> dict[str, tuple[str | None, str | None]]:
        """Return the pointers of all that there is in the workspace."""
        asked: Any = {"workspace_id": self.workspace, "status": "all"}
        found = [*self.client.iter_stored_agents(**asked), *self.client.iter_stored_prompt_blocks(**asked)]
        return {
            f"{one.id} {type(one).__name__}": (one.active_version_id, one.latest_version_id) for one in found
        }


MANY_WORKSPACES = """
from django.contrib.auth.models import User
from versioning.testing import MembershipFactory
tester = User.objects.get(username="tester")
for number in range(100):
    MembershipFactory(user=tester, workspace__id=f"desk-{number}", role="admin")
"""


@pytest.fixture(scope="session")  # as long as the service: a process can come back to this module
def workspaces(live_service: Service) -> Iterator[str]:
    """More workspaces than there are tests here, created together because each command takes seconds."""
    live_service.manage("shell", "-c", MANY_WORKSPACES)
    return (f"desk-{number}" for number in range(100))


@pytest.fixture(scope="module")
def key(live_service: Service) -> str:
    """A key that reaches all workspaces of the tester."""
    return live_service.manage("create_api_key", "tester")


@pytest.fixture
def run(live_service: Service, key: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command as the tester."""

    def run(*arguments: str) -> Outcome:
        code = main(["--url", live_service.url, "--api-key", key, *arguments])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def desk(
    live_service: Service, key: str, workspaces: Iterator[str], tmp_path: Path, run: Callable[..., Outcome]
) -> Iterator[Desk]:
    """A separate workspace with two agents and a block, all published."""
    workspace = next(workspaces)
    with Client(live_service.url, api_key=key) as client:
        desk = Desk(client, workspace, tmp_path / "editor", run)
        client.create_stored_prompt_block(
            id=f"{workspace}-tone", workspace_id=workspace, name="Tone", content="kind", auto_publish=True
        )
        block = {"type": "prompt_block_ref", "id": f"{workspace}-tone"}
        desk.agent(f"{workspace}-lead", [block, {"type": "text", "content": "Lead."}], description="Leads.")
        desk.agent(f"{workspace}/team ü%", "one", memory={"z": 1.0, "a": [None, True]})
        yield desk


@pytest.fixture
def writer(desk: Desk) -> Any:
    """The agent with an unusual id."""
    return desk.client.get_stored_agent(f"{desk.workspace}/team ü%")


class TestRoundTrip:
    """Pull, edit, push and diff change only the edited fields."""

    def test_pull_writes_the_servers_exports_and_then_nothing_differs(self, desk: Desk, writer: Any) -> None:
        before = desk.everything()
        assert desk.does("pull").code == DONE
        files = sorted(path for path in desk.folder.rglob("*.json") if path.name != ".editor.json")
        path = desk.folder / writer.export().file_name
        assert len(files) == 3 and path in files
        assert path.read_bytes() == writer.export().content.encode()
        desk.edit(writer.id)  # another layout of the same
        (desk.folder / "agents" / "README.md").write_text("hello")
        (desk.folder / "notes.json").write_text("hello")
        for command in (["diff"], ["push"], ["push", "--publish"], ["pull"]):
            assert desk.does(*command) == Outcome(DONE, "", "")
        assert desk.everything() == before

    def test_an_edit_becomes_a_draft_of_exactly_that_edit(self, desk: Desk, writer: Any) -> None:
        desk.does("pull")
        before = desk.everything()
        desk.edit(writer.id, instructions="two", memory=None)
        differing = desk.does("diff")
        assert differing.code == DIFFERENT
        assert '-  "instructions": "one"' in differing.out and '+  "instructions": "two"' in differing.out
        assert desk.everything() == before
        assert desk.does("push", "-m", "Shorter").code == DONE
        newest = writer.list_versions().versions[0]
        assert (sorted(newest.changed_fields), newest.change_message) == (
            ["instructions", "memory"],
            "Shorter",
        )
        assert newest.config == json.loads(desk.path(writer.id).read_text())
        assert writer.details().instructions == "one"
        changed = {name for name, pointers in desk.everything().items() if pointers != before[name]}
        assert changed == {f"{writer.id} AgentRecord"}

    def test_a_push_can_publish_immediately_or_later(self, desk: Desk, writer: Any) -> None:
        desk.does("pull")
        desk.edit(writer.id, instructions="two")
        assert desk.does("push", "--publish").code == DONE
        assert (writer.details().instructions, writer.details().has_draft) == ("two", False)
        assert desk.does("diff").out == ""
        desk.edit(writer.id, instructions="three", memory=None)
        desk.does("push")
        draft, before = writer.details().latest_version_id, desk.everything()
        for command in ("diff", "push", "pull"):
            assert desk.does(command).code == DONE
        assert desk.everything() == before
        assert json.loads(desk.path(writer.id).read_text())["instructions"] == "three"
        assert desk.does("push", "--publish").code == DONE
        assert (writer.details().active_version_id, writer.details().memory) == (draft, None)
        assert writer.list_versions().total == 3

    def test_new_files_become_drafts_and_missing_files_delete_nothing(self, desk: Desk, writer: Any) -> None:
        desk.does("pull")
        desk.path(writer.id).unlink()
        new = f"{desk.workspace}-new"
        for kind, text in (("agents", "instructions"), ("prompt-blocks", "content")):
            desk.path(new, kind).write_text(json.dumps({"name": "New", text: "new", "description": None}))
        assert desk.does("diff").code == DIFFERENT
        assert desk.does("push", "-m", "Made").code == DONE
        made = desk.client.get_stored_agent(new)
        assert (made.details(status="draft").status, made.details().workspace_id) == ("draft", desk.workspace)
        assert made.list_versions().versions[0].change_message == "Made"
        assert desk.client.get_stored_prompt_block(new).details(status="draft").content == "new"
        assert writer.details().instructions == "one"
        assert desk.does("pull").code == DONE
        assert desk.path(new).exists() and desk.path(writer.id).exists()
        assert desk.does("push", "--publish").code == DONE
        assert made.details().status == "published"
        assert desk.does("diff").out == ""

    def test_drafts_of_other_people_are_not_pulled_and_stay_in_the_history(
        self, desk: Desk, writer: Any
    ) -> None:
        writer.update(instructions="of another")
        before = desk.everything()
        desk.does("pull")
        assert json.loads(desk.path(writer.id).read_text())["instructions"] == "one"
        assert desk.does("diff").code == DONE
        assert desk.does("push", "--publish").code == DONE
        assert desk.everything() == before
        desk.edit(writer.id, instructions="mine", bogus=1)
        outcome = desk.does("push")
        assert outcome.code == FAILED and "bogus" in outcome.err
        desk.edit(writer.id, bogus=None)
        outcome = desk.does("push")
        assert outcome.code == DONE and "history" in outcome.out
        assert writer.details(status="draft").config == json.loads(desk.path(writer.id).read_text())

    def test_an_override_of_a_code_defined_agent_is_a_file_like_any_other(
        self, live_service: Service, run: Callable[..., Outcome], tmp_path: Path
    ) -> None:
        path = tmp_path / "agents" / "supervisor.json"
        path.parent.mkdir()
        options = [str(tmp_path), "--workspace", "default"]
        with Client(live_service.url, api_key=live_service.key) as client:
            override = client.get_stored_agent("supervisor")
            try:
                for text, tools in (("first", {"order_status": {}}), ("second", None)):
                    config = {"instructions": text, **({"tools": tools} if tools else {})}
                    path.write_text(json.dumps(config))
                    assert run("push", *options, "--publish").code == DONE
                    assert client.get_agent("supervisor").details().instructions == text
                    assert override.export().config == config
                    assert "supervisor" not in run("diff", *options).out
            finally:
                override.delete()


class TestMeanwhile:
    """Changes by other people in the meantime are neither undone nor overwritten."""

    def test_a_publication_by_another_person_is_not_undone(self, desk: Desk, writer: Any) -> None:
        desk.does("pull")
        writer.update(instructions="of another", auto_publish=True)
        before = desk.everything()
        outcome = desk.does("push", "--publish")
        assert outcome.code == DONE and "left" in outcome.out
        assert desk.everything() == before
        assert desk.does("diff").code == DIFFERENT
        assert desk.does("pull").code == DONE
        assert json.loads(desk.path(writer.id).read_text())["instructions"] == "of another"
        assert desk.does("diff").code == DONE

    @pytest.mark.parametrize("published", [True, False])
    def test_a_file_that_both_sides_changed_is_a_conflict(
        self, desk: Desk, writer: Any, published: bool
    ) -> None:
        desk.does("pull")
        writer.update(description="of another", auto_publish=published)
        lead = desk.client.get_stored_agent(f"{desk.workspace}-lead")
        for resource_id in (writer.id, lead.id):
            desk.edit(resource_id, name="mine")
        mine = desk.path(writer.id).read_text()
        pointers = desk.everything()[f"{writer.id} AgentRecord"]
        outcome = desk.does("push")
        assert outcome.code == FAILED and desk.path(writer.id).name in outcome.err
        assert desk.everything()[f"{writer.id} AgentRecord"] == pointers
        assert lead.details(status="draft").name == "mine"
        assert desk.does("diff").code == DIFFERENT
        desk.does("pull")
        assert desk.path(writer.id).read_text() == mine

    def test_changes_made_before_the_connection_was_lost_are_reported_and_remembered(
        self, desk: Desk, writer: Any, live_service: Service, key: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with relay_to(live_service.url) as relay:
            options = ["--url", relay.url, "--api-key", key, "--workspace", desk.workspace]
            assert main(["pull", str(desk.folder), *options]) == DONE
            desk.edit(f"{desk.workspace}-tone", "prompt-blocks", content="mine")
            desk.edit(writer.id, instructions="mine")
            relay.cut_before(b"GET /api/stored/agents/")
            capsys.readouterr()
            assert main(["push", str(desk.folder), *options]) == FAILED
            said = capsys.readouterr()
        assert f"saved: prompt-blocks/{desk.workspace}-tone.json" in said.out and "error:" in said.err
        assert (
            desk.client.get_stored_prompt_block(f"{desk.workspace}-tone").details(status="draft").content
            == "mine"
        )

    def test_force_saves_the_file_and_keeps_the_history(self, desk: Desk, writer: Any) -> None:
        desk.does("pull")
        writer.update(description="of another")
        desk.edit(writer.id, instructions="mine")
        assert desk.does("push", "--force").code == DONE
        found = writer.details(status="draft")
        assert (found.instructions, found.description) == ("mine", None)
        assert [one.description for one in writer.iter_versions()] == [None, "of another", None]

    def test_an_edited_file_is_overwritten_only_with_force(self, desk: Desk, writer: Any) -> None:
        path = desk.path(writer.id)
        path.parent.mkdir(parents=True)
        path.write_text('{"name": "Mine", "instructions": "mine"}')
        outcome = desk.does("pull")  # it was never agreed on
        assert outcome.code == FAILED and "--force" in outcome.err
        assert json.loads(path.read_text())["name"] == "Mine"
        assert desk.does("pull", "--force").code == DONE
        desk.edit(writer.id, instructions="mine")
        kept = desk.does("pull")
        assert kept.code == DONE and "kept" in kept.out
        assert json.loads(path.read_text())["instructions"] == "mine"
        assert desk.does("pull", "--force").code == DONE
        assert json.loads(path.read_text())["instructions"] == "one"

    def test_the_file_of_an_unpublished_resource_is_removed_unless_edited(
        self, desk: Desk, writer: Any
    ) -> None:
        desk.does("pull")
        lead = desk.client.get_stored_agent(f"{desk.workspace}-lead")
        desk.edit(lead.id, name="mine")
        lead.delete()
        writer.delete()
        outcome = desk.does("pull")
        assert outcome.code == DONE and "removed" in outcome.out
        assert desk.path(lead.id).exists() and not desk.path(writer.id).exists()

    def test_a_deleted_resource_is_not_created_again(self, desk: Desk, writer: Any) -> None:
        desk.does("pull")
        writer.delete()
        outcome = desk.does("push")
        assert outcome.code == DONE and "left" in outcome.out
        desk.edit(writer.id, instructions="mine")
        assert desk.does("push").code == FAILED
        with pytest.raises(NotFound):
            writer.details(status="draft")
        assert desk.does("push", "--force").code == DONE
        assert writer.details(status="draft").instructions == "mine"

    def test_without_a_recorded_state_the_files_of_the_folder_are_authoritative(
        self, desk: Desk, writer: Any
    ) -> None:
        state = desk.folder / ".editor.json"
        for number in range(2):
            desk.does("pull", "--force")
            if number:
                state.write_text(state.read_text().replace(desk.client.address, "http://127.0.0.1:1/api"))
            else:
                state.unlink()
            writer.update(instructions=f"of another {number}", auto_publish=True)
            mine = json.loads(desk.path(writer.id).read_text())["instructions"]
            assert desk.does("diff").code == DIFFERENT
            assert desk.does("push").code == DONE
            assert writer.details(status="draft").instructions == mine


class TestFiles:
    """Valid and invalid files in the folder."""

    NAMES = ("a b.json", "a%2fb.json", "%61.json", "a%2F..%2Fb.json", "versions.json", "%ff.json", ".json")
    TEXTS = ("", "[]", '{"a": NaN}', '{"a": 1, "a": 2}', '{"visibility": "public"}', '{"id": "x"}')

    def test_a_file_that_cannot_be_pushed_is_refused_before_anything_is_saved(
        self, desk: Desk, writer: Any
    ) -> None:
        desk.does("pull")
        desk.edit(f"{desk.workspace}-tone", "prompt-blocks", content="mine")
        before = desk.everything()
        good = '{"name": "x", "instructions": "x"}'
        own = desk.path(writer.id)
        kept = own.read_text()
        cases = [(own.with_name(name), good) for name in self.NAMES] + [(own, text) for text in self.TEXTS]
        for path, text in cases:
            path.write_text(text)
            for command in ("push", "diff"):
                outcome = desk.does(command)
                assert outcome.code == FAILED and f"agents/{path.name}" in outcome.err
            if path == own:
                path.write_text(kept)
            else:
                path.unlink()
        (desk.folder / ".editor.json").write_text("{")
        outcome = desk.does("push")
        assert outcome.code == FAILED and ".editor.json" in outcome.err
        assert desk.everything() == before

    def test_a_missing_folder_is_not_created(self, desk: Desk) -> None:
        for command in ("push", "diff"):
            outcome = desk.does(command)
            assert outcome.code == FAILED and "is not a folder" in outcome.err
        assert not desk.folder.exists()


class TestGet:
    """One resource, as JSON."""

    def test_an_agent_is_printed_as_it_is_served(self, desk: Desk, writer: Any) -> None:
        outcome = desk.run("get", "agent", writer.id)
        assert (outcome.code, json.loads(outcome.out)["source"]) == (DONE, "stored")
        assert (
            outcome.out
            == json.dumps(json.loads(outcome.out), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        )

    def test_a_version_can_be_selected(self, desk: Desk, writer: Any) -> None:
        draft = writer.update(instructions="two").latest_version_id
        writer.set_label("tested", draft)
        for kind in ("agent", "stored-agent"):
            for selector in (["--status", "draft"], ["--version-id", draft], ["--label", "tested"]):
                outcome = desk.run("get", kind, writer.id, *selector)
                assert json.loads(outcome.out)["instructions"] == "two"
        block = desk.run("get", "prompt-block", f"{desk.workspace}-tone")
        assert json.loads(block.out)["content"] == "kind"
        outcome = desk.run("get", "agent", "not-there")
        assert (outcome.code, outcome.out) == (FAILED, "") and outcome.err.startswith("error: ")


class TestTheCommand:
    """The command as a script runs it."""

    def command(self, *arguments: str, **environment: str) -> Outcome:
        """Run the command in a separate process."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("EDITOR_")}
        done = fork_server.run("-m", "editor_client", *arguments, env={**inherited, **environment})
        return Outcome(done.returncode, done.stdout, done.stderr)

    def test_the_server_comes_from_options_or_the_environment(self, live_service: Service) -> None:
        environment = {"EDITOR_URL": live_service.url, "EDITOR_API_KEY": live_service.key}
        options = ["--url", live_service.url, "--api-key", live_service.key]
        assert self.command("get", "agent", "support", **environment).code == DONE
        assert self.command(*options, "get", "agent", "support").code == DONE
        assert self.command("get", "agent", "support", *options).code == DONE

    def test_an_invalid_command_is_explained(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for name in ("EDITOR_URL", "EDITOR_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        assert "usage:" in self.command("bogus").err
        for arguments in (
            [],
            ["get", "agent"],
            ["get", "tool", "x"],
            ["push"],
            ["get", "agent", "x"],
            ["get", "agent", "x", "--url", "127.0.0.1", "--api-key", "ek_x"],
        ):
            with pytest.raises(SystemExit) as raised:
                main(arguments)
            assert raised.value.code == FAILED and "usage:" in capsys.readouterr().err

    def test_an_unreachable_server_is_an_error(self, tmp_path: Path) -> None:
        outcome = self.command("pull", str(tmp_path), "--url", "http://127.0.0.1:9", "--api-key", "ek_x")
        assert outcome.code == FAILED and outcome.err.count("\n") == 1
        assert "Traceback" not in outcome.err


def test_a_file_may_begin_with_a_byte_order_mark(desk: Desk) -> None:
    desk.agent("marked")
    assert desk.does("pull").code == DONE
    path = desk.path("marked")
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert desk.does("diff").code == DONE
    config = {**json.loads(path.read_bytes().removeprefix(codecs.BOM_UTF8)), "description": "new"}
    path.write_bytes(codecs.BOM_UTF8 + json.dumps(config).encode())
    assert desk.does("diff").code == DIFFERENT
    assert desk.does("push").code == DONE
    assert desk.does("diff").code == DONE
