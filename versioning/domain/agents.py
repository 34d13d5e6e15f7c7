"""Agents: the fields of their snapshots, their references, and the agents that code defines. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, Protocol
from uuid import UUID

from editor_client.shared.configurations import keys
from editor_client.shared.instructions import BlockReport
from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError
from typing_extensions import TypeAliasType

from versioning.domain import provider_catalog
from versioning.domain.access import Caller, Right
from versioning.domain.config import (
    NOT_BLANK,
    UNCHANGED,
    Config,
    ConfigSchema,
    JsonObject,
    MayVary,
    NotBlank,
    ResourceId,
    RuleGroup,
    Shape,
    SharedFields,
    list_or,
    not_blank,
)
from versioning.domain.errors import Message
from versioning.domain.kinds import ResourceKind
from versioning.domain.overrides import CodeAgent
from versioning.domain.selectors import Selector, Status

# Tags of union branches, as in `versioning.domain.config`.
_TEXT, _BLOCKS, _OBJECT, _LIST = "\0text", "\0blocks", "\0object", "\0list"
_BLOCK_TYPES = ("text", "prompt_block", "prompt_block_ref")


class TextBlock(Shape):
    """A piece of instructions that is always included."""

    type: Literal["text"]
    content: str


class InlinePromptBlock(Shape):
    """A piece of instructions that is included when its rules hold."""

    type: Literal["prompt_block"]
    content: str
    rules: RuleGroup | None = None


class PromptBlockRef(Shape):
    """A reference to a stored prompt block, by id."""

    type: Literal["prompt_block_ref"]
    id: ResourceId


def _block_tag(value: Any) -> str | None:
    block_type = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return f"\0{block_type}" if block_type in _BLOCK_TYPES else None


_UNKNOWN_TYPE: Final = Message(
    "must be an object whose type is one of {types}", types=", ".join(_BLOCK_TYPES)
)
InstructionBlock = TypeAliasType(
    "InstructionBlock",
    Annotated[
        Annotated[TextBlock, Tag("\0text")]
        | Annotated[InlinePromptBlock, Tag("\0prompt_block")]
        | Annotated[PromptBlockRef, Tag("\0prompt_block_ref")],
        Discriminator(
            _block_tag,
            custom_error_type="block_type",
            custom_error_message="{reason}",
            custom_error_context={"reason": _UNKNOWN_TYPE},
        ),
    ],
)


def _require_text(value: str | list[Any]) -> str | list[Any]:
    if isinstance(value, str):
        return not_blank(value)
    if not any(isinstance(block, PromptBlockRef) or block.content.strip() for block in value):
        raise PydanticCustomError("blank", "must not be blank")
    return value


Instructions = TypeAliasType(
    "Instructions",
    Annotated[
        Annotated[str, Tag(_TEXT), NOT_BLANK]
        | Annotated[list[InstructionBlock], Tag(_BLOCKS), Field(json_schema_extra={"minItems": 1})],
        list_or(_TEXT, _BLOCKS),
        AfterValidator(_require_text),
        Field(description="A text, or blocks that are joined by blank lines."),
    ],
)


def _model_name(value: str) -> str:
    problem = provider_catalog.problem(not_blank(value))
    if problem is not None:
        raise PydanticCustomError("model_name", "{reason}", {"reason": problem})
    return value


ModelName = Annotated[
    str,
    AfterValidator(_model_name),
    Field(json_schema_extra={"minLength": 1, "pattern": provider_catalog.PATTERN}),
]


class Model(Shape):
    """A model, by provider and name; other members are specific to the provider."""

    model_config = ConfigDict(extra="allow")

    provider: NotBlank
    name: ModelName


class Usage(Shape):
    """When a tool, a sub-agent or a workflow is offered, and with which description."""

    description: str | None = None
    rules: RuleGroup | None = None


class Scorer(Usage):
    """How a scorer is used."""

    sampling: JsonObject | None = None


_Key = Annotated[str, Field(min_length=1)]
Usages = TypeAliasType("Usages", dict[_Key, Usage])
Scorers = TypeAliasType("Scorers", dict[_Key, Scorer])
SubAgents = TypeAliasType("SubAgents", dict[ResourceId, Usage])

# A JSON object stored as given, for any runtime that reads it. Its variants may also hold lists; the lists of
# matching variants are concatenated.
ObjectOrList = TypeAliasType(
    "ObjectOrList",
    Annotated[
        Annotated[JsonObject, Tag(_OBJECT)] | Annotated[list[Any], Tag(_LIST)], list_or(_OBJECT, _LIST)
    ],
)
OpaqueJson = Annotated[JsonObject, MayVary("Object", ObjectOrList)]


class AgentFields(SharedFields):
    """The fields of an agent in an edit; an absent field is unchanged."""

    instructions: Instructions = UNCHANGED
    model: Annotated[Model, MayVary("Model")] | None = None
    tools: Annotated[Usages, MayVary("Usages")] | None = None
    agents: Annotated[SubAgents, MayVary("SubAgents")] | None = None
    workflows: Annotated[Usages, MayVary("Usages")] | None = None
    scorers: Annotated[Scorers, MayVary("Scorers")] | None = None
    integration_tools: OpaqueJson | None = None
    tool_providers: OpaqueJson | None = None
    mcp_clients: OpaqueJson | None = None
    default_options: OpaqueJson | None = None
    input_processors: OpaqueJson | None = None
    output_processors: OpaqueJson | None = None
    memory: OpaqueJson | None = None
    skills: OpaqueJson | None = None
    workspace: OpaqueJson | None = None
    browser: OpaqueJson | None = None


class AgentConfig(AgentFields):
    """The complete configuration of a stored agent."""

    name: NotBlank
    instructions: Instructions


def referenced_tools(config: Config) -> list[tuple[str, str]]:
    """Return (field, name) for every tool, conditional variants included."""
    return keys(config, "tools")


OVERRIDE: Final = ConfigSchema(edit=AgentFields, whole=AgentFields)
"""The snapshot fields of overrides: none is required, so each can be cleared."""
AGENT: Final = ResourceKind(
    slug="agent",
    id_member="agentId",
    namespace="agent",
    singular="agent",
    plural="agents",
    path="agents",
    icon="smart_toy",
    text_field="instructions",
    schema=ConfigSchema(edit=AgentFields, whole=AgentConfig),
    studio_words="studio.kind_words.AGENT",
    override_schema=OVERRIDE,
    publishes_at_once=True,
    has_visibility=True,
    is_run=True,
)


@dataclass
class Registry:
    """The agents and tools that code defines, as the editor sees them.

    Filled by the framework when the application starts; empty if code defines nothing.
    """

    workspace_id: str
    """The workspace of code-defined agents."""
    agents: Mapping[str, CodeAgent] = field(default_factory=dict)
    tools: frozenset[str] = frozenset()
    """The tools that every agent can use by name."""
    providers: Mapping[str, Any] = field(default_factory=dict)
    """The model providers that the application defines, by name: `ProviderCatalog.own`."""

    def register(
        self, agents: Sequence[CodeAgent], tools: Collection[str], providers: Mapping[str, Any]
    ) -> None:
        """Replace the registered agents, tools and providers with those of the framework."""
        self.agents = {agent.id: agent for agent in agents}
        self.tools = frozenset(tools)
        self.providers = providers

    def get(self, agent_id: str) -> CodeAgent | None:
        return self.agents.get(agent_id)

    def overridden_by(self, resource_id: str, workspace_id: str) -> CodeAgent | None:
        """Return the agent that a record with this id in this workspace overrides.

        None for a record in another workspace: it was stored before the code took its id, and stays an
        ordinary resource.
        """
        return self.agents.get(resource_id) if workspace_id == self.workspace_id else None

    def readable_by(self, caller: Caller) -> dict[str, CodeAgent]:
        return {agent_id: agent for agent_id, agent in self.agents.items() if self.readable(agent_id, caller)}

    def readable(self, agent_id: str, caller: Caller) -> CodeAgent | None:
        agent = self.agents.get(agent_id)
        if agent is None or not caller.covers(agent_id):
            return None
        is_public = agent.visibility == "public"
        return agent if is_public or caller.may(Right.READ, self.workspace_id) else None

    def tool_names(self, agent_id: str) -> frozenset[str]:
        agent = self.agents.get(agent_id)
        return self.tools.union(agent.tool_descriptions) if agent else self.tools


class PromptBlockFields(SharedFields):
    """The fields of a prompt block in an edit; an absent field is unchanged."""

    content: str = UNCHANGED
    rules: RuleGroup | None = None


class PromptBlockConfig(PromptBlockFields):
    """The complete configuration of a prompt block."""

    name: NotBlank
    content: str


PROMPT_BLOCK: Final = ResourceKind(
    slug="promptBlock",
    id_member="blockId",
    namespace="prompt",
    singular="prompt block",
    plural="prompt blocks",
    path="prompt-blocks",
    icon="article",
    text_field="content",
    schema=ConfigSchema(edit=PromptBlockFields, whole=PromptBlockConfig),
    studio_words="studio.kind_words.PROMPT_BLOCK",
    is_shown=True,
)


CONTEXT_INVALID: Final = "request_context_invalid"
"""The code of the notice, and of the error, for a context that `requestContextSchema` refuses."""


@dataclass(frozen=True)
class Notice:
    """Information for the caller although the request succeeded."""

    code: str
    message: str
    field: str | None = None
    placeholders: tuple[str, ...] = ()
    """The paths of the placeholders concerned."""
    position: int | None = None
    """The offset in the text, in characters."""
    code_point: str | None = None
    """The character at that offset, such as `U+200B`."""


@dataclass(frozen=True, kw_only=True)
class ResolvedAgent:
    """An agent as applications use it: one text of instructions, plain values, no conditions."""

    id: str
    uuid: UUID
    """The identity; a later agent with the same id has a different one."""
    name: str
    description: str | None
    instructions: str
    tools: Mapping[str, Any]
    agents: Mapping[str, Any]
    model: Mapping[str, Any] | None
    default_options: Mapping[str, Any]
    source: str
    """`code` if the agent is defined in code, overridden or not; otherwise `stored`."""
    status: Status
    metadata: Mapping[str, Any]
    resolved_version_id: str | None
    """None if no stored version is involved: the agent is as defined in code."""
    active_version_id: str | None
    is_live: bool
    """Whether requests for the published agent get this: the active version, the requested version of a
    released label, or the agent as defined in code.
    """
    selector: Selector
    fallback: Notice | None = None
    warnings: tuple[Notice, ...] = ()
    blocks: tuple[BlockReport, ...] = ()
    """The result for each block of the instructions, inline ones included; empty for a plain text."""
    unresolved_blocks: tuple[str, ...] = ()
    """The prompt blocks whose selected version is missing, or not readable for the selecting caller."""
    outcome: Mapping[str, Any] | None = None
    """The outcome of the choice of its version (`versioning.serving.choice`); None without a chooser."""
    block_outcomes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The same for the prompt blocks that it refers to, by id."""
    resolved_version_number: int | None = None
    depends_on: tuple[tuple[str, str | None], ...] = ()
    """Its dependencies besides the agent and its blocks, because an application chooses their versions."""


class Involving(Protocol):
    """A result made from several agents."""

    @property
    def looked_up(self) -> Collection[str]:
        """The ids of all agents that were requested, existing or not."""

    @property
    def agents(self) -> Mapping[str, ResolvedAgent]:
        """The agents that were found, by id."""
