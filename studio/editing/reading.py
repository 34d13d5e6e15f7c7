"""A read-only configuration, for people who cannot change it: the prompt, the model, tools, sub-agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from editor_client.shared.configurations import referenced_agents
from editor_client.shared.instructions import referenced_blocks

from studio.editing.choices import ReferenceChoice, ShownBlock, references_to
from studio.field_words import in_reading_order, words_of
from studio.forms.inputs import json_text
from studio.limits import PageBudget
from versioning.domain.access import Caller
from versioning.domain.config import Config

MAX_ITEMS: Final = 250
"""The maximum number of blocks, of tools and of variants of each on a page."""

_WITH_WORDS: Final = frozenset(
    {"name", "description", "instructions", "content", "rules", "model", "tools", "agents"}
)


@dataclass(frozen=True, kw_only=True)
class ReadText:
    text: str
    left_out: int


@dataclass(frozen=True, kw_only=True)
class ReadBlock:
    """A block of the instructions: a text, or a prompt block that the agent refers to."""

    text: ReadText | None = None
    id: str = ""
    chosen: ShownBlock | None = None
    """The prompt block, if the caller may read it."""
    rules: Mapping[str, Any] | None = None
    is_filled: bool = True
    """Whether placeholders are filled in, which needs instructions made of blocks."""


@dataclass(frozen=True, kw_only=True)
class ReadUsage:
    name: str
    description: str
    rules: Mapping[str, Any] | None
    agent: ReferenceChoice | None = None


@dataclass(frozen=True, kw_only=True)
class ReadVariant:
    """A value and its condition; a field without variants has one that always applies."""

    value: Any
    rules: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class ReadModel:
    """A model, and the provider's own settings as JSON."""

    provider: str
    name: str
    more: str


@dataclass(kw_only=True)
class ReadConfig:
    description: str
    blocks: Sequence[ReadBlock]
    more_blocks: int
    rules: Mapping[str, Any] | None
    models: Sequence[ReadVariant]
    tools: Sequence[ReadVariant]
    agents: Sequence[ReadVariant]
    others: Sequence[tuple[str, ReadText]] = field(default_factory=list)

    @classmethod
    def of(cls, config: Config, text_field: str, caller: Caller) -> ReadConfig:
        """Return a configuration as far as the caller may read it; `text_field` is the field with its text.

        Takes three queries.
        """
        budget = PageBudget()
        blocks, agents = (
            [target for _, target in islice(targets, MAX_ITEMS)]
            for targets in (referenced_blocks(config), referenced_agents(config))
        )
        resources = references_to(blocks, agents, caller)
        instructions = config.get(text_field, "")
        block_list = instructions if isinstance(instructions, list) else [{"content": instructions}]
        is_filled = not isinstance(config.get("instructions"), str)
        other_fields = in_reading_order(name for name in config if name not in {*_WITH_WORDS, text_field})
        return cls(
            description=config.get("description") or "",
            blocks=[
                ReadBlock(id=block["id"], chosen=resources.prompt.get(block["id"]))
                if block.get("type") == "prompt_block_ref"
                else ReadBlock(
                    text=_taken(block["content"], budget), rules=block.get("rules"), is_filled=is_filled
                )
                for block in block_list[:MAX_ITEMS]
            ],
            more_blocks=len(block_list[MAX_ITEMS:]),
            rules=config.get("rules"),
            models=[_model(variant) for variant in _variants(config.get("model"))],
            tools=[_usages(variant, {}) for variant in _variants(config.get("tools"))],
            agents=[_usages(variant, resources.agent) for variant in _variants(config.get("agents"))],
            others=[(words_of(name).title, _taken(json_text(config[name]), budget)) for name in other_fields],
        )


def _taken(text: str, budget: PageBudget) -> ReadText:
    fitting_text = budget.take(text)
    return ReadText(text=fitting_text, left_out=len(text) - len(fitting_text))


def _variants(value: Any) -> Iterator[ReadVariant]:
    if isinstance(value, list):
        for variant in value[:MAX_ITEMS]:
            yield ReadVariant(value=variant["value"], rules=variant.get("rules"))
    elif value:
        yield ReadVariant(value=value)


def _model(variant: ReadVariant) -> ReadVariant:
    more = {key: member for key, member in variant.value.items() if key not in {"provider", "name"}}
    model = ReadModel(
        provider=variant.value.get("provider", ""),
        name=variant.value.get("name", ""),
        more=json_text(more or None),
    )
    return ReadVariant(value=model, rules=variant.rules)


def _usages(variant: ReadVariant, agents: Mapping[str, ReferenceChoice]) -> ReadVariant:
    usages = [
        ReadUsage(
            name=key,
            description=usage.get("description") or "",
            rules=usage.get("rules"),
            agent=agents.get(key),
        )
        for key, usage in islice(variant.value.items(), MAX_ITEMS)
    ]
    return ReadVariant(value=usages, rules=variant.rules)
