"""Results and arguments of the methods: made of the OpenAPI document by `make client`."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, TypedDict

from editor_client.calls import ResourceKind
from editor_client.manage.records import (
    Blocks,
    Conditional,
    Diff,
    Instructions,
    NamedArguments,
    NamedFields,
    Record,
    SharedArguments,
    SharedFields,
    Version,
)
from editor_client.methods import Page, Paging
from editor_client.reads.feed import LogEvent, Reference
from editor_client.result import CachedResult, Notice, Result, Success
from editor_client.shared.scores import ScorerType

Action = Literal["read", "run", "write", "publish", "admin", "directory"]
DeliveryState = Literal["pending", "delivered", "failed", "cancelled"]
GateState = Literal["scorer_gone", "running", "incomplete", "failed", "tooFew", "stale", "missing"]
ReleaseAction = Literal["publish", "unpublish"]
ReleaseState = Literal["draft", "published", "reverted"]
ReviewState = Literal["open", "approved", "changesRequested", "published", "closed"]
Role = Literal["viewer", "editor", "publisher", "admin"]
RolloutState = Literal["running", "stopped", "completed"]
ScheduleAction = Literal["publish", "unpublish"]
ScheduleState = Literal["scheduled", "done", "failed", "cancelled", "missed"]
VerdictValue = Literal["approve", "requestChanges", "withdraw"]
Visibility = Literal["private", "public"]


class AgentFields(SharedFields):
    """The fields of the snapshot of an agent."""

    instructions: Instructions | None = None
    model: Any = None
    tools: Any = None
    agents: Any = None
    workflows: Any = None
    scorers: Any = None
    integration_tools: Any = None
    tool_providers: Any = None
    mcp_clients: Any = None
    default_options: Any = None
    input_processors: Any = None
    output_processors: Any = None
    memory: Any = None
    skills: Any = None
    workspace: Any = None
    browser: Any = None


class AgentArguments(SharedArguments, total=False):
    """The fields of the snapshot of an agent as arguments."""

    instructions: str | Blocks
    model: Conditional | None
    tools: Conditional | None
    agents: Conditional | None
    workflows: Conditional | None
    scorers: Conditional | None
    integration_tools: Conditional | None
    tool_providers: Conditional | None
    mcp_clients: Conditional | None
    default_options: Conditional | None
    input_processors: Conditional | None
    output_processors: Conditional | None
    memory: Conditional | None
    skills: Conditional | None
    workspace: Conditional | None
    browser: Conditional | None


class PromptBlockFields(SharedFields):
    """The fields of the snapshot of a prompt block."""

    content: str | None = None
    rules: Mapping[str, Any] | None = None


class PromptBlockArguments(SharedArguments, total=False):
    """The fields of the snapshot of a prompt block as arguments."""

    content: str
    rules: Mapping[str, Any] | None


class ScorerFields(NamedFields):
    """The fields of the snapshot of a scorer."""

    type: ScorerType | None = None
    settings: Mapping[str, Any] | None = field(default=None, metadata={"json_name": "config"})
    instructions: str | None = None
    model: Mapping[str, Any] | None = None
    score_range: Mapping[str, Any] | None = None
    pass_if: Mapping[str, Any] | None = None
    tie: float | None = None
    applies_if: Mapping[str, Any] | None = None
    default_sampling: Mapping[str, Any] | None = None
    preset_config: Mapping[str, Any] | None = None


class ScorerArguments(NamedArguments, total=False):
    """The fields of the snapshot of a scorer as arguments."""

    type: ScorerType
    config: Mapping[str, Any] | None
    instructions: str | None
    model: Mapping[str, Any] | None
    score_range: Mapping[str, Any] | None
    pass_if: Mapping[str, Any] | None
    tie: float | None
    applies_if: Mapping[str, Any] | None
    default_sampling: Mapping[str, Any] | None
    preset_config: Mapping[str, Any] | None


class AgentRecord(Record, AgentFields):
    """A stored agent."""

    visibility: Visibility | None = None


class AgentVersion(Version, AgentFields):
    """A version of an agent."""

    agent_id: str


class AgentPage(Page[AgentRecord]):
    """A page of stored agents."""

    agents: tuple[AgentRecord, ...]


class AgentVersionPage(Page[AgentVersion]):
    """A page of versions of an agent."""

    versions: tuple[AgentVersion, ...]


class AgentComparison(Result):
    """Two versions of an agent."""

    diffs: tuple[Diff, ...]
    from_version: AgentVersion
    to_version: AgentVersion


class PromptBlockRecord(Record, PromptBlockFields):
    """A prompt block."""


class PromptBlockVersion(Version, PromptBlockFields):
    """A version of a prompt block."""

    block_id: str


class PromptBlockPage(Page[PromptBlockRecord]):
    """A page of prompt blocks."""

    prompt_blocks: tuple[PromptBlockRecord, ...]


class PromptBlockVersionPage(Page[PromptBlockVersion]):
    """A page of versions of a prompt block."""

    versions: tuple[PromptBlockVersion, ...]


class PromptBlockComparison(Result):
    """Two versions of a prompt block."""

    diffs: tuple[Diff, ...]
    from_version: PromptBlockVersion
    to_version: PromptBlockVersion


class ScorerRecord(Record, ScorerFields):
    """A scorer."""


class ScorerVersion(Version, ScorerFields):
    """A version of a scorer."""

    scorer_definition_id: str


class ScorerPage(Page[ScorerRecord]):
    """A page of scorers."""

    scorer_definitions: tuple[ScorerRecord, ...]


class ScorerVersionPage(Page[ScorerVersion]):
    """A page of versions of a scorer."""

    versions: tuple[ScorerVersion, ...]


class ScorerComparison(Result):
    """Two versions of a scorer."""

    diffs: tuple[Diff, ...]
    from_version: ScorerVersion
    to_version: ScorerVersion


class ScorerFault(Result):
    """Why a scorer failed."""

    code: str
    message: str


class NotScorable(Result):
    """Why an answer cannot be scored."""

    reason: str


class ScorerOutcome(Result):
    """The outcome of a scorer: a score, an error, or a reason why the answer cannot be scored."""

    score: float | None = None
    passed: bool | None = None
    label: str | None = None
    reason: str | None = None
    error: ScorerFault | None = None
    not_scorable: NotScorable | None = None


class WorkspaceRecord(Result):
    """A workspace, and the caller's role in it."""

    id: str
    name: str
    created_at: datetime.datetime
    role: Role


