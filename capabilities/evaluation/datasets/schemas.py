"""The JSON objects of datasets and their items."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from editor_client.shared.dataset_items import MAX_EXTERNAL_ID, MAX_NAME
from pydantic import Field

from versioning.api.schemas import RequestSchema, ResponseSchema, Source, Time, Uuid
from versioning.domain.config import UNCHANGED, JsonObject, NotBlank

MAX_BATCH = 1_000
TargetType = Literal["agent", "workflow", "scorer", "processor"]


class DatasetUpdate(RequestSchema):
    """An edit of a dataset; an absent member is unchanged, null clears one."""

    name: Annotated[NotBlank, Field(json_schema_extra={"maxLength": MAX_NAME})] = UNCHANGED
    description: str | None = None
    metadata: JsonObject | None = None
    input_schema: JsonObject | None = None
    ground_truth_schema: JsonObject | None = None
    request_context_schema: JsonObject | None = None
    tags: list[NotBlank] | None = None
    target_type: TargetType | None = None
    target_ids: list[NotBlank] | None = None
    scorer_ids: list[NotBlank] | None = None


class DatasetCreate(DatasetUpdate):
    """A new dataset, without items."""

    name: Annotated[NotBlank, Field(json_schema_extra={"maxLength": MAX_NAME})]
    workspace_id: NotBlank = UNCHANGED


class ItemSource(RequestSchema):
    """The origin of an item."""

    type: Literal["csv", "json", "trace", "llm", "experiment-result", "candidate-screener"]
    reference_id: str = UNCHANGED


class ToolMock(RequestSchema):
    """The answer of a tool, which is not called."""

    tool_name: NotBlank
    args: JsonObject
    output: Any
    match_args: Literal["strict", "ignore"] = UNCHANGED


class ItemUpdate(RequestSchema):
    """An edit of an item; an absent member is unchanged, null clears one."""

    input: Any = None
    ground_truth: Any = None
    expected_trajectory: JsonObject | None = None
    tool_mocks: list[ToolMock] | None = None
    unmocked_tool_policy: Literal["allow", "deny"] | None = None
    scorer_ids: list[NotBlank] | None = None
    request_context: JsonObject | None = None
    metadata: JsonObject | None = None
    source: ItemSource | None = None


class ItemCreate(ItemUpdate):
    """A new item."""

    input: Any
    external_id: Annotated[str, Field(min_length=1, max_length=MAX_EXTERNAL_ID)] | None = None


class ItemBatch(RequestSchema):
    """New items, all of which are added, or none."""

    items: Annotated[list[ItemCreate], Field(min_length=1, max_length=MAX_BATCH)]


class ItemIds(RequestSchema):
    """Items to delete."""

    item_ids: Annotated[list[NotBlank], Field(min_length=1, max_length=MAX_BATCH)]


class Pagination(ResponseSchema):
    """The position of a page in its list."""

    total: int
    page: int
    per_page: int
    has_more: bool


def _setting(member: str) -> Source:
    return Source(lambda dataset: dataset.settings.get(member))


class DatasetAnswer(ResponseSchema):
    """A dataset."""

    id: Annotated[Uuid, Source(lambda dataset: str(dataset.pk))]
    workspace_id: str
    name: str
    description: Annotated[str | None, _setting("description")]
    metadata: Annotated[JsonObject | None, _setting("metadata")]
    input_schema: Annotated[JsonObject | None, _setting("inputSchema")]
    ground_truth_schema: Annotated[JsonObject | None, _setting("groundTruthSchema")]
    request_context_schema: Annotated[JsonObject | None, _setting("requestContextSchema")]
    tags: Annotated[list[str] | None, _setting("tags")]
    target_type: Annotated[str | None, _setting("targetType")]
    target_ids: Annotated[list[str] | None, _setting("targetIds")]
    scorer_ids: Annotated[list[str] | None, _setting("scorerIds")]
    version: int
    digest: str
    created_at: Time
    updated_at: Time


class DatasetPage(ResponseSchema):
    """A page of datasets."""

    datasets: Annotated[list[DatasetAnswer], Source("items")]
    pagination: Annotated[Pagination, Source(lambda page: page)]


def _payload(member: str) -> Source:
    return Source(lambda revision: revision.payload.get(member))


class ItemAnswer(ResponseSchema):
    """An item, as it is in one version of its dataset."""

    id: Annotated[Uuid, Source(lambda revision: str(revision.item_id))]
    dataset_id: Annotated[Uuid, Source(lambda revision: str(revision.dataset_id))]
    dataset_version: Annotated[int, Source("version")]
    external_id: Annotated[str | None, Source("item.external_id")]
    input: Annotated[Any, _payload("input")]
    ground_truth: Annotated[Any, _payload("groundTruth")]
    expected_trajectory: Annotated[JsonObject | None, _payload("expectedTrajectory")]
    tool_mocks: Annotated[list[JsonObject] | None, _payload("toolMocks")]
    unmocked_tool_policy: Annotated[str | None, _payload("unmockedToolPolicy")]
    scorer_ids: Annotated[list[str] | None, _payload("scorerIds")]
    request_context: Annotated[JsonObject | None, _payload("requestContext")]
    metadata: Annotated[JsonObject | None, _payload("metadata")]
    source: Annotated[JsonObject | None, _payload("source")]
    created_at: Annotated[Time, Source("item.created_at")]
    updated_at: Time


class ItemPage(ResponseSchema):
    """A page of items."""

    items: list[ItemAnswer]
    pagination: Annotated[Pagination, Source(lambda page: page)]


class ItemsAdded(ResponseSchema):
    """The items of a batch, in its order."""

    items: Annotated[list[ItemAnswer], Source(list)]
    count: Annotated[int, Source(len)]


class ItemsDeleted(ResponseSchema):
    """The number of deleted items."""

    success: Annotated[bool, Source(lambda _count: True)]
    deleted_count: Annotated[int, Source(lambda count: count)]


class Revised(ItemAnswer):
    """An item in one of its revisions."""

    valid_to: Annotated[int | None, Source("until")]
    is_deleted: bool


class ItemHistory(ResponseSchema):
    """The revisions of an item, newest first."""

    history: Annotated[list[Revised], Source(list)]


class DatasetVersionAnswer(ResponseSchema):
    """A version of a dataset: the state of its items after one change."""

    id: Annotated[Uuid, Source(lambda version: str(version.pk))]
    dataset_id: Annotated[Uuid, Source(lambda version: str(version.dataset_id))]
    version: int
    digest: str
    created_at: Time


class DatasetVersionPage(ResponseSchema):
    """A page of the versions of a dataset."""

    versions: Annotated[list[DatasetVersionAnswer], Source("items")]
    pagination: Annotated[Pagination, Source(lambda page: page)]


class FailedRowAnswer(ResponseSchema):
    """A row of a file that cannot be imported."""

    row: int
    message: str


class ImportAnswer(ResponseSchema):
    """The result of an import, or its preview."""

    created: int
    unchanged: int
    failed: list[FailedRowAnswer]
    version: Annotated[int, Field(description="The version of the dataset after the import.")]


class DatasetErrorMembers(ResponseSchema):
    """Additional members of errors about datasets."""

    failed: list[FailedRowAnswer] = []
    failing_items: Annotated[list[JsonObject], Field(description="The items that break a schema.")] = []
    conflicts: Annotated[list[JsonObject], Field(description="External ids of other items.")] = []
