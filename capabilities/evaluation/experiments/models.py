"""Experiments, their cells and scores, and people's labels of results.

An experiment is one run of one target over one version of a dataset, with everything pinned. A cell is the
row of due work for one attempt of an item, and the result once it is done. A score without a value is either
an error (`error_code`) or not scorable (`not_scorable` has the reason).

`Pacing` decides how many cells of a provider this process runs at the same time. After a rate-limit error the
number for that provider is halved, after the time that it names. Each answer then raises it a little, up to
the setting. The last place of a provider is for a workspace that has none, so that long items of one
workspace do not delay another.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Avg, Case, Count, FloatField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Now
from django.utils import timezone
from editor_client.shared import canonical
from editor_client.shared.statistics import wilson

from capabilities.evaluation.datasets.models import Dataset, Revision
from versioning.domain import provider_catalog, texts
from versioning.domain.access import Caller, Right
from versioning.models import DueWork, Workspace, events
from versioning.models.due_work import DueWorkQuerySet, Owner
from versioning.models.querysets import all_covered_by, covered_by, within
from versioning.models.text_keys import begins

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models.fields.related_descriptors import RelatedManager

MAX_ID: Final = 200
MAX_CHOSEN_ID: Final = 160
"""The maximum length of an id that a caller chooses, percent-encoded."""
MAX_NAME: Final = 200
MAX_GROUP: Final = 200
"""The maximum length of the ids by which callers group experiments."""

DENY: Final = "deny"
"""The default policy for tool calls without a mock."""
RESCORED: Final = "rescored"
"""The internal member of the settings with the scorers of `Experiment.rescored_by`."""


class TargetType(models.TextChoices):
    """The type of the evaluated target."""

    AGENT = "agent"
    SCORER = "scorer"
    NONE = ""
    """The application produces the answers and sends results."""


class ExperimentOutcome(models.TextChoices):
    """The outcome of an experiment."""

    COMPLETE = "complete"
    CANCELLED = "cancelled"
    TOO_MANY_ERRORS = "tooManyErrors"
    OVER_BUDGET = "overBudget"
    EXPIRED = "expired"
    NONE = ""
    """The experiment has not ended."""


def key_in(dataset_id: UUID, experiment_id: str) -> str:
    """Return the key of an experiment whose chosen id is already the key of one of another dataset."""
    return f"{experiment_id}\n{dataset_id.hex}"


def public_id(key: str) -> str:
    """Return the id by which callers know an experiment with this key: it is unique in the dataset."""
    return key.partition("\n")[0]


class ExperimentQuerySet(models.QuerySet["Experiment"]):
    """Queries for experiments."""

    def readable_by(self, caller: Caller) -> Self:
        """Filter by the experiments of workspaces whose drafts the caller may read.

        A key that is limited to some ids gets only experiments whose target, or without a target whose
        dataset, it covers.
        """
        rows = self.filter(within("workspace_id", caller.scope(Right.READ_DRAFTS)))
        if not caller.id_prefix:
            return rows
        of_dataset = models.Q(target_id="", dataset__isnull=False)
        of_dataset &= all_covered_by(caller, "dataset__target_keys")
        return rows.filter(covered_by(caller, "target_id") | of_dataset)

    def in_dataset(self, dataset_id: UUID, experiment_id: str) -> Self:
        """Filter by the experiment that has an id in a dataset."""
        return self.filter(pk__in=[experiment_id, key_in(dataset_id, experiment_id)], dataset=dataset_id)

    def keys_of(self, experiment_id: str) -> list[str]:
        """Return the keys of the experiments with an id, in any dataset; a key is also an id."""
        rows = self.filter(models.Q(pk=experiment_id) | begins("pk", models.Value(f"{experiment_id}\n")))
        return list(rows.order_by().values_list("pk", flat=True))

    def with_lock(self) -> Self:
        """Lock the rows until the end of the transaction, in a fixed order."""
        return self.select_for_update(of=("self",), no_key=True).order_by("pk")


class Experiment(models.Model):
    """One run of a target over the items of one version of a dataset."""

    id = models.CharField(primary_key=True, max_length=MAX_ID)
    """See `public_id`."""
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    dataset = models.ForeignKey(Dataset, null=True, on_delete=models.SET_NULL, related_name="experiments")
    """Null once the dataset is deleted."""
    dataset_version = models.PositiveIntegerField()
    dataset_digest = models.CharField(max_length=64)
    """The digest of the items of that version; see `capabilities.evaluation.datasets.verbs`."""
    target_type = models.CharField(max_length=16, choices=TargetType, blank=True)
    target_id = models.CharField(max_length=MAX_ID, blank=True)
    version_id = models.CharField(max_length=80, blank=True)
    """The version of the target; empty for a code-defined one and without a target."""
    lock_json = models.TextField(blank=True)
    """The signed lock of an agent, with sub-agents and prompt blocks; or the configuration of a scorer."""
    lock_digest = models.CharField(max_length=64, blank=True)
    target_digest = models.CharField(max_length=64, blank=True)
    """The digest of the configurations in the lock, independent of their versions; see
    `editor_client.shared.gates`."""
    provider = models.CharField(max_length=64, blank=True)
    """The provider of the target's model, whose rate limits are respected."""
    queue_id = models.CharField(max_length=MAX_ID)
    """The experiment whose queue it shares: its candidate, or itself."""
    is_started = models.BooleanField(default=True)
    """Whether workers run it; if not, the application runs items or sends results."""
    pair_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="candidates")
    """Its baseline."""
    attempts = models.PositiveSmallIntegerField(default=1)
    name = models.CharField(max_length=MAX_NAME, blank=True)
    settings_json = models.TextField(default="{}")
    """The other members that callers set, as they sent them."""
    experiment_set_id = models.CharField(max_length=MAX_GROUP, blank=True)
    comparison_id = models.CharField(max_length=MAX_GROUP, blank=True)
    variant_id = models.CharField(max_length=MAX_GROUP, blank=True)
    trial_index = models.PositiveIntegerField(null=True)

    outcome = models.CharField(max_length=16, choices=ExperimentOutcome, blank=True)
    stopped = models.CharField(max_length=16, choices=ExperimentOutcome, blank=True)
    """Why cells were skipped: its outcome once no cell is queued; empty if it will be complete."""
    items_count = models.PositiveIntegerField(default=0)
    cells_count = models.PositiveIntegerField(default=0)
    done_count = models.PositiveIntegerField(default=0)
    error_count = models.PositiveIntegerField(default=0)
    unscored_count = models.PositiveIntegerField(default=0)
    """The number of cells with an output on which a scorer failed."""
    skipped_count = models.PositiveIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    milliseconds = models.BigIntegerField(default=0)
    cost = models.BigIntegerField(default=0, db_default=0)
    """The cost of everything with a known price, in billionths of a US dollar."""
    unpriced_count = models.PositiveIntegerField(default=0, db_default=0)
    """The number of answers and verdicts whose price is unknown."""
    prices_of = models.DateField(null=True)
    """The date of the price list, at the last answer."""
    summary_json = models.TextField(blank=True)
    """The summary of the scores once it has ended; empty until computed."""
    changes_count = models.PositiveIntegerField(default=0)
    """Counts changes of its results; values derived from them are current while it is the same."""

    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    author_name = models.TextField(blank=True)
    """The name of the account that started it; empty for the application itself."""
    key_prefix = models.CharField(max_length=16, blank=True)
    """The prefix of the API key that started it: it runs as long as the key is allowed to."""
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    if TYPE_CHECKING:
        workspace_id: str
        dataset_id: UUID | None
        pair_of_id: str | None
        scorers: RelatedManager[ExperimentScorer]

    objects = ExperimentQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "pk"]
        indexes = [
            models.Index(name="experiment_of_workspace", fields=["workspace", "-created_at"]),
            models.Index(name="experiment_of_target", fields=["target_digest", "dataset", "-created_at"]),
        ]

    def __str__(self) -> str:
        return self.name or self.public_id

    @property
    def public_id(self) -> str:
        """The id for callers."""
        return public_id(self.pk)

    @property
    def dollars(self) -> Decimal | None:
        """The cost so far in US dollars; None if a price is unknown."""
        is_known = not self.unpriced_count and self.prices_of is not None
        return provider_catalog.from_billionths(self.cost) if is_known else None

    @property
    def cost_dict(self) -> dict[str, Any] | None:
        """The same as JSON."""
        return provider_catalog.cost_dict(self.dollars, self.prices_of)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The members that callers set, besides those in columns; not to be changed."""
        members: dict[str, Any] = json.loads(self.settings_json)
        return members

    @property
    def lock(self) -> dict[str, Any] | None:
        """The lock of an agent; None for other targets."""
        return self.pinned_target if self.target_type == TargetType.AGENT else None

    @property
    def pinned_target(self) -> dict[str, Any]:
        """The lock of an agent; for a scorer its `config`, and the `instructions` of its prompt block."""
        pinned: dict[str, Any] = json.loads(self.lock_json or "{}")
        return pinned

    @property
    def request_context(self) -> Mapping[str, Any]:
        """Its request context; that of an item takes precedence."""
        context: Mapping[str, Any] = self.settings.get("requestContext", {})
        return context

    @property
    def tool_policy(self) -> str:
        """The policy for tool calls without a mock, unless the item has its own."""
        return str(self.settings.get("unmockedToolPolicy", "deny"))

    @property
    def rescored_by(self) -> Sequence[str]:
        """The scorers that scored the outputs again, in another version, after the run."""
        scorer_ids: Sequence[str] = self.settings.get(RESCORED, ())
        return scorer_ids

    @cached_property
    def pinned_scorers(self) -> Sequence[ExperimentScorer]:
        """Its scorers, in their order."""
        return list(self.scorers.all())

    @property
    def primary_scorer(self) -> str | None:
        """The id of the primary scorer."""
        return next((scorer.scorer_id for scorer in self.pinned_scorers if scorer.is_primary), None)

    @cached_property
    def summary(self) -> Sequence[Summary]:
        """The summary of each scorer: stored once the experiment has ended."""
        summaries: list[Summary] = json.loads(self.summary_json or "[]")
        return summaries if self.summary_json else summarize_scorers(self)

    @property
    def primary_summary(self) -> Summary | None:
        """The summary of the primary scorer."""
        return next((entry for entry in self.summary if entry["scorerId"] == self.primary_scorer), None)

    @property
    def not_scorable(self) -> int:
        """The number of cells that the primary scorer cannot score."""
        return int(self.primary_summary["notScorable"]) if self.primary_summary else 0

    @cached_property
    def item_counts(self) -> Mapping[str, int]:
        """The numbers of items that succeeded in at least one attempt, failed in all, or were skipped."""
        if self.attempts == 1:
            counts = (self.done_count, self.error_count, self.skipped_count)
            return dict(zip(("succeeded", "failed", "skipped"), counts, strict=True))
        items = Cell.objects.filter(experiment=self).order_by().values("item_id")
        states = items.annotate(
            done=Count("pk", filter=Q(state=CellState.DONE)),
            errors=Count("pk", filter=Q(state=CellState.ERROR)),
            queued=Count("pk", filter=Q(state=CellState.QUEUED)),
        )
        return states.aggregate(
            succeeded=Count("item_id", filter=Q(done__gt=0)),
            failed=Count("item_id", filter=Q(done=0, errors__gt=0, queued=0)),
            skipped=Count("item_id", filter=Q(done=0, errors=0, queued=0)),
        )

    @property
    def over_count(self) -> int:
        """The number of cells that need not be waited for."""
        return self.cells_count - self.queued_count

    @property
    def queued_count(self) -> int:
        """The number of cells that are not over, running ones included."""
        return self.cells_count - self.done_count - self.error_count - self.skipped_count

    @property
    def status(self) -> str:
        """The status in the words of the public client."""
        if self.outcome:
            return "completed" if self.outcome == ExperimentOutcome.COMPLETE else "failed"
        return "pending" if self.is_started and self.started_at is None else "running"

    @property
    def state_of_results(self) -> tuple[Any, ...]:
        """Return a value that changes with the results."""
        return self.pk, self.created_at, self.changes_count, self.started_at, self.dataset_id

    def set(self, changes: Mapping[str, Any]) -> None:
        """Set members that callers set; None clears one."""
        settings = {**self.settings, **changes}
        self.settings_json = canonical.dump(
            {name: value for name, value in settings.items() if value is not None}
        )
        self.__dict__.pop("settings", None)

    def record(self, change: str, by: Caller, **detail: Any) -> None:
        """Record an event about it."""
        about = {"experimentId": self.public_id, "name": self.name, **detail}
        events.record(f"experiment.{change}", by=by, workspace_id=self.workspace_id, **about)


class ExperimentScorer(models.Model):
    """A scorer, pinned at the start of the experiment."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="scorers")
    scorer_id = models.CharField(max_length=MAX_ID)
    version_id = models.CharField(max_length=80)
    config_json = models.TextField()
    """Its configuration; the version may be deleted later."""
    instructions = models.TextField(null=True)  # noqa: DJ001  none is not an empty text
    """The text of the prompt block of a judge; null without one."""
    is_primary = models.BooleanField(default=False)
    position = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(name="experiment_scorer_once", fields=["experiment", "scorer_id"])
        ]

    def __str__(self) -> str:
        return f"{self.scorer_id} {self.version_id}"

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration; not to be changed."""
        config: dict[str, Any] = json.loads(self.config_json)
        return config


MAX_WAIT: Final = 300.0
"""The longest wait in seconds that a provider can request."""


@dataclass
class _Lane:
    limit: float
    running: Counter[str] = field(default_factory=Counter)
    """The number of running cells by workspace."""
    paused_until: float = 0.0


class Pacing:
    """The running cells, by provider."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lanes: dict[str, _Lane] = {}
        self._lock = Lock()

    def has_room(self, provider: str, workspace: str) -> bool:
        """Return whether one more cell of the workspace may run now."""
        with self._lock:
            lane = self._lane(provider)
            free = int(lane.limit) - lane.running.total()
            least = 2 if lane.running[workspace] else 1
            return free >= least and self._clock() >= lane.paused_until

    def begin(self, provider: str, workspace: str) -> None:
        """Record that a cell has started."""
        with self._lock:
            self._lane(provider).running[workspace] += 1

    def end(self, provider: str, workspace: str) -> None:
        """Record that a cell has ended."""
        with self._lock:
            self._lane(provider).running -= Counter([workspace])

    def record_answer(self, provider: str) -> None:
        """Raise the limit slightly: by one after as many answers as cells can run at a time."""
        with self._lock:
            lane = self._lane(provider)
            lane.limit = min(lane.limit + 1 / lane.limit, _most())

    def record_refusal(self, provider: str, wait: float) -> None:
        """Halve the limit and pause for this many seconds; refusals of earlier requests count once."""
        with self._lock:
            lane, now = self._lane(provider), self._clock()
            if now >= lane.paused_until:
                lane.limit = max(1.0, lane.limit / 2)
            lane.paused_until = max(lane.paused_until, now + wait)

    def _lane(self, provider: str) -> _Lane:
        return self._lanes.setdefault(provider, _Lane(limit=_most()))


