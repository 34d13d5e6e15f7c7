"""The JSON objects of administration."""

from __future__ import annotations

from operator import itemgetter
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from versioning.api.schemas import (
    Action,
    PageOf,
    RequestSchema,
    ResourceReference,
    ResponseSchema,
    Source,
    Success,
    Time,
    TimeOrNull,
    Uuid,
    UuidOrNull,
)
from versioning.domain.config import NotBlank
from versioning.editor.workspaces import MAX_NAME

Role = TypeAliasType("Role", Literal["viewer", "editor", "publisher", "admin"])

# Enforced by the verbs, also for the studio.
_NAME = Annotated[NotBlank, Field(json_schema_extra={"maxLength": MAX_NAME})]
_ACTIONS = Annotated[
    list[Action] | None,
    Field(description="The actions of the key; null for all that its role allows."),
]
_ID_PREFIX = Annotated[
    str | None,
    Field(description="The prefix of the ids that the key reaches; null for all."),
]


class WorkspaceCreate(RequestSchema):
    """A new workspace."""

    id: Annotated[NotBlank, Field(description="By default derived from the name.")] = ""
    name: _NAME


class WorkspaceUpdate(RequestSchema):
    """Another name of a workspace."""

    name: _NAME


class WorkspaceAnswer(ResponseSchema):
    """A workspace, and the caller's role in it."""

    id: Annotated[str, Source("workspace.pk")]
    name: Annotated[str, Source("workspace.name")]
    created_at: Annotated[Time, Source("workspace.created_at")]
    role: Role


class WorkspacePage(PageOf):
    """The workspaces that the caller is a member of; for superusers all."""

    workspaces: Annotated[list[WorkspaceAnswer], Source("items")]


class RoleOfMember(RequestSchema):
    """The role of a member."""

    role: Role


class MemberAnswer(ResponseSchema):
    """A member of a workspace."""

    username: Annotated[str, Source(lambda member: member.membership.user.get_username())]
    display_name: str
    role: Annotated[Role, Source("membership.role")]
    origin: Annotated[
        Literal["manual", "directory"],
        Source("membership.origin"),
        Field(description="`directory`: the groups of the company's directory maintain it."),
    ]
    service: Annotated[bool, Field(description="Whether it is a service account, not a person.")]
    last_sign_in_at: Annotated[TimeOrNull, Field(description="For admins; null for other callers.")]
    since: Annotated[TimeOrNull, Source("membership.since")]


class MemberPage(PageOf):
    """The members of a workspace, by username."""

    members: Annotated[list[MemberAnswer], Source("items")]


class InvitationCreate(RequestSchema):
    """The person to invite."""

    username: NotBlank
    role: Role
    mail: Annotated[
        str | None, Field(description="The person's mail address.", json_schema_extra={"format": "email"})
    ] = None


class InvitationAnswer(ResponseSchema):
    """An invitation that is not accepted yet."""

    id: Annotated[str, Source(lambda state: str(state.invitation.pk))]
    username: Annotated[str, Source("invitation.username")]
    role: Annotated[Role, Source("invitation.role")]
    mail: Annotated[str | None, Source(lambda state: state.invitation.mail or None)]
    invited_by: Annotated[str | None, Source("inviter")]
    created_at: Annotated[Time, Source("invitation.created_at")]
    expires_at: Annotated[Time, Source("invitation.expires_at")]
    has_account: Annotated[
        bool, Field(description="Whether there is an account with this name, whose owner has to sign in.")
    ]
    is_acceptable: Annotated[
        bool,
        Field(description=("Whether its link works: it has not expired, and the inviter is still an admin.")),
    ]


class InvitationCreated(InvitationAnswer):
    """A new invitation, with the link to accept it, which is not shown again."""

    url: Annotated[str, Field(json_schema_extra={"format": "uri"})]


class InvitationList(ResponseSchema):
    """The invitations to a workspace that are not accepted yet, by username."""

    invitations: Annotated[list[InvitationAnswer], Source(list)]


