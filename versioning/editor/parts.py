"""What other applications add to the editor (`editor.reviews`): what their use cases ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from versioning.editor import Editor


class EditorPart(Protocol):
    """A part of an editor, such as `editor.reviews`, whose methods are functions of its package."""

    @property
    def editor(self) -> Editor:
        """The editor that it belongs to."""
