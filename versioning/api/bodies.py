"""What request bodies hold. The snapshot fields come from `versioning.fields`, the rest is here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from rest_framework.request import Request

from versioning import fields
from versioning.config import raise_for_faults
from versioning.errors import Invalid
from versioning.fields import UNCHANGED, JsonObject, NotBlank, ResourceId, Shape

# How a member of the record is called by the verbs of the editor.
RECORD_MEMBERS = {
    "id": "id",
    "workspaceId": "workspace",
    "visibility": "visibility",
    "metadata": "metadata",
    "autoPublish": "publish",
    "changeMessage": "message",
}


class Saved(Shape):
    """What every save may say beside the snapshot fields."""

    change_message: Annotated[str | None, Field(description="Why; trimmed, up to 500 characters.")] = None
    auto_publish: bool = UNCHANGED
    metadata: Annotated[
        JsonObject | None, Field(description="Merged member by member; null removes one.")
    ] = None


class Created(Saved):
    """What creating may say beside the snapshot fields."""

    id: ResourceId = UNCHANGED
    workspace_id: NotBlank = UNCHANGED


class HasVisibility(Shape):
    """Agents can be public."""

    visibility: Literal["private", "public"] = UNCHANGED


class AgentCreate(fields.AgentConfig, Created, HasVisibility):
    """A new agent."""


class OverrideFields(fields.AgentFields):
    """An override requires nothing, so that everything in it can be cleared."""

    name: NotBlank | None = None  # type: ignore[assignment]
    instructions: fields.Instructions | None = None  # type: ignore[assignment]


class OverrideCreate(OverrideFields, Created, HasVisibility):
    """A new override of an agent that code defines."""


class OverrideUpdate(OverrideFields, Saved, HasVisibility):
    """An edit of an override."""


class AgentUpdate(fields.AgentFields, Saved, HasVisibility):
    """An edit of an agent."""


class PromptBlockCreate(fields.PromptBlockConfig, Created):
    """A new prompt block."""


class PromptBlockUpdate(fields.PromptBlockFields, Saved):
    """An edit of a prompt block."""


class Message(Shape):
    """The body of a verb that makes a version."""

    change_message: str | None = None


class Clone(Shape):
    """The body of clone."""

    new_id: ResourceId
    new_name: NotBlank = UNCHANGED
    workspace_id: NotBlank = UNCHANGED


class SetLabel(Shape):
    """The body of setting a label."""

    version_id: str
    released: Annotated[
        bool,
        Field(
            description="Whether the version is served under this name to whoever may read what is "
            "published. As it is when absent; false for a new label."
        ),
    ] = UNCHANGED


class ChangeRequest(fields.AgentFields):
    """The body of a change request: the fields to propose, and why."""

    change_message: str | None = None
    inspect_only: bool = UNCHANGED


class Preview(Shape):
    """The body of the preview of instructions."""

    blocks: list[fields.Block]
    context: JsonObject = UNCHANGED


class Run(Shape):
    """The body of generate and stream."""

    messages: Annotated[Any, Field(description="Text, a message, or a list of `{role, content}`.")]
    versions: Annotated[JsonObject | None, Field(description="Which versions run, by agent id.")] = None
    request_context: JsonObject | None = None
    max_steps: int | None = None
    model_settings: JsonObject | None = None
    instructions: str | None = None


class Nothing(Shape):
    """The body of a verb that needs none."""


def read(request: Request, shape: type[Shape]) -> dict[str, Any]:
    """Return the members of the body; raises `Invalid` naming every fault."""
    body = as_object(request)
    raise_for_faults(shape, body)
    return body


def change_request(request: Request) -> tuple[dict[str, Any], str | None]:
    """Return the fields to propose, as those of an export, and the message; raises `Invalid`."""
    body = as_object(request)
    about = {name: body[name] for name in ("changeMessage", "inspectOnly") if name in body}
    raise_for_faults(ChangeRequest, about)
    return body, about.get("changeMessage")


def as_object(request: Request) -> dict[str, Any]:
    """Return the body, which must be an object; no body at all is an empty one."""
    body = request.data
    if not isinstance(body, dict):
        raise Invalid.field("body", "must be a JSON object")
    return body


def split(body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the snapshot fields, and the rest under the names that the editor's verbs use."""
    record = {RECORD_MEMBERS[name]: value for name, value in body.items() if name in RECORD_MEMBERS}
    return {name: value for name, value in body.items() if name not in RECORD_MEMBERS}, record
