"""Agents from prompts: their versions, the blocks made from messages, their models and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict, Unpack

from editor_client.shared.clipping import clip
from editor_client.shared.configurations import MAX_MESSAGE
from editor_client.transfer.importing.collection import (
    Collection,
    Config,
    Members,
    Resource,
    Snapshot,
    Unreadable,
    excerpt,
    remove_credentials,
)
from editor_client.transfer.importing.messages import (
    Blocks,
    Language,
    Message,
    Translator,
    chat_prompt,
    collect_leftovers,
    list_texts,
)

BUILT_IN: Final = frozenset(
    {
        *("alibaba", "anthropic", "azure", "azure-responses", "bedrock", "cerebras", "cohere", "crusoe"),
        *("deepseek", "fireworks", "google", "google-cloud", "groq", "heroku", "huggingface", "meta"),
        *("mistral", "moonshotai", "nebius", "ollama", "openai", "openai-chat", "openai-responses"),
        *("openrouter", "ovhcloud", "sambanova", "snowflake", "together", "vercel", "vllm", "xai", "zai"),
    }
)


SETTINGS: Final[Mapping[str, str]] = {
    "temperature": "temperature",
    "max_tokens": "maxOutputTokens",
    "max_output_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
    "top_p": "topP",
    "top_k": "topK",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
    "seed": "seed",
    "stop": "stopSequences",
    "stop_sequences": "stopSequences",
}
"""The settings by their names with underscores; names in camelCase are equivalent."""
_WHOLE: Final = {"maxOutputTokens", "topK", "seed"}
_PROVIDERS: Final = (
    (re.compile(r"(?:ft:)?(?:gpt-|chatgpt-|o[134](?:-|$))"), "openai"),
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gemini-"), "google"),
    (re.compile(r"(?:mistral|ministral|codestral)-"), "mistral"),
)
TRANSLATED: Final[Mapping[str, str]] = {
    # Genkit
    "googleai": "google",
    "google-genai": "google",
    "vertexai": "google-cloud",
    "google-vertex": "google-cloud",
    # promptfoo
    "alicloud": "alibaba",
    "aliyun": "alibaba",
    "dashscope": "alibaba",
    "azureopenai": "azure",
    "hf": "huggingface",
    "llamaapi": "meta",
    "moonshot": "moonshotai",
    "palm": "google",
    "togetherai": "together",
    "vertex": "google-cloud",
    # LangChain, MLflow, Prompty, GitHub Models and others
    "azure_openai": "azure",
    "azure-openai": "azure",
    "aws_bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "amazon-bedrock": "bedrock",
    "gemini": "google",
    "google_genai": "google",
    "google_vertexai": "google-cloud",
    "mistral-ai": "mistral",
    "mistralai": "mistral",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
}
"""Our names of providers that have another name elsewhere."""
_NO_CHAT: Final = frozenset(
    {
        *("agents", "agents-api", "assistant", "audio", "chatkit", "codex", "codex-app-server"),
        *("codex-desktop", "codex-sdk", "embedding", "embeddings", "feature-extraction", "foundry-agent"),
        *("image", "kb", "live", "moderation", "realtime", "sentence-similarity", "speech"),
        *("text-classification", "token-classification", "transcription", "tts", "video", "voice"),
    }
)
"""Segments of promptfoo's providers that are followed by the name of a model for other things than text."""
_WAYS: Final = frozenset(
    {"chat", "responses", "messages", "completion", "converse", "text", "text-generation"}
)
"""Segments of promptfoo's providers for the API of the model; `openai-chat` is one of our providers."""
_PREFIX: Final = re.compile(r"(?!ft:)([A-Za-z][A-Za-z0-9_-]*)([/:])(?=[^/])")
_NO_NAME: Final = re.compile(r"://|\s|[\x00-\x1f\x7f-\x9f]")


