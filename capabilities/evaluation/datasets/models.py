"""Datasets, their versions and items; a revision of an item never changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q, Value
from django.utils import timezone
from editor_client.shared import canonical, dataset_items
from editor_client.shared.text_keys import caseless

from versioning.domain.access import Caller, Right
from versioning.models import Workspace, events
from versioning.models.querysets import all_covered_by, within
from versioning.models.search import check_length
from versioning.models.text_keys import contains, contains_caseless

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models.fields.related_descriptors import RelatedManager

MAX_NAME: Final = dataset_items.MAX_NAME
PURGED: Final = dataset_items.PURGED
"""The member of the metadata of an item whose content was purged."""
PURGED_PAYLOAD: Final = {"input": None, "metadata": {PURGED: True}}
"""The content of a purged item."""


_BETWEEN_VALUES: Final = "\x1f"

PURGED_TEXT: Final = canonical.dump(PURGED_PAYLOAD)
"""The stored text of that content."""


def searchable_values(payload: Mapping[str, Any]) -> str:
    """Return the key of all texts, numbers and truth values in an item, without the names of members."""
    texts: list[str] = []
    pending: list[Any] = [payload]
    while pending:
        value = pending.pop()
        if isinstance(value, Mapping):
            pending += reversed([*value.values()])
        elif isinstance(value, list):
            pending += reversed(value)
        elif value is not None:
            texts.append(value if isinstance(value, str) else canonical.dump(value))
    return caseless(_BETWEEN_VALUES.join(texts))


class DatasetQuerySet(models.QuerySet["Dataset"]):
    """Queries for datasets."""

    def readable_by(self, caller: Caller) -> Self:
        """Filter by the datasets of workspaces whose drafts the caller may read.

        A key that is limited to some ids gets only datasets with targets that are all among them.
        """
        rows = self.filter(within("workspace_id", caller.scope(Right.READ_DRAFTS)))
        return rows.filter(all_covered_by(caller, "target_keys"))

    def with_lock(self) -> Self:
        """Lock the rows until the end of the transaction."""
        return self.select_for_update(of=("self",), no_key=True)


class Dataset(models.Model):
    """Items of a workspace to evaluate with."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=MAX_NAME)
    settings_json = models.TextField(default="{}")
    """The other members that callers set, as they sent them."""
    target_type = models.CharField(max_length=16, blank=True)
    target_keys = models.TextField(blank=True)
    """The ids of its targets, each between line feeds, for the filter of the list."""
    version = models.PositiveIntegerField(default=0)
    digest = models.CharField(max_length=64)
    """The digest of its current items; see `capabilities.evaluation.datasets.verbs`."""
    items_count = models.PositiveIntegerField(default=0)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    if TYPE_CHECKING:
        items: RelatedManager[Item]
        versions: RelatedManager[DatasetVersion]
        workspace_id: str

    objects = DatasetQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "pk"]
        constraints = [models.UniqueConstraint(name="dataset_name_once", fields=["workspace", "name"])]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The members that callers set, besides the name; not to be changed."""
        members: dict[str, Any] = json.loads(self.settings_json)
        return members

    @property
    def scorer_ids(self) -> list[str]:
        """The scorers that score its items unless an experiment names others."""
        return list(self.settings.get("scorerIds") or ())

    def record(self, change: str, by: Caller, **detail: Any) -> None:
        """Record an event about it."""
        about = {"datasetId": str(self.pk), "name": self.name, **detail}
        events.record(f"dataset.{change}", by=by, workspace_id=self.workspace_id, **about)


class DatasetVersion(models.Model):
    """The state of the items of a dataset after one change of them."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="versions")
    version = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)

    if TYPE_CHECKING:
        dataset_id: UUID

    class Meta:
        ordering = ["-version"]
        constraints = [models.UniqueConstraint(name="dataset_version_once", fields=["dataset", "version"])]

    def __str__(self) -> str:
        return f"version {self.version} of {self.dataset_id}"


class Item(models.Model):
    """An item of a dataset, in all its revisions."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="items")
    external_id = models.CharField(max_length=200, null=True)  # noqa: DJ001  null is not unique
    created_at = models.DateTimeField(default=timezone.now)

    if TYPE_CHECKING:
        dataset_id: UUID

    class Meta:
        constraints = [
            models.UniqueConstraint(name="item_external_id_once", fields=["dataset", "external_id"])
        ]

    def __str__(self) -> str:
        return str(self.pk)


class RevisionQuerySet(models.QuerySet["Revision"]):
    """Queries for revisions."""

    def of_version(self, dataset: Dataset, version: int | None = None) -> Self:
        """Return the items of a dataset, as of one of its versions or now."""
        rows = self.filter(dataset=dataset, is_deleted=False).select_related("item").defer("search_text")
        if version is None:
            return rows.filter(until=None)
        return rows.filter(Q(until=None) | Q(until__gt=version), version__lte=version)

    def with_text(self, text: str) -> Self:
        """Filter by a text in one of the values, or in the external id of the item.

        Case does not count. Raises `Invalid` if the text is too long.
        """
        check_length(text)
        in_values = contains(F("search_text"), Value(caseless(text)))
        return self.filter(in_values | contains_caseless("item__external_id", text)) if text else self

    def purged(self) -> Self:
        """Filter by revisions whose content was purged."""
        return self.filter(payload_json=PURGED_TEXT)


class Revision(models.Model):
    """The content of an item from one version of its dataset to another."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="revisions")
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="+")
    version = models.PositiveIntegerField()
    """The first version of the dataset with this content."""
    until = models.PositiveIntegerField(null=True)
    """The first version without this content."""
    payload_json = models.TextField()
    """The members that callers set, as they sent them."""
    search_text = models.TextField(default="", db_default="", editable=False)
    """The key of its values for searches; empty if it was purged."""
    digest = models.CharField(max_length=64)
    """The digest of the original payload, even after purging."""
    is_deleted = models.BooleanField(default=False)
    updated_at = models.DateTimeField(default=timezone.now)

    if TYPE_CHECKING:
        item_id: UUID
        dataset_id: UUID

    objects = RevisionQuerySet.as_manager()

    class Meta:
        ordering = ["-version"]
        constraints = [models.UniqueConstraint(name="revision_once", fields=["item", "version"])]
        indexes = [models.Index(name="revision_of_dataset", fields=["dataset", "until"])]

    def __str__(self) -> str:
        return f"{self.item_id} since {self.version}"

    @property
    def is_purged(self) -> bool:
        """Whether its content was purged."""
        return self.payload_json == PURGED_TEXT

    @cached_property
    def payload(self) -> dict[str, Any]:
        """The members that callers set; not to be changed."""
        members: dict[str, Any] = json.loads(self.payload_json)
        return members
