"""What is asked of the editor in memory, and what it answers."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.errors import Invalid
from editor_client.testing import serving
from editor_client.testing.editor import Editor
from editor_client.testing.refusals import Refused
from editor_client.testing.resources import KINDS, Kind, Resource

Json = dict[str, Any]
CONTEXT: Final = "requestContext"


@dataclass(kw_only=True)
class Asked:
    """A request that has been read."""

    editor: Editor
    generate: serving.Generate
    names: tuple[str, ...]
    """What stands in the address for each `*` of the route."""
    query: Mapping[str, str]
    body: Any
    if_match: str | None

    @property
    def kind(self) -> Kind:
        """The kind of resource that the address names."""
        return KINDS[self.names[0]]

    @property
    def resource(self) -> Resource:
        """The resource that the address names."""
        return self.editor.find(self.kind, self.names[1])

    @property
    def context(self) -> Json:
        """The request context of a read."""
        text = self.query.get(CONTEXT)
        if text is None:
            return {}
        try:
            decoded = base64.b64decode(text, validate=True)
        except ValueError:
            raise Invalid.field(CONTEXT, "is not base64") from None
        value = canonical.parse(decoded, field=CONTEXT)
        if not isinstance(value, dict):
            raise Invalid.field(CONTEXT, "must be a JSON object")
        return value

    def changing(self) -> Resource:
        """Return the resource for a change that its `If-Match` allows."""
        resource = self.resource
        if self.if_match is not None and resource.tag not in self.if_match:
            latest, active = resource.latest, resource.active
            current = {
                "latestVersionId": latest.id,
                "activeVersionId": active and active.id,
                "savedBy": latest.author,
                "savedAt": latest.created_at,
                "changedFields": latest.changed,
            }
            message = "This has changed since you read it; look at the current state and try again."
            raise Refused(412, "edit_conflict", message, current=current)
        return resource


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a request; `tag` is that of a record, else the content's."""

    content: Any
    status: int = 200
    tag: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_stream: bool = False


def page_of(asked: Asked, key: str, found: list[Json], *, size: int) -> Json:
    """Return a page of a list."""
    page, per_page = (_number(asked, name, default) for name, default in (("page", 0), ("perPage", size)))
    shown = found[page * per_page : (page + 1) * per_page]
    has_more = bool(shown) and (page + 1) * per_page < len(found)
    return {"total": len(found), "page": page, "perPage": per_page, "hasMore": has_more, key: shown}


def _number(asked: Asked, name: str, default: int) -> int:
    text = asked.query.get(name, str(default))
    if not text.isdecimal():
        raise Invalid.field(name, "must be a whole number from 0 on")
    return int(text)
