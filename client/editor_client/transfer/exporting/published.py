"""Published agents, with the data for writing them in another format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.errors import NotFound
from editor_client.manage.shapes import DatasetRecord, ItemRecord
from editor_client.shared.configurations import keys
from editor_client.shared.instructions import placeholders, split
from editor_client.sync import Client
from editor_client.transfer.importing.collection import Collection, excerpt

SETTINGS: Final = {
    "maxOutputTokens": "max_tokens",
    "topP": "top_p",
    "topK": "top_k",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
    "stopSequences": "stop",
}
"""The settings of models that have other names elsewhere."""
_MODEL_SETTINGS: Final = {
    "temperature": "temperature",
    "topP": "topP",
    "frequencyPenalty": "frequencyPenalty",
    "presencePenalty": "presencePenalty",
    "maxCompletionTokens": "maxOutputTokens",
}
"""The settings that `model` can contain: their names in `modelSettings`."""
_LEFT_OUT: Final = (
    "tools",
    "agents",
    "workflows",
    "integrationTools",
    "toolProviders",
    "mcpClients",
    "inputProcessors",
    "outputProcessors",
    "memory",
    "skills",
    "workspace",
    "browser",
    "requestContextSchema",
)
_MESSAGE: Final = re.compile(r"([0-9]{1,4})-([a-z]{1,20})")


@dataclass(frozen=True, kw_only=True)
class Text:
    """A block of instructions."""

    content: str
    block_id: str | None = None
    """The id of its prompt block."""
    is_literal: bool = False
    """Whether it has no placeholders."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """An item of a dataset, with the ids of its scorers."""

    item: ItemRecord
    scorer_ids: Sequence[str]
    dataset: DatasetRecord


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published agent."""

    id: str
    name: str
    description: str | None
    texts: Sequence[Text]
    messages: Sequence[tuple[int, str, str]]
    """Number, role and text of the messages that were imported with it."""
    model: Mapping[str, Any] | None
    """The model without settings."""
    settings: Mapping[str, Any]
    """The settings of the model, wherever the agent has them, by their names in `modelSettings`."""
    extra: Mapping[str, Any]
    """The data that the import stored in the metadata."""
    tags: Sequence[str]
    cases: Sequence[Case]
    scorers: Mapping[str, Mapping[str, Any]]
    """The published scorers that the agent and its cases name, by id."""
    own_scorer_ids: Sequence[str]


@dataclass
class Reader:
    """Reads published agents, and notes parts that no format has."""

    client: Client
    losses: Collection = field(default_factory=lambda: Collection("export"))
    blocks: dict[str, str] = field(default_factory=dict)
    """The contents of the prompt blocks that the agents show, by id."""

    def read(self, agent_id: str) -> Published:
        """Return a published agent; raises `NotFound`."""
        parts = self.client.get_agent(agent_id).parts()
        config: Mapping[str, Any] = parts["config"]
        options = self._first_variant(config.get("defaultOptions"), "defaultOptions", agent_id) or {}
        model = self._first_variant(config.get("model"), "model", agent_id)
        fields = {
            **self._stored_config(agent_id),
            **config,
            "requestContextSchema": parts["requestContextSchema"],
        }
        left = [name for name in _LEFT_OUT if fields.get(name)]
        left += [f"defaultOptions.{excerpt(name)}" for name in sorted(options) if name != "modelSettings"]
        if left:
            self.lose("left_out", agent_id, f"Left out: {', '.join(left)}.")
        metadata = parts["metadata"] or {}
        cases = [
            Case(item=item, scorer_ids=item.scorer_ids or dataset.scorer_ids or (), dataset=dataset)
            for dataset in self.client.iter_datasets(target_type="agent", target_ids=agent_id, per_page=100)
            for item in self.client.get_dataset(dataset.id).iter_items(per_page=200, direction="ASC")
        ]
        own = list(dict.fromkeys(key for _, key in keys(dict(config), "scorers")))
        scorer_ids = dict.fromkeys([*own, *(scorer_id for case in cases for scorer_id in case.scorer_ids)])
        scorers = {
            scorer_id: scorer
            for scorer_id in scorer_ids
            if (scorer := self._scorer(scorer_id, agent_id)) is not None
        }
        return Published(
            id=agent_id,
            name=config["name"],
            description=config.get("description"),
            texts=list(self._texts(agent_id, config["instructions"], parts)),
            messages=self._messages(agent_id),
            model=model and {name: value for name, value in model.items() if name not in _MODEL_SETTINGS},
            settings=_settings(model or {}, options.get("modelSettings") or {}),
            extra=metadata.get("import") or {},
            tags=metadata.get("tags") or [],
            cases=cases,
            scorers=scorers,
            own_scorer_ids=own,
        )

    def lose_of_model(self, agent: Published) -> None:
        """Note the members of the model that no format has."""
        if more := sorted(set(agent.model or ()) - {"provider", "name"}):
            self.lose("model", agent.id, f"Left out of the model: {', '.join(map(excerpt, more))}.")

    def lose_of_item(self, item: ItemRecord, where: str, *names: str) -> None:
        """Note which of these members of an item are left out."""
        if left := [name for name in names if item.raw.get(name)]:
            self.lose("item", where, f"Left out of items: {', '.join(left)}.")

    def lose(self, code: str, where: str, message: str) -> None:
        """Note a loss."""
        self.losses.lose(code, where, message)

    def _texts(self, agent_id: str, instructions: Any, parts: Mapping[str, Any]) -> Iterator[Text]:
        if isinstance(instructions, str):
            yield Text(content=instructions, is_literal=True)
            return
        for number, block in enumerate(instructions, 1):
            where = f"{agent_id}, block {number}"
            text_block: Mapping[str, Any] | None = block
            if block["type"] == "prompt_block_ref":
                text_block = parts["promptBlocks"].get(block["id"])
                if text_block is None or block["id"] in parts["omittedBlocks"]:
                    self.lose("block", where, f"{excerpt(block['id'])} is not published, and left out.")
                    continue
                self.blocks[block["id"]] = text_block["content"]
            if ((text_block or {}).get("rules") or {}).get("conditions"):
                self.lose("rules", where, "Its conditions are left out: it is there in every context.")
            if text_block is not None and text_block["content"].strip():
                yield Text(content=text_block["content"], block_id=block.get("id"))

    def _messages(self, agent_id: str) -> list[tuple[int, str, str]]:
        """Return the messages that an import turned into prompt blocks, in their order."""
        prefix = f"{agent_id}/messages/"
        messages = []
        for block in self.client.iter_stored_prompt_blocks(search=prefix, status="published"):
            match = _MESSAGE.fullmatch(block.id.removeprefix(prefix))
            if match and block.content:
                messages.append((int(match[1]), match[2], block.content))
        return sorted(messages)

    def _first_variant(self, value: Any, name: str, agent_id: str) -> Any:
        """Return a value; of variants, the first."""
        if not isinstance(value, list):
            return value
        self.lose("variants", agent_id, f"Of the variants of {name} only the first is exported.")
        return value[0]["value"] if value else None

    def _stored_config(self, agent_id: str) -> Mapping[str, Any]:
        """Return the fields of the published version; none for an agent that only code defines."""
        try:
            return self.client.get_stored_agent(agent_id).details().config
        except NotFound:
            return {}

    def _scorer(self, scorer_id: str, agent_id: str) -> Mapping[str, Any] | None:
        try:
            record = self.client.get_stored_scorer(scorer_id).details()
        except NotFound:
            record = None
        if record is None or record.active_version_id is None:
            self.lose("scorer", agent_id, f"The scorer {excerpt(scorer_id)} is not published, and left out.")
            return None
        return record.config


