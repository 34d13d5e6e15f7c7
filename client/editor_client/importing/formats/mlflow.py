"""Prompts of an MLflow server, by its REST interface: registered models that are marked as prompts."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from editor_client.importing import models
from editor_client.importing.agents import AgentReader, number_of
from editor_client.importing.collection import (
    Collection,
    Unreadable,
    a_text,
    an_object,
    objects,
    shown,
)
from editor_client.importing.documents import parse_json
from editor_client.importing.fetching import Server
from editor_client.importing.messages import Message, messages_from

SYSTEM: Final = "mlflow"
TOKEN, USERNAME, PASSWORD = "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"
IS_PROMPT: Final = "tags.`mlflow.prompt.is_prompt` = 'true'"
TEXT: Final = "mlflow.prompt.text"
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
        found = server.pages(
            "api/2.0/mlflow/registered-models/search", "registered_models", "page_token", filter=IS_PROMPT
        )
        for model in found:
            _read_prompt(server, model, collection)
    finally:
        server.close()
    return collection


def _read_prompt(server: Server, prompt: Mapping[str, Any], collection: Collection) -> None:
    name = prompt.get("name")
    if not isinstance(name, str) or not name or "'" in name:
        raise Unreadable(f"The list of prompts has an entry with the name {shown(name)}.")
    path = "api/2.0/mlflow/model-versions/search"
    versions = list(server.pages(path, "model_versions", "page_token", filter=f"name='{name}'"))
    labels = _aliases(prompt, versions)
    reader = AgentReader(collection, name, "jinja2", description=a_text(prompt.get("description")) or None)
    for version in sorted(versions, key=lambda one: number_of(one, name)):
        number = str(version["version"])
        where = f"{name} v{number}"
        tags = {str(one.get("key")): a_text(one.get("value")) for one in objects(version.get("tags"))}
        if len(tags.get(TEXT, "")) == TRUNCATED:
            collection.lose("truncated", where, f"The text has {TRUNCATED} characters: it may be cut off.")
        settings, others = models.settings_from(
            an_object(_json(tags.get("_mlflow_prompt_model_config"), where)), collection, where
        )
        provider = others.pop("provider", None)
        name_of_model = others.pop("model_name", others.pop("model", None))
        extra: dict[str, Any] = {"config": others} if others else {}
        if tags.get("_mlflow_prompt_response_format"):
            extra["responseFormat"] = tags["_mlflow_prompt_response_format"]
        reader.add(
            _messages(tags, collection, where),
            number=number,
            message=a_text(version.get("description")),
            labels=sorted(labels[number] - {"production", "latest"}),
            live="production" in labels[number],
            model=models.model_from(name_of_model, collection, where, provider=provider),
            settings=settings,
            extra=extra,
        )
    reader.finish()


def _messages(tags: Mapping[str, str], collection: Collection, where: str) -> list[Message]:
    text = tags.get(TEXT, "")
    if tags.get("_mlflow_prompt_type") == "chat":
        return messages_from(_json(text, where), collection, where)
    return [Message(role="system", text=text)]


def _aliases(prompt: Mapping[str, Any], versions: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return the aliases by version, which the model has, or each version."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in objects(prompt.get("aliases")):
        found[str(one.get("version"))].add(a_text(one.get("alias")))
    for version in versions:
        listed = version.get("aliases")
        for one in listed if isinstance(listed, list) else ():
            found[str(version.get("version"))].add(a_text(one))
    return found


def _json(text: str | None, where: str) -> Any:
    return parse_json(text, where) if text else None
