"""Prompts of an MLflow server, by its REST interface: registered models that are marked as prompts."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from editor_client.transfer.importing.agents import (
    AgentReader,
    model_from,
    read_number,
    settings_in,
    without_place,
)
from editor_client.transfer.importing.collection import (
    Collection,
    Members,
    Unreadable,
    a_text,
    excerpt,
    nonempty,
    objects,
)
from editor_client.transfer.importing.documents import Server, parse_json
from editor_client.transfer.importing.messages import Message, messages_from

SYSTEM: Final = "mlflow"
TOKEN, USERNAME, PASSWORD = "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"
IS_PROMPT: Final = "tags.`mlflow.prompt.is_prompt` = 'true'"
TEXT: Final = "mlflow.prompt.text"
_BOOKKEEPING: Final = (
    *("creation_timestamp", "last_updated_timestamp", "current_stage", "status", "source", "run_id"),
    *("run_link", "user_id", "status_message"),
)
"""Members that every registered model has and that are irrelevant to a prompt."""
TRUNCATED: Final = 5_000
"""Old servers cut off texts here."""


def read(address: str) -> Collection:
    """Return the prompts of a server; a key, if it needs one, comes from the environment."""
    token, username = os.environ.get(TOKEN), os.environ.get(USERNAME)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    auth = (username, os.environ.get(PASSWORD, "")) if username and not token else None
    server = Server(address, headers=headers, auth=auth)
    collection = Collection(SYSTEM)
    try:
        models = server.pages(
            "api/2.0/mlflow/registered-models/search", "registered_models", "page_token", filter=IS_PROMPT
        )
        for model in models:
            _read_prompt(server, model, collection)
    finally:
        server.close()
    return collection


def _read_prompt(server: Server, prompt: Mapping[str, Any], collection: Collection) -> None:
    about = Members(prompt, collection, a_text(prompt.get("name")))
    name = about.text("name")
    if not name or "'" in name:
        raise Unreadable(f"The list of prompts has an entry with the name {excerpt(prompt.get('name'))}.")
    path = "api/2.0/mlflow/model-versions/search"
    versions = list(server.pages(path, "model_versions", "page_token", filter=f"name='{name}'"))
    labels = _aliases(prompt, versions)
    about.skip("aliases", "latest_versions", *_BOOKKEEPING)
    reader = AgentReader(collection, name, "jinja2", description=about.text("description") or None)
    for version in sorted(versions, key=lambda version: read_number(version, name)):
        number = str(version["version"])
        where = f"{name} v{number}"
        members = Members(version, collection, where)
        message = members.text("description")
        members.skip("name", "version", "aliases", *_BOOKKEEPING)
        tags = _tags(members)
        text = tags.text(TEXT)
        if len(text) == TRUNCATED:
            collection.lose("truncated", where, f"The text has {TRUNCATED} characters: it may be cut off.")
        is_chat = tags.text("_mlflow_prompt_type") == "chat"
        messages = (
            messages_from(_json(text, where), collection, where)
            if is_chat
            else [Message(role="system", text=text)]
        )
        config = Members(_json(tags.text("_mlflow_prompt_model_config"), where), collection, where)
        settings = settings_in(config)
        provider, model_name = config.take("provider"), config.take("model_name", config.peek("model"))
        if config.peek("model") == model_name:
            config.skip("model")
        model = model_from(model_name, collection, where, provider=provider)
        response = tags.text("_mlflow_prompt_response_format")
        reader.add(
            messages,
            number=number,
            message=message,
            labels=sorted(labels[number] - {"production", "latest"}),
            live="production" in labels[number],
            model=model,
            settings=settings,
            extra=nonempty(
                config=config.take_rest() | without_place(model_name, model),
                responseFormat=response,
                tags=tags.take_rest(),
                version=members.take_rest(),
            ),
        )
    reader.finish(nonempty(promptTags=_tags(about).take_rest(), prompt=about.take_rest()))


def _tags(members: Members) -> Members:
    """Take the tags of a prompt or of a version, which are a list of keys and values."""
    values = {str(tag.get("key")): tag.get("value") for tag in members.objects("tags")}
    tags = Members(values, members.collection, f"{members.where}, tags")
    tags.skip("mlflow.prompt.is_prompt")
    return tags


def _aliases(prompt: Mapping[str, Any], versions: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return the aliases by version, from the model or from each version."""
    aliases: dict[str, set[str]] = defaultdict(set)
    for alias in objects(prompt.get("aliases")):
        aliases[str(alias.get("version"))].add(a_text(alias.get("alias")))
    for version in versions:
        version_aliases = version.get("aliases")
        for entry in version_aliases if isinstance(version_aliases, list) else ():
            aliases[str(version.get("version"))].add(a_text(entry))
    return aliases


def _json(text: str | None, where: str) -> Any:
    return parse_json(text, where) if text else None
