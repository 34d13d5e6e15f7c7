"""Concurrent changes of resources that refer to each other: which waits for which, without deadlocks."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connection, connections

from tests.support.api import PROMPT_BLOCKS, Kind
from versioning.domain.errors import InUse, Invalid, VersioningError
from versioning.domain.selectors import Status
from versioning.editor import Collection, Editor
from versioning.models import Agent, Workspace, events

pytestmark = pytest.mark.postgresql

PATIENCE = 20
"""Seconds after which a thread that waits for another one has hung."""

Act = Callable[[], object]


@pytest.fixture
def editor(committed_db: None) -> Editor:
    Workspace.objects.get_or_create(id="acme", defaults={"name": "Acme"})
    return Editor()


def collection(editor: Editor, kind: Kind) -> Collection[object]:
    return editor.prompt if kind is PROMPT_BLOCKS else editor.agent


def unpublished_lead(editor: Editor, kind: Kind) -> str:
    """Publish `helper`; save an agent `lead` that refers to it and return the id of its version."""
    collection(editor, kind).create(
        {"name": "Helper", kind.text: "words"}, id="helper", workspace="acme", publish=True
    )
    references = {
        "agents": {"instructions": "lead", "agents": {"helper": {}}},
        "prompt-blocks": {"instructions": [{"type": "prompt_block_ref", "id": "helper"}]},
    }
    used = references["prompt-blocks" if kind is PROMPT_BLOCKS else "agents"]
    made = editor.agent.create({"name": "Lead", **used}, id="lead", workspace="acme", publish=False)
    return made.version.version_id


def while_uncommitted(first: Act, second: Act) -> tuple[bool, VersioningError | None]:
    """Run the second in a thread before the first is committed; return whether it waited, and its refusal.

    The first is in a transaction of the log, which locks its position only when it ends.
    """
    refusals: list[VersioningError] = []

    def run() -> None:
        try:
            second()
        except VersioningError as refusal:
            refusals.append(refusal)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    with events.transaction():
        first()
        thread.start()
        waited = waits(thread)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    return waited, refusals[0] if refusals else None


def waits(thread: threading.Thread) -> bool:
    """Return True once a connection waits for a lock, False once the thread has ended."""
    while thread.is_alive():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            if cursor.fetchone()[0]:
                return True
        thread.join(0.02)
    return False


def test_a_deletion_waits_for_the_publication_of_a_reference_and_is_refused(
    editor: Editor, kind: Kind
) -> None:
    version_id = unpublished_lead(editor, kind)
    verbs = collection(editor, kind)
    waited, refusal = while_uncommitted(
        lambda: editor.agent.publish("lead", version_id), lambda: verbs.delete("helper", if_unused=True)
    )
    assert waited and isinstance(refusal, InUse)
    assert verbs.dependents("helper", status=Status.PUBLISHED).readable == [("lead", "Lead")]


def test_publishing_waits_for_the_deletion_of_its_reference(editor: Editor, kind: Kind) -> None:
    version_id = unpublished_lead(editor, kind)
    verbs = collection(editor, kind)
    waited, refusal = while_uncommitted(
        lambda: verbs.delete("helper", if_unused=True), lambda: editor.agent.publish("lead", version_id)
    )
    assert waited
    if kind is PROMPT_BLOCKS:  # an unknown sub-agent is no more than a warning
        assert isinstance(refusal, Invalid) and refusal.code == "unpublished_blocks"
        assert Agent.objects.get(pk="lead").active_version is None


def test_agents_that_refer_to_each_other_do_not_wait_for_each_other(editor: Editor) -> None:
    versions = {
        name: editor.agent.create(
            {"name": name, "instructions": name, "agents": {other: {}}},
            id=name,
            workspace="acme",
            publish=False,
        ).version.version_id
        for name, other in (("left", "right"), ("right", "left"))
    }
    waited, refusal = while_uncommitted(
        lambda: editor.agent.publish("left", versions["left"]),
        lambda: editor.agent.publish("right", versions["right"]),
    )
    assert not waited and refusal is None


def create_agent(editor: Editor) -> None:
    editor.agent.create({"name": "New", "instructions": "x"}, id="new", workspace="acme", publish=False)


def test_creating_an_agent_does_not_wait_for_administration_of_its_workspace(editor: Editor) -> None:
    waited, refusal = while_uncommitted(
        lambda: editor.workspace.rename("acme", "Another"), lambda: create_agent(editor)
    )
    assert not waited and refusal is None


def test_no_position_is_taken_before_waiting_for_a_referenced_row(editor: Editor) -> None:
    def change_under_a_lock() -> None:
        Workspace.objects.select_for_update().get(pk="acme")
        editor.workspace.rename("acme", "Another")

    waited, refusal = while_uncommitted(change_under_a_lock, lambda: create_agent(editor))
    assert waited and refusal is None
    assert [entry.type for entry in events.entries(0)][-2:] == ["workspace.updated", "agent.created"]
