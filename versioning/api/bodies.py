"""What request bodies hold. The snapshot fields come from `versioning.domain.fields`, the rest is here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema
from pydantic_core.core_schema import json_or_python_schema
from rest_framework.request import Request
from typing_extensions import TypeAliasType

from versioning.domain import fields
from versioning.domain.config import raise_for_faults
from versioning.domain.errors import Invalid
from versioning.domain.fields import UNCHANGED, JsonObject, NotBlank, ResourceId, Shape
from versioning.editor.inputs import MAX_MESSAGE

# How a member of the record is called by the verbs of the editor.
RECORD_MEMBERS = {
    "id": "id",
    "workspaceId": "workspace",
    "visibility": "visibility",
    "metadata": "metadata",
    "autoPublish": "publish",
    "changeMessage": "message",
}


NotEmpty = Annotated[str, Field(json_schema_extra={"minLength": 1})]
ChangeMessage = Annotated[str, Field(json_schema_extra={"maxLength": MAX_MESSAGE})]


class Saved(Shape):
    """What every save may say beside the snapshot fields."""

    change_message: Annotated[
        ChangeMessage | None, Field(description=f"Why; trimmed, up to {MAX_MESSAGE} characters.")
    ] = None
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

    visibility: fields.Visibility = UNCHANGED


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


class AgentToExport(OverrideFields):
    """The fields of an agent to be written into a file; anything else is left out of it."""

    model_config = ConfigDict(extra="allow")


class PromptBlockToExport(fields.PromptBlockFields):
    """The fields of a prompt block to be written into a file; anything else is left out of it."""

    model_config = ConfigDict(extra="allow")

    name: NotBlank | None = None  # type: ignore[assignment]
    content: str | None = None  # type: ignore[assignment]


class AgentUpdate(fields.AgentFields, Saved, HasVisibility):
    """An edit of an agent."""


class PromptBlockCreate(fields.PromptBlockConfig, Created):
    """A new prompt block."""


class PromptBlockUpdate(fields.PromptBlockFields, Saved):
    """An edit of a prompt block."""


class VersionCreate(Shape):
    """The body of a verb that makes a version."""

    change_message: ChangeMessage | None = None


class Clone(Shape):
    """The body of clone."""

    new_id: ResourceId
    new_name: NotBlank = UNCHANGED
    workspace_id: NotBlank = UNCHANGED


class SetLabel(Shape):
    """The body of setting a label."""

    version_id: NotEmpty
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

    blocks: list[fields.InstructionBlock]
    context: JsonObject = UNCHANGED


class ChatText(Shape):
    """A part of what a message says."""

    type: Literal["text"]
    text: str


class ChatMessage(Shape):
    """A message of a conversation; a user's is not blank."""

    role: Literal["user", "assistant", "system"]
    content: str | Annotated[list[ChatText], Field(min_length=1)]


class StatusSelector(Shape):
    """The version that has this status."""

    status: Literal["published", "draft"]


class VersionIdSelector(Shape):
    """Exactly this version."""

    version_id: NotEmpty


class LabelSelector(Shape):
    """The version that carries this label."""

    label: NotEmpty


VersionSelector = TypeAliasType("VersionSelector", StatusSelector | VersionIdSelector | LabelSelector)


class Versions(Shape):
    """Which versions run: of agents by id, of the called agent itself, of all that nothing names."""

    agents: dict[str, VersionSelector] = UNCHANGED
    self_: Annotated[VersionSelector, Field(alias="self")] = UNCHANGED
    default_status: Literal["published", "draft"] = UNCHANGED
    strict: Annotated[
        bool, Field(description="Whether a version that cannot be resolved is an error, not a warning.")
    ] = UNCHANGED


class RunSettings(Shape):
    """Settings of the model; what is absent or null is left to the agent."""

    temperature: float | None = None
    max_tokens: int | None = None
    max_output_tokens: int | None = None
    top_p: float | None = None
    top_k: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    stop_sequences: list[str] | None = None
    timeout: float | None = None
    max_retries: int | None = None


class Described:
    """Describes a member in the document whose value the runtime itself reads and checks."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a schema that takes what the annotation says and is described as the shape."""
        return json_or_python_schema(handler.generate_schema(self.shape), handler(source))


Messages = TypeAliasType(
    "Messages",
    Annotated[str, fields.NOT_BLANK] | ChatMessage | Annotated[list[ChatMessage], Field(min_length=1)],
)


class Run(Shape):
    """The body of generate and stream."""

    messages: Annotated[
        Any,
        Described(Messages),
        Field(description="Text, a message, or a list of messages that ends with the user's."),
    ]
    versions: Annotated[JsonObject, Described(Versions)] | None = None
    request_context: JsonObject | None = None
    max_steps: Annotated[int, Field(json_schema_extra={"minimum": 1})] | None = None
    model_settings: Annotated[JsonObject, Described(RunSettings)] | None = None
    instructions: Annotated[str, fields.NOT_BLANK] | None = None


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