class WorkspacePage(Page[WorkspaceRecord]):
    """The workspaces that the caller is a member of; for superusers all."""

    workspaces: tuple[WorkspaceRecord, ...]


class Member(Result):
    """A member of a workspace."""

    username: str
    display_name: str
    role: Role
    origin: Literal["manual", "directory"]
    """`directory`: the groups of the company's directory maintain it."""
    service: bool
    """Whether it is a service account, not a person."""
    last_sign_in_at: datetime.datetime | None = None
    """For admins; None for other callers."""
    since: datetime.datetime | None = None

    @property
    def id(self) -> str:
        """Its username."""
        return self.username


class MemberPage(Page[Member]):
    """The members of a workspace, by username."""

    members: tuple[Member, ...]


class InvitationRecord(Result):
    """An invitation that is not accepted yet."""

    id: str
    username: str
    role: Role
    mail: str | None = None
    invited_by: str | None = None
    created_at: datetime.datetime
    expires_at: datetime.datetime
    has_account: bool
    """Whether there is an account with this name, whose owner has to sign in."""
    is_acceptable: bool
    """Whether its link works: it has not expired, and the inviter is still an admin."""


class NewInvitation(InvitationRecord):
    """A new invitation, with the link to accept it, which is not shown again."""

    url: str = field(repr=False)


