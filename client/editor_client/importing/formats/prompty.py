"""`.prompty` files: a head in YAML, and messages that begin with `system:` or the like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from editor_client.importing import credentials, models
from editor_client.importing.agents import AgentReader
from editor_client.importing.collection import Collection, a_text, an_object, objects, shown
from editor_client.importing.documents import Documents
from editor_client.importing.front_matter import messages_in, note_unresolved, parted
from editor_client.importing.templates import Language
from editor_client.shared import canonical, tags

SYSTEM: Final = "prompty"
ENDINGS: Final = (".prompty",)
_ROLE: Final = re.compile(
    r"^[ \t]*+(?:\#[ \t]*+)?(?P<role>system|developer|user|assistant|tool|function)"
    r"[ \t]*+(?:\[[^\]\n]{0,200}\][ \t]*+)?:[ \t]*+$",
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
_NAMED: Final = {"name", "displayName", "description", "model", "inputs", "template", "tags", "metadata"}
_PROVIDERS: Final = {"azure_openai": "azure", "azure": "azure", "openai": "openai", "anthropic": "anthropic"}


def read(documents: Documents) -> Collection:
    """Return the prompts in a file, or in the files of a folder; a file's path is the name of its prompt."""
    collection = Collection(SYSTEM)
    for path in documents.files(ENDINGS):
        _read_file(documents.text(path), documents.stem(path, ENDINGS), collection)
    return collection


def _read_file(text: str, name: str, collection: Collection) -> None:
    parts = parted(text, name)
    head = parts.head
    title = a_text(head.get("displayName")) or a_text(head.get("name"))
    description = a_text(head.get("description")) or None
    inputs = _inputs(head.get("inputs"))
    reader = AgentReader(
        collection,
        name,
        _language(head.get("template"), collection, name),
        is_path=True,
        title=title,
        description=description,
        more_names=sorted(inputs),
    )
    model, settings, extra = _model(head.get("model"), collection, name)
    extra |= credentials.without({key: head[key] for key in head if key not in _NAMED}, collection, name)
    about = an_object(head.get("metadata"))
    if kept := credentials.without(
        {key: one for key, one in about.items() if key != "tags"}, collection, name
    ):
        extra["metadata"] = kept
    note_unresolved(canonical.dump(head), collection, f"{name}, head")
    note_unresolved(parts.body, collection, name, parts.line)
    schema = _schema(inputs, collection, name)
    reader.add(
        messages_in(parts, _ROLE, "system"),
        model=model,
        settings=settings,
        extra=extra,
        more={"requestContextSchema": schema} if schema else {},
    )
    reader.finish(tags=tags.tags_of({tags.MEMBER: head.get("tags", about.get("tags"))}))


def _language(given: Any, collection: Collection, name: str) -> Language:
    about = an_object(given)
    kind = an_object(about.get("format")).get("kind", about.get("format", about.get("kind", given)))
    found = _LANGUAGES.get(str(kind).lower()) if isinstance(kind, str) else "jinja2"
    if found is None:
        message = f"The template language {shown(kind)!r} is not known: all of it stays as text."
        collection.lose("template_language", name, message)
        return "none"
    return found


def _model(
    given: Any, collection: Collection, name: str
) -> tuple[dict[str, Any] | None, dict[str, Any], dict[str, Any]]:
    """Return the model, its settings, and what else is said of it; its connection is never imported."""
    about = {"id": given} if isinstance(given, str) else an_object(given)
    old = an_object(about.get("configuration"))
    options = about.get("options", about.get("parameters"))
    where = f"{name}, model"
    settings, others = models.settings_from(an_object(options), collection, f"{where}, options")
    extra: dict[str, Any] = {"options": others} if others else {}
    if about.get("connection") or old:
        collection.lose(
            "credential",
            f"{where}.{'connection' if about.get('connection') else 'configuration'}",
            "The connection is left out.",
        )
    kind = about.get("apiType", about.get("api", "chat"))
    if kind not in ("chat", "responses"):
        collection.lose("model", where, f"The model is left out: it is one of the type {shown(kind)}.")
        return None, settings, extra
    found = next((old[key] for key in ("azure_deployment", "name", "model") if old.get(key)), None)
    identifier = about.get("id", found)
    if isinstance(identifier, str) and "${" in identifier:
        collection.lose("model", where, f"The model is left out: {shown(identifier)} is not resolved.")
        return None, settings, extra
    provider = about.get("provider", _PROVIDERS.get(str(old.get("type"))))
    return models.model_from(identifier, collection, where, provider=provider), settings, extra


def _inputs(given: Any) -> dict[str, dict[str, Any]]:
    """Return the inputs by name, from a list or an object; a value alone is an example."""
    if isinstance(given, list):
        return {one["name"]: one for one in objects(given) if isinstance(one.get("name"), str)}
    return {
        name: one if isinstance(one, dict) else {"example": one} for name, one in an_object(given).items()
    }


def _schema(inputs: Mapping[str, Mapping[str, Any]], collection: Collection, name: str) -> dict[str, Any]:
    """Return the schema of contexts for the inputs that have a type."""
    properties: dict[str, Any] = {}
    required = []
    for key, one in inputs.items():
        kind = one.get("kind", one.get("type"))
        if kind is None:
            continue
        if not isinstance(kind, str) or kind not in _TYPES:
            collection.lose("input", name, f"The input {shown(key)!r} of the kind {shown(kind)} is left out.")
            continue
        found: dict[str, Any] = {"type": _TYPES[kind]}
        found |= {word: one[word] for word in ("description", "default") if one.get(word) is not None}
        if one.get("example") is not None:
            found["examples"] = [one["example"]]
        if isinstance(one.get("enumValues"), list):
            found["enum"] = one["enumValues"]
        properties[key] = credentials.without(found, collection, f"{name}, inputs.{key}")
        if one.get("required") is True:
            required.append(key)
    if not properties:
        return {}
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}
