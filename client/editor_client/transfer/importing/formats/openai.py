"""Saved prompts of OpenAI, as files with all of their versions."""

from __future__ import annotations

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
    excerpt,
    nonempty,
)
from editor_client.transfer.importing.documents import Documents
from editor_client.transfer.importing.messages import messages_from

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
        raise Unreadable(f"{excerpt(file)} is no saved prompt: it needs a name, and a list of versions.")
    about = Members(prompt, collection, name)
    about.skip("name", "versions")
    live = about.take("production_version")
    prompt_id = about.take("openai_prompt_id")
    reader = AgentReader(collection, name, "curly")
    for version in sorted(versions, key=lambda version: read_number(version, file)):
        number = str(version["version"])
        where = f"{name} v{number}"
        members = Members(version, collection, where)
        members.skip("version")
        messages = messages_from(members.take("messages", []), collection, where)
        config = members.members("config")
        settings, model_name = settings_in(config), config.take("model")
        model = model_from(model_name, collection, where, provider="openai")
        reader.add(
            messages,
            number=number,
            model=model,
            settings=settings,
            extra=nonempty(
                config=config.take_rest() | without_place(model_name, model), version=members.take_rest()
            ),
            live=str(live) == number,
        )
    reader.finish({**nonempty(prompt=about.take_rest()), **({"promptId": prompt_id} if prompt_id else {})})