class InvitationList(Result):
    """The invitations to a workspace that are not accepted yet, by username."""

    invitations: tuple[InvitationRecord, ...]


class RoleInWorkspace(Result):
    """A workspace that the caller is a member of."""

    id: str
    role: Role


class KeyInUse(Result):
    """The key of the request, and its limits."""

    prefix: str
    actions: tuple[Action, ...] | None = None
    """The actions of the key; None for all that its role allows."""
    id_prefix: str | None = None
    """The prefix of the ids that the key reaches; None for all."""
    expires_at: datetime.datetime | None = None


class Identity(Result):
    """The identity of the caller."""

    username: str
    display_name: str
    superuser: bool
    workspaces: tuple[RoleInWorkspace, ...]
    key: KeyInUse | None = None


class ErasedPerson(Result):
    """A person who was erased."""

    username: str
    """The new name for the records of the person's actions."""


class KeyRecord(Result):
    """An API key, without its secret."""

    prefix: str
    name: str
    owner: str
    workspace_id: str | None = None
    role: Role | None = None
    actions: tuple[Action, ...] | None = None
    """The actions of the key; None for all that its role allows."""
    id_prefix: str | None = None
    """The prefix of the ids that the key reaches; None for all."""
    created_at: datetime.datetime
    expires_at: datetime.datetime | None = None
    last_used_at: datetime.datetime | None = None
    """Accurate to the hour."""
    state: Literal["active", "expired", "revoked", "ownerInactive"]

    @property
    def id(self) -> str:
        """Its prefix."""
        return self.prefix


class NewKey(KeyRecord):
    """A new key with its secret, which is not shown again."""

    key: str = field(repr=False)


class EndedSchedule(Result):
    """A schedule that a revoked key had made, and that has failed with it."""

    id: str
    workspace_id: str
    resource: Reference | None = None
    release_id: str | None = None
    action: Literal["publish", "unpublish"]
    run_at: datetime.datetime


class RevokedKey(Success):
    """A revoked key, and the schedules that failed with it."""

    schedules: tuple[EndedSchedule, ...] = ()
    """The schedules that have failed with it, as far as the caller may read them."""


class KeyPage(Page[KeyRecord]):
    """The caller's keys, and those of the workspaces that the caller administers, newest first."""

    keys_: tuple[KeyRecord, ...]


class ServiceAccount(Result):
    """An account for programs: it has no password, and is a member of one workspace."""

    username: str
    workspace_id: str
    role: Role
    created_at: datetime.datetime | None = None

    @property
    def id(self) -> str:
        """Its username."""
        return self.username


class ServiceAccountPage(Page[ServiceAccount]):
    """The service accounts of the workspaces that the caller administers, by username."""

    service_accounts: tuple[ServiceAccount, ...]


class CommentRecord(Result):
    """A comment. It is resolved if its thread is; `updated_at` is the last change of its text."""

    id: str
    workspace_id: str
    resource: Reference
    version_id: str
    version_number: int
    field: str | None = None
    line: int | None = None
    quote: str | None = None
    body: str
    parent: str | None = None
    """The comment that begins the thread; None for that one."""
    author: str | None = None
    resolved: bool
    resolved_by: str | None = None
    resolved_at: datetime.datetime | None = None
    created_at: datetime.datetime
    updated_at: datetime.datetime


class CommentPage(Page[CommentRecord]):
    """Comments on resources whose drafts the caller may read, oldest first."""

    comments: tuple[CommentRecord, ...]


class ItemRecord(Result):
    """An item, as it is in one version of its dataset."""

    id: str
    dataset_id: str
    dataset_version: int
    external_id: str | None = None
    input: Any
    ground_truth: Any = None
    expected_trajectory: Mapping[str, Any] | None = None
    tool_mocks: tuple[Mapping[str, Any], ...] | None = None
    unmocked_tool_policy: str | None = None
    scorer_ids: tuple[str, ...] | None = None
    request_context: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    source: Mapping[str, Any] | None = None
    created_at: datetime.datetime
    updated_at: datetime.datetime


