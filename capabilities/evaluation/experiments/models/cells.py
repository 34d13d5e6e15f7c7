"""Cells: each is the row of due work for one attempt of an item, and the result once it is done."""

from __future__ import annotations

import json
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Self

from django.db import models
from django.db.models import OuterRef, Q, Subquery
from django.db.models.functions import Now
from django.utils import timezone

from capabilities.evaluation.datasets.models import Revision
from capabilities.evaluation.experiments.models.experiments import MAX_ID, Experiment
from capabilities.evaluation.experiments.pacing import PACING
from versioning.models import DueWork
from versioning.models.due_work import DueWorkQuerySet, Owner

if TYPE_CHECKING:
    from django.db.models.fields.related_descriptors import RelatedManager


class State(models.TextChoices):
    """The stored state of a cell; a queued one whose lease holds is running."""

    QUEUED = "queued"
    DONE = "done"
    ERROR = "error"
    SKIPPED = "skipped"


ENDED: Final = {"due_at": None, "leased_by": "", "leased_until": None}
"""The columns of a row that is no due work any more."""


class CellQuerySet(DueWorkQuerySet["Cell"]):
    """Queries for cells."""

    def over(self) -> Self:
        """Filter by the cells with a result."""
        return self.filter(state__in=[State.DONE, State.ERROR])

    def with_revisions(self) -> Self:
        """Read what the items were, too, without the texts that a search reads."""
        return self.select_related("revision").defer("revision__search_text")

    def owners(self) -> list[Owner]:
        """Return the workspaces and queues with due cells that this process may run now."""
        due = self.due().filter(experiment=OuterRef("pk")).values("due_at")[:1]
        waiting = Experiment.objects.filter(outcome="").annotate(due_at=Subquery(due)).exclude(due_at=None)
        found = [
            one for one in waiting.order_by("due_at", "pk") if PACING.has_room(one.provider, one.workspace_id)
        ]
        return list(dict.fromkeys((one.workspace_id, one.queue_id) for one in found))

    def lease_of(self, owner: Owner, limit: int, *, by: str) -> list[Cell]:
        """Lease the next due cell of a queue, whose experiments take turns by the order of their cells."""
        _workspace, queue = owner
        firsts = []
        for one in Experiment.objects.filter(queue_id=queue, outcome=""):
            if PACING.has_room(one.provider, one.workspace_id) and not self._is_full(one):
                first = self.due().filter(experiment=one).values_list("due_at", "pk").first()
                firsts += [] if first is None else [(first, one)]
        if not firsts:
            return []
        _, experiment = min(firsts, key=itemgetter(0))
        rows = super(CellQuerySet, self.filter(experiment=experiment)).lease_of(owner, limit, by=by)
        for row in rows:
            row.provider, row.workspace_id = experiment.provider, experiment.workspace_id
            PACING.begin(row.provider, row.workspace_id)
        return rows

    def _is_full(self, experiment: Experiment) -> bool:
        """Return whether as many cells run as the experiment wants at most."""
        most = experiment.settings.get("maxConcurrency")
        return most is not None and self.filter(experiment=experiment, leased_until__gt=Now()).count() >= most


class Cell(DueWork):
    """One attempt of one item, and what came of it; in the order in which they run."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="cells")
    item_id = models.UUIDField()
    """The item; it may be gone with its dataset."""
    attempt = models.PositiveSmallIntegerField(default=0)
    """From 0."""
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    """What the item was at the pinned version; null once the dataset is deleted."""
    state = models.CharField(max_length=8, choices=State, default=State.QUEUED)
    tries = models.PositiveSmallIntegerField(default=0)
    """How often the provider was asked again."""
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    output_json = models.TextField(blank=True)
    """The output, or the beginning of its text; empty if there is none."""
    output_digest = models.CharField(max_length=64, blank=True)
    """Of the whole output."""
    is_cut = models.BooleanField(default=False)
    """Whether only the beginning is kept."""
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.TextField(blank=True)
    detail_json = models.TextField(blank=True)
    """What else is known: `toolCalls`, `toolMockReport`, `warnings` and `models`; also what an application
    sent in place of the item's `input` and `groundTruth`."""
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    milliseconds = models.PositiveIntegerField(default=0)
    context_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    """Of the request context beside the item's own in which it ran; empty if there was none."""
    tool_policy = models.CharField(max_length=8, default="deny", db_default="deny")
    """What happened to calls of tools that no mock answers."""
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
    """Of its experiment, when it was leased."""

    if TYPE_CHECKING:
        experiment_id: str
        revision_id: int | None
        scores: RelatedManager[Any]

    objects = CellQuerySet.as_manager()  # type: ignore[misc]  # narrower than the base class's

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(name="cell_once", fields=["experiment", "item_id", "attempt"]),
        ]
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
        """What else is known of the result; not to be changed."""
        found: dict[str, Any] = json.loads(self.detail_json or "{}")
        return found

    @property
    def output(self) -> Any:
        """The output, or None: also of one that is null."""
        return json.loads(self.output_json) if self.output_json else None

    @property
    def tags(self) -> list[str]:
        """The tags that people gave the result."""
        return [one for one in self.review_tags.split("\n") if one]

    def finish_now(self, **columns: Any) -> None:
        """Store a result without a lease, in the transaction that has locked the experiment."""
        Cell.objects.filter(pk=self.pk).update(**ENDED, **columns)

    def member(self, name: str) -> Any:
        """Return a member of the item, or what the application sent in its place; None without one."""
        if name in self.detail:
            return self.detail[name]
        return None if self.revision is None else self.revision.payload.get(name)
