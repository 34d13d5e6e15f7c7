"""The framework that the service runs: `EDITOR_FRAMEWORK=team.framework.framework`."""

from __future__ import annotations

from team.agents import AGENTS
from versioning.editor import Editor
from versioning.runtime import Framework

framework = Framework(agents=AGENTS, editor=Editor())
