"""For the tests of projects that have the editor as an application: docs/guides/test-a-django-project.md.

    pytest_plugins = ["versioning.testing"]  # in conftest.py: the fixture `live_editor`
    from versioning.testing import AgentFactory, UserFactory

It needs the extra `editor-server[testing]`. The factories are imported when they are first used, because
pytest imports its plug-ins before Django is set up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from versioning.testing.fixtures import LiveEditor, isolated_editor, live_editor

if TYPE_CHECKING:
    from versioning.testing.factories import (
        AgentFactory,
        AgentVersionFactory,
        ApiKeyFactory,
        MembershipFactory,
        PromptBlockFactory,
        PromptBlockVersionFactory,
        ResourceFactory,
        UserFactory,
        VersionFactory,
        WorkspaceFactory,
    )

__all__ = [
    "AgentFactory",
    "AgentVersionFactory",
    "ApiKeyFactory",
    "LiveEditor",
    "MembershipFactory",
    "PromptBlockFactory",
    "PromptBlockVersionFactory",
    "ResourceFactory",
    "UserFactory",
    "VersionFactory",
    "WorkspaceFactory",
    "isolated_editor",
    "live_editor",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from versioning.testing import factories  # noqa: PLC0415  it imports models

    return getattr(factories, name)
