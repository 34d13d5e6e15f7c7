"""Agents as the bulk file of Langfuse: chat prompts, with the prompt blocks as texts that they refer to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.clipping import clip
from editor_client.transfer.exporting.published import (
    SETTINGS,
    Published,
    Reader,
    Text,
    arrange_messages,
    curly,
)
from editor_client.transfer.importing.collection import excerpt, make_id
from editor_client.transfer.importing.formats.langfuse import OWN

PRODUCTION: Final = "production"
MAX_NAME: Final = 255
_RESERVED: Final = {"new", "metrics", "prompt-detail"}
_REFERENCE: Final = re.compile(r"@@@langfusePrompt:.*?@@@")
"""References that Langfuse replaces by the text of another prompt; they cannot be escaped."""


def write(agents: Iterable[Published], reader: Reader) -> str:
    """Return a JSON list of prompts, sorted by name.

    A prompt with a text that Langfuse would replace is omitted, and so are those that refer to it.
    """
    refused = {block_id for block_id, content in reader.blocks.items() if _REFERENCE.search(content)}
    entries = []
    for agent in agents:
        if reason := _explain_refusal(agent, refused):
            reader.lose("refused", agent.id, f"It is left out: {reason}.")
        else:
            entries.append(_entry(agent, reader))
    for block_id, content in reader.blocks.items():
        if block_id in refused:
            reader.lose("refused", block_id, f"It is left out: {_why(content)}.")
        else:
            text = curly(Text(content=content), reader, block_id)
            entries.append(_prompt(_name(block_id, reader), "text", text, {}, []))
    return canonical.file_text(sorted(entries, key=lambda entry: str(entry["name"])))


def _explain_refusal(agent: Published, refused: set[str]) -> str:
    """Return why an agent cannot be written; empty if it can."""
    for text in agent.texts:
        if text.block_id in refused:
            return f"it refers to {excerpt(text.block_id)}, which is left out"
    contents = [text.content for text in agent.texts] + [content for _, _, content in agent.messages]
    return next((_why(text) for text in contents if _REFERENCE.search(text)), "")


def _why(content: str) -> str:
    match = _REFERENCE.search(content)
    return f"Langfuse would replace {excerpt(match[0])} by another prompt" if match else ""


def _entry(agent: Published, reader: Reader) -> dict[str, Any]:
    parts = [
        curly(text, reader, agent.id)
        if text.block_id is None
        else f"@@@langfusePrompt:name={_name(text.block_id, reader)}|label={PRODUCTION}@@@"
        for text in agent.texts
    ]
    other_messages = [
        (number, role, curly(Text(content=content), reader, agent.id))
        for number, role, content in agent.messages
    ]
    gap = {"type": "placeholder", "name": "history"}
    messages = arrange_messages(["\n\n".join(parts)], other_messages, lambda: gap)
    config: dict[str, Any] = dict(agent.extra.get("config") or {})
    if agent.model:
        config |= {"provider": agent.model["provider"], "model": agent.model["name"]}
        reader.lose_of_model(agent)
    config |= {SETTINGS.get(name, name): setting for name, setting in agent.settings.items()}
    if agent.description:
        reader.lose("left_out", agent.id, "Left out: description.")
    if agent.cases or agent.scorers:
        reader.lose("left_out", agent.id, "Left out: datasets and scorers.")
    label = agent.id
    if agent.name != label and make_id(agent.name) == label:
        label = agent.name  # which gives the same id
    elif agent.name != label:
        config[OWN] = {"name": agent.name}
    return _prompt(_name(label, reader), "chat", messages, config, list(agent.tags))


def _prompt(name: str, kind: str, prompt: Any, config: dict[str, Any], tags: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "version": 1,
        "type": kind,
        "prompt": prompt,
        "config": config,
        "tags": tags,
        "labels": [PRODUCTION],
        "commitMessage": None,
    }


def _name(resource_id: str, reader: Reader) -> str:
    """Return an id as a name that Langfuse accepts."""
    name = clip(resource_id.replace("|", "-").replace("@", "-"), MAX_NAME)
    if name in _RESERVED:
        name = f"{name}-prompt"
    if name != resource_id:
        reader.lose("name", resource_id, f"Its name there is {excerpt(name)!r}.")
    return name
