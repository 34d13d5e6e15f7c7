"""The context of one request, passed explicitly through every level of delegation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from versioning.domain.access import APPLICATION, Caller
from versioning.domain.selectors import NO_VERSIONS, VersionsMap


@dataclass(frozen=True, kw_only=True)
class RequestContext:
    """The values for templates and rules, the selected versions, and the caller.

    It is frozen and passed as an argument. Versions reach a sub-agent in no other way, so they cannot reach
    another request.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    versions: VersionsMap = NO_VERSIONS
    by: Caller = APPLICATION

    @classmethod
    def of(
        cls, values: Mapping[str, Any] | None = None, versions: Any = None, by: Caller = APPLICATION
    ) -> RequestContext:
        """Return the context of a request from its `requestContext`, its `versions` and its caller.

        `requestContext.versions` counts too, with lower precedence than the body's. Raises `Invalid` for
        malformed maps.
        """
        values = values or {}
        inner = VersionsMap.parse(values.get("versions"), "requestContext.versions")
        return cls(values=values, versions=VersionsMap.merged(inner, VersionsMap.parse(versions)), by=by)
