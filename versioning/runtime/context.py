"""What travels with one request, handed down explicitly through every level of delegation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from versioning.domain.access import APPLICATION, Caller
from versioning.domain.selectors import NO_VERSIONS, VersionsMap


@dataclass(frozen=True, kw_only=True)
class RequestContext:
    """The values that templates and rules see, the versions asked for, and who asks.

    Frozen, and an argument: there is no other way in which versions reach a sub-agent, so none by
    which they could reach another request.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    versions: VersionsMap = NO_VERSIONS
    by: Caller = APPLICATION

    @classmethod
    def of(
        cls, values: Mapping[str, Any] | None = None, versions: Any = None, by: Caller = APPLICATION
    ) -> RequestContext:
        """Return the context of a request: its `requestContext`, the `versions` of its body, its caller.

        `requestContext.versions` counts too, below the body's. Raises `Invalid` for malformed maps.
        """
        values = values or {}
        inner = VersionsMap.parse(values.get("versions"), "requestContext.versions")
        return cls(values=values, versions=VersionsMap.merged(inner, VersionsMap.parse(versions)), by=by)
