"""Errors that occur while an agent runs."""

from __future__ import annotations

from versioning.domain.errors import VersioningError


class NoModel(VersioningError):
    """The agent has no model to run on."""

    code = "no_model"


class ProviderUnavailable(VersioningError):
    """The provider is unknown, not installed or without credentials; no request was made."""

    code = "provider_unavailable"


class ProviderFailed(VersioningError):
    """The provider failed, broke off or did not answer; the reason contains no key."""

    code = "provider_failed"


class VersionUnresolved(VersioningError):
    """The caller asked for `strict`, and the version of a sub-agent cannot be resolved."""

    code = "version_unresolved"


class DelegationStopped(VersioningError):
    """The run and its sub-agents reached the limit of model requests; the chain shows where."""

    code = "delegation_stopped"

    def __init__(self, message: str, *, chain: tuple[str, ...]) -> None:
        super().__init__(f"{message} ({' → '.join(chain)})")
        self.chain = chain


class ToolFailed(VersioningError):
    """A tool function raised an exception, which is the `__cause__`."""

    code = "tool_failed"
