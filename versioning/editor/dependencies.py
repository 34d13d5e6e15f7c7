"""Fingerprints for the dependencies of cached answers that the log does not cover: override files."""

from __future__ import annotations

from collections.abc import Hashable

from versioning.domain.agents import AGENT
from versioning.editor.resources import Resources
from versioning.models import Agent
from versioning.serving.followed_log import Dependency


def fingerprint(agents: Resources[Agent], dependency: Dependency) -> Hashable | None:
    """Return a fingerprint: a cached answer with this dependency is valid until it changes.

    It is `()` if the log records every change, and None if no fingerprint can be computed.
    """
    kind, agent_id = dependency
    if kind != AGENT.slug:
        return ()
    if agent_id is not None:
        return agents.backend.fingerprint(agent_id)
    found = tuple(agents.backend.fingerprint(one) for one in agents.code.agents)
    if None in found:
        return None
    return found if any(found) else ()
