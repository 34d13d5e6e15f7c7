"""Reading files of others: only within the named path, within limits, and as plain values.

Nothing of a file is executed, no address is followed, and no reference leaves the folder.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

from editor_client.shared import canonical, ids, tables
from editor_client.shared.errors import Invalid
from editor_client.transfer.importing.collection import Unreadable, shown
from editor_client.transfer.importing.yaml_text import parse_yaml

MAX_FILE: Final = 16 * 1024 * 1024
MAX_TOTAL: Final = 64 * 1024 * 1024
MAX_FILES: Final = 2_000
MAX_COLUMNS: Final = 1_000
"""How many columns a table may have: each row that is shorter has all of them."""
MAX_REPAIRS: Final = 500
"""How many lines of all files may have characters that are replaced."""
_NUL: Final = "a NUL character"
_HALF: Final = "half of a surrogate pair"
_PAIR_OR_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u([0-9a-fA-F]{4})|\\.|(\0)", re.DOTALL
)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass
class Documents:
    """The named path: a file, or a folder; what it refers to is read from the same folder alone."""

    path: Path
    repairs: dict[tuple[str, int, str], None] = field(default_factory=dict, repr=False)
    """The files and lines of what was replaced because JSON and the editor cannot hold it, in order."""
    _read: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        try:
            self.path = self.path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise Unreadable(f"{shown(self.path)} cannot be read: {_reason(error)}") from None

    @property
    def folder(self) -> Path:
        """The folder that no reference leaves."""
        return self.path if self.path.is_dir() else self.path.parent

    def files(self, endings: Sequence[str]) -> list[Path]:
        """Return the named file; or the files of a folder with one of these endings, at any depth, sorted."""
        if not self.path.is_dir():
            return [self.path]
        found: list[Path] = []
        for folder, folders, names in os.walk(self.path):
            folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
            paths = (Path(folder, name) for name in names if name.endswith(tuple(endings)))
            found += [path for path in paths if not path.is_symlink()]
            if len(found) > MAX_FILES:
                raise Unreadable(f"{shown(self.path)} holds more than {MAX_FILES} files to import.")
        if not found:
            raise Unreadable(f"{shown(self.path)} holds no file that ends with {' or '.join(endings)}.")
        return sorted(found)

    def name(self, path: Path) -> str:
        """Return the path of a file in the folder, with slashes."""
        return path.relative_to(self.folder).as_posix()

    def stem(self, path: Path, endings: Sequence[str]) -> str:
        """Return the path of a file in the folder without its ending; `editor export` encodes ids in it."""
        name = self.name(path)
        ending = next((ending for ending in endings if name.endswith(ending)), path.suffix)
        stem = name.removesuffix(ending) or name
        decoded = unquote(stem, errors="strict") if "%" in stem else stem
        return decoded if ids.encode(decoded) == stem else stem

    def referred(self, reference: str) -> Path:
        """Return the file that a reference names; raises `Unreadable` for anything outside the folder."""
        text = reference.removeprefix("file://")
        parts = PurePosixPath(text).parts
        if _ADDRESS.match(text) or "\\" in text or "\0" in text or not parts:
            raise Unreadable(f"{shown(reference)} is no path in the folder; it is not followed.")
        if text.startswith(("/", "~")) or ".." in parts:
            raise Unreadable(f"{shown(reference)} leads out of the folder; it is not followed.")
        path = self.folder
        for part in parts:
            path /= part
            if path.is_symlink():
                raise Unreadable(f"{shown(reference)} is a symbolic link; it is not followed.")
        return path

    def matching(self, pattern: str) -> list[Path]:
        """Return the files in the folder that a reference with `*` names."""
        reference = self.referred(pattern)
        if "*" not in pattern:
            return [reference]
        try:
            found = sorted(islice(self.folder.glob(self.name(reference)), MAX_FILES))
        except (ValueError, NotImplementedError, RecursionError) as error:
            raise Unreadable(f"{shown(pattern)} names no files: {error}.") from None
        return [path for path in found if self.referred(self.name(path)).is_file()]

    def text(self, path: Path) -> str:
        """Return a file as text, without a byte-order mark."""
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise Unreadable(f"{shown(path.name)} is no regular file.")
                content = file.read(MAX_FILE + 1)
        except OSError as error:
            raise Unreadable(f"{shown(path.name)} cannot be read: {_reason(error)}") from None
        self._read += len(content)
        if len(content) > MAX_FILE or self._read > MAX_TOTAL:
            raise Unreadable(f"{shown(path.name)} is too large: {MAX_FILE >> 20} MiB are allowed.")
        try:
            text, _ = tables.decode(content)
        except Invalid as error:
            raise Unreadable(f"{shown(path.name)} {error.issues[0].message}.") from None
        return self._storable(text, path)

    def _storable(self, text: str, path: Path) -> str:
        """Return a text with U+FFFD for NUL characters and, in JSON, for halves of surrogate pairs."""
        is_json = path.suffix in {".json", ".jsonl"}
        if "\0" not in text and not (is_json and "\\u" in text):
            return text
        counted, line = 0, 1

        def repaired(found: re.Match[str]) -> str:
            nonlocal counted, line
            code = int(found[1], 16) if found[1] and is_json else -1
            if not found[2] and code != 0 and not 0xD800 <= code <= 0xDFFF:
                return found[0]
            line, counted = line + text.count("\n", counted, found.start()), found.start()
            self.repairs[self.name(path), line, _HALF if code > 0 else _NUL] = None
            if len(self.repairs) > MAX_REPAIRS:
                raise Unreadable(f"{shown(path.name)} holds many characters that cannot be stored.")
            return "\ufffd" if found[2] else r"\ufffd"

        return _PAIR_OR_ESCAPE.sub(repaired, text)

    def json(self, path: Path) -> Any:
        """Return the value of a JSON file."""
        return parse_json(self.text(path), path.name)

    def json_lines(self, path: Path) -> Iterator[tuple[int, Any]]:
        """Yield (line, value) for each line of a JSONL file that is not empty."""
        for number, line in enumerate(self.text(path).split("\n"), 1):
            if line.strip():
                yield number, parse_json(line, f"{path.name}, line {number}")

    def value(self, path: Path) -> Any:
        """Return the value of a JSON or YAML file, by its ending."""
        if path.suffix == ".json":
            return self.json(path)
        return parse_yaml(self.text(path), path.name)


def parse_json(text: str, name: str) -> Any:
    """Return the value of a JSON text; raises `Unreadable` for what is not exact JSON."""
    try:
        return canonical.parse(text)
    except Invalid as error:
        raise Unreadable(f"{shown(name)} {error.issues[0].message}") from None


def csv_rows(text: str, name: str, is_known: Callable[[str], bool]) -> Iterator[dict[str | None, Any]]:
    """Yield the rows of a table with a header, with any separator; raises `Unreadable`.

    As with `csv.DictReader`, the cells that a row has more than the header are under None, and those that it
    lacks are None; cells below an empty name are under None, too. The names that are known tell which
    separator is right.
    """
    try:
        table = tables.read(text, is_known=is_known)
    except Invalid as error:
        raise Unreadable(f"{shown(name)} {error.issues[0].message}.") from None
    if len(table.header) > MAX_COLUMNS:
        raise Unreadable(f"{shown(name)} has more than {MAX_COLUMNS} columns.")
    repeated = next((column for column, count in Counter(table.header).items() if count > 1 and column), "")
    if repeated:
        raise Unreadable(f"{shown(name)} names the column {shown(repeated)} twice.")
    for row in filter(any, table.rows):
        named = list(zip_longest(table.header, row))
        cells: dict[str | None, Any] = {name: cell for name, cell in named if name}
        if more := [cell for name, cell in named if not name and cell]:
            cells[None] = more
        yield cells


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
