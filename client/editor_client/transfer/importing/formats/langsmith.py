"""Prompts of LangSmith, by its REST interface. Their manifests configure objects; here they are data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.shared import tags
from editor_client.transfer.importing.agents import AgentReader, model_from, settings_in, without_place
from editor_client.transfer.importing.collection import (
    Collection,
    Members,
    Unreadable,
    a_text,
    an_object,
    excerpt,
    nonempty,
    objects,
)
from editor_client.transfer.importing.documents import Server, from_environment, segment
from editor_client.transfer.importing.messages import Language, Message

SYSTEM: Final = "langsmith"
KEY: Final = "LANGSMITH_API_KEY"
PAGE: Final = 100
_LANGUAGES: Final[Sequence[Language]] = ("f-string", "mustache", "jinja2")
_ROLES: Final = {"System": "system", "Human": "user", "AI": "assistant"}
PROVIDERS: Final = {
    "ChatOpenAI": "openai",
    "AzureChatOpenAI": "azure",
    "ChatAnthropic": "anthropic",
    "ChatGoogleGenerativeAI": "google",
    "ChatVertexAI": "google-cloud",
    "ChatMistralAI": "mistral",
    "ChatGroq": "groq",
    "ChatFireworks": "fireworks",
    "ChatTogether": "together",
    "ChatBedrock": "bedrock",
    "ChatBedrockConverse": "bedrock",
    "ChatCohere": "cohere",
    "ChatDeepSeek": "deepseek",
    "ChatOllama": "ollama",
    "ChatXAI": "xai",
}
_BOOKKEEPING: Final = (
    *("id", "tenant_id", "owner", "created_at", "updated_at", "created_by", "num_likes", "num_downloads"),
    *("num_views", "num_commits", "liked_by_auth_user", "last_commit_hash", "last_used_at", "is_archived"),
    *("original_repo_id", "upstream_repo_id", "original_repo_full_name", "upstream_repo_full_name"),
    *("latest_commit_manifest", "commit_tags", "restricted_mode", "repo_type"),
)
"""Members of a list of prompts that are irrelevant to a prompt."""
_MAX_BOUND: Final = 20
_SEQUENCES: Final = {"RunnableSequence", "PromptPlayground"}


def read(address: str) -> Collection:
    """Return the account's own prompts, in their latest commit; the key comes from the environment."""
    [key] = from_environment(KEY)
    server = Server(address, headers={"X-API-Key": key})
    collection = Collection(SYSTEM)
    try:
        for repo in _repos(server):
            _read_repo(server, repo, collection)
    finally:
        server.close()
    return collection


def _repos(server: Server) -> Iterator[dict[str, Any]]:
    offset = 0
    while True:
        body = an_object(server.get("repos/", limit=PAGE, offset=offset, is_public="false"))
        repos = objects(body.get("repos"))
        yield from repos
        offset += len(repos)
        if not repos or not isinstance(body.get("total"), int) or offset >= body["total"]:
            return


def _read_repo(server: Server, repo: Mapping[str, Any], collection: Collection) -> None:
    name = a_text(repo.get("repo_handle"))
    about = Members(repo, collection, name)
    owner = about.text("full_name").rpartition("/")[0] or "-"
    if not name:
        raise Unreadable("The list of prompts has an entry without a handle.")
    if repo.get("is_public"):
        collection.lose("public", name, "It is public, and left out: only one's own prompts are imported.")
        return
    about.skip("repo_handle", "is_public", *_BOOKKEEPING)
    description, labels = about.text("description"), about.take_list("tags")
    path = f"commits/{segment(owner)}/{segment(name)}/latest"
    commit = Members(server.get(path, missing={}), collection, f"{name}, commit")
    number = commit.text("commit_hash")[:8]
    commit.skip("parent_commit_hash", "id", "created_at", "updated_at", "num_downloads", "num_views")
    manifest = _Manifest(collection, name)
    manifest.read(commit.mapping("manifest"))
    reader = AgentReader(collection, name, manifest.language, description=description or None)
    reader.add(
        manifest.messages,
        number=number,
        model=manifest.model,
        settings=manifest.settings,
        extra={**manifest.extra, **nonempty(commit=commit.take_rest(), repo=about.take_rest())},
    )
    reader.finish(tags=tags.read_tags({tags.MEMBER: labels}))