class ItemRevision(ItemRecord):
    """An item in one of its revisions."""

    valid_to: int | None = None
    is_deleted: bool


class ItemHistory(Result):
    """The revisions of an item, newest first."""

    history: tuple[ItemRevision, ...]


class ItemsAdded(Result):
    """The items of a batch, in its order."""

    item_records: tuple[ItemRecord, ...] = field(metadata={"json_name": "items"})
    count: int


class ItemsDeleted(Result):
    """The number of deleted items."""

    success: bool
    deleted_count: int


class ItemPage(Page[ItemRecord]):
    """A page of items."""

    item_records: tuple[ItemRecord, ...] = field(metadata={"json_name": "items"})


class DatasetRecord(Result):
    """A dataset."""

    id: str
    workspace_id: str
    name: str
    description: str | None = None
    metadata: Mapping[str, Any] | None = None
    input_schema: Mapping[str, Any] | None = None
    ground_truth_schema: Mapping[str, Any] | None = None
    request_context_schema: Mapping[str, Any] | None = None
    tags: tuple[str, ...] | None = None
    target_type: str | None = None
    target_ids: tuple[str, ...] | None = None
    scorer_ids: tuple[str, ...] | None = None
    version: int
    digest: str
    created_at: datetime.datetime
    updated_at: datetime.datetime


class DatasetVersion(Result):
    """A version of a dataset: the state of its items after one change."""

    id: str
    dataset_id: str
    version: int
    digest: str
    created_at: datetime.datetime


class DatasetPage(Page[DatasetRecord]):
    """A page of datasets."""

    datasets: tuple[DatasetRecord, ...]


class DatasetVersionPage(Page[DatasetVersion]):
    """A page of the versions of a dataset."""

    versions: tuple[DatasetVersion, ...]


class FailedRow(Result):
    """A row of a file that cannot be imported."""

    row: int
    message: str


class Imported(Result):
    """The result of an import, or its preview."""

    created: int
    unchanged: int
    failed: tuple[FailedRow, ...]
    version: int
    """The version of the dataset after the import."""


class GateRecord(Result):
    """A requirement for the versions of an agent, or of every agent of a workspace."""

    id: str
    workspace_id: str
    resource: Reference | None = None
    dataset_id: str
    scorer_ids: tuple[str, ...]
    primary_scorer: str
    attempts: int
    rules: tuple[Mapping[str, Any], ...]
    evidence_days: int
    request_context: Mapping[str, Any]
    tool_policy: Literal["deny", "allow"]
    """The required policy for tool calls without a mock."""
    dataset_policy: int | Literal["latest"]
    """The version of the dataset for evidence, or `latest`; then only publishers can change the dataset."""
    too_few: Literal["refuse", "allow"]
    """The result if there are too few items to show the difference that a rule requires."""
    bypass: Literal["admin", "nobody"]
    """The people who can publish without evidence."""
    enabled: bool
    created_at: datetime.datetime
    updated_at: datetime.datetime


class GatePage(Page[GateRecord]):
    """Gates, oldest first."""

    gates: tuple[GateRecord, ...]


class GateJudgement(Result):
    """The judgement of a gate about an agent."""

    gate_id: str
    resource: Reference
    state: GateState | None = None
    """None if it is satisfied."""
    rule: Mapping[str, Any] | None = None
    """The failed rule; None if none was evaluated."""
    experiment_id: str | None = None
    """The evidence, or the closest experiment."""
    ok: bool


class GateCheck(Result):
    """Whether every gate is satisfied."""

    ok: bool
    gates: tuple[GateJudgement, ...]
    hidden_gates: int
    """The number of other unsatisfied gates, about agents that the caller may not read."""


class StartedExperiments(Result):
    """The experiments that were started."""

    experiments: tuple[str, ...]


