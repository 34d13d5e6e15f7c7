"""The formats that `editor import` reads, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from editor_client.transfer.importing.collection import Collection, Unreadable
from editor_client.transfer.importing.documents import Documents, is_address
from editor_client.transfer.importing.formats import (
    dotprompt,
    langfuse,
    langsmith,
    mlflow,
    openai,
    openai_evals,
    prompt_yml,
    promptfoo,
    prompty,
)

FILES: Final[Mapping[str, Callable[[Documents], Collection]]] = {
    module.SYSTEM: module.read
    for module in (openai, openai_evals, promptfoo, langfuse, prompt_yml, prompty, dotprompt)
}
"""The readers of files and folders."""
SERVERS: Final[Mapping[str, Callable[[str], Collection]]] = {
    langfuse.SYSTEM: langfuse.read_server,
    mlflow.SYSTEM: mlflow.read,
    langsmith.SYSTEM: langsmith.read,
}
"""The readers of servers, by their address."""
SOURCES: Final = (*FILES, *(name for name in SERVERS if name not in FILES))


def collect(source: str, path: str) -> Collection:
    """Return the content at a path, or at the address of a server; raises `Unreadable`."""
    if is_address(path) or source not in FILES:
        read = SERVERS.get(source)
        if read is None:
            raise Unreadable(f"{source} is read from files; addresses are not followed.")
        return read(path)
    documents = Documents(Path(path))
    collection = FILES[source](documents)
    for file, line, problem in documents.repairs:
        message = f"{problem[0].upper()}{problem[1:]} cannot be stored; U+FFFD stands in its place."
        collection.lose("unstorable", file, message, line)
    for file in documents.skipped:
        collection.lose("symbolic_link", file, "It is left out: it is a symbolic link.")
    return collection
