"""`.prompt` files of dotprompt: a head in YAML, and a text in Handlebars."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from editor_client.transfer.importing.agents import (
    AgentReader,
    change_message,
    model_from,
    settings_in,
    without_place,
)
from editor_client.transfer.importing.collection import (
    Collection,
    Members,
    Resource,
    Snapshot,
    Unreadable,
    an_object,
    excerpt,
    nonempty,
    remove_credentials,
)
from editor_client.transfer.importing.documents import Documents, messages_in, note_unresolved, split_head
from editor_client.transfer.importing.messages import Message, Part, Translator

SYSTEM: Final = "dotprompt"
ENDINGS: Final = (".prompt",)
_TAG: Final = re.compile(r"\{\{[ \t]*+(?:role[ \t]++[\"'](?P<role>\w{1,40})[\"']|history)[ \t]*+\}\}")
_PARTIAL: Final = re.compile(r"\{\{>[ \t]*+(?P<name>[^\s{}]{1,100})[ \t]*+\}\}")


def read(documents: Documents) -> Collection:
    """Return the prompts in a file, or in the files of a folder, with the partials that they name."""
    collection = Collection(SYSTEM)
    partials = _Partials(documents, collection)
    paths = documents.files(ENDINGS)
    for path in paths:
        if not path.name.startswith("_") or path == documents.path:
            _read_file(documents.text(path), documents.stem(path, ENDINGS), collection, partials)
    for path in paths:
        if path.name.startswith("_") and path not in {documents.path, *partials.used}:
            lost = "It is left out: it is a partial, and no prompt in the folder uses it."
            collection.lose("partial", documents.name(path), lost)
    return collection


def _read_file(text: str, name: str, collection: Collection, partials: _Partials) -> None:
    parts = split_head(text, name, with_comments=True)
    head = Members(parts.head, collection, name)
    config = head.members("config")
    settings = settings_in(config)
    inputs = head.members("input")
    if inputs.peek("default"):
        message = "The defaults of variables are left out; metadata.import has them."
        collection.lose("default", name, message)
    schema = an_object(inputs.peek("schema"))
    is_json_schema = schema.get("type") == "object" and isinstance(schema.get("properties"), dict)
    if is_json_schema:
        inputs.skip("schema")
    elif schema:
        message = "The schema of the input is no JSON Schema; metadata.import has it."
        collection.lose("input_schema", name, message)
    note_unresolved(parts.body, collection, name, parts.line)
    reader = AgentReader(
        collection,
        name,
        "handlebars",
        is_path=True,
        title=head.text("name"),
        description=head.text("description") or None,
    )
    model_name = head.take("model")
    model = model_from(model_name, collection, name)
    if parts.comments:
        lost = "The comments before the head are no part of the prompt; metadata.import has them."
        collection.lose("comment", name, lost)
    extra = {
        **nonempty(config=config.take_rest(), input=inputs.take_rest(), comments=parts.comments),
        **without_place(model_name, model),
        **head.take_rest(),
    }
    reader.add(
        [partials.expand(message, name) for message in messages_in(parts, _TAG, "user")],
        model=model,
        settings=settings,
        extra=remove_credentials(extra, collection, name),
        more={"requestContextSchema": schema} if is_json_schema else {},
    )
    reader.finish()


@dataclass
class _Partials:
    """The partials of a folder, `_name.prompt`: those that are texts become prompt blocks."""

    documents: Documents
    collection: Collection
    used: set[Path] = field(default_factory=set)
    """The files that became prompt blocks."""
    _parts_by_name: dict[str, Part | None] = field(default_factory=dict)

    def expand(self, message: Message, where: str) -> Message:
        """Return a message with the parts in which its partials are resolved."""
        if message.text is None or not _PARTIAL.search(message.text):
            return message
        parts: list[Part] = []
        end = 0
        for match in _PARTIAL.finditer(message.text):
            if match["name"] not in self._parts_by_name:
                self._parts_by_name[match["name"]] = self._read(match["name"])
            part = self._parts_by_name[match["name"]]
            if part is None:
                lost = f"{excerpt(match[0])} stays as text: there is no such text in the folder."
                self.collection.lose("reference", where, lost)
                continue
            parts += [Part(message.text[end : match.start()]), part]
            end = match.end()
        parts.append(Part(message.text[end:]))
        nonempty_parts = [part for part in parts if part.text]
        return Message(role=message.role, text=message.text, line=message.line, parts=nonempty_parts)

    def _read(self, name: str) -> Part | None:
        folder, _, last = name.rpartition("/")
        try:
            path = self.documents.resolve_reference(f"{folder}/_{last}.prompt".lstrip("/"))
            parts = split_head(self.documents.text(path), name, with_comments=True)
        except Unreadable:
            return None
        body = parts.body.strip("\n")
        if not body.strip() or _TAG.search(body) or _PARTIAL.search(body):
            return None
        self.used.add(path)
        clean = remove_credentials(body, self.collection, name)
        translator = Translator.of(self.collection, "handlebars", [clean], where=name)
        block_id = self.collection.id_for(name, "promptBlock", is_path=True)
        config: Mapping[str, Any] = {"name": name, "content": translator.text(clean, name)}
        leftover = Members(parts.head, self.collection, name).take_rest()
        if parts.comments:
            lost = "The comments before the head are no part of the prompt; metadata.import has them."
            self.collection.lose("comment", name, lost)
        extra = remove_credentials({**leftover, **nonempty(comments=parts.comments)}, self.collection, name)
        message = change_message(self.collection, name, None)
        snapshot = Snapshot(config=dict(config), message=message)
        self.collection.resources.append(
            Resource(
                kind="promptBlock",
                id=block_id,
                name=name,
                snapshots=[snapshot],
                extra=self.collection.fitting(extra, name),
            )
        )
        return Part(clean, block_id=block_id)
