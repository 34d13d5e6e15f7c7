"""The framework of this installation, and with it the editor that knows what code defines.

`EDITOR_FRAMEWORK` names it; nothing else needs to know where it is put together.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from versioning.editor import Editor
    from versioning.runtime import Framework


def get_framework() -> Framework:
    """Return the framework that `EDITOR_FRAMEWORK` names; raises `ImproperlyConfigured` without an editor."""
    return _load(settings.EDITOR_FRAMEWORK)


def get_editor() -> Editor:
    """Return the framework's editor."""
    found: Editor = get_framework().editor  # type: ignore[assignment]
    return found


@cache
def _load(path: str) -> Framework:
    found: Framework = import_string(path)
    if found.editor is None:
        raise ImproperlyConfigured(
            f"EDITOR_FRAMEWORK: {path} has no editor; give it Framework(editor=Editor())"
        )
    return found
