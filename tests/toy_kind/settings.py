"""The settings of a project that has snippets."""

from editor_project.settings import *  # noqa: F403
from editor_project.settings import INSTALLED_APPS as OURS

INSTALLED_APPS = [*OURS, "tests.toy_kind"]
