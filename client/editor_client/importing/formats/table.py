"""The formats that `editor import` reads, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from editor_client.importing.collection import Collection
from editor_client.importing.documents import Documents
from editor_client.importing.formats import langfuse, openai, prompt_yml, promptfoo

FILES: Final[Mapping[str, Callable[[Documents], Collection]]] = {
    openai.SYSTEM: openai.read,
    promptfoo.SYSTEM: promptfoo.read,
    langfuse.SYSTEM: langfuse.read,
    prompt_yml.SYSTEM: prompt_yml.read,
}
"""The readers of files and folders."""
