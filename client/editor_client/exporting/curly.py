"""Texts in the languages that fill in `{{name}}` and know nothing else."""

from __future__ import annotations

from editor_client.exporting.published import Reader, Text, rewritten
from editor_client.shared.instructions import placeholders


def curly(text: Text, reader: Reader, where: str) -> str:
    """Return a text with `{{name}}`, and note what such a language cannot say."""

    def write(path: str, fallback: str | None) -> str:
        if fallback is not None:
            reader.lose("fallback", where, f"The fallback of {path!r} is left out.")
        return f"{{{{{path}}}}}"

    def plain(piece: str) -> str:
        if any(True for _ in placeholders(piece)):
            reader.lose("literal_placeholder", where, "Text that looks like a variable becomes one.")
        return piece

    return rewritten(text, write, plain)
