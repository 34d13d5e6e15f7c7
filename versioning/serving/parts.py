"""The parts of an agent: its configuration before evaluation in a request context.

Clients get them for all contexts, with the rules that choose versions, and evaluate them themselves. The
client's evaluation (`editor_client.parts`) and the service's give the same answer, because both use the
functions of `editor_client.shared`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from editor_client import context_schema
from editor_client.errors import CannotEvaluate
from editor_client.shared import agents
from editor_client.shared.agents import EVALUATED_FIELDS
from editor_client.shared.conditions import Evaluation
from editor_client.shared.instructions import BlockText, referenced_blocks

from versioning.domain.access import Caller
from versioning.domain.agents import AGENT, CONTEXT_INVALID, PROMPT_BLOCK, ResolvedAgent
from versioning.domain.config import Config
from versioning.domain.context_schema import SCHEMA_FIELD
from versioning.domain.errors import PartsUnavailable
from versioning.domain.kinds import ResourceKind
from versioning.domain.selectors import Status
from versioning.domain.snapshots import Snapshot
from versioning.models import Agent, PromptBlock
from versioning.serving import choice
from versioning.serving.assembly import (
    Texts,
    agent_name,
    build,
    context_notices,
    require_instructions,
    texts_for,
)
from versioning.serving.choice import Chooses
from versioning.serving.followed_log import Dependency
from versioning.serving.resolution import Blocks, Candidate

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class AgentParts:
    """A configuration before evaluation, and the prompt blocks that it may show."""

    candidate: Candidate
    texts: Texts
    """Every prompt block that the instructions refer to: its text, or why there is none."""
    characters: int
    """How many characters were read."""
    depends_on: Sequence[Dependency]
    arms: Sequence[AgentParts] = ()
    """The agent in the versions that some contexts get instead, for clients."""
    rule: Mapping[str, Any] | None = None
    """The rule that assigns contexts to arms, with the parts served in each arm."""
    block_rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The same for prompt blocks, by id."""

    @property
    def config(self) -> Config:
        """The fields to evaluate."""
        config = self.candidate.config
        fields = {field: config[field] for field in EVALUATED_FIELDS if field in config}
        return {**fields, "name": agent_name(self.candidate)}

    @property
    def request_context_schema(self) -> Any:
        """The JSON Schema for request contexts; None without one."""
        return self.candidate.config.get(SCHEMA_FIELD)

    @property
    def shown(self) -> dict[str, BlockText | None]:
        """The prompt blocks that any version of the agent refers to, by id; None for those never shown."""
        blocks: dict[str, BlockText | None] = {}
        for arm in (self, *self.arms):
            for block_id, text in arm.texts.items():
                blocks[block_id] = blocks.get(block_id) or (text if isinstance(text, BlockText) else None)
        return dict(sorted(blocks.items()))

    @property
    def omitted(self) -> Mapping[str, str]:
        """Why a prompt block is omitted in every context, by id: `missing` or `unpublished`."""
        return {block_id: text for block_id, text in self.texts.items() if isinstance(text, str)}

    def evaluate(self, evaluation: Evaluation) -> ResolvedAgent:
        """Return the served agent; raises `Invalid` if it is too much to read or to evaluate."""
        evaluation.field = "instructions"
        evaluation.read(self.characters)
        return build(self.candidate, evaluation, self.texts)