def _most() -> float:
    return float(settings.EDITOR_EVALUATION_CONCURRENCY)


PACING: Final = Pacing()
"""The running cells of this process."""


class CellState(models.TextChoices):
    """The stored state of a cell; a queued one whose lease holds is running."""

    QUEUED = "queued"
    DONE = "done"
    ERROR = "error"
    SKIPPED = "skipped"


ENDED: Final = {"due_at": None, "leased_by": "", "leased_until": None}
"""The columns of a row that is no longer due work."""


class CellQuerySet(DueWorkQuerySet["Cell"]):
    """Queries for cells."""

    def over(self) -> Self:
        """Filter by the cells with a result."""
        return self.filter(state__in=[CellState.DONE, CellState.ERROR])

    def with_revisions(self) -> Self:
        """Also read the revisions of the items, without the texts for searches."""
        return self.select_related("revision").defer("revision__search_text")

    def owners(self) -> list[Owner]:
        """Return the workspaces and queues with due cells that this process may run now."""
        due = self.due().filter(experiment=OuterRef("pk")).values("due_at")[:1]
        unfinished = Experiment.objects.filter(outcome="").annotate(due_at=Subquery(due)).exclude(due_at=None)
        owners = [
            (experiment.workspace_id, experiment.queue_id)
            for experiment in unfinished.order_by("due_at", "pk")
            if PACING.has_room(experiment.provider, experiment.workspace_id)
        ]
        return list(dict.fromkeys(owners))

    def lease_of(self, owner: Owner, limit: int, *, by: str) -> list[Cell]:
        """Lease the next due cell of a queue, whose experiments take turns by the order of their cells."""
        _workspace, queue = owner
        firsts = []
        for experiment in Experiment.objects.filter(queue_id=queue, outcome=""):
            if not PACING.has_room(experiment.provider, experiment.workspace_id):
                continue
            cells = self.filter(experiment=experiment)
            most = experiment.settings.get("maxConcurrency")  # running cells
            if most is None or cells.filter(leased_until__gt=Now()).count() < most:
                first = self.due().filter(experiment=experiment).values_list("due_at", "pk").first()
                firsts += [] if first is None else [(first, experiment)]
        if not firsts:
            return []
        _, experiment = min(firsts, key=itemgetter(0))
        rows = super(CellQuerySet, self.filter(experiment=experiment)).lease_of(owner, limit, by=by)
        for row in rows:
            row.provider, row.workspace_id = experiment.provider, experiment.workspace_id
            PACING.begin(row.provider, row.workspace_id)
        return rows


