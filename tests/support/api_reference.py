"""Generate docs/reference/api-reference.md from the OpenAPI document: `make api-reference`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from tests.support.openapi import PREFIX
from tests.support.service import ROOT

Schema = dict[str, Any]

PAGE = ROOT / "docs/reference/api-reference.md"

LONGEST = 500
"""The number of characters of an example that the page shows."""

_ABOUT_ALL = {"400", "401", "403", "405", "406", "413", "415", "429", "503"}
_HEAD = f"""# API reference

Generated from the OpenAPI document of the service by `make api-reference`; do not edit it. [REST API](api.md)
has the conventions, [Use the REST API](../guides/use-the-api.md) an example of each step.

Paths follow the prefix `{PREFIX}`. Every route takes the header `Authorization: Bearer ek_…` and the query
parameter `requestContext`: values for templates and rules, as a JSON object in base64. Every route can return
400, 401, 403, 405, 406, 413, 415, 429 and 503; routes list further errors. Errors have the shape
[ErrorAnswer](#erroranswer), and [Errors](errors.md) lists their codes. Examples are recorded from the
service; long ones are cut off.
"""


def reference(document: Schema) -> str:
    """Return the page with all routes and shapes of an OpenAPI document."""
    routes = [
        (operation["tags"][0], method, path.removeprefix(PREFIX), operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    lines = [_HEAD]
    for tag, group in groupby(routes, key=lambda route: route[0]):
        lines.append(f"## {tag}\n")
        for _, method, path, operation in group:
            lines += _operation(method, path, operation)
    lines.append("## Shapes\n")
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += _shape(name, schema)
    return "\n".join(lines)


def _operation(method: str, path: str, operation: Schema) -> Iterator[str]:
    path = re.sub("{([^}]*)}", r":\1", path)
    yield f"### `{method.upper()} {path}`\n"
    yield f"{operation['description']}\n"
    parameters = [
        parameter
        for parameter in operation.get("parameters", [])
        if parameter["in"] != "path" and parameter["name"] != "requestContext"
    ]
    if parameters:
        yield "| parameter | type | meaning |\n|---|---|---|"
        yield from (
            f"| `{parameter['name']}`{_where(parameter)} | {_type(parameter['schema'])} | "
            f"{parameter.get('description', '')} |"
            for parameter in parameters
        )
        yield ""
    if "requestBody" in operation:
        [(kind, content)] = operation["requestBody"]["content"].items()
        yield f"- Body: {_type(content['schema']) if kind == 'application/json' else 'a file'}"
    further = []
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            shapes = [
                _type(content["schema"]) if kind == "application/json" else f"`{kind}`"
                for kind, content in answer["content"].items()
            ]
            yield f"- Response: {status}, {' or '.join(shapes)}"
        elif status not in _ABOUT_ALL:
            further.append(status)
    if further:
        yield f"- Further errors: {', '.join(further)}"
    yield ""
    yield from _example(method, path, operation)


def _example(method: str, path: str, operation: Schema) -> Iterator[str]:
    """Yield the recorded request and response of an operation, without the end of long ones."""
    content = operation.get("requestBody", {}).get("content", {})
    sent = [body["example"] for body in content.values() if "example" in body]
    answers = [
        (status, body["example"])
        for status, response in operation["responses"].items()
        for body in response.get("content", {}).values()
        if status.startswith("2") and "example" in body
    ]
    if not (sent or answers):
        return
    yield f"```text\n{method.upper()} {PREFIX}{path}"
    yield from map(_shortened, sent)
    for status, answer in answers[:1]:
        yield f"\n{status}\n{_shortened(answer)}"
    yield "```\n"


def _shortened(example: object) -> str:
    text = json.dumps(example, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _where(parameter: Schema) -> str:
    header = " (header)" if parameter["in"] == "header" else ""
    return header + (" (required)" if parameter.get("required") else "")


def _shape(name: str, schema: Schema) -> Iterator[str]:
    yield f"### {name}\n"
    if schema.get("description"):
        yield f"{schema['description']}\n"
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not properties:
        yield f"{_type(schema)}\n"
        return
    yield "| field | type | meaning |\n|---|---|---|"
    for field, about in properties.items():
        mark = " (required)" if field in required else ""
        yield f"| `{field}`{mark} | {_type(about)} | {about.get('description', '')} |"
    yield ""


def _type(schema: Schema) -> str:
    """Return the type of a value in words."""
    match schema:
        case {"oneOf": choices} | {"anyOf": choices}:
            words = " or ".join(dict.fromkeys(_type(choice) for choice in choices))
        case {"type": list(kinds)}:
            words = " or ".join(_type({**schema, "type": kind}) for kind in kinds)
        case {"$ref": address}:
            name = address.rpartition("/")[2]
            words = f"[{name}](#{name.lower()})"
        case {"enum": values}:
            words = ", ".join(f"`{value}`" for value in values)
        case {"type": "array", "items": item}:
            words = f"list of {_type(item)}"
        case {"additionalProperties": {} as member} if member:
            words = f"object: {_type(member)} by key"
        case {"format": "date-time"}:
            words = "time"
        case _:
            words = str(schema.get("type", "anything"))
    return words


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")
    django.setup()
    from versioning.api.openapi import document

    PAGE.write_text(reference(document()))
