"""The formats that `editor import` reads, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from editor_client.importing.collection import Collection
from editor_client.importing.documents import Documents
from editor_client.importing.formats import openai

FILES: Final[Mapping[str, Callable[[Documents], Collection]]] = {
    openai.SYSTEM: openai.read,
}
"""The readers of files and folders."""
