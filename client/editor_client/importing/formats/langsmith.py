"""Prompts of LangSmith, by its REST interface. Their manifests configure objects; here they are data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from editor_client.importing import models
from editor_client.importing.agents import AgentReader
from editor_client.importing.collection import (
    Collection,
    Unreadable,
    a_text,
    an_object,
    objects,
    shown,
)
from editor_client.importing.fetching import Server, from_environment, segment
from editor_client.importing.messages import Message
from editor_client.importing.templates import Language
from editor_client.shared import tags

SYSTEM: Final = "langsmith"
KEY: Final = "LANGSMITH_API_KEY"
PAGE: Final = 100
_LANGUAGES: Final[Sequence[Language]] = ("f-string", "mustache", "jinja2")
_ROLES: Final = {"System": "system", "Human": "user", "AI": "assistant"}
_PROVIDERS: Final = {
    "ChatOpenAI": "openai",
    "AzureChatOpenAI": "azure",
    "ChatAnthropic": "anthropic",
    "ChatGoogleGenerativeAI": "google",
}
_SEQUENCES: Final = {"RunnableSequence", "PromptPlayground"}


def read(address: str) -> Collection:
    """Return one's own prompts, in their latest commit; the key comes from the environment."""
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
        found = an_object(server.get("repos/", limit=PAGE, offset=offset, is_public="false"))
        listed = objects(found.get("repos"))
        yield from listed
        offset += len(listed)
        if not listed or not isinstance(found.get("total"), int) or offset >= found["total"]:
            return


def _read_repo(server: Server, repo: Mapping[str, Any], collection: Collection) -> None:
    name = a_text(repo.get("repo_handle"))
    owner = a_text(repo.get("full_name")).rpartition("/")[0] or "-"
    if not name:
        raise Unreadable("The list of prompts has an entry without a handle.")
    if repo.get("is_public"):
        collection.lose("public", name, "It is public, and left out: only one's own prompts are imported.")
        return
    commit = an_object(server.get(f"commits/{segment(owner)}/{segment(name)}/latest", missing={}))
    prompt, model = _parts(an_object(commit.get("manifest")))
    messages, language = _messages(prompt, collection, name)
    if commit.get("examples"):
        collection.lose("examples", name, "The examples of the commit are left out.")
    given = {key: one for key, one in model.items() if key not in {"model", "model_name", "provider"}}
    named = model.get("model", model.get("model_name"))
    settings, others = models.settings_from(given, collection, f"{name}, model")
    reader = AgentReader(collection, name, language, description=a_text(repo.get("description")) or None)
    number = a_text(commit.get("commit_hash"))[:8]
    reader.add(
        messages,
        number=number,
        model=models.model_from(named, collection, name, provider=model.get("provider")),
        settings=settings,
        extra={"config": others} if others else {},
    )
    reader.finish(tags=tags.tags_of({tags.MEMBER: repo.get("tags")}))


def _parts(manifest: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the prompt in a manifest, and the arguments of the model that it may have."""
    kwargs = an_object(manifest.get("kwargs"))
    if _class_of(manifest) not in _SEQUENCES:
        return dict(manifest), {}
    model = an_object(kwargs.get("last"))
    while isinstance(model.get("kwargs"), dict) and "bound" in model["kwargs"]:
        model = an_object(model["kwargs"]["bound"])
    provider = _PROVIDERS.get(_class_of(model))
    about = {} if provider is None else {"provider": provider}
    return an_object(kwargs.get("first")), {**an_object(model.get("kwargs")), **about}


def _messages(prompt: Mapping[str, Any], collection: Collection, name: str) -> tuple[list[Message], Language]:
    """Return the messages of a prompt, and the language of all of them."""
    listed = objects(an_object(prompt.get("kwargs")).get("messages")) or [dict(prompt)]
    found: list[Message] = []
    languages: set[Language] = set()
    for one in listed:
        kind, inner = _class_of(one), an_object(one.get("kwargs"))
        if kind == "MessagesPlaceholder":
            place = a_text(inner.get("variable_name"))
            found.append(Message(role="placeholder", text=None, placeholder=place))
            continue
        template = an_object(an_object(inner.get("prompt")).get("kwargs")) or inner
        text = template.get("template", template.get("content"))
        if not isinstance(text, str):
            lost = f"A message of the type {shown(kind)} has no text; it is left out."
            collection.lose("message", name, lost)
            continue
        role = next((ours for theirs, ours in _ROLES.items() if kind.startswith(theirs)), None)
        found.append(Message(role=role or a_text(inner.get("role")) or "system", text=text))
        known: Language = next(
            (one for one in _LANGUAGES if one == template.get("template_format")), "f-string"
        )
        languages.add(known if "template" in template else "none")
    if len(languages) > 1:
        lost = "Its messages are in different template languages: all of it stays as text."
        collection.lose("template_language", name, lost)
        return found, "none"
    return found, languages.pop() if languages else "f-string"


def _class_of(manifest: Mapping[str, Any]) -> str:
    listed = manifest.get("id")
    return a_text(listed[-1]) if isinstance(listed, list) and listed else ""
