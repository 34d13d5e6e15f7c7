"""The file of a back-up: a ZIP archive with the database, and a manifest with its digest.

    database        SQLite's file, or the output of `pg_dump --format=custom`
    manifest.json   the release, the kind of database, and its SHA-256

Any program that reads ZIP archives can extract the database without the editor.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

FORMAT: Final = "editor-backup/1"
_DATABASE: Final = "database"
_MANIFEST: Final = "manifest.json"
_PIECE: Final = 1024 * 1024


class Unusable(Exception):
    """The file or the database cannot be used for this; the message is a sentence."""


@dataclass(frozen=True)
class Manifest:
    """The manifest of a back-up."""

    vendor: str
    """`sqlite` or `postgresql`."""
    version: str
    """The release that made it."""
    made_at: str
    """ISO 8601."""
    migrations: list[str]
    """The applied migrations of the editor, as `app.name`."""
    digest: str = ""
    """The SHA-256 of the database."""
    format: str = FORMAT


@contextmanager
def folder_beside(file: Path) -> Iterator[Path]:
    """Yield a private folder on the same disk as a file; remove it at the end."""
    try:
        path = tempfile.mkdtemp(prefix=f".{file.name}-", dir=file.absolute().parent)
    except OSError as error:
        raise Unusable(f"{file}: {error.strerror}.") from error
    try:
        yield Path(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def write(file: Path, database: Path, manifest: Manifest) -> Manifest:
    """Write a back-up of a dumped database, whole or not at all; return its manifest with the digest.

    Only the owner may read it. Raises `Unusable` if there is such a file already: it may be the only one.
    """
    with folder_beside(file) as folder:
        temporary_file = folder / "made"
        with os.fdopen(os.open(temporary_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as output:
            with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                archive.write(database, _DATABASE)
                manifest = Manifest(**{**asdict(manifest), "digest": _digest(database)})
                archive.writestr(_MANIFEST, json.dumps(asdict(manifest), indent=2))
            output.flush()
            os.fsync(output.fileno())
        try:
            os.link(temporary_file, file)
        except FileExistsError:
            raise Unusable(f"{file} exists already: a back-up is never overwritten.") from None
        except OSError:  # a file system without links
            if file.exists():
                raise Unusable(f"{file} exists already: a back-up is never overwritten.") from None
            temporary_file.rename(file)
    return manifest


def read(file: Path, into: Path) -> Manifest:
    """Unpack the database of a back-up and return the manifest; raises `Unusable` if anything is damaged."""
    try:
        with zipfile.ZipFile(file) as archive:
            text = archive.read(_MANIFEST)
            values = json.loads(text)
            names = {field.name for field in fields(Manifest)}
            if not isinstance(values, dict) or values.get("format") != FORMAT or not names <= values.keys():
                raise Unusable(f"{file} is not a back-up that this release can read.")
            manifest = Manifest(**{name: values[name] for name in names})
            with archive.open(_DATABASE) as packed, into.open("xb") as unpacked:
                shutil.copyfileobj(packed, unpacked, _PIECE)
    except FileNotFoundError:
        raise Unusable(f"There is no file {file}.") from None
    except KeyError:
        raise Unusable(f"{file} is not a back-up of an editor.") from None
    except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, OSError) as error:
        # NotImplementedError: a damaged file may seem to have a compression method that zipfile does not
        # support.
        raise Unusable(f"{file} is damaged, or not a back-up of an editor: {error}.") from error
    if _digest(into) != manifest.digest:
        raise Unusable(f"{file} is damaged: the digest of its content is wrong.")
    return manifest


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