class ReleaseItem(Result):
    """A resource and its action. `newer` means that a version was saved after the one to publish."""

    resource: Reference
    action: ReleaseAction
    version_id: str | None = None
    version_number: int | None = None
    active_before: str | None = None
    """The version that was live before the release; for a draft, the currently live one."""
    newer: bool


class ReleaseRecord(CachedResult):
    """Resources that are published together."""

    id: str
    workspace_id: str
    title: str
    description: str
    state: ReleaseState
    items_: tuple[ReleaseItem, ...]
    created_by: str | None = None
    created_at: datetime.datetime
    published_by: str | None = None
    published_at: datetime.datetime | None = None
    reverts: str | None = None


class ReleaseConflict(Result):
    """A resource that cannot be reverted, because another version is now live."""

    resource: Reference
    version_id: str | None = None
    active_version_id: str | None = None


class Revert(ReleaseRecord):
    """A draft that reverts a release, and the omitted items."""

    conflicts: tuple[ReleaseConflict, ...]


class Problem(Result):
    """A reason why several resources cannot be published together, or a warning."""

    resource: Reference | None = None
    code: str
    message: str


class ReleaseCheck(Result):
    """Whether a release could be published now."""

    ok: bool
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


class ReleasePage(Page[ReleaseRecord]):
    """Releases, newest first."""

    releases: tuple[ReleaseRecord, ...]


class ReviewPolicy(Result):
    """The number of approvals that versions of a workspace need to go live."""

    required: int
    """The number of approvals that a version needs."""
    bypass: Literal["admin", "nobody"]
    """The people who can publish a version without them."""


class Verdict(Result):
    """A person's verdict on a version."""

    by: str
    verdict: VerdictValue
    body: str
    version_id: str
    created_at: datetime.datetime
    counts: bool
    """Whether it currently counts for the version under review."""


class ReviewRecord(Result):
    """A review in its current state."""

    id: str
    resource: Reference
    version_id: str
    version_number: int
    base_version_id: str | None = None
    """The version that was live when the review was requested."""
    state: ReviewState
    requested_by: str | None = None
    message: str
    reviewers: tuple[str, ...]
    """The requested reviewers who are members."""
    verdicts: tuple[Verdict, ...]
    """The oldest first.

    An open review also includes verdicts on an equal configuration from earlier reviews.
    """
    missing: int
    """The number of approvals that the version still needs to go live."""
    outdated: bool
    """Whether there is a newer version."""
    created_at: datetime.datetime
    warnings: tuple[Notice, ...] = ()
    """Invisible characters in the version under review; absent in lists."""


class ReviewPage(Page[ReviewRecord]):
    """Reviews, newest first."""

    reviews: tuple[ReviewRecord, ...]


class Arm(Result):
    """A version, and the share of the requests that get it."""

    name: str
    version_id: str
    weight: int


class RolloutRecord(Result):
    """The versions, their shares of the requests, and the result."""

    id: str
    workspace_id: str
    resource: Reference
    seed: str
    bucket_by: str
    arms: tuple[Arm, ...]
    state: RolloutState
    started_by: str | None = None
    started_at: datetime.datetime
    ended_at: datetime.datetime | None = None
    reason: str | None = None


class RolloutPage(Page[RolloutRecord]):
    """Rollouts, newest first."""

    rollouts: tuple[RolloutRecord, ...]


class Then(Result):
    """The version that is live again afterwards."""

    version_id: str


class ScheduleProblem(Result):
    """A problem that would prevent a schedule if it ran now."""

    code: str
    message: str


