"""Verbs that other applications add to the editor, such as `editor.reviews`."""

from __future__ import annotations

from typing import Self

from versioning.conf import get_editor
from versioning.editor import Editor


class Verbs:
    """Verbs that an application adds under a name (`EditorApp.verbs`): methods or functions.

    A function that takes this object first becomes a verb by assignment: `publish = publishing.publish`.
    """

    def __init__(self, editor: Editor) -> None:
        self.editor = editor

    @classmethod
    def current(cls) -> Self:
        """Return these verbs of the editor that serves requests, with their type."""
        return get_editor().capability(cls)
