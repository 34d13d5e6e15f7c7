"""The usage of versions, and feedback on them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypedDict, Unpack

from editor_client.calls import Call, ResourceKind, query, reading
from editor_client.methods import Driver, iterating, method
from editor_client.pages import Page, Paging, listing
from editor_client.result import Result, Success, with_json_names

FeedbackValue = bool | int | float | str


class Cost(Result):
    """An estimate of what models cost."""

    amount: str
    """A decimal number."""
    currency: Literal["USD"]
    estimate: bool
    prices_of: str
    """The date of the price list."""


class UsageOfVersion(Result):
    """The usage of a version, in one arm or none."""

    version_id: str | None = None
    """None for the version defined in code."""
    version_number: int | None = None
    arm: str | None = None
    runs: int
    errors: int
    input_tokens: int
    output_tokens: int
    milliseconds: int
    cost: Cost | None = None
    """None where the price of a model is unknown."""
    first_used_at: datetime.datetime
    last_used_at: datetime.datetime


class UsageList(Result):
    """The usage of a resource's versions, last used first."""

    usage: tuple[UsageOfVersion, ...]


class FeedbackRecord(Result):
    """Feedback on a version."""

    id: str
    version_id: str | None = None
    arm: str | None = None
    run_id: str | None = None
    name: str
    value: FeedbackValue
    comment: str
    external_id: str | None = None
    created_at: datetime.datetime


class FeedbackPage(Page[FeedbackRecord]):
    """A page of feedback."""

    feedback: tuple[FeedbackRecord, ...]


class FeedbackOfVersion(Result):
    """The feedback on a version under one name."""

    version_id: str | None = None
    arm: str | None = None
    name: str
    count: int
    mean: float | None = None
    """The mean of the numbers."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """The counts of the texts and booleans."""


class FeedbackSummary(Result):
    """The feedback on a resource, summed up."""

    summary: tuple[FeedbackOfVersion, ...]


class Used(TypedDict, total=False):
    """An application's usage."""

    arm: str
    runs: int
    errors: int
    input_tokens: int
    output_tokens: int
    milliseconds: int


class FeedbackFilters(Paging, total=False):
    """The subject and the filters of a list of feedback."""

    kind: ResourceKind
    id: str
    version_id: str
    name: str


class FeedbackFields(TypedDict, total=False):
    """The subject and further values of feedback."""

    run_id: str
    """The run, which determines the version and the arm."""
    version_id: str | None
    arm: str
    comment: str
    external_id: str
    """Repeated feedback with the same id counts once."""


class UsageMethods(Driver):
    """The methods of a client for usage and feedback."""

    @method
    def summarize_usage(
        self, kind: ResourceKind, resource_id: str, *, since: str | None = None, until: str | None = None
    ) -> Call[UsageList]:
        """Sum up the usage of a resource; `since` and `until` are days in UTC, both included."""
        about = query(kind=kind, id=resource_id, **{"from": since, "to": until})
        return Call.to("GET", "/usage", reading(UsageList), query=about)

    @method
    def send_usage(
        self, kind: ResourceKind, resource_id: str, version_id: str | None, **used: Unpack[Used]
    ) -> Call[Success]:
        """Report an application's own usage of a version, if it calls the model itself."""
        body = {
            "resource": {"kind": kind, "id": resource_id},
            "versionId": version_id,
            **with_json_names(used),
        }
        return Call.to("POST", "/usage", reading(Success), body=body)

    @method
    def list_feedback(self, **filters: Unpack[FeedbackFilters]) -> Call[FeedbackPage]:
        """List the feedback on a resource (`kind` and `id`), newest first."""
        return listing("/feedback", FeedbackPage, filters)

    iter_feedback = iterating(list_feedback)

    @method
    def send_feedback(
        self,
        name: str,
        value: FeedbackValue,
        *,
        kind: ResourceKind | None = None,
        resource_id: str | None = None,
        **fields: Unpack[FeedbackFields],
    ) -> Call[FeedbackRecord]:
        """Give feedback on a run (`run_id`), or on a version (`kind`, `resource_id` and `version_id`)."""
        about = {} if resource_id is None else {"resource": {"kind": kind or "agent", "id": resource_id}}
        body = {**about, **with_json_names(fields), "name": name, "value": value}
        return Call.to("POST", "/feedback", reading(FeedbackRecord), body=body)

    @method
    def summarize_feedback(self, kind: ResourceKind, resource_id: str) -> Call[FeedbackSummary]:
        """Sum up the feedback on a resource, by version, arm and name."""
        about = query(kind=kind, id=resource_id)
        return Call.to("GET", "/feedback/summary", reading(FeedbackSummary), query=about)
