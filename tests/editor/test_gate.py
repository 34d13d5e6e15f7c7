"""The gate: every way to publish asks it, and no code bypasses it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.apps import AppConfig, apps
from django.contrib.auth.models import User

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.doors import IN_PYTHON, IN_THE_STUDIO, OVER_HTTP, make_draft, verbs
from tests.support.override_files import Folder, define
from tests.support.people import command
from versioning.conf import get_editor
from versioning.domain.access import APPLICATION
from versioning.domain.errors import Forbidden, Invalid
from versioning.editor import gate
from versioning.editor.gate import (
    GateRequest,
    PublishRequest,
    TakeDownRequest,
    VisibilityRequest,
)
from versioning.models import Agent, AgentLabel, Event, PromptBlock, PromptBlockLabel, caller_for, events

pytestmark = pytest.mark.both_kinds

ROOT = Path(__file__).resolve().parents[2]
Draft = str


class Closed(Forbidden):
    """The refusal by the check of these tests."""

    code = "closed"


@pytest.fixture
def asked() -> Iterator[list[PublishRequest]]:
    """Close the gate, and collect the requests that reach it."""
    requests: list[PublishRequest] = []

    def refuse(request: PublishRequest) -> None:
        requests.append(request)
        raise Closed("The gate is closed.")

    closed = gate.Check(decide=gate.each(refuse))
    gate.register(closed)
    yield requests
    gate.unregister(closed)


def everything() -> list[Any]:
    """Return all stored rows of resources, and the length of the log."""
    models: list[Any] = [Agent, Agent.version_model, AgentLabel]
    models += [PromptBlock, PromptBlock.version_model, PromptBlockLabel]
    return [sorted(model.objects.values_list(), key=str) for model in models] + [Event.objects.count()]


@pytest.fixture
def draft(cast: Cast, kind: Kind) -> Draft:
    """A draft of a published resource, whose published version has a released label."""
    return make_draft(cast, kind)


def test_every_way_to_publish_over_the_api_asks_the_gate(
    cast: Cast, kind: Kind, draft: Draft, request: pytest.FixtureRequest
) -> None:
    before = everything()
    asked = request.getfixturevalue("asked")
    for name, door in OVER_HTTP.items():
        asked.clear()
        answer = door(cast, kind, draft, None)
        assert (answer.status, answer.code, len(asked)) == (403, "closed", 1), name
        assert (asked[0].label is not None) == ("label" in name)
    assert everything() == before


def test_every_way_to_publish_in_python_asks_the_gate(
    cast: Cast, kind: Kind, draft: Draft, asked: Any
) -> None:
    before = everything()
    for door in IN_PYTHON.values():
        with pytest.raises(Closed):
            door(kind, draft, None)
    assert everything() == before


def test_every_way_to_publish_in_the_studio_asks_the_gate(
    cast: Cast, kind: Kind, draft: Draft, asked: Any
) -> None:
    before = everything()
    for name, door in IN_THE_STUDIO.items():
        asked.clear()
        # The report of an action on many resources shows the refusal for each.
        assert door(kind, draft, None).status == (200 if "many" in name else 403), name
        assert asked  # also by the page, which shows the reason
    assert everything() == before


def test_publishing_into_an_override_file_asks_the_gate(
    cast: Cast, folder: Folder, settings: Any, request: pytest.FixtureRequest
) -> None:
    define(settings, folder.root)
    editor = get_editor().agent
    draft = editor.update("answers", instructions="two", publish=False)
    folder.put({"instructions": "by hand"})
    before = everything()
    request.getfixturevalue("asked")
    with pytest.raises(Closed):
        editor.publish("answers", draft.version.version_id)
    with pytest.raises(Closed):
        editor.update("answers", instructions="three")
    assert (everything(), folder.config()) == (before, {"instructions": "by hand"})


def test_importing_overrides_asks_the_gate(cast: Cast, folder: Folder, settings: Any, asked: Any) -> None:
    define(settings, folder.root, source="database")
    folder.put({"instructions": "by hand"})
    before = everything()
    with pytest.raises(Exception, match="refused"):
        command("import_overrides")
    assert (everything(), len(asked)) == (before, 1)


def test_the_gate_asks_for_rights_then_blocks_then_the_checks(
    cast: Cast, request: pytest.FixtureRequest
) -> None:
    block = PROMPT_BLOCKS.make(cast.alice, "tone")
    AGENTS.make(cast.alice, "writer", [{"type": "prompt_block_ref", "id": "tone"}])
    agent, code = Agent.objects.get(pk="writer"), get_editor().code

    def pass_as(name: str, label: str | None = None) -> None:
        caller = caller_for(User.objects.get(username=name))
        asked = PublishRequest(resource=agent, version=agent.latest, caller=caller, label=label)
        with events.transaction():
            gate.check(asked, code)

    with pytest.raises(Forbidden, match="publish"):
        pass_as("edgar")
    with pytest.raises(Invalid, match="tone"):
        pass_as("paula")
    PROMPT_BLOCKS.publish(cast.alice, "tone", block["latestVersionId"])
    pass_as("paula")
    AGENTS.publish(cast.alice, "writer", str(agent.latest_version_id))
    request.getfixturevalue("asked")
    with pytest.raises(Closed):
        pass_as("paula")
    agent.refresh_from_db()
    pass_as("paula")  # the version is live already
    with pytest.raises(Closed):
        pass_as("paula", label="beta")


def test_checks_lock_only_for_a_change_and_decide_lists_at_once(
    cast: Cast, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[bool]] = []

    def decide(requests: Sequence[GateRequest]) -> list[gate.Decision]:
        asked.append([one.for_update for one in requests])
        closed = Closed("The gate is closed.")
        return [gate.Decision(closed if one.resource.pk == "closed" else None) for one in requests]

    for name in ("closed", "open", "other"):
        kind.make(cast.alice, name)
    check = gate.Check(decide=decide, decide_take_down=decide, decide_visibility=decide)
    monkeypatch.setattr(gate, "_registered", [check])
    closed, opened, other = verbs(kind).model.objects.order_by("pk")
    code = get_editor().code
    publishing = [
        PublishRequest(resource=one, version=one.latest, caller=APPLICATION) for one in (closed, opened)
    ]
    taking_down = [TakeDownRequest(resource=one, caller=APPLICATION) for one in (other, closed)]
    mixed = [taking_down[0], *publishing, taking_down[1]]
    errors = gate.refusals(mixed, code)
    assert [isinstance(one, Closed) for one in errors] == [False, True, False, True]
    assert asked == [[False, False], [False, False]]  # those to publish, and those to take down

    asked.clear()
    with events.transaction():
        assert gate.check(publishing[1], code)
        gate.check_take_down(taking_down[0])
        gate.check_visibility(VisibilityRequest(resource=other, caller=APPLICATION, visibility="public"))
        for act, request in (
            (partial(gate.check, code=code), publishing[0]),
            (gate.check_take_down, taking_down[1]),
        ):
            with pytest.raises(Closed):
                act(request)
    assert asked == [[True]] * 5


def test_steps_run_only_when_all_checks_let_a_version_pass(
    cast: Cast, kind: Kind, draft: Draft, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def note(name: str) -> gate.Check:
        return gate.Check(decide=gate.each(lambda request: partial(done.append, name)))

    def refuse(request: PublishRequest) -> None:
        raise Closed("The gate is closed.")

    url = kind.url("writer", "versions", draft, "activate")
    monkeypatch.setattr(gate, "_registered", [note("first"), gate.Check(decide=gate.each(refuse))])
    assert (cast.alice.post(url).code, done) == ("closed", [])
    monkeypatch.setattr(gate, "_registered", [note("first"), note("second")])
    assert (cast.alice.post(url).status, done) == (200, ["first", "second"])


# Code that bypasses the gate

POINTERS = {"active_version", "active_version_id", "released"}
MOVERS = {"activate", "set_active", "_move"}
WRITES = {"create", "update", "update_or_create", "get_or_create", "bulk_create", "bulk_update", "setattr"}

BEHIND_THE_GATE = {
    # They move a pointer on behalf of their callers.
    ("models/versioned.py", "VersionedResource.activate"),
    ("editor/backends/rows.py", "Rows.set_active"),
    ("editor/backends/override_files.py", "OverrideFiles.set_active"),
    # Serves nothing.
    ("editor/locking.py", "Change.deactivate"),
    # Changes a copy, which is only used for a question.
    ("capabilities/schedules/judging.py", "_with_live"),
}
ASKING = {("editor/locking.py", "Change.activate"), ("editor/labelling.py", "label")}
CALLING = {  # `Change.activate`, which asks the gate
    ("editor/saving.py", "publish"),
    ("editor/saving.py", "_insert"),
    ("editor/saving.py", "edit"),
    ("editor/saving.py", "edit_live"),
    ("capabilities/releases/verbs.py", "_publish_items"),
    ("capabilities/schedules/running.py", "_move_resource"),
    ("capabilities/rollouts/verbs.py", "complete"),
}


def functions(path: Path) -> Iterator[tuple[str, ast.AST]]:
    """Yield the functions of a module with their names, methods under those of their classes."""
    tree = ast.parse(path.read_text())
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in inner:
            yield f"{prefix}{one.name}" if isinstance(one, ast.FunctionDef) else f"{prefix}…", one


def moves_a_pointer(node: ast.AST) -> bool:
    """Return whether code writes to one of the fields, or calls a function that does."""
    for inner in ast.walk(node):
        targets: list[ast.expr] = inner.targets if isinstance(inner, ast.Assign) else []
        if isinstance(inner, ast.AugAssign | ast.AnnAssign):
            targets = [inner.target]
        flat = [found for target in targets for found in ast.walk(target) if isinstance(found, ast.Attribute)]
        if any(isinstance(found.ctx, ast.Store) and found.attr in POINTERS for found in flat):
            return True
        if isinstance(inner, ast.Call) and _call_moves(inner):
            return True
    return False


def _call_moves(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in MOVERS:
        return ast.unparse(call.func) != "timezone.activate"  # Django's, of time zones
    named = {keyword.arg for keyword in call.keywords}
    return name in WRITES and not POINTERS.isdisjoint(
        named | {one.value for one in ast.walk(call) if isinstance(one, ast.Constant)}
    )


def is_of_the_project(app: AppConfig) -> bool:
    return Path(app.path).is_relative_to(ROOT) and ".venv" not in app.path


def test_no_code_outside_the_gate_moves_a_pointer_or_releases_a_label() -> None:
    installed = [Path(app.path).relative_to(ROOT) for app in apps.get_app_configs() if is_of_the_project(app)]
    assert {"versioning", "studio", "capabilities/releases", "capabilities/schedules"} <= {
        str(folder) for folder in installed
    }
    folders = [ROOT / folder for folder in (*installed, "editor_project")]
    named = re.compile("|".join(POINTERS | MOVERS))
    paths = [
        path
        for folder in folders
        for path in folder.rglob("*.py")
        if "migrations" not in path.parts and named.search(path.read_text())
    ]
    found = {
        (str(path.relative_to(ROOT)).removeprefix("versioning/"), name)
        for path in paths
        for name, node in functions(path)
        if moves_a_pointer(node)
    }
    assert found == BEHIND_THE_GATE | ASKING | CALLING
    asking = {
        ("editor/" + path.name, name)
        for path in (ROOT / "versioning/editor").glob("*.py")
        if "gate.check(" in path.read_text()
        for name, node in functions(path)
        if "gate.check(" in ast.unparse(node)
    }
    assert asking == ASKING