class KeyCreate(RequestSchema):
    """A new key; omitted limits are those of the key that makes the request."""

    name: _NAME
    workspace_id: Annotated[
        NotBlank | None, Field(description="The only workspace that it reaches; null for all of the owner's.")
    ] = None
    role: Annotated[Role | None, Field(description="Its maximum role there; null for the owner's.")] = None
    actions: _ACTIONS = None
    id_prefix: _ID_PREFIX = None
    expires_at: Annotated[
        str | None,
        Field(description="Null for never.", json_schema_extra={"format": "date-time"}),
    ] = None
    owner: Annotated[NotBlank | None, Field(description="A service account; null for the caller.")] = None


class KeyAnswer(ResponseSchema):
    """An API key, without its secret."""

    prefix: str
    name: str
    owner: Annotated[str, Source(lambda key: key.owner.get_username())]
    workspace_id: str | None
    role: Annotated[Role | None, Source(lambda key: key.role or None)]
    actions: _ACTIONS
    id_prefix: Annotated[_ID_PREFIX, Source(lambda key: key.id_prefix or None)]
    created_at: Time
    expires_at: TimeOrNull
    last_used_at: Annotated[
        TimeOrNull,
        Source(lambda key: key.last_used_at and key.last_used_at.replace(minute=0, second=0, microsecond=0)),
        Field(description="Accurate to the hour."),
    ]
    state: Literal["active", "expired", "revoked", "ownerInactive"]


class KeyCreated(KeyAnswer):
    """A new key with its secret, which is not shown again."""

    key: str


class EndedSchedule(ResponseSchema):
    """A schedule that a revoked key had made, and that has failed with it."""

    id: Annotated[Uuid, Source(lambda schedule: str(schedule.pk))]
    workspace_id: str
    resource: Annotated[
        ResourceReference | None,
        Source(lambda schedule: None if schedule.release_id else schedule),
    ]
    release_id: Annotated[
        UuidOrNull, Source(lambda schedule: str(schedule.release_id) if schedule.release_id else None)
    ]
    action: Literal["publish", "unpublish"]
    run_at: Time


class KeyRevoked(Success):
    """A revoked key, and the schedules that failed with it."""

    message: Annotated[str, Source(lambda key: f"The key {key.prefix} is revoked.")]
    schedules: Annotated[
        list[EndedSchedule],
        Source(lambda key: key.ended.get("schedules", ())),
        Field(description="The schedules that have failed with it, as far as the caller may read them."),
    ]


class KeyPage(PageOf):
    """The caller's keys, and those of the workspaces that the caller administers, newest first."""

    keys: Annotated[list[KeyAnswer], Source("items")]


class ServiceAccountCreate(RequestSchema):
    """A new service account."""

    username: NotBlank
    workspace_id: NotBlank
    role: Role


class ServiceAccountAnswer(ResponseSchema):
    """An account for programs: it has no password, and is a member of one workspace."""

    username: Annotated[str, Source(lambda member: member.user.get_username())]
    workspace_id: str
    role: Role
    created_at: Annotated[TimeOrNull, Source("since")]


class ServiceAccountPage(PageOf):
    """The service accounts of the workspaces that the caller administers, by username."""

    service_accounts: Annotated[list[ServiceAccountAnswer], Source("items")]


class RoleInWorkspace(ResponseSchema):
    """A workspace that the caller is a member of."""

    id: Annotated[str, Source(itemgetter(0))]
    role: Annotated[Role, Source(itemgetter(1))]


class ErasedPersonAnswer(ResponseSchema):
    """A person who was erased."""

    username: Annotated[str, Field(description="The new name for the records of the person's actions.")]


class KeyInUse(ResponseSchema):
    """The key of the request, and its limits."""

    prefix: str
    actions: _ACTIONS
    id_prefix: Annotated[_ID_PREFIX, Source(lambda key: key.id_prefix or None)]
    expires_at: TimeOrNull


class Me(ResponseSchema):
    """The identity of the caller."""

    username: str
    display_name: str
    superuser: bool
    workspaces: list[RoleInWorkspace]
    key: KeyInUse | None