class ScheduleRecord(Result):
    """A schedule, with its result once it ended."""

    id: str
    workspace_id: str
    resource: Reference | None = None
    release_id: str | None = None
    action: ScheduleAction
    version_id: str | None = None
    version_number: int | None = None
    then: Then | None = None
    run_at: datetime.datetime
    local_time: str | None = None
    time_zone: str | None = None
    ambiguous: bool
    """Whether the local time exists twice; it runs at the first."""
    paired_with: str | None = None
    """The other schedule of a pair, in which one begins and one ends a publication."""
    expects: str | None = None
    """The version that has to be live by then; None for none, and for a release."""
    force: bool
    state: ScheduleState
    code: str | None = None
    """Why it failed."""
    error: str | None = None
    """Why it failed, in a sentence."""
    problems: tuple[ScheduleProblem, ...] = ()
    """The problems that would prevent it if it ran now, as its author; empty without problems and after
    its end.
    """
    created_by: str | None = None
    created_by_key: str | None = None
    """The prefix of the API key that created it: it runs within the limits of that key, and fails once the
    key is revoked or has expired.
    """
    created_at: datetime.datetime
    executed_at: datetime.datetime | None = None


class SchedulePage(Page[ScheduleRecord]):
    """Schedules, by default the latest time first."""

    schedules: tuple[ScheduleRecord, ...]


class WebhookRecord(Result):
    """A webhook. `failing_since` and `last_success_at` describe its receiver."""

    id: str
    workspace_id: str
    url: str
    event_types: tuple[str, ...]
    id_prefix: str | None = None
    description: str | None = None
    enabled: bool
    disabled_reason: Literal["gone", "failing"] | None = None
    """Why the service has disabled it: the receiver answered 410, or three days passed without one success.

    None if it is enabled, or an admin has disabled it.
    """
    created_by: str | None = None
    created_at: datetime.datetime
    failing_since: datetime.datetime | None = None
    last_success_at: datetime.datetime | None = None


class NewWebhook(WebhookRecord):
    """A new webhook with its secret, which is not shown again."""

    secret: str = field(repr=False)
    """`whsec_` and base64, for the libraries of Standard Webhooks."""


class RotatedSecret(Result):
    """The new secret, which is not shown again, and the time until which the previous one signs, too."""

    secret: str = field(repr=False)
    previous_until: datetime.datetime | None = None


class SentEvent(LogEvent):
    """An event as it is sent; a ping has no position."""

    position: int | None = None  # type: ignore[assignment]


class Attempt(Result):
    """One request to the receiver."""

    at: datetime.datetime
    status_code: int | None = None
    milliseconds: int
    error: str | None = None
    response: str | None = None
    """The beginning of the body of the answer."""


class Delivery(Result):
    """One event for one webhook, and every attempt to deliver it."""

    id: str
    event: SentEvent
    state: DeliveryState
    attempts: tuple[Attempt, ...]
    next_attempt_at: datetime.datetime | None = None


class WebhookPage(Page[WebhookRecord]):
    """Webhooks that the caller administers, newest first."""

    webhooks: tuple[WebhookRecord, ...]


class DeliveryPage(Page[Delivery]):
    """Deliveries of a webhook, newest first."""

    deliveries: tuple[Delivery, ...]


class CommentArguments(TypedDict, total=False):
    """A new comment."""

    field: str | None
    """Where in the version, such as `instructions.2.content`."""
    line: int | None
    """The line of the field's text, from 1."""
    quote: str | None
    """The quoted words.

    When absent in a comment on a line: that line, or its first {MAX_QUOTE} characters.
    """
    parent: str | None
    """The comment that it replies to."""


class CommentChanges(TypedDict, total=False):
    """A change of a comment; an absent member is unchanged."""

    body: str
    """Only for your own comment."""
    resolved: bool
    """The state of the comment's thread."""


class DatasetArguments(TypedDict, total=False):
    """An edit of a dataset; an absent member is unchanged, None clears one."""

    name: str
    description: str | None
    metadata: Mapping[str, Any] | None
    input_schema: Mapping[str, Any] | None
    ground_truth_schema: Mapping[str, Any] | None
    request_context_schema: Mapping[str, Any] | None
    tags: Sequence[str] | None
    target_type: Literal["agent", "workflow", "scorer", "processor"] | None
    target_ids: Sequence[str] | None
    scorer_ids: Sequence[str] | None


