"""`.prompt` files of dotprompt: a head in YAML, and a text in Handlebars."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.importing import credentials, models
from editor_client.importing.agents import AgentReader, change_message
from editor_client.importing.collection import (
    Collection,
    Resource,
    Snapshot,
    Unreadable,
    a_text,
    an_object,
    shown,
)
from editor_client.importing.documents import Documents
from editor_client.importing.front_matter import messages_in, note_unresolved, parted
from editor_client.importing.messages import Message, Part
from editor_client.importing.templates import Translator

SYSTEM: Final = "dotprompt"
ENDINGS: Final = (".prompt",)
_TAG: Final = re.compile(r"\{\{[ \t]*+(?:role[ \t]++[\"'](?P<role>\w{1,40})[\"']|history)[ \t]*+\}\}")
_PARTIAL: Final = re.compile(r"\{\{>[ \t]*+(?P<name>[\w./-]{1,100})[ \t]*+\}\}")
_NAMED: Final = {"name", "description", "model", "config"}


def read(documents: Documents) -> Collection:
    """Return the prompts in a file, or in the files of a folder, with the partials that they name."""
    collection = Collection(SYSTEM)
    partials = _Partials(documents, collection)
    for path in documents.files(ENDINGS):
        if not path.name.startswith("_") or path == documents.path:
            _read_file(documents.text(path), documents.stem(path, ENDINGS), collection, partials)
    return collection


def _read_file(text: str, name: str, collection: Collection, partials: _Partials) -> None:
    parts = parted(text, name)
    head = parts.head
    settings, others = models.settings_from(an_object(head.get("config")), collection, f"{name}, config")
    extra: dict[str, Any] = {"config": others} if others else {}
    extra |= credentials.without({key: head[key] for key in head if key not in _NAMED}, collection, name)
    given = an_object(head.get("input"))
    if given.get("default"):
        message = "The defaults of variables are left out; metadata.import has them."
        collection.lose("default", name, message)
    schema = an_object(given.get("schema"))
    is_json_schema = schema.get("type") == "object" and isinstance(schema.get("properties"), dict)
    if schema and not is_json_schema:
        message = "The schema of the input is no JSON Schema; metadata.import has it."
        collection.lose("input_schema", name, message)
    note_unresolved(parts.body, collection, name, parts.line)
    reader = AgentReader(
        collection,
        name,
        "handlebars",
        is_path=True,
        title=a_text(head.get("name")),
        description=a_text(head.get("description")) or None,
    )
    reader.add(
        [partials.expanded(one, name) for one in messages_in(parts, _TAG, "user")],
        model=models.model_from(head.get("model"), collection, name),
        settings=settings,
        extra=extra,
        more={"requestContextSchema": schema} if is_json_schema else {},
    )
    reader.finish()


@dataclass
class _Partials:
    """The partials of a folder, `_name.prompt`: those that are texts become prompt blocks."""

    documents: Documents
    collection: Collection
    _found: dict[str, Part | None] = field(default_factory=dict)

    def expanded(self, message: Message, where: str) -> Message:
        """Return a message with the parts in which its partials are resolved."""
        if message.text is None or not _PARTIAL.search(message.text):
            return message
        parts: list[Part] = []
        end = 0
        for match in _PARTIAL.finditer(message.text):
            part = self._part(match["name"])
            if part is None:
                lost = f"{shown(match[0])} stays as text: there is no such text in the folder."
                self.collection.lose("reference", where, lost)
                continue
            parts += [Part(message.text[end : match.start()]), part]
            end = match.end()
        parts.append(Part(message.text[end:]))
        kept = [one for one in parts if one.text]
        return Message(role=message.role, text=message.text, line=message.line, parts=kept)

    def _part(self, name: str) -> Part | None:
        if name not in self._found:
            self._found[name] = self._read(name)
        return self._found[name]

    def _read(self, name: str) -> Part | None:
        folder, _, last = name.rpartition("/")
        try:
            text = self.documents.text(self.documents.referred(f"{folder}/_{last}.prompt".lstrip("/")))
            body = parted(text, name).body.strip("\n")
        except Unreadable:
            return None
        if not body.strip() or _TAG.search(body) or _PARTIAL.search(body):
            return None
        clean = credentials.without(body, self.collection, name)
        translator = Translator.of(self.collection, "handlebars", [clean], where=name)
        block_id = self.collection.id_for(name, "promptBlock", is_path=True)
        config: Mapping[str, Any] = {"name": name, "content": translator.text(clean, name)}
        message = change_message(self.collection, name, None)
        snapshot = Snapshot(config=dict(config), message=message)
        self.collection.resources.append(
            Resource(kind="promptBlock", id=block_id, name=name, snapshots=[snapshot])
        )
        return Part(clean, block_id=block_id)