class Cell(DueWork):
    """One attempt of one item, with its result; in the order in which they run."""

    work_name = "items of experiments"
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="cells")
    item_id = models.UUIDField()
    """The item; it may have been deleted with its dataset."""
    attempt = models.PositiveSmallIntegerField(default=0)
    """From 0."""
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    """The revision of the item at the pinned version; null once the dataset is deleted."""
    state = models.CharField(max_length=8, choices=CellState, default=CellState.QUEUED)
    tries = models.PositiveSmallIntegerField(default=0)
    """The number of retries with the provider."""
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    output_json = models.TextField(blank=True)
    """The output, or the beginning of its text; empty if there is none."""
    output_digest = models.CharField(max_length=64, blank=True)
    """The digest of the whole output."""
    is_cut = models.BooleanField(default=False)
    """Whether only the beginning is stored."""
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.TextField(blank=True)
    detail_json = models.TextField(blank=True)
    """Further data: `toolCalls`, `toolMockReport`, `warnings` and `models`; also the values that an
    application sent instead of the item's `input` and `groundTruth`."""
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    milliseconds = models.PositiveIntegerField(default=0)
    context_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    """Of the request context of its run, without the item's own; empty without one."""
    tool_policy = models.CharField(max_length=8, default="deny", db_default="deny")
    """The policy that applied to tool calls without a mock."""
    item_tags = models.TextField(blank=True, default="", db_default="")
    """The tags that the item had, each between line feeds, once its content is purged."""
    run_id = models.CharField(max_length=MAX_ID, blank=True)
    """The run, or the trace that an application named."""
    review_status = models.CharField(max_length=16, blank=True)
    review_tags = models.TextField(blank=True)
    """The tags that people gave the result, each between line feeds."""
    review_comment = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    provider = workspace_id = ""
    """The provider of its experiment when it was leased."""

    if TYPE_CHECKING:
        experiment_id: str
        revision_id: int | None
        scores: RelatedManager[Any]

    objects = CellQuerySet.as_manager()  # type: ignore[misc]  # narrower than the base class's

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(name="cell_once", fields=["experiment", "item_id", "attempt"])]
        indexes = [
            models.Index(name="cell_of_experiment", fields=["experiment", "state", "id"]),
            models.Index(name="cell_running", fields=["experiment"], condition=Q(leased_until__isnull=False)),
            models.Index(
                name="cell_due_of_experiment",
                fields=["experiment", "due_at", "id"],
                condition=Q(due_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item_id} attempt {self.attempt}: {self.state}"

    @cached_property
    def detail(self) -> dict[str, Any]:
        """Further data of the result; not to be changed."""
        members: dict[str, Any] = json.loads(self.detail_json or "{}")
        return members

    @property
    def output(self) -> Any:
        """The output; None if there is none or it is null."""
        return json.loads(self.output_json) if self.output_json else None

    @property
    def input_text(self) -> str:
        """The input, as text; empty once the dataset is deleted."""
        value = self.member("input")
        return "" if value is None else texts.format_value(value)

    @property
    def reference_text(self) -> str:
        """The reference answer, as text; empty without one."""
        value = self.member("groundTruth")
        return "" if value is None else texts.format_value(value)

    @property
    def output_text(self) -> str:
        """The answer, as text; empty without one."""
        return texts.format_value(self.output) if self.output_json else ""

    @property
    def tags(self) -> list[str]:
        """The tags that people gave the result."""
        return [tag for tag in self.review_tags.split("\n") if tag]

    def finish_now(self, **columns: Any) -> None:
        """Store a result without a lease, in the transaction that has locked the experiment."""
        Cell.objects.filter(pk=self.pk).update(**ENDED, **columns)

    def member(self, name: str) -> Any:
        """Return a member of the item, or the application's value for it; None without one."""
        if name in self.detail:
            return self.detail[name]
        return None if self.revision is None else self.revision.payload.get(name)


class Score(models.Model):
    """The outcome of a scorer for an answer: a value, an error, or a reason why it cannot be scored."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    cell = models.ForeignKey(Cell, null=True, on_delete=models.CASCADE, related_name="scores")
    """Null for scores of applications outside of experiments."""
    run_id = models.CharField(max_length=MAX_ID)
    """The experiment, or the run named by an application."""
    scorer_id = models.CharField(max_length=MAX_ID)
    version_id = models.CharField(max_length=80, blank=True)
    entity_type = models.CharField(max_length=32, blank=True)
    entity_id = models.CharField(max_length=MAX_ID, blank=True)
    """The item, in an experiment."""
    source = models.CharField(max_length=8)
    """`TEST` in experiments, else as it was sent."""
    value = models.FloatField(null=True)
    passed = models.BooleanField(null=True)
    label = models.CharField(max_length=200, blank=True)
    reason = models.TextField(blank=True)
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.TextField(blank=True)
    not_scorable = models.TextField(blank=True)
    """Why it cannot be scored; empty if it can."""
    more_json = models.TextField(blank=True)
    """The other members that were sent."""
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(null=True)

    if TYPE_CHECKING:
        workspace_id: str
        cell_id: int | None

    class Meta:
        ordering = ["-created_at", "pk"]
        constraints = [models.UniqueConstraint(name="score_once", fields=["cell", "scorer_id"])]
        indexes = [
            models.Index(name="score_of_run", fields=["run_id", "scorer_id", "-created_at"]),
            models.Index(name="score_of_scorer", fields=["scorer_id", "-created_at"]),
            models.Index(name="score_of_entity", fields=["entity_type", "entity_id", "-created_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.scorer_id} of {self.run_id}: {self.value}"

    @cached_property
    def more(self) -> dict[str, Any]:
        """The other members that were sent; not to be changed."""
        members: dict[str, Any] = json.loads(self.more_json or "{}")
        return members


class Label(models.Model):
    """A person's label of a result; no judge overwrites it."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="labels")
    item_id = models.UUIDField()
    attempt = models.PositiveSmallIntegerField(default=0)
    name = models.CharField(max_length=MAX_NAME)
    """A scorer's id if the value is a pass or fail; otherwise any name."""
    value: Any = models.JSONField()
    """A number, a text or a boolean."""
    comment = models.TextField(blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                name="label_once_a_person", fields=["experiment", "item_id", "attempt", "name", "author"]
            )
        ]
        indexes = [models.Index(name="label_of_name", fields=["name", "-created_at"])]

    def __str__(self) -> str:
        return f"{self.name} of {self.item_id}"


Summary = dict[str, Any]


def summarize_scorers(experiment: Experiment) -> list[Summary]:
    """Return the summary of each scorer, pinned ones first.

    `n` is the number of items with a score. `passRate` is the mean share of passed attempts of these items.
    `passed` counts items that passed in every attempt, and `flaky` those that passed in some only.
    """
    scores = Score.objects.filter(run_id=experiment.pk, cell__isnull=False).order_by()
    pinned = list(experiment.scorers.values_list("scorer_id", flat=True))
    other_ids = scores.exclude(scorer_id__in=pinned).values_list("scorer_id", flat=True).distinct()
    return [
        _summarize_scorer(other, scores.filter(scorer_id=other)) for other in [*pinned, *sorted(other_ids)]
    ]


def _summarize_scorer(scorer_id: str, scores: QuerySet[Score]) -> Summary:
    passed = Case(When(passed=True, then=Value(1.0)), default=Value(0.0), output_field=FloatField())
    items = (
        scores.filter(value__isnull=False)
        .values("entity_id")
        .annotate(mean_value=Avg("value"), rate=Avg(passed), known=Count("passed"))
    )
    sums = items.aggregate(
        n=Count("entity_id"),
        mean=Avg("mean_value"),
        judged=Count("entity_id", filter=Q(known__gt=0)),
        rate_=Avg("rate", filter=Q(known__gt=0)),
        passed=Count("entity_id", filter=Q(known__gt=0, rate=1)),
        flaky=Count("entity_id", filter=Q(rate__gt=0, rate__lt=1)),
    )
    without = scores.aggregate(
        errors=Count("pk", filter=~Q(error_code="")), not_scorable=Count("pk", filter=~Q(not_scorable=""))
    )
    n, rate = sums["judged"], sums["rate_"]
    return {
        "scorerId": scorer_id,
        "n": sums["n"],
        "passed": sums["passed"],
        "passRate": rate,
        "interval": None if rate is None else list(wilson(min(rate * n, n), n)),
        "mean": sums["mean"],
        "flaky": sums["flaky"],
        "errors": without["errors"],
        "notScorable": without["not_scorable"],
    }