def answer_in(parts: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of `GET /agents/:id` in a context, from the parts as clients get them.

    Raises `Invalid` if it is too long, or takes too much to evaluate.
    """
    return agents.answer_in(parts, context, _context_warnings)


def _context_warnings(schema: Any, context: Mapping[str, Any]) -> list[dict[str, Any]]:
    try:
        # The client's check has the same messages and takes a tenth of the time, but lacks some keywords.
        refused = context_schema.refusals(schema, context)
    except CannotEvaluate:
        notices = context_notices(schema, Evaluation(context))
        return [{"code": notice.code, "message": notice.message, "field": notice.field} for notice in notices]
    return [{"code": CONTEXT_INVALID, "message": issue.message, "field": issue.field} for issue in refused]


def make_parts(candidate: Candidate, caller: Caller, context: Mapping[str, Any] | None = None) -> AgentParts:
    """Return the parts of a candidate, with the prompt blocks that it shows in a context.

    Without a context, it shows the active versions. Raises `NoInstructions`, and `Invalid` if the prompt
    blocks are too much to read.
    """
    require_instructions(candidate)
    evaluation = Evaluation(context or {})
    budget = evaluation.characters_left
    chooses = choice.nothing if context is None else partial(choice.chosen, context=context)
    texts = texts_for(candidate, evaluation, caller, chooses)
    block_ids = sorted({target for _, target in referenced_blocks(candidate.config)})
    return AgentParts(
        candidate=replace(candidate, overlay=None),
        texts={block_id: texts.get(block_id, "missing") for block_id in block_ids},
        characters=budget - evaluation.characters_left,
        depends_on=(
            (AGENT.slug, candidate.id),
            *((PROMPT_BLOCK.slug, block_id) for block_id in block_ids),
            *choice.dependencies(AGENT, [candidate.id], context or {}),
            *choice.dependencies(PROMPT_BLOCK, block_ids, context or {}),
        ),
    )


def parts_for_clients(candidate_with: Callable[[Chooses], Candidate], caller: Caller) -> AgentParts:
    """Return the parts of an agent for all contexts.

    `candidate_with` returns the candidate in the chosen version. Raises as `parts_of` does, and
    `PartsUnavailable` if versions are chosen in a way that clients cannot reproduce.
    """
    candidate = candidate_with(choice.nothing)
    own = make_parts(candidate, caller)
    arms: dict[str | None, AgentParts] = {}
    rule = None
    if candidate.selector.status is Status.PUBLISHED and candidate.active_version_id is not None:
        rule = _rules(AGENT, [candidate.id]).get(candidate.id)
        for version in choice.versions(Agent, _named_versions({candidate.id: rule} if rule else {})).values():
            other = candidate_with(partial(choice.always, version=version))
            arms[version.version_id] = make_parts(other, caller)
    own = replace(own, arms=list(arms.values()), rule=rule and _with_arms(rule, arms, _agent_members))
    shown_ids = [block_id for block_id, text in own.shown.items() if text is not None]
    rules = {} if candidate.policy is Blocks.DRAFTS else _rules(PROMPT_BLOCK, shown_ids)
    if rules and candidate.overlay is not None:
        raise PartsUnavailable
    versions = choice.versions(PromptBlock, _named_versions(rules))
    block_rules = {
        block_id: _with_arms(
            rule,
            {version: snapshot for (owner, version), snapshot in versions.items() if owner == block_id},
            _block_members,
        )
        for block_id, rule in rules.items()
    }
    depends_on = dict.fromkeys(dependency for parts in (own, *own.arms) for dependency in parts.depends_on)
    return replace(own, block_rules=block_rules, depends_on=tuple(depends_on))


def _rules(kind: ResourceKind, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Return the rules that choose versions; raises `PartsUnavailable` for other choices."""
    rules = {resource_id: chosen.parts for resource_id, chosen in choice.choices(kind, ids, {}).items()}
    if None in rules.values():
        raise PartsUnavailable
    return {resource_id: rule for resource_id, rule in rules.items() if rule is not None}


def _named_versions(rules: Mapping[str, Mapping[str, Any]]) -> set[tuple[str, str]]:
    return {
        (resource_id, arm["resolvedVersionId"]) for resource_id, rule in rules.items() for arm in rule["arms"]
    }


def _with_arms(
    rule: Mapping[str, Any], versions: Mapping[str | None, T], show: Callable[[T], Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a rule with the parts served in each arm, without arms whose version was deleted."""
    arms = [arm for arm in rule["arms"] if arm["resolvedVersionId"] in versions]
    return {**rule, "arms": [{**arm, **show(versions[arm["resolvedVersionId"]])} for arm in arms]}


def _agent_members(parts: AgentParts) -> dict[str, Any]:
    schema = parts.request_context_schema
    return {"config": parts.config, "requestContextSchema": schema, "omittedBlocks": dict(parts.omitted)}


def _block_members(version: Snapshot) -> dict[str, Any]:
    return {"config": {"content": version.config["content"], "rules": version.config.get("rules")}}
