"""`.prompty` files: a head in YAML, and messages that begin with `system:` or the like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from editor_client.shared import canonical, tags
from editor_client.transfer.importing.agents import AgentReader, model_from, settings_in
from editor_client.transfer.importing.collection import (
    Collection,
    Members,
    an_object,
    excerpt,
    nonempty,
    remove_credentials,
)
from editor_client.transfer.importing.documents import Documents, messages_in, note_unresolved, split_head
from editor_client.transfer.importing.messages import Language

SYSTEM: Final = "prompty"
ENDINGS: Final = (".prompty",)
MARKER: Final = re.compile(r"\s*(?:---|\+\+\+)\s*")
"""A line before or after the head; the two need not be the same."""
_ROLE: Final = re.compile(
    r"^[ \t]*+(?:\#[ \t]*+)?(?P<role>system|developer|user|assistant|tool|function)"
    r"[ \t]*+(?:\[(?P<about>[^\]\n]{0,200})\][ \t]*+)?:[ \t]*+$",
    re.IGNORECASE | re.MULTILINE,
)
_LANGUAGES: Final[Mapping[str, Language]] = {
    "jinja2": "jinja2",
    "nunjucks": "jinja2",
    "mustache": "mustache",
    "handlebars": "handlebars",
    "none": "none",
}
_TYPES: Final = {
    "string": "string",
    "integer": "integer",
    "float": "number",
    "number": "number",
    "boolean": "boolean",
    "array": "array",
    "object": "object",
}
_PROVIDERS: Final = {"azure_openai": "azure", "azure": "azure", "openai": "openai", "anthropic": "anthropic"}


def read(documents: Documents) -> Collection:
    """Return the prompts in a file, or in the files of a folder; a file's path is the name of its prompt."""
    collection = Collection(SYSTEM)
    for path in documents.files(ENDINGS):
        _read_file(documents.text(path), documents.stem(path, ENDINGS), collection)
    return collection


def _read_file(text: str, name: str, collection: Collection) -> None:
    parts = split_head(text, name, marker=MARKER)
    if parts.line == 1 and split_head(text, name, marker=MARKER, with_comments=True).comments:
        lost = "Comments stand before the head, so that Prompty takes it for a part of the prompt."
        collection.lose("head", name, lost)
    head = Members(parts.head, collection, name)
    note_unresolved(canonical.dump(parts.head), collection, f"{name}, head")
    note_unresolved(parts.body, collection, name, parts.line)
    display, plain = head.text("displayName"), head.text("name")
    description = head.text("description") or None
    inputs = _inputs(head)
    reader = AgentReader(
        collection,
        name,
        _language(head, collection, name),
        is_path=True,
        title=display or plain,
        description=description,
        more_names=sorted(inputs),
    )
    model, settings, extra = _model(head, collection, name)
    about = head.members("metadata")
    labels = head.take("tags", about.take("tags"))
    if display and plain and display != plain:
        extra["name"] = plain
    schema, leftover = _schema(inputs, collection, name)
    extra |= nonempty(inputs=leftover, metadata=about.take_rest())
    messages = messages_in(parts, _ROLE, "system")
    for number, message in enumerate(messages, 1):
        if message.leftover:
            attributes = excerpt(message.leftover["about"])
            lost = f"The attributes of the message are left out: {attributes}. metadata.import has them."
            collection.lose("message", f"{name}, message {number}", lost)
    reader.add(
        messages,
        model=model,
        settings=settings,
        extra={**extra, **head.take_rest()},
        more={"requestContextSchema": schema} if schema else {},
    )
    reader.finish(tags=tags.read_tags({tags.MEMBER: labels}))


def _language(head: Members, collection: Collection, name: str) -> Language:
    template = head.peek("template")
    about = an_object(template)
    kind = an_object(about.get("format")).get("kind", about.get("format", about.get("kind", template)))
    language = _LANGUAGES.get(str(kind).lower()) if isinstance(kind, str) else "jinja2"
    if language is None:
        message = f"The template language {excerpt(kind)!r} is not known: all of it stays as text."
        collection.lose("template_language", name, message)
        return "none"
    if template in (kind, {"format": kind}, {"kind": kind}, {"format": {"kind": kind}}):
        head.skip("template")
    return language


