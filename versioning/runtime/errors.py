"""What can go wrong while an agent runs, in the words of the domain.

VersioningError
NoModel               the agent names no model
ProviderUnavailable   the provider is unknown, not installed or without credentials
ProviderFailed        the provider answered with an error, or not at all
VersionUnresolved     `strict` was asked for and a sub-agent's version cannot be resolved
DelegationStopped     the run asked models more often than it may
ToolFailed            a tool function raised
"""

from __future__ import annotations

from versioning.domain.errors import VersioningError


class NoModel(VersioningError):
    """The agent names no model, so there is nothing to run it on."""

    code = "no_model"


class ProviderUnavailable(VersioningError):
    """The provider is unknown, not installed or without credentials; nothing was asked yet."""

    code = "provider_unavailable"


class ProviderFailed(VersioningError):
    """The provider answered with an error, broke off or did not answer; the reason holds no key."""

    code = "provider_failed"


class VersionUnresolved(VersioningError):
    """The caller asked for `strict`, and a sub-agent's version cannot be resolved."""

    code = "version_unresolved"


class DelegationStopped(VersioningError):
    """The run, its sub-agents included, asked models as often as it may; the chain says where."""

    code = "delegation_stopped"

    def __init__(self, message: str, *, chain: tuple[str, ...]) -> None:
        super().__init__(f"{message} ({' → '.join(chain)})")
        self.chain = chain


class ToolFailed(VersioningError):
    """A tool function raised; `__cause__` is what it raised."""

    code = "tool_failed"
