"""Experiments: each is one run of one target over one version of a dataset, with everything pinned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

from django.conf import settings
from django.db import models
from django.utils import timezone
from editor_client.shared import canonical

from capabilities.evaluation.datasets.models import Dataset
from versioning.domain import prices
from versioning.domain.access import Caller, Right
from versioning.models import Workspace, events
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

RESCORED: Final = "rescored"
"""The member of the settings, set by no caller, with the scorers of `Experiment.rescored_by`."""


class TargetType(models.TextChoices):
    """What is evaluated."""

    AGENT = "agent"
    SCORER = "scorer"
    NONE = ""
    """The application answers by itself and sends results."""


class Outcome(models.TextChoices):
    """How an experiment ended."""

    COMPLETE = "complete"
    CANCELLED = "cancelled"
    TOO_MANY_ERRORS = "tooManyErrors"
    OVER_BUDGET = "overBudget"
    EXPIRED = "expired"
    NONE = ""
    """It has not ended."""


def key_in(dataset_id: UUID, experiment_id: str) -> str:
    """Return the key of an experiment with a chosen id that is the key of one of another dataset."""
    return f"{experiment_id}\n{dataset_id.hex}"


def public_id(key: str) -> str:
    """Return the id by which callers know an experiment with this key: it is unique in the dataset."""
    return key.partition("\n")[0]


class ExperimentQuerySet(models.QuerySet["Experiment"]):
    """Queries for experiments."""

    def readable_by(self, caller: Caller) -> Self:
        """Filter by the experiments of workspaces whose drafts the caller may read.

        For a key that is limited to some ids, those whose target has another id are missing, and of those
        without a target those over a dataset that is missing.
        """
        found = self.filter(within("workspace_id", caller.scope(Right.READ_DRAFTS)))
        if not caller.id_prefix:
            return found
        of_dataset = models.Q(target_id="", dataset__isnull=False)
        of_dataset &= all_covered_by(caller, "dataset__target_keys")
        return found.filter(covered_by(caller, "target_id") | of_dataset)

    def in_dataset(self, dataset_id: UUID, experiment_id: str) -> Self:
        """Filter by the experiment that has an id in a dataset."""
        return self.filter(pk__in=[experiment_id, key_in(dataset_id, experiment_id)], dataset=dataset_id)

    def keys_of(self, experiment_id: str) -> list[str]:
        """Return the keys of the experiments with an id, in any dataset; a key is an id, too."""
        found = self.filter(models.Q(pk=experiment_id) | begins("pk", models.Value(f"{experiment_id}\n")))
        return list(found.order_by().values_list("pk", flat=True))

    def locked(self) -> Self:
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
    """Of the items of that version; see `capabilities.evaluation.datasets.verbs`."""
    target_type = models.CharField(max_length=16, choices=TargetType, blank=True)
    target_id = models.CharField(max_length=MAX_ID, blank=True)
    version_id = models.CharField(max_length=80, blank=True)
    """The version of the target; empty for one that code defines, and without a target."""
    lock_json = models.TextField(blank=True)
    """The lock of an agent, signed: with sub-agents and prompt blocks; or the configuration of a scorer."""
    lock_digest = models.CharField(max_length=64, blank=True)
    target_digest = models.CharField(max_length=64, blank=True)
    """Of the configurations in the lock, in any version: see `editor_client.shared.gates`."""
    provider = models.CharField(max_length=64, blank=True)
    """Of the model of the target, which is asked no more often than it bears."""
    queue_id = models.CharField(max_length=MAX_ID)
    """The experiment with whose cells its own take turns: its candidate, or itself."""
    is_started = models.BooleanField(default=True)
    """Whether workers run it; if not, the application asks for items or sends results."""
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

    outcome = models.CharField(max_length=16, choices=Outcome, blank=True)
    stopped = models.CharField(max_length=16, choices=Outcome, blank=True)
    """Why cells were skipped: its outcome once nothing is queued any more; empty: it is complete then."""
    items_count = models.PositiveIntegerField(default=0)
    cells_count = models.PositiveIntegerField(default=0)
    done_count = models.PositiveIntegerField(default=0)
    error_count = models.PositiveIntegerField(default=0)
    unscored_count = models.PositiveIntegerField(default=0)
    """The cells that have an output and on which a scorer failed."""
    skipped_count = models.PositiveIntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    milliseconds = models.BigIntegerField(default=0)
    cost = models.BigIntegerField(default=0, db_default=0)
    """Of what has a known price, in billionths of a US dollar."""
    unpriced_count = models.PositiveIntegerField(default=0, db_default=0)
    """The answers and verdicts of which the price is unknown."""
    prices_of = models.DateField(null=True)
    """The date of the price list, at the last answer."""
    summary_json = models.TextField(blank=True)
    """What the scores say together, once it has ended; empty while it has to be summed up."""
    changes_count = models.PositiveIntegerField(default=0)
    """How often its results changed: what was made of them is current as long as it is the same."""

    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    author_name = models.TextField(blank=True)
    """Of the account that started it; empty for the application itself."""
    key_prefix = models.CharField(max_length=16, blank=True)
    """Of the API key that started it: it runs as long as the key may run it."""
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
        """The id by which callers know it."""
        return public_id(self.pk)

    @property
    def dollars(self) -> Decimal | None:
        """What it cost so far; None where a price is unknown."""
        is_known = not self.unpriced_count and self.prices_of is not None
        return prices.from_billionths(self.cost) if is_known else None

    @property
    def cost_dict(self) -> dict[str, Any] | None:
        """The same as JSON."""
        return prices.cost_dict(self.dollars, self.prices_of)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The members that callers set, besides those in columns; not to be changed."""
        found: dict[str, Any] = json.loads(self.settings_json)
        return found

    @property
    def lock(self) -> dict[str, Any] | None:
        """The lock of an agent; None for other targets."""
        return self.pinned if self.target_type == TargetType.AGENT else None

    @property
    def pinned(self) -> dict[str, Any]:
        """The lock of an agent; of a scorer its `config`, and the `instructions` of the block it names."""
        found: dict[str, Any] = json.loads(self.lock_json or "{}")
        return found

    @property
    def request_context(self) -> Mapping[str, Any]:
        """The request context that it was given; that of an item takes precedence."""
        found: Mapping[str, Any] = self.settings.get("requestContext", {})
        return found

    @property
    def tool_policy(self) -> str:
        """What happens to calls of tools that no mock answers, unless the item says otherwise."""
        return str(self.settings.get("unmockedToolPolicy", "deny"))

    @property
    def rescored_by(self) -> Sequence[str]:
        """The scorers by another version of which the outputs were scored after the run."""
        found: Sequence[str] = self.settings.get(RESCORED, ())
        return found

    @property
    def queued_count(self) -> int:
        """The number of cells that are not over, running ones included."""
        return self.cells_count - self.done_count - self.error_count - self.skipped_count

    @property
    def status(self) -> str:
        """The status as the public client knows it."""
        if self.outcome:
            return "completed" if self.outcome == Outcome.COMPLETE else "failed"
        return "pending" if self.is_started and self.started_at is None else "running"

    @property
    def state_of_results(self) -> tuple[Any, ...]:
        """Return what is different once its results are."""
        return self.pk, self.created_at, self.changes_count, self.started_at, self.dataset_id

    def set(self, changes: Mapping[str, Any]) -> None:
        """Set members that callers set; None clears one."""
        changed = {**self.settings, **changes}
        self.settings_json = canonical.dump(
            {name: value for name, value in changed.items() if value is not None}
        )
        self.__dict__.pop("settings", None)

    def record(self, what: str, by: Caller, **detail: Any) -> None:
        """Record an event about it."""
        about = {"experimentId": self.public_id, "name": self.name, **detail}
        events.record(f"experiment.{what}", by=by, workspace_id=self.workspace_id, **about)


class ExperimentScorer(models.Model):
    """A scorer as it was when the experiment started."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="scorers")
    scorer_id = models.CharField(max_length=MAX_ID)
    version_id = models.CharField(max_length=80)
    config_json = models.TextField()
    """Its configuration; the version may be deleted later."""
    instructions = models.TextField(null=True)  # noqa: DJ001  none is not an empty text
    """The text of the prompt block that a judge names; null if it names none."""
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
        found: dict[str, Any] = json.loads(self.config_json)
        return found