def _settings(model: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a run uses: those of the model where the others have none."""
    found = {ours: model[name] for name, ours in _MODEL_SETTINGS.items() if model.get(name) is not None}
    return found | {name: value for name, value in settings.items() if value is not None or name not in found}


def rewritten(text: Text, write: Callable[[str, str | None], str], plain: Callable[[str], str]) -> str:
    """Return a text whose placeholders are written by `write(path, fallback)`, and other text by `plain`."""
    if text.is_literal:
        return plain(text.content)
    placeholder_names = placeholders(text.content)
    return "".join(
        write(*next(placeholder_names)) if is_placeholder else plain(piece)
        for piece, is_placeholder in split(text.content)
    )


def arrange_messages(
    systems: Sequence[str],
    other_messages: Sequence[tuple[int, str, str]],
    fill: Callable[[], dict[str, str] | None],
) -> list[dict[str, str]]:
    """Return messages in the order of the prompt that they were imported from, so that they stay the same.

    `other_messages` have their original numbers. System texts fill the gaps, and then the result of `fill`:
    a message that an import omits.
    """
    placed = {number: {"role": role, "content": content} for number, role, content in other_messages}
    pending = [{"role": "system", "content": content} for content in systems]
    messages: list[dict[str, str]] = []
    number = 1
    while placed or pending:
        if number in placed:
            messages.append(placed.pop(number))
        elif pending:
            messages.append(pending.pop(0))
        elif (message := fill()) is not None:
            messages.append(message)
        number += 1
    return messages


def with_question(
    systems: Sequence[str], other_messages: Sequence[tuple[int, str, str]], question: str
) -> list[dict[str, str]]:
    """Return messages with the user's input: in the first gap, or at the end.

    If there are other user messages and no gap, it is not added.
    """
    questions = iter([{"role": "user", "content": question}])
    messages = arrange_messages(systems, other_messages, lambda: next(questions, None))
    if all(message["role"] != "user" for message in messages):
        messages.extend(questions)
    return messages


def curly(text: Text, reader: Reader, where: str) -> str:
    """Return a text for a language that only fills in `{{name}}`; note losses."""

    def write(path: str, fallback: str | None) -> str:
        if fallback is not None:
            reader.lose("fallback", where, f"The fallback of {path!r} is left out.")
        return f"{{{{{path}}}}}"

    def plain(piece: str) -> str:
        if any(True for _ in placeholders(piece)):
            reader.lose("literal_placeholder", where, "Text that looks like a variable becomes one.")
        return piece

    return rewritten(text, write, plain)