@dataclass
class _Manifest:
    """The manifest of a commit: objects with a class and arguments, which are read as data."""

    collection: Collection
    name: str
    messages: list[Message] = field(default_factory=list)
    language: Language = "f-string"
    model: dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    """Data that the editor has no place for."""

    def read(self, manifest: Mapping[str, Any]) -> None:
        """Read a prompt, or a sequence of a prompt and a model."""
        if _class_name(manifest) not in _SEQUENCES:
            self._prompt(manifest)
            return
        arguments = self._arguments(manifest, "sequence")
        self._prompt(arguments.mapping("first"))
        self._model(arguments.mapping("last"))
        self._keep("sequence", arguments)

    def _arguments(self, value: Mapping[str, Any], key: str) -> Members:
        """Return the arguments of an object; other members besides its class are kept."""
        members = Members(dict(value), self.collection, f"{self.name}, {key}")
        arguments = members.members("kwargs")
        members.skip("lc", "type", "id", "name", "graph")
        self._keep(key, members)
        return arguments

    def _keep(self, key: str, members: Members) -> None:
        if leftover := members.take_rest():
            self.extra[key] = {**self.extra.get(key, {}), **leftover}

    def _model(self, model: Mapping[str, Any]) -> None:
        """Read a model; bound objects, such as tools, are kept."""
        for _ in range(_MAX_BOUND):
            arguments = self._arguments(model, "model")
            if "bound" not in arguments:
                break
            bound = arguments.members("kwargs")
            self._keep("bound", bound)
            inner = arguments.mapping("bound")
            self._keep("bound", arguments)
            model = inner
        model_name = arguments.take("model", arguments.peek("model_name"))
        if arguments.peek("model_name") == model_name:
            arguments.skip("model_name")
        self.settings = settings_in(arguments)
        provider = arguments.take("provider", PROVIDERS.get(_class_name(model)))
        self.model = model_from(model_name, self.collection, self.name, provider=provider)
        if leftover := arguments.take_rest() | without_place(model_name, self.model):
            self.extra["config"] = leftover
        if _class_name(model) not in PROVIDERS and (model_name or _class_name(model)):
            self.extra["modelClass"] = _class_name(model)

    def _prompt(self, prompt: Mapping[str, Any]) -> None:
        """Read the messages of a prompt, and the language of all of them."""
        arguments = self._arguments(prompt, "prompt")
        arguments.skip("input_variables")
        messages = arguments.objects("messages")
        languages: set[Language] = set()
        if messages:
            for number, message in enumerate(messages, 1):
                self._message(message, f"message {number}", languages)
        else:
            self._template(_class_name(prompt), arguments, languages)
        self._keep("prompt", arguments)
        if len(languages) > 1:
            lost = "Its messages are in different template languages: all of it stays as text."
            self.collection.lose("template_language", self.name, lost)
            self.language = "none"
        elif languages:
            self.language = languages.pop()

    def _message(self, message: Mapping[str, Any], key: str, languages: set[Language]) -> None:
        kind = _class_name(message)
        arguments = self._arguments(message, key)
        if kind == "MessagesPlaceholder":
            place = arguments.text("variable_name")
            self.messages.append(Message(role="placeholder", text=None, placeholder=place))
        elif isinstance(arguments.peek("prompt"), dict):
            inner = self._arguments(arguments.mapping("prompt"), key)
            self._template(kind, inner, languages, role=arguments.text("role"))
            self._keep(key, inner)
        else:
            self._template(kind, arguments, languages, role=arguments.text("role"))
        self._keep(key, arguments)

    def _template(self, kind: str, arguments: Members, languages: set[Language], role: str = "") -> None:
        """Read a text: one with a template is filled in, the content of a message is not."""
        is_template = isinstance(arguments.peek("template"), str)
        text = arguments.text("template") if is_template else arguments.peek("content")
        if not isinstance(text, str):
            lost = f"A message of the type {excerpt(kind)} has no text; it is left out."
            self.collection.lose("message", self.name, lost)
            return
        if not is_template:
            arguments.skip("content")
        arguments.skip("input_variables", "validate_template")
        message_role = next((ours for theirs, ours in _ROLES.items() if kind.startswith(theirs)), None)
        self.messages.append(Message(role=message_role or role or "system", text=text))
        form = arguments.peek("template_format")
        template_language: Language = next(
            (language for language in _LANGUAGES if language == form), "f-string"
        )
        if form is None or form == template_language:
            arguments.skip("template_format")
        languages.add(template_language if is_template else "none")


def _class_name(manifest: Mapping[str, Any]) -> str:
    class_path = manifest.get("id")
    return a_text(class_path[-1]) if isinstance(class_path, list) and class_path else ""