def _model(
    head: Members, collection: Collection, name: str
) -> tuple[dict[str, Any] | None, dict[str, Any], dict[str, Any]]:
    """Take the model: return it, its settings, and its other data; never its connection."""
    where = f"{name}, model"
    raw = head.peek("model")
    about = Members({"id": raw} if isinstance(raw, str) else an_object(raw), collection, where)
    if isinstance(raw, str | dict):
        head.skip("model")
    old = about.mapping("configuration")
    options = about.members("options" if "options" in about else "parameters")
    settings = settings_in(options)
    if about.peek("connection") or old:
        collection.lose(
            "credential",
            f"{where}.{'connection' if about.peek('connection') else 'configuration'}",
            "The connection is left out.",
        )
    about.skip("connection")
    kind = about.take("apiType", about.take("api", "chat"))
    old_name = next((old[key] for key in ("azure_deployment", "name", "model") if old.get(key)), None)
    identifier = about.take("id", old_name)
    provider = about.take("provider", _PROVIDERS.get(str(old.get("type"))))
    reason = ""
    if kind not in ("chat", "responses"):
        reason = f"it is one of the type {excerpt(kind)}"
    elif isinstance(identifier, str) and "${" in identifier:
        reason = f"{excerpt(identifier)} is not resolved"
    model = None
    if reason:
        collection.lose("model", where, f"The model is left out: {reason}.")
    else:
        model = model_from(identifier, collection, where, provider=provider)
    extra = nonempty(options=options.take_rest(), modelOptions=about.take_rest())
    if model is None and identifier is not None:
        model_data = {"id": identifier, "apiType": kind, **({"provider": provider} if provider else {})}
        extra["model"] = remove_credentials(model_data, collection, where)
    elif kind != "chat":
        collection.lose("model", where, f"That it is asked by the type {excerpt(kind)!r} is left out.")
        extra["apiType"] = kind
    return model, settings, extra


def _inputs(head: Members) -> dict[str, Any]:
    """Take the inputs by name, from a list or an object; a value alone is an example."""
    inputs = head.peek("inputs")
    if isinstance(inputs, list):
        entries_by_name = {
            entry["name"]: entry
            for entry in inputs
            if isinstance(entry, dict) and isinstance(entry.get("name"), str)
        }
        if len(entries_by_name) == len(inputs):
            head.skip("inputs")
        return {
            name: {key: value for key, value in entry.items() if key != "name"}
            for name, entry in entries_by_name.items()
        }
    return {
        name: content if isinstance(content, dict) else {"example": content}
        for name, content in head.mapping("inputs").items()
    }


def _schema(
    inputs: Mapping[str, Mapping[str, Any]], collection: Collection, name: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of contexts for the inputs that have a type, and the rest."""
    properties: dict[str, Any] = {}
    required = []
    leftover: dict[str, Any] = {}
    for key, value in inputs.items():
        members = Members(dict(value), collection, f"{name}, inputs.{key}")
        if property_schema := _property(members):
            properties[key] = remove_credentials(property_schema, collection, f"{name}, inputs.{key}")
            if members.take("required") is True:
                required.append(key)
        elif kind := members.peek("kind") or members.peek("type"):
            lost = f"The input {excerpt(key)!r} of the kind {excerpt(kind)} is left out."
            collection.lose("input", name, lost)
        if rest := members.take_rest():
            leftover[key] = rest
    if not properties:
        return {}, leftover
    schema = {"type": "object", "properties": properties}
    return {**schema, **({"required": required} if required else {})}, leftover


def _property(members: Members) -> dict[str, Any]:
    """Take the members for the schema of an input; nothing if its kind is not one of JSON Schema."""
    word = "kind" if "kind" in members else "type"
    kind = members.peek(word)
    if not isinstance(kind, str) or kind not in _TYPES:
        return {}
    members.skip(word)
    schema: dict[str, Any] = {"type": _TYPES[kind]}
    for word in ("description", "default"):
        if members.peek(word) is not None:
            schema[word] = members.take(word)
    if members.peek("example") is not None:
        schema["examples"] = [members.take("example")]
    if isinstance(members.peek("enumValues"), list):
        schema["enum"] = members.take_list("enumValues")
    return schema
