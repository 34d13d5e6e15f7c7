"""A call of an agent, validated before anything is looked up: its context, its options and its messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict, cast

from versioning.domain.access import APPLICATION, Caller
from versioning.domain.errors import Invalid, Issue
from versioning.domain.run_options import MODEL_SETTINGS, SETTINGS, is_count, setting_problem, usable_settings
from versioning.domain.selectors import NO_VERSIONS, Selector, VersionsMap
from versioning.runtime.conduct import USUAL, Conduct
from versioning.runtime.messages import Conversation

if TYPE_CHECKING:
    from pydantic_ai.settings import ModelSettings


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


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run, by the agent library's names; the agent decides those that are not set."""

    max_steps: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    instructions: str | None = None

    @classmethod
    def parse(
        cls, *, max_steps: Any = None, model_settings: Any = None, instructions: Any = None
    ) -> RunOptions:
        """Return the options of a call; raises `Invalid` with the JSON names of the invalid ones."""
        issues: list[Issue] = []
        if max_steps is not None and not is_count(max_steps):
            issues.append(Issue("maxSteps", "must be a whole number from 1"))
        if instructions is not None and not (isinstance(instructions, str) and instructions.strip()):
            issues.append(Issue("instructions", "must be a text that is not blank"))
        settings = _settings({} if model_settings is None else model_settings, issues)
        if issues:
            raise Invalid(issues)
        return cls(max_steps=max_steps, settings=settings, instructions=instructions)

    @classmethod
    def stored(cls, default_options: Mapping[str, Any], model: Mapping[str, Any] | None) -> RunOptions:
        """Return the options in an agent's `defaultOptions` and `model`; unknown ones are ignored.

        They are saved without validation, so an error in them is not the caller's.
        """
        max_steps = default_options.get("maxSteps")
        return cls(
            max_steps=max_steps if is_count(max_steps) else None,
            settings={
                **usable_settings(model, MODEL_SETTINGS),
                **usable_settings(default_options.get("modelSettings")),
            },
        )

    def over(self, weaker: RunOptions) -> RunOptions:
        """Return these options, completed by those of `weaker`."""
        return RunOptions(
            max_steps=self.max_steps or weaker.max_steps,
            settings={**weaker.settings, **self.settings},
            instructions=self.instructions or weaker.instructions,
        )

    def model_settings(self) -> ModelSettings:
        """Return the settings in the form of the agent library."""
        return cast("ModelSettings", dict(self.settings))


def _settings(given: Any, issues: list[Issue]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        issues.append(Issue("modelSettings", "must be an object"))
        return {}
    settings: dict[str, Any] = {}
    for name, value in given.items():
        problem = setting_problem(name, value)
        if problem is not None:
            issues.append(Issue(f"modelSettings.{name}", problem))
        elif value is not None:
            settings[SETTINGS[name][0]] = value
    return settings


REQUEST_LIMIT = 50
"""The model requests of one call, with all its delegations, unless the framework says otherwise."""


class Options(TypedDict, total=False):
    """The options of a call as keyword arguments; see `versioning.runtime.agent.Runnable`."""

    selector: Selector | None
    """The selector in the URL of the request, in addition to `versions`."""
    versions: VersionsMap | Mapping[str, Any] | None
    request_context: RequestContext | Mapping[str, Any] | None
    max_steps: int | None
    model_settings: Mapping[str, Any] | None
    instructions: str | None
    conduct: Conduct
    """How the run is carried out."""
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
    conduct: Conduct = USUAL

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
        published_sub_agents: bool = False,
        conduct: Conduct = USUAL,
        **options: Any,
    ) -> Call:
        """Return the call; raises `Invalid` with the caller's names for what is wrong."""
        return cls(
            agent_id=agent_id,
            conversation=Conversation.parse(messages),
            context=_context(request_context, versions),
            options=RunOptions.parse(**options),
            selector=selector,
            default=default,
            published_sub_agents=published_sub_agents,
            conduct=conduct,
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
