"""An installation beside its oracle: people who act, what applications read, and what the log tells."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.experiments.models import Cell
from capabilities.evaluation.experiments.running import JOBS
from capabilities.schedules import running
from capabilities.schedules.models import Schedule
from tests.simulation.oracle import ADMIN, APPLICATION, EDITOR, PUBLISHER, VIEWER, Oracle
from tests.simulation.records import DRAFTS, Config, Key, Resource, sound
from versioning.conf import get_editor
from versioning.domain import access
from versioning.domain.access import Role
from versioning.domain.errors import Forbidden, NotFound, Unauthorized, VersioningError
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.selectors import Selector
from versioning.models import ApiKey, Event, Membership, Workspace, log_position
from versioning.serving.followed_log import log
from versioning.worker.running import Worker

T = TypeVar("T")
AGENT, BLOCK, SCORER = "agent", "promptBlock", "scorer"
HOMES: Final = ("acme", "beta")
ROLES: Final = {VIEWER: Role.VIEWER, EDITOR: Role.EDITOR, PUBLISHER: Role.PUBLISHER, ADMIN: Role.ADMIN}
CAST: Final = {
    ("alice", "acme"): ADMIN,
    ("alice", "beta"): ADMIN,
    ("paula", "acme"): PUBLISHER,
    ("paula", "beta"): VIEWER,
    ("peter", "acme"): PUBLISHER,
    ("edgar", "acme"): EDITOR,
    ("bert", "beta"): PUBLISHER,
    ("robot", "acme"): ADMIN,
    ("vera", "acme"): VIEWER,
    ("vito", "beta"): VIEWER,
}
ROBOT, KEY, STRANGER = "robot", "key", "stranger"
READERS: Final = ("vera", "vito", STRANGER)
"""They keep their roles, and may never read a draft."""
USERS: Final = ("ada", "bob")
"""In request contexts: a small rollout gives them different arms."""
LABEL: Final = "beta"
REFUSALS: Final = {
    "forbidden": "rights",
    "key_scope": "rights",
    "not_found": "rights",
    "unauthorized": "rights",
    "unpublished_blocks": "blocks",
    "review_required": "review",
    "rollout_running": "rollout",
    "evaluation_required": "gate",
    "release_blocked": "blocked",
}


class World:
    """Two workspaces, their people, a key, and a dataset, in a transaction that is rolled back."""

    def __init__(self) -> None:
        self._atomic = transaction.atomic()
        self._atomic.__enter__()
        log.forget()
        log_position.close()
        self.editor = get_editor()
        self.oracle = Oracle(CAST, {ROBOT})
        self.items: list[str] = []
        self._position = self._turn = 0
        self._told: dict[Key, dict[str, Any]] = {}
        try:
            self._make_people()
        except BaseException:
            self.end()
            raise

    def _make_people(self) -> None:
        Workspace.objects.bulk_create(Workspace(id=home, name=home) for home in HOMES)
        names = {STRANGER, *(name for name, _ in CAST)}
        users = User.objects.bulk_create(User(username=name) for name in names)
        self.people = {one.username: one for one in users}
        Membership.objects.bulk_create(
            Membership(user=self.people[name], workspace_id=home, role=ROLES[role], is_service=name == ROBOT)
            for (name, home), role in CAST.items()
        )
        self.key, self._secret = self.editor.key.issue(
            name=KEY, workspace_id="acme", role=Role.PUBLISHER, id_prefix="w", by=self.people["paula"]
        )
        self.oracle.keys[KEY] = "paula", "acme", PUBLISHER, "w"
        made = self.editor.capability(Datasets).create({}, name="questions", workspace="acme")
        self.dataset = str(made.pk)
        self.add_item(access.APPLICATION)
        self._position = Event.objects.latest("position").position

    def end(self) -> None:
        """Undo everything."""
        transaction.set_rollback(True)
        self._atomic.__exit__(None, None, None)

    # Acting

    def by(self, who: str) -> Any:
        """Return the caller, with their rights as they are now; raises `Unauthorized` for a revoked key."""
        if who == APPLICATION:
            return access.APPLICATION
        if who != KEY:
            return self.people[who]
        key = ApiKey.objects.holding(self._secret)
        if key is None:
            raise Unauthorized("The key was revoked.")
        return key.caller()

    def verbs(self, key: Key) -> Any:
        return self.editor.collection(KINDS_BY_SLUG[key[0]])

    def both(self, expected: str | None, verb: Callable[[], T]) -> T | None:
        """Do what the oracle allows; the editor has to refuse the rest for the same reason."""
        code, done, why = None, None, ""
        try:
            with transaction.atomic():
                done = verb()
        except VersioningError as error:
            code, why = REFUSALS.get(error.code, error.code), str(error)
        assert code == expected, f"the oracle says {expected}, and the editor {code}. {why}"
        return done

    def fields(self, key: Key, word: str, blocks: Sequence[str]) -> tuple[Config, dict[str, Any]]:
        """Return a configuration as the oracle knows it, and as the editor does."""
        if key[0] == BLOCK:
            return (word,), {"name": "x", "content": word}
        if key[0] == SCORER:
            pattern = rf"^({sound(word)}[{DRAFTS}]?\s+)*Which"  # the output ends with the question
            return (sound(word),), {"name": "x", "type": "regex", "config": {"pattern": pattern}}
        parts: list[Any] = [{"type": "text", "content": word}]
        parts += [{"type": "prompt_block_ref", "id": name} for name in blocks]
        model = {"provider": "echo", "name": "echo"}
        return (word, *(f"@{name}" for name in blocks)), {"name": "x", "instructions": parts, "model": model}

    def add_item(self, by: Any) -> bool:
        """Add an item to the dataset."""
        given = [{"input": "Which?", "externalId": str(uuid4())}]
        added = self.editor.capability(Datasets).add(self.dataset, given, places=[""], by=by)
        self.items.append(str(added.revisions[0].item_id))
        self.oracle.dataset += 1
        return True

    def run_experiments(self) -> None:
        """Do what is due now or later, as a worker does."""
        past = timezone.now() - datetime.timedelta(days=1)
        while Cell.objects.exclude(due_at=None).update(due_at=past):
            assert Worker([JOBS[0]]).once()

    def run_schedule(self, schedule_id: str) -> str:
        """Let the time of a schedule come, and return its state."""
        now = timezone.now()
        Schedule.objects.filter(pk=schedule_id, state="scheduled").update(run_at=now, due_at=now)
        runner = running.Runner()
        runner.run_versions()
        runner.run_releases()
        return str(Schedule.objects.get(pk=schedule_id).state)

    # What must always hold

    def look(self) -> None:
        """See that applications get what the oracle says, one after the other, and the log tells why."""
        events = list(Event.objects.filter(position__gt=self._position).order_by("position", "ordinal"))
        if not events:
            return
        self._position = events[-1].position
        for event in events:
            self._replay(event)
        self._compare_with_the_log()
        self._turn += 1
        reader, user = READERS[self._turn % len(READERS)], USERS[self._turn % len(USERS)]
        for key in ((AGENT, "writer"), (AGENT, "lead")):
            agent = self.oracle.resources.get(key)
            for label in (None, LABEL):
                expected = self.oracle.read(reader, agent, user, label) if agent else None
                found = self._read(reader, key[1], user, label)
                assert found == expected, f"{reader} reads {found!r} of {key}, and should read {expected!r}"

    def _read(self, reader: str, agent_id: str, user: str, label: str | None) -> str | None:
        selector = Selector.parse({"label": label} if label else {})
        context = {"userId": user}
        try:
            served = self.editor.agent.serve(agent_id, selector, context=context, by=self.people[reader])
        except (Forbidden, NotFound):
            return None
        return str(served.instructions)

    def _compare_with_the_log(self) -> None:
        expected = {key: _as_told(resource) for key, resource in self.oracle.resources.items()}
        assert self._told == expected, f"the log tells {self._told}, and it is {expected}"

    def _replay(self, event: Event) -> None:
        kind, _, what = event.type.partition(".")
        key, version_id = (event.resource_kind, event.resource_id), str(event.version_id)
        if kind == "rollout" and key in self._told:
            is_running, rollout_id = self._told[key]["rollout"], event.detail["rolloutId"]
            assert what == "changed" or is_running == (None if what == "started" else rollout_id), event
            self._told[key]["rollout"] = rollout_id if what in {"started", "changed"} else None
        elif kind not in KINDS_BY_SLUG:
            return
        elif what == "created":
            assert key not in self._told, event
            self._told[key] = {"versions": {version_id}, "active": None, "labels": {}, "rollout": None}
        elif what == "deleted":
            del self._told[key]
        else:
            self._replay_change(self._told[key], what, version_id, event)

    def _replay_change(self, told: dict[str, Any], what: str, version_id: str, event: Event) -> None:
        if what == "versionCreated":
            assert version_id not in told["versions"], event
            told["versions"].add(version_id)
        elif what == "versionDeleted":
            told["versions"].remove(version_id)
        elif what == "published":
            told["active"] = version_id
        elif what == "unpublished":
            assert told["active"] is not None, event
            told["active"] = None
        elif what == "labelMoved":
            told["labels"][event.label] = version_id
        elif what == "labelRemoved":
            del told["labels"][event.label]


def _as_told(resource: Resource) -> dict[str, Any]:
    return {
        "versions": {one.id for one in resource.kept},
        "active": resource.active.id if resource.active else None,
        "labels": {name: one.id for name, (one, _) in resource.labels.items()},
        "rollout": resource.rollout.id if resource.rollout else None,
    }
