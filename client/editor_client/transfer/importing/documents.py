"""Reading files from outside: only within the named path, within limits, and as plain values.

Nothing of a file is executed, no address is followed, and no reference leaves the folder.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path, PurePosixPath
from time import monotonic
from types import ModuleType
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

import httpx2

from editor_client.certificates import ssl_context
from editor_client.shared import canonical, ids, tables
from editor_client.shared.errors import Invalid
from editor_client.transfer.importing.collection import Collection, Unreadable, excerpt
from editor_client.transfer.importing.messages import Message

MAX_TEXT: Final = 2 * 1024 * 1024
MAX_ALIASES: Final = 100


class MissingExtra(Exception):
    """The library for YAML is not installed."""


def yaml_files() -> ModuleType:
    """Return the module that reads and writes YAML; raises `MissingExtra` without PyYAML."""
    try:
        import yaml  # noqa: F401, PLC0415 - an extra of the distribution

        from editor_client.shared import yaml_files  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("This needs PyYAML: pip install 'editor-client[import]'") from None
    return yaml_files


def parse_yaml(text: str, name: str) -> Any:
    """Return the value of a YAML text.

    Raises `Unreadable` for invalid YAML, tags, repeated keys, too many aliases, and values that JSON does not
    have, and `MissingExtra` without PyYAML.
    """
    files = yaml_files()
    if len(text) > MAX_TEXT:
        raise Unreadable(f"{excerpt(name)} is too large: {MAX_TEXT >> 20} MiB of YAML are allowed.")
    try:
        return files.parse(text, max_aliases=MAX_ALIASES, max_size=2 * MAX_TEXT)
    except Invalid as error:
        raise Unreadable(f"{excerpt(name)} {excerpt(error.issues[0].message)}") from None


MAX_FILE: Final = 16 * 1024 * 1024
MAX_TOTAL: Final = 64 * 1024 * 1024
MAX_FILES: Final = 2_000
MAX_COLUMNS: Final = 1_000
"""The maximum number of columns of a table; shorter rows are filled up."""
MAX_REPAIRS: Final = 500
"""The maximum number of lines with replaced characters, over all files."""
_NUL: Final = "a NUL character"
_HALF: Final = "half of a surrogate pair"
_PAIR_OR_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u([0-9a-fA-F]{4})|\\.|(\0)", re.DOTALL
)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass
class Documents:
    """The named path: a file or a folder; references are read only from the same folder."""

    path: Path
    repairs: dict[tuple[str, int, str], None] = field(default_factory=dict, repr=False)
    """The files and lines of replaced characters that JSON and the editor cannot represent, in order."""
    skipped: dict[str, None] = field(default_factory=dict, repr=False)
    """The symbolic links in the folder, which are not followed."""
    _read: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        try:
            self.path = self.path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise Unreadable(f"{excerpt(self.path)} cannot be read: {_reason(error)}") from None

    @property
    def folder(self) -> Path:
        """The folder that references must not leave."""
        return self.path if self.path.is_dir() else self.path.parent

    def files(self, endings: Sequence[str]) -> list[Path]:
        """Return the named file; or the files of a folder with one of these endings, at any depth, sorted."""
        if not self.path.is_dir():
            return [self.path]
        files: list[Path] = []
        for folder, folders, names in os.walk(self.path):
            folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
            paths = [Path(folder, name) for name in sorted(names) if name.endswith(tuple(endings))]
            files += [path for path in paths if not path.is_symlink()]
            links = [
                path for path in (*paths, *(Path(folder, name) for name in folders)) if path.is_symlink()
            ]
            self.skipped |= dict.fromkeys(map(self.name, links))
            if len(files) > MAX_FILES:
                raise Unreadable(f"{excerpt(self.path)} holds more than {MAX_FILES} files to import.")
        if not files:
            raise Unreadable(f"{excerpt(self.path)} holds no file that ends with {' or '.join(endings)}.")
        return sorted(files)

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

    def resolve_reference(self, reference: str) -> Path:
        """Return the file that a reference names; raises `Unreadable` for anything outside the folder."""
        text = reference.removeprefix("file://")
        parts = PurePosixPath(text).parts
        if _ADDRESS.match(text) or "\\" in text or "\0" in text or not parts:
            raise Unreadable(f"{excerpt(reference)} is no path in the folder; it is not followed.")
        if text.startswith(("/", "~")) or ".." in parts:
            raise Unreadable(f"{excerpt(reference)} leads out of the folder; it is not followed.")
        path = self.folder
        for part in parts:
            path /= part
            if path.is_symlink():
                raise Unreadable(f"{excerpt(reference)} is a symbolic link; it is not followed.")
        return path

    def matching(self, pattern: str) -> list[Path]:
        """Return the files in the folder that a reference with `*` names."""
        reference = self.resolve_reference(pattern)
        if "*" not in pattern:
            return [reference]
        try:
            matches = sorted(islice(self.folder.glob(self.name(reference)), MAX_FILES))
        except (ValueError, NotImplementedError, RecursionError) as error:
            raise Unreadable(f"{excerpt(pattern)} names no files: {error}.") from None
        return [path for path in matches if self.resolve_reference(self.name(path)).is_file()]

    def text(self, path: Path) -> str:
        """Return a file as text, without a byte-order mark."""
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise Unreadable(f"{excerpt(path.name)} is no regular file.")
                content = file.read(MAX_FILE + 1)
        except OSError as error:
            raise Unreadable(f"{excerpt(path.name)} cannot be read: {_reason(error)}") from None
        self._read += len(content)
        if len(content) > MAX_FILE or self._read > MAX_TOTAL:
            raise Unreadable(f"{excerpt(path.name)} is too large: {MAX_FILE >> 20} MiB are allowed.")
        try:
            text, _ = tables.decode(content)
        except Invalid as error:
            raise Unreadable(f"{excerpt(path.name)} {error.issues[0].message}.") from None
        return self._storable(text, path)

    def _storable(self, text: str, path: Path) -> str:
        """Return a text with U+FFFD for NUL characters and, in JSON, for halves of surrogate pairs."""
        is_json = path.suffix in {".json", ".jsonl"}
        if "\0" not in text and not (is_json and "\\u" in text):
            return text
        counted, line = 0, 1

        def repair(match: re.Match[str]) -> str:
            nonlocal counted, line
            code = int(match[1], 16) if match[1] and is_json else -1
            if not match[2] and code != 0 and not 0xD800 <= code <= 0xDFFF:
                return match[0]
            line, counted = line + text.count("\n", counted, match.start()), match.start()
            self.repairs[self.name(path), line, _HALF if code > 0 else _NUL] = None
            if len(self.repairs) > MAX_REPAIRS:
                raise Unreadable(f"{excerpt(path.name)} holds many characters that cannot be stored.")
            return "\ufffd" if match[2] else r"\ufffd"

        return _PAIR_OR_ESCAPE.sub(repair, text)

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
    """Return the value of a JSON text; raises `Unreadable` unless it is exact JSON."""
    try:
        return canonical.parse(text)
    except Invalid as error:
        raise Unreadable(f"{excerpt(name)} {error.issues[0].message}") from None


def csv_rows(text: str, name: str, is_known: Callable[[str], bool]) -> Iterator[dict[str | None, Any]]:
    """Yield the rows of a table with a header, with any separator; raises `Unreadable`.

    As with `csv.DictReader`, the cells of a row beyond the header are under None, and missing ones are None;
    cells below an empty name are also under None. Known names determine the separator.
    """
    try:
        table = tables.read(text, is_known=is_known)
    except Invalid as error:
        raise Unreadable(f"{excerpt(name)} {error.issues[0].message}.") from None
    if len(table.header) > MAX_COLUMNS:
        raise Unreadable(f"{excerpt(name)} has more than {MAX_COLUMNS} columns.")
    repeated = next((column for column, count in Counter(table.header).items() if count > 1 and column), "")
    if repeated:
        raise Unreadable(f"{excerpt(name)} names the column {excerpt(repeated)} twice.")
    for row in filter(any, table.rows):
        pairs = list(zip_longest(table.header, row))
        cells: dict[str | None, Any] = {name: cell for name, cell in pairs if name}
        if more := [cell for name, cell in pairs if not name and cell]:
            cells[None] = more
        yield cells


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


DASHES: Final = re.compile(r"---\s*")
_ROLES: Final = {"model": "assistant"}
_UNRESOLVED: Final = re.compile(r"\$\{(?:env|file):[^}\n]{0,200}\}")


class FrontMatter(NamedTuple):
    """A file in its parts."""

    head: dict[str, Any]
    body: str
    line: int
    """The line on which the body begins."""
    comments: str = ""
    """The lines of comments before the head, such as a licence."""


def split_head(
    text: str, name: str, *, marker: re.Pattern[str] = DASHES, with_comments: bool = False
) -> FrontMatter:
    """Return the parts of a file; one without a head is a body. Raises `Unreadable`.

    Empty lines may precede the head; `with_comments`, also lines that begin with `#`. The head is between the
    first two lines that are a `marker`.
    """
    text = text.replace("\r\n", "\n")
    lines = (text if "\n" in text else text.replace("\r", "\n")).split("\n")
    is_before: Callable[[str], bool] = lambda line: (  # noqa: E731
        not line.strip() or (with_comments and line.startswith("#"))
    )
    start = next((number for number, line in enumerate(lines) if not is_before(line)), None)
    if start is None or not marker.fullmatch(lines[start]):
        return FrontMatter({}, "\n".join(lines), 1)
    end = next((place for place in range(start + 1, len(lines)) if marker.fullmatch(lines[place])), None)
    if end is None:
        raise Unreadable(f"{excerpt(name)} begins with `{lines[start].strip()}`, and the head has no end.")
    # with the lines of the file
    head = parse_yaml("\n".join(["" for _ in range(start + 1)] + lines[start + 1 : end] + [""]), name)
    if head is not None and not isinstance(head, dict):
        raise Unreadable(f"{excerpt(name)} has a head that is no object.")
    comments = "\n".join(lines[:start]).strip()
    return FrontMatter(head or {}, "\n".join(lines[end + 1 :]), end + 2, comments)


def note_unresolved(text: str, collection: Collection, where: str, first_line: int = 1) -> None:
    """Note references of the source to the environment or to files, which stay as text here."""
    for match in _UNRESOLVED.finditer(text):
        line = first_line + text.count("\n", 0, match.start())
        collection.lose("not_resolved", where, f"{excerpt(match[0])} stays as text.", line)


def messages_in(file: FrontMatter, tag: re.Pattern[str], role: str) -> list[Message]:
    """Return the messages of a body; the text before the first tag has this role.

    The group `role` of a tag is the role of the message after it; a tag without one is the place of a
    history. The group `about`, if present, has further data of the message.
    """
    messages: list[Message] = []
    start = 0
    about: dict[str, str] = {}
    for match in [*tag.finditer(file.body), None]:
        text = file.body[start : None if match is None else match.start()]
        if text.strip():
            leading = len(text) - len(text.lstrip("\n"))
            line = file.line + file.body.count("\n", 0, start) + leading
            messages.append(Message(role=role, text=text.strip("\n"), line=line, leftover=about))
        if match is not None and match["role"] is None:
            messages.append(Message(role="placeholder", text=None, placeholder="history"))
        elif match is not None:
            role = _ROLES.get(match["role"].lower(), match["role"].lower())
            about = {"about": attributes} if (attributes := match.groupdict().get("about")) else {}
        start = start if match is None else match.end()
    return messages


MAX_REQUESTS: Final = 5_000
SECONDS: Final = 30
"""The maximum seconds of silence."""
MAX_SECONDS: Final = 120
"""The maximum seconds for an answer."""
_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}


@dataclass
class Server:
    """The server at an address; `headers` and `auth` are sent to it and to no other host."""

    address: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    auth: tuple[str, str] | None = field(default=None, repr=False)
    _http: httpx2.Client = field(init=False, repr=False)
    _requests: int = field(default=0, init=False)
    _read: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise Unreadable("The address must begin with https://; http:// is for this machine alone.")
        if not parts.hostname or parts.username or parts.password or parts.query or parts.fragment:
            raise Unreadable("The address must have a host, and no credentials, no query and no fragment.")
        # No redirect is followed: it could lead to another host, with the key.
        self._http = httpx2.Client(
            verify=ssl_context(),
            headers=dict(self.headers),
            auth=self.auth,
            timeout=SECONDS,
            follow_redirects=False,
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, *, missing: Any = None, **query: Any) -> Any:
        """Return the JSON at a path below the address; `missing` if there is nothing.

        Raises `Unreadable` for any other answer.
        """
        self._requests += 1
        if self._requests > MAX_REQUESTS:
            raise Unreadable(f"More than {MAX_REQUESTS} requests are needed; import a part of it.")
        url = f"{self.address.rstrip('/')}/{path}"
        params = {name: str(value) for name, value in query.items() if value is not None}
        try:
            with self._http.stream("GET", url, params=params) as response:
                content = self._content(response, path)
        except httpx2.HTTPError as error:
            raise Unreadable(
                f"{excerpt(path)} cannot be read: {excerpt(error) or type(error).__name__}"
            ) from None
        if response.status_code == httpx2.codes.NOT_FOUND and missing is not None:
            return missing
        if response.status_code != httpx2.codes.OK:
            where = " It leads elsewhere, which is not followed." if response.is_redirect else ""
            raise Unreadable(f"{excerpt(path)} answered {response.status_code}.{where}")
        try:
            return parse_json(content.decode("utf-8"), path)
        except UnicodeDecodeError:
            raise Unreadable(f"{excerpt(path)} is not UTF-8.") from None

    def pages(self, path: str, member: str, token: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield the objects in a list of all pages; `token` is the parameter that names the next one."""
        following: Any = None
        while True:
            body = self.get(path, **query, **{token: following})
            entries = body.get(member) if isinstance(body, dict) else None
            yield from (entry for entry in entries or () if isinstance(entry, dict))
            before, following = following, body.get(f"next_{token}") if isinstance(body, dict) else None
            if not following or following == before:
                return

    def _content(self, response: httpx2.Response, path: str) -> bytes:
        content = bytearray()
        deadline = monotonic() + MAX_SECONDS
        for piece in response.iter_bytes():
            content += piece
            if monotonic() > deadline:
                raise Unreadable(f"{excerpt(path)} takes longer than {MAX_SECONDS} seconds.")
            if len(content) > MAX_FILE or self._read + len(content) > MAX_TOTAL:
                raise Unreadable(f"{excerpt(path)} is too large: {MAX_FILE >> 20} MiB are allowed.")
        self._read += len(content)
        return bytes(content)


def is_address(path: str) -> bool:
    """Return whether PATH is the address of a server."""
    return path.startswith(("https://", "http://"))


def from_environment(*names: str) -> list[str]:
    """Return the values of environment variables; raises `Unreadable` if one is not set."""
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        raise Unreadable(f"The environment variable {' and '.join(missing)} must hold the key.")
    return [os.environ[name] for name in names]


def segment(text: str) -> str:
    """Return a name as one segment of a path."""
    return quote(text, safe="")
