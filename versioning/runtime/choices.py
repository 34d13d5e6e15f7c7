"""Which selector counts for an agent, by precedence, and where it stands in the request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from versioning.domain.access import APPLICATION, Caller
from versioning.domain.errors import Invalid, Issue
from versioning.domain.selectors import SelectedBlock, SelectedBlocks, Selector, VersionsMap
from versioning.runtime.context import RequestContext


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A selector, the caller whose rights apply, and its place in the request."""

    selector: Selector
    by: Caller
    place: str | None = None
    is_entry: bool = False
    """Whether it stands in an entry for this agent."""


def own_choice(agent_id: str, context: RequestContext, selector: Selector | None) -> Choice | None:
    """Return the selector for the called agent itself; None if there is none.

    Raises `Invalid`, naming each place, if there is more than one. The framework's defaults are for
    sub-agents and do not count.
    """
    places = {
        f"versions.agents.{agent_id}": context.versions.agents.get(agent_id),
        "versions.self": context.versions.self_,
    }
    if selector is not None:
        places[next(iter(selector.as_dict()))] = selector
    found = {place: one for place, one in places.items() if one is not None}
    if len(found) > 1:
        raise selected_twice(found)
    return next((Choice(selector=one, by=context.by, place=place) for place, one in found.items()), None)


def selected_twice(places: Iterable[str]) -> Invalid:
    """Return the error for several selectors of the called agent itself, at these places of the request."""
    return Invalid(
        [Issue(one, "the called agent's own version is selected more than once") for one in places]
    )


def sub_agent_choice(agent_id: str, context: RequestContext, framework: VersionsMap) -> Choice | None:
    """Return the selector for a sub-agent; None if there is none, so that the published version runs.

    An entry for its id takes precedence over any `defaultStatus`, and the request over the framework. The
    framework's selectors are the application's decision and are read with its rights; otherwise a default
    could exclude everybody who may not read drafts.
    """
    for versions, by in ((context.versions, context.by), (framework, APPLICATION)):
        if agent_id in versions.agents:
            place = f"versions.agents.{agent_id}"
            return Choice(selector=versions.agents[agent_id], by=by, place=place, is_entry=True)
    for versions, by in ((context.versions, context.by), (framework, APPLICATION)):
        if versions.default_status is not None:
            selector = Selector(status=versions.default_status)
            return Choice(selector=selector, by=by, place="versions.defaultStatus")
    return None


def block_choices(context: RequestContext, framework: VersionsMap) -> SelectedBlocks:
    """Return the selected versions of prompt blocks; the request takes precedence over the framework."""
    return {
        block_id: SelectedBlock(selector, by)
        for versions, by in ((framework, APPLICATION), (context.versions, context.by))
        for block_id, selector in versions.prompt_blocks.items()
    }
