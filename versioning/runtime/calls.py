"""A call of an agent, validated before anything is looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from versioning.domain.errors import Invalid
from versioning.domain.selectors import Selector, VersionsMap
from versioning.runtime.context import RequestContext
from versioning.runtime.messages import Conversation
from versioning.runtime.options import RunOptions

REQUEST_LIMIT = 50
"""The model requests of one call, with all its delegations, unless the framework says otherwise."""


class Options(TypedDict, total=False):
    """The options of a call as keyword arguments; see `versioning.runtime.agent.Runnable`."""

    selector: Selector | None
    """The selector in the address of the request, in addition to `versions`."""
    versions: VersionsMap | Mapping[str, Any] | None
    request_context: RequestContext | Mapping[str, Any] | None
    max_steps: int | None
    model_settings: Mapping[str, Any] | None
    instructions: str | None
    published_sub_agents: bool
    """Whether sub-agents run as if the called version were published: see `planning.plan`."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of one agent."""

    agent_id: str
    conversation: Conversation
    context: RequestContext
    """The request context with the call's own versions merged in."""
    options: RunOptions
    selector: Selector | None
    default: Selector | None
    published_sub_agents: bool = False

    @classmethod
    def parse(
        cls,
        agent_id: str,
        messages: Any,
        *,
        default: Selector | None,
        selector: Selector | None = None,
        versions: VersionsMap | Mapping[str, Any] | None = None,
        request_context: RequestContext | Mapping[str, Any] | None = None,
        max_steps: int | None = None,
        model_settings: Mapping[str, Any] | None = None,
        instructions: str | None = None,
        published_sub_agents: bool = False,
    ) -> Call:
        """Return the call; raises `Invalid` with the caller's names for what is wrong."""
        return cls(
            agent_id=agent_id,
            conversation=Conversation.parse(messages),
            context=_context(request_context, versions),
            options=RunOptions.parse(
                max_steps=max_steps, model_settings=model_settings, instructions=instructions
            ),
            selector=selector,
            default=default,
            published_sub_agents=published_sub_agents,
        )


def _context(
    given: RequestContext | Mapping[str, Any] | None, versions: VersionsMap | Mapping[str, Any] | None
) -> RequestContext:
    if not isinstance(given, RequestContext):
        if given is not None and not isinstance(given, Mapping):
            raise Invalid.field("requestContext", "must be an object")
        given = RequestContext.of(given)
    call = versions if isinstance(versions, VersionsMap) else VersionsMap.parse(versions)
    return RequestContext(values=given.values, versions=VersionsMap.merged(given.versions, call), by=given.by)
