"""The jobs of the editor itself; most of them delete rows that are no longer needed."""

from __future__ import annotations

import datetime
from collections.abc import Hashable
from typing import Final

from django.apps import apps
from django.conf import settings
from django.utils import timezone

from versioning.capabilities import session_store
from versioning.conf import get_editor
from versioning.domain.access import Caller, Role, Via
from versioning.domain.events import Reach, Target
from versioning.domain.overrides import IN_CODE, CodeAgent
from versioning.editor import Editor
from versioning.models import (
    Agent,
    IdempotentRequest,
    KnownOverride,
    LockKey,
    SignInAttempts,
    ThrottleWindow,
    Visibility,
    WorkerHeartbeat,
    events,
    text_search,
)
from versioning.sources.overrides import override_digest
from versioning.worker.jobs import Periodic

WATCH_SECONDS: Final = 2.0
"""Seconds between checks, so that a change is in the log within five seconds."""

FILE: Final = Caller(everywhere=Role.ADMIN, via=Via.FILE)
"""The unknown author of such a change."""


class OverrideWatch:
    """Compares the override files with their states in the log.

    Each worker checks independently, usually only the times of the files. A file that differs is checked
    again with its known state locked, so that a change is logged once even if several workers see it. The
    editor records its own publications before the file is written.
    """

    def __init__(self) -> None:
        self._editor: Editor | None = None
        self._looked_at: dict[str, Hashable] = {}
        """The fingerprints of the files that agreed with the log."""

    def look(self) -> None:
        """Log the changes; do nothing if overrides are stored in the database."""
        editor = get_editor()
        if editor is not self._editor:
            self._editor, self._looked_at = editor, {}
        if editor.source != "code":
            return
        marks = {agent.id: editor.files.files.fingerprint(agent.id) for agent in editor.code.agents.values()}
        looked_at = self._looked_at
        changed = [key for key, mark in marks.items() if mark is None or looked_at.get(key) != mark]
        if not changed:
            return
        digests = dict(KnownOverride.objects.filter(pk__in=changed).values_list("pk", "digest"))
        for agent_id in changed:
            agent = editor.code.agents[agent_id]
            if digests.get(agent_id) != _digest(editor, agent):
                _note_change(editor, agent)
            looked_at[agent_id] = marks[agent_id]


def _digest(editor: Editor, agent: CodeAgent) -> str:
    """Return the digest of the content of an agent's file; empty if it publishes nothing."""
    published = editor.files.current(agent)
    return published.digest if published else ""


def _note_change(editor: Editor, agent: CodeAgent) -> None:
    """Log that a file differs from its known state, if that is still true under the lock."""
    with events.transaction():
        KnownOverride.objects.bulk_create([_first_known(editor, agent)], ignore_conflicts=True)
        override = KnownOverride.objects.select_for_update().get(pk=agent.id)
        with editor.files.files.publications_ended():
            digest = _digest(editor, agent)
            version = editor.agent.find(agent.id).active if digest else None
            if digest != _digest(editor, agent) or digest == override.digest:
                return  # it is being written and checked again soon, or another worker has logged it
        previous_id = override.version_id
        if previous_id.startswith("file-"):  # it may have been committed in the meantime
            commits = (commit for commit in editor.files.versions(agent) if commit.digest == override.digest)
            previous_id = next((commit.version_id for commit in commits), previous_id)
        events.record(
            "agent.published" if digest else "agent.unpublished",
            by=FILE,
            workspace_id=editor.code.workspace_id,
            resource=_target(editor, agent),
            version=version,
            previous_version_id=previous_id,
            noticedLate=True,
        )
        KnownOverride.objects.note(agent.id, digest, version)


def _first_known(editor: Editor, agent: CodeAgent) -> KnownOverride:
    """Return the known state of a file that was never checked: the editor's last publication."""
    row = Agent.objects.filter(pk=agent.id, workspace=editor.code.workspace_id).first()
    version = row.active_version if row else None
    if version is None:
        return KnownOverride(agent_id=agent.id)
    digest = override_digest(agent, version.config)
    return KnownOverride(agent_id=agent.id, digest=digest, version_id=version.version_id)


def _target(editor: Editor, agent: CodeAgent) -> Target:
    is_public = agent.visibility == Visibility.PUBLIC
    return Target(
        kind="agent",
        id=agent.id,
        identity=IN_CODE,
        workspace_id=editor.code.workspace_id,
        # The agent itself exists with or without an override.
        reach=Reach.EVERYBODY if is_public else Reach.MEMBERS,
    )


SECONDS: Final = 3600.0
HEARTBEATS: Final = datetime.timedelta(days=7)
"""How long heartbeats are stored; the newest one is never deleted."""


def remove_waste() -> None:
    """Delete expired counters, expired sessions and old heartbeats."""
    SignInAttempts.objects.delete_expired()
    ThrottleWindow.objects.delete_expired(settings.EDITOR_THROTTLE)
    WorkerHeartbeat.objects.delete_expired(HEARTBEATS)
    IdempotentRequest.objects.delete_expired()
    if apps.is_installed("django.contrib.sessions"):
        session_store().clear_expired()


def prune_log() -> None:
    """Delete log entries older than `EDITOR_KEEP_EVENTS` days; 0 keeps all of them."""
    if settings.EDITOR_KEEP_EVENTS:
        events.prune(timezone.now() - datetime.timedelta(days=settings.EDITOR_KEEP_EVENTS))


JOBS: Final = (
    Periodic(
        name="override files",
        run=OverrideWatch().look,
        every=WATCH_SECONDS,
        in_each_worker=True,
    ),
    Periodic(name="waste", run=remove_waste, every=SECONDS),
    Periodic(name="old events", run=prune_log, every=SECONDS),
    Periodic(name="keys", run=LockKey.keep_up, every=SECONDS),
    Periodic(name="search index", run=text_search.follow, every=text_search.SECONDS, in_each_worker=True),
)