class NewDataset(TypedDict, total=False):
    """A new dataset, without items."""

    name: str
    description: str | None
    metadata: Mapping[str, Any] | None
    input_schema: Mapping[str, Any] | None
    ground_truth_schema: Mapping[str, Any] | None
    request_context_schema: Mapping[str, Any] | None
    tags: Sequence[str] | None
    target_type: Literal["agent", "workflow", "scorer", "processor"] | None
    target_ids: Sequence[str] | None
    scorer_ids: Sequence[str] | None
    workspace_id: str


class ItemChanges(TypedDict, total=False):
    """An edit of an item; an absent member is unchanged, None clears one."""

    input: Any
    ground_truth: Any
    expected_trajectory: Mapping[str, Any] | None
    tool_mocks: Sequence[Mapping[str, Any]] | None
    unmocked_tool_policy: Literal["allow", "deny"] | None
    scorer_ids: Sequence[str] | None
    request_context: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    source: Mapping[str, Any] | None


class ItemFields(TypedDict, total=False):
    """A new item."""

    input: Any
    ground_truth: Any
    expected_trajectory: Mapping[str, Any] | None
    tool_mocks: Sequence[Mapping[str, Any]] | None
    unmocked_tool_policy: Literal["allow", "deny"] | None
    scorer_ids: Sequence[str] | None
    request_context: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    source: Mapping[str, Any] | None
    external_id: str | None


class ItemArguments(TypedDict, total=False):
    """An edit of an item; an absent member is unchanged, None clears one."""

    ground_truth: Any
    expected_trajectory: Mapping[str, Any] | None
    tool_mocks: Sequence[Mapping[str, Any]] | None
    unmocked_tool_policy: Literal["allow", "deny"] | None
    scorer_ids: Sequence[str] | None
    request_context: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    source: Mapping[str, Any] | None


class NewItem(TypedDict, total=False):
    """A new item."""

    ground_truth: Any
    expected_trajectory: Mapping[str, Any] | None
    tool_mocks: Sequence[Mapping[str, Any]] | None
    unmocked_tool_policy: Literal["allow", "deny"] | None
    scorer_ids: Sequence[str] | None
    request_context: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None
    source: Mapping[str, Any] | None
    external_id: str | None


class GateChanges(TypedDict, total=False):
    """An edit of a gate; an absent member is unchanged."""

    dataset_id: str
    scorer_ids: Iterable[str]
    primary_scorer: str
    attempts: int
    rules: Iterable[Mapping[str, Any]]
    evidence_days: int
    """The number of days for which evidence is valid."""
    request_context: Mapping[str, Any] | None
    """The request context in which items have to run; that of an item takes precedence."""
    tool_policy: Literal["deny", "allow"]
    """The required policy for tool calls without a mock."""
    dataset_policy: int | Literal["latest"]
    """The version of the dataset for evidence, or `latest`; then only publishers can change the dataset."""
    too_few: Literal["refuse", "allow"]
    """The result if there are too few items to show the difference that a rule requires."""
    bypass: Literal["admin", "nobody"]
    """The people who can publish without evidence."""
    enabled: bool


class KeyLimits(TypedDict, total=False):
    """A new key; omitted limits are those of the key that makes the request."""

    workspace_id: str | None
    """The only workspace that it reaches; None for all of the owner's."""
    role: Role | None
    """Its maximum role there; None for the owner's."""
    actions: Sequence[Action] | None
    """The actions of the key; None for all that its role allows."""
    id_prefix: str | None
    """The prefix of the ids that the key reaches; None for all."""
    expires_at: str | None
    """None for never."""
    owner: str | None
    """A service account; None for the caller."""


class ReviewArguments(TypedDict, total=False):
    """A request for a review."""

    version_id: str
    """The latest when absent."""
    message: str | None
    reviewers: Sequence[str]
    """User names of members of the workspace."""


class ReviewChanges(TypedDict, total=False):
    """A change of a review; an absent member is unchanged."""

    version_id: str
    """A newer version, to which it is moved."""
    reviewers: Sequence[str]
    """User names of members of the workspace."""
    state: Literal["closed"]
    """Ends it."""


