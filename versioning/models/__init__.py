"""The models. Each module imports only from those above it in this list."""

from versioning.models.agents import (
    Agent,
    AgentLabel,
    AgentTag,
    AgentVersion,
    BlockReference,
    PromptBlock,
    PromptBlockLabel,
    PromptBlockTag,
    PromptBlockVersion,
    SubAgentReference,
    Visibility,
)
from versioning.models.due_work import DueWork, PeriodicJob, WorkerHeartbeat
from versioning.models.idempotency import IdempotentRequest
from versioning.models.invitations import Invitation
from versioning.models.keys import ApiKey
from versioning.models.log import Event, KnownOverride, LogPosition
from versioning.models.sealed_keys import LockKey
from versioning.models.tags import Favorite, Favorited, Tag, VersionLabel
from versioning.models.text_search import AgentDocument, PromptBlockDocument, SearchProgress
from versioning.models.throttle import SignInAttempts, ThrottleWindow
from versioning.models.versioned import VersionedResource
from versioning.models.versions import Reference, Version
from versioning.models.workspaces import Membership, Workspace, caller_for, caller_of_author

__all__ = [
    "Agent",
    "AgentDocument",
    "AgentLabel",
    "AgentTag",
    "AgentVersion",
    "ApiKey",
    "BlockReference",
    "DueWork",
    "Event",
    "Favorite",
    "Favorited",
    "IdempotentRequest",
    "Invitation",
    "KnownOverride",
    "LockKey",
    "LogPosition",
    "Membership",
    "PeriodicJob",
    "PromptBlock",
    "PromptBlockDocument",
    "PromptBlockLabel",
    "PromptBlockTag",
    "PromptBlockVersion",
    "Reference",
    "SearchProgress",
    "SignInAttempts",
    "SubAgentReference",
    "Tag",
    "ThrottleWindow",
    "Version",
    "VersionLabel",
    "VersionedResource",
    "Visibility",
    "WorkerHeartbeat",
    "Workspace",
    "caller_for",
    "caller_of_author",
]