def settings_in(members: Members) -> dict[str, Any]:
    """Take the settings of a model; other members and invalid values are left."""
    settings: dict[str, Any] = {}
    for name in members.names():
        ours = SETTINGS.get(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
        fitting = None if ours is None else _fitting(ours, members.peek(name))
        if ours is None or fitting is None or ours in settings:
            continue
        members.skip(name)
        settings[ours] = remove_credentials(fitting, members.collection, members.where)
    return settings


def model_from(
    name: Any, collection: Collection, where: str, *, provider: Any = None
) -> dict[str, Any] | None:
    """Return the model by provider and name; None, with a note, if unknown.

    Providers that have another name in the source are translated.
    """
    if not isinstance(name, str) or not name.strip():
        return None
    text, reason = name.strip(), ""
    if not isinstance(provider, str) or not provider.strip():
        provider, text, reason = _split(text)
        if not provider and not reason:
            provider = next((name for pattern, name in _PROVIDERS if pattern.match(text)), None)
            if provider is not None:
                message = f"The source names no provider of {excerpt(text)}; it is taken to be {provider}."
                collection.lose("model_provider", where, message)
    if not provider or _NO_NAME.search(text) or not text or reason:
        reason = reason or "its provider is not known, or it is no name"
        collection.lose("model", where, f"The model {excerpt(name)!r} is left out: {reason}.")
        return None
    provider = provider.strip()
    provider = TRANSLATED.get(provider.lower(), provider)
    if provider not in BUILT_IN:
        message = f"The provider {excerpt(provider)!r} of {excerpt(text)} is none of those that are built in."
        collection.lose("model_provider", where, message)
    return {"provider": provider, "name": text}


def without_place(name: Any, model: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the part of a model's name for `metadata.import`: all of it, if there is no model."""
    return {"model": name} if model is None and name not in (None, "") else {}


def with_model(config: Config, model: dict[str, Any] | None, settings: Mapping[str, Any]) -> Config:
    """Return the configuration of an agent with its model and settings, if any."""
    more: Config = {} if model is None else {"model": model}
    if settings:
        more["defaultOptions"] = {"modelSettings": dict(settings)}
    return {**config, **more}


def _split(text: str) -> tuple[str | None, str, str]:
    """Return the provider in `openai/gpt-4o` or `openai:chat:gpt-4o`, the name, and why it is not a model.

    A prefix with a colon is a provider only if it is known, because names of models can also have colons.
    """
    match = _PREFIX.match(text)
    if match is None:
        return None, text, ""
    provider, separator, name = match[1], match[2], text[match.end() :]
    if separator == "/":
        return provider, name, ""
    if provider.lower() not in BUILT_IN | TRANSLATED.keys():
        return None, text, ""
    way, colon, rest = name.partition(":")
    if way in _NO_CHAT:
        return provider, name, "it is none for chats"
    if not colon or way not in _WAYS:
        return provider, name, ""
    by_way = f"{TRANSLATED.get(provider.lower(), provider.lower())}-{way}"
    return by_way if by_way in BUILT_IN else provider, rest, ""


def _fitting(name: str, value: Any) -> Any:
    """Return a value in the form of the setting, or None."""
    if name == "stopSequences":
        entries = [value] if isinstance(value, str) else value
        ok = isinstance(entries, list) and all(isinstance(entry, str) for entry in entries)
        return entries if ok else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if name not in _WHOLE or isinstance(value, int) else None


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
"""The names of the systems in their own spelling."""


class About(TypedDict, total=False):
    """The data of a version besides its text."""

    number: str
    message: str
    labels: Sequence[str]
    model: dict[str, Any] | None
    settings: Mapping[str, Any]
    extra: Mapping[str, Any]
    """Data without a place in a configuration; that of the newest version is stored."""
    live: bool
    """Whether it is the published one in the source."""
    more: Config
    """Further fields of the configuration."""


@dataclass
class Extras:
    """Data without a place in the versions of a resource: of the newest, and of earlier ones that differ."""

    collection: Collection
    name: str
    _newest: Mapping[str, Any] = field(default_factory=dict, init=False)
    _number: str | None = field(default=None, init=False)
    _earlier: dict[str, dict[str, Any]] = field(default_factory=dict, init=False)

    def add(self, number: str | None, extra: Mapping[str, Any]) -> None:
        """Add the data of a version, which is newer than those before it."""
        if lost := {name: value for name, value in self._newest.items() if extra.get(name) != value}:
            message = f"Of an earlier version left out: {', '.join(lost)}. metadata.import has what it says."
            self.collection.lose("earlier_version", self.name, message)
            self._earlier[self._number or ""] = lost
        self._newest, self._number = extra, number

    def all(self) -> dict[str, Any]:
        """Return the data for `metadata.import`."""
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
    """Names of variables in data for the prompt."""
    is_path: bool = field(default=False, kw_only=True)
    """Whether the name is the path of a file, which is the id if it can be one."""
    dropped_variables: Sequence[str] = field(default=(), init=False)
    """The names, in the source, of the variables in the omitted message."""
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
        """Add a version, unless it has no text."""
        number = about.get("number") or None
        where = self.name if number is None else f"{self.name} v{number}"
        texts = list_texts(messages)
        translator = Translator.of(self.collection, self.language, texts, self.more_names, where=where)
        prompt = chat_prompt(messages, translator, where)
        if leftover := collect_leftovers(messages):
            about["extra"] = {**about.get("extra", {}), "messages": leftover}
        if prompt is None:
            return
        self.dropped_variables = prompt.input_variables
        for place, content in prompt.blocks.items():
            block: Config = {"name": self._add_title(f" ({place})"), "content": content}
            note = self.describe_version(number, about.get("message", ""))
            self._blocks.setdefault(place, []).append(Snapshot(config=block, message=note, number=number))
        self.add_instructions(prompt.instructions, **about)

    def add_instructions(self, instructions: str | Blocks, **about: Unpack[About]) -> None:
        """Add a version whose instructions are in the editor's language already."""
        config: Config = {"name": self._add_title(), "instructions": instructions, **about.get("more", {})}
        if self.description:
            config["description"] = self.description
        if about.get("live"):
            self._published = len(self._snapshots)
        number = about.get("number") or None
        self._snapshots.append(
            Snapshot(
                config=with_model(config, about.get("model"), about.get("settings", {})),
                message=self.describe_version(number, about.get("message", "")),
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

    def _add_title(self, more: str = "") -> str:
        return f"{(self.title or self.name).strip()}{more}"

    def describe_version(self, number: str | None, message: str) -> str:
        """Return the message of a version: its origin, and its original message."""
        return change_message(self.collection, self.name, number, message)


def change_message(collection: Collection, name: str, number: str | None, message: str = "") -> str:
    """Return the message of a version, such as `Langfuse support v7: Shorter`."""
    system = TITLES.get(collection.system, collection.system)
    text = " ".join(part for part in (system, name, number and f"v{number}") if part)
    full_message = f"{text}: {message}" if message else text
    return full_message if len(full_message) <= MAX_MESSAGE else f"{clip(full_message, MAX_MESSAGE - 1)}…"


def read_number(version: Any, file: str) -> tuple[int, int, str]:
    """Return the sort key of the versions of a prompt: their numbers; raises `Unreadable`."""
    number = version.get("version") if isinstance(version, dict) else None
    if isinstance(number, bool) or not isinstance(number, int | str) or str(number).strip() == "":
        raise Unreadable(f"{excerpt(file)} has a version without a number.")
    text = str(number)
    return (0, int(text), "") if re.fullmatch(r"[0-9]{1,18}", text) else (1, 0, text)