class ScheduleTimes(TypedDict, total=False):
    """A new time."""

    run_at: str
    """A whole minute in the future, at most five years away, in ISO 8601 with an offset."""
    local_time: str
    """Instead of `run_at`: a local time in `time_zone`.

    A time that does not exist is refused; for one that exists twice the first is used, and `ambiguous`
    is true in the answer.
    """
    time_zone: str
    """An IANA time zone."""


class Tried(TypedDict, total=False):
    """An input with the answer to it, to be scored."""

    ground_truth: Any
    """A reference answer; absent if unknown."""
    metadata: Mapping[str, Any]
    tool_calls: Sequence[Mapping[str, Any]]
    usage: Mapping[str, Any]
    milliseconds: float
    version_id: str
    """By default the latest version."""


class WebhookArguments(TypedDict, total=False):
    """A new webhook."""

    url: str
    """An http or https URL, without user information and fragment."""
    event_types: Sequence[str]
    """Types of events; `agent.*` for all events of agents."""
    id_prefix: str | None
    """Only events about resources whose id has this prefix."""
    description: str | None


class WebhookChanges(TypedDict, total=False):
    """A change of a webhook; an absent member is unchanged."""

    url: str
    """An http or https URL, without user information and fragment."""
    event_types: Sequence[str]
    """Types of events; `agent.*` for all events of agents."""
    id_prefix: str | None
    """Only events about resources whose id has this prefix."""
    description: str | None
    enabled: bool
    """True begins with the events that follow; False cancels pending deliveries."""


class CommentFilters(Paging, total=False):
    """The filters and the order of `GET /comments`."""

    id: str
    """Only about the resource of this id."""
    kind: ResourceKind
    """Only about resources of this kind."""
    resolved: bool
    """Only in resolved, or only in open threads."""
    version_id: str
    """Only on this version."""


class ItemFilters(Paging, total=False):
    """The filters and the order of `GET /datasets/{}/items`."""

    search: str
    """Text in a value or the external id, ignoring case; up to 200 characters."""
    version: int
    """As of this version of the dataset."""


class GateFilters(Paging, total=False):
    """The filters and the order of `GET /gates`."""

    id: str
    """Only about the resource of this id."""
    workspace_id: str
    """Only of this workspace."""


class OfWorkspace(Paging, total=False):
    """The filters and the order of `GET /keys`."""

    workspace_id: str
    """Only of this workspace."""


class ReleaseFilters(Paging, total=False):
    """The filters and the order of `GET /releases`."""

    state: ReleaseState
    """Only in this state."""
    workspace_id: str
    """Only of this workspace."""


class ReviewFilters(Paging, total=False):
    """The filters and the order of `GET /reviews`."""

    author: Literal["me"]
    """`me`: only reviews that you requested."""
    id: str
    """Only about the resource of this id."""
    kind: ResourceKind
    """Only about resources of this kind."""
    reviewer: Literal["me"]
    """`me`: only reviews requested from you."""
    state: ReviewState
    """Only in this state."""
    workspace_id: str
    """Only of this workspace."""


class RolloutFilters(Paging, total=False):
    """The filters and the order of `GET /rollouts`."""

    id: str
    """Only about the resource of this id."""
    kind: ResourceKind
    """Only about resources of this kind."""
    state: RolloutState
    """Only in this state."""
    workspace_id: str
    """Only of this workspace."""


class ScheduleFilters(Paging, total=False):
    """The filters and the order of `GET /schedules`."""

    id: str
    """Only about the resource of this id."""
    kind: ResourceKind
    """Only about resources of this kind."""
    release_id: str
    """Only of this release."""
    state: ScheduleState
    """Only in this state."""
    workspace_id: str
    """Only of this workspace."""


class WebhookFilters(Paging, total=False):
    """The filters and the order of `GET /webhooks`."""

    workspace_id: str
    """Only of this workspace."""
