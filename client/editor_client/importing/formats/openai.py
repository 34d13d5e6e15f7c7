"""Saved prompts of OpenAI, as files that hold all of their versions."""

from __future__ import annotations

from typing import Any, Final

from editor_client.importing import models
from editor_client.importing.agents import AgentReader, number_of
from editor_client.importing.collection import Collection, Unreadable, an_object, shown
from editor_client.importing.documents import Documents
from editor_client.importing.messages import messages_from

SYSTEM: Final = "openai"


def read(documents: Documents) -> Collection:
    """Return the prompts in a file, or in the JSON files of a folder; each file holds one, or a list."""
    collection = Collection(SYSTEM)
    for path in documents.files([".json"]):
        value = documents.json(path)
        for prompt in value if isinstance(value, list) else [value]:
            _read_prompt(prompt, collection, documents.name(path))
    return collection


def _read_prompt(prompt: Any, collection: Collection, file: str) -> None:
    versions = prompt.get("versions") if isinstance(prompt, dict) else None
    name = isinstance(prompt, dict) and (prompt.get("name") or prompt.get("openai_prompt_id"))
    if not isinstance(name, str) or not isinstance(versions, list) or not versions:
        raise Unreadable(f"{shown(file)} is no saved prompt: it needs a name, and a list of versions.")
    reader = AgentReader(collection, name, "curly")
    live = prompt.get("production_version")
    for version in sorted(versions, key=lambda one: number_of(one, file)):
        number = str(version["version"])
        where = f"{name} v{number}"
        settings, others = models.settings_from(
            an_object(version.get("config")), collection, f"{where}, config"
        )
        model = models.model_from(others.pop("model", None), collection, where, provider="openai")
        reader.add(
            messages_from(version.get("messages"), collection, where),
            number=number,
            model=model,
            settings=settings,
            extra={"config": others} if others else {},
            live=str(live) == number,
        )
    extra = {"promptId": prompt["openai_prompt_id"]} if prompt.get("openai_prompt_id") else {}
    reader.finish(extra)
