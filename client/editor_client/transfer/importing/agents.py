"""Agents from prompts: the versions of one are read together, with the blocks that their messages become."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict, Unpack

from editor_client.shared.clipping import clipped
from editor_client.shared.configurations import MAX_MESSAGE
from editor_client.transfer.importing import models
from editor_client.transfer.importing.collection import (
    Collection,
    Config,
    Resource,
    Snapshot,
    Unreadable,
    shown,
)
from editor_client.transfer.importing.messages import Blocks, Message, chat_prompt, left_of, texts_of
from editor_client.transfer.importing.templates import Language, Translator

TITLES: Final[Mapping[str, str]] = {
    "openai": "OpenAI",
    "openai-evals": "OpenAI Evals",
    "promptfoo": "promptfoo",
    "langfuse": "Langfuse",
    "prompt-yml": "GitHub Models",
    "prompty": "Prompty",
    "dotprompt": "dotprompt",
    "mlflow": "MLflow",
    "langsmith": "LangSmith",
}
"""The systems as they write themselves."""


class About(TypedDict, total=False):
    """What is known of a version besides its text."""

    number: str
    message: str
    labels: Sequence[str]
    model: dict[str, Any] | None
    settings: Mapping[str, Any]
    extra: Mapping[str, Any]
    """What has no place in a configuration; that of the newest version is kept."""
    live: bool
    """Whether it is the published one in the source."""
    more: Config
    """Further fields of the configuration."""


@dataclass
class Extras:
    """What has no place in the versions of a resource: of the newest, and of earlier ones that differ."""

    collection: Collection
    name: str
    _newest: Mapping[str, Any] = field(default_factory=dict, init=False)
    _number: str | None = field(default=None, init=False)
    _earlier: dict[str, dict[str, Any]] = field(default_factory=dict, init=False)

    def add(self, number: str | None, extra: Mapping[str, Any]) -> None:
        """Add what a version has, which is newer than those before it."""
        if lost := {name: value for name, value in self._newest.items() if extra.get(name) != value}:
            message = f"Of an earlier version left out: {', '.join(lost)}. metadata.import has what it says."
            self.collection.lose("earlier_version", self.name, message)
            self._earlier[self._number or ""] = lost
        self._newest, self._number = extra, number

    def all(self) -> dict[str, Any]:
        """Return what `metadata.import` keeps."""
        return {**self._newest, **({"earlierVersions": self._earlier} if self._earlier else {})}


@dataclass
class AgentReader:
    """Collects the versions of one prompt."""

    collection: Collection
    name: str
    """The name in the source."""
    language: Language
    title: str = field(default="", kw_only=True)
    """The name for people, if it is another."""
    description: str | None = field(default=None, kw_only=True)
    more_names: Sequence[str] = field(default=(), kw_only=True)
    """Names of variables in data that fills the prompt in."""
    is_path: bool = field(default=False, kw_only=True)
    """Whether the name is the path of a file, which is the id if it can be one."""
    dropped_variables: Sequence[str] = field(default=(), init=False)
    """The names, in the source, of the variables in the message that is left out."""
    _snapshots: list[Snapshot] = field(default_factory=list, init=False)
    _blocks: dict[str, list[Snapshot]] = field(default_factory=dict, init=False)
    _published: int | None = field(default=None, init=False)
    _extras: Extras = field(init=False)

    def __post_init__(self) -> None:
        self._extras = Extras(self.collection, self.name)

    @property
    def id(self) -> str:
        """The id of the agent."""
        return self.collection.id_for(self.name, "agent", is_path=self.is_path)

    @property
    def is_made(self) -> bool:
        """Whether any version has a text."""
        return bool(self._snapshots)

    def add(self, messages: Sequence[Message], **about: Unpack[About]) -> None:
        """Add a version, unless there is no text in it."""
        number = about.get("number") or None
        where = self.name if number is None else f"{self.name} v{number}"
        texts = texts_of(messages)
        translator = Translator.of(self.collection, self.language, texts, self.more_names, where=where)
        prompt = chat_prompt(messages, translator, where)
        if left := left_of(messages):
            about["extra"] = {**about.get("extra", {}), "messages": left}
        if prompt is None:
            return
        self.dropped_variables = prompt.input_variables
        for place, content in prompt.blocks.items():
            block: Config = {"name": self._titled(f" ({place})"), "content": content}
            said = self.message_of(number, about.get("message", ""))
            self._blocks.setdefault(place, []).append(Snapshot(config=block, message=said, number=number))
        self.add_instructions(prompt.instructions, **about)

    def add_instructions(self, instructions: str | Blocks, **about: Unpack[About]) -> None:
        """Add a version whose instructions are in the editor's language already."""
        config: Config = {"name": self._titled(), "instructions": instructions, **about.get("more", {})}
        if self.description:
            config["description"] = self.description
        if about.get("live"):
            self._published = len(self._snapshots)
        number = about.get("number") or None
        self._snapshots.append(
            Snapshot(
                config=models.with_model(config, about.get("model"), about.get("settings", {})),
                message=self.message_of(number, about.get("message", "")),
                number=number,
                labels=about.get("labels", ()),
            )
        )
        self._extras.add(number, about.get("extra", {}))

    def finish(self, extra: Mapping[str, Any] | None = None, tags: Sequence[str] = ()) -> None:
        """Put the agent and its blocks into the collection, if any version had a text."""
        if not self._snapshots:
            return
        collection = self.collection
        for place, snapshots in sorted(self._blocks.items()):
            name = f"{self.name}/messages/{place}"
            block_id = f"{self.id}/messages/{place}"
            collection.resources.append(
                Resource(kind="promptBlock", id=block_id, name=name, snapshots=snapshots, tags=tags)
            )
        collection.resources.append(
            Resource(
                kind="agent",
                id=self.id,
                name=self.name,
                snapshots=self._snapshots,
                published=self._published,
                extra=collection.fitting({**(extra or {}), **self._extras.all()}, self.name),
                tags=tags,
            )
        )

    def _titled(self, more: str = "") -> str:
        return f"{(self.title or self.name).strip()}{more}"

    def message_of(self, number: str | None, message: str) -> str:
        """Return the message of a version: where it comes from, and what was said there."""
        return change_message(self.collection, self.name, number, message)


def change_message(collection: Collection, name: str, number: str | None, message: str = "") -> str:
    """Return the message of a version, such as `Langfuse support v7: Shorter`."""
    system = TITLES.get(collection.system, collection.system)
    text = " ".join(part for part in (system, name, number and f"v{number}") if part)
    said = f"{text}: {message}" if message else text
    return said if len(said) <= MAX_MESSAGE else f"{clipped(said, MAX_MESSAGE - 1)}…"


def number_of(version: Any, file: str) -> tuple[int, int, str]:
    """Return what the versions of a prompt are ordered by: their numbers; raises `Unreadable`."""
    number = version.get("version") if isinstance(version, dict) else None
    if isinstance(number, bool) or not isinstance(number, int | str) or str(number).strip() == "":
        raise Unreadable(f"{shown(file)} has a version without a number.")
    text = str(number)
    return (0, int(text), "") if re.fullmatch(r"[0-9]{1,18}", text) else (1, 0, text)
