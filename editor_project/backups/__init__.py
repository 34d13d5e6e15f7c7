"""Back-ups: the file, and writing and reading it for each database."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from editor_project.backups import archive, postgresql, sqlite
from editor_project.backups.archive import Manifest, Unusable
from editor_project.server.process import close_connections
from versioning import __version__


def back_up(file: Path) -> Manifest:
    """Write a back-up of the database, even while the service runs; raises `Unusable`."""
    manifest = Manifest(
        vendor=connection.vendor,
        version=__version__,
        made_at=timezone.now().isoformat(timespec="seconds"),
        migrations=_applied_migrations(),
    )
    with archive.folder_beside(file) as folder:
        dumped = folder / "database"
        _programs().dump(connection.settings_dict, dumped)
        return archive.write(file, dumped, manifest)


def restore(file: Path) -> Manifest:
    """Replace the content of the database by a back-up; raises `Unusable` without changing anything."""
    with TemporaryDirectory(prefix="editor-restore-") as folder:
        dumped = Path(folder, "database")
        manifest = archive.read(file, dumped)
        if manifest.vendor != connection.vendor:
            raise Unusable(
                f"{file} is of {manifest.vendor}, and DATABASE_URL names {connection.vendor}: restore it "
                "into a database of the same kind, then use `manage.py move`."
            )
        loader = MigrationLoader(None, ignore_no_migrations=True)
        replaced = {
            replace for migration in loader.disk_migrations.values() for replace in migration.replaces
        }
        own_migrations = {f"{app}.{name}" for app, name in {*loader.disk_migrations, *replaced}}
        unknown = set(manifest.migrations) - own_migrations
        if unknown:
            raise Unusable(
                f"{file} was made by release {manifest.version}, with migrations that {__version__} lacks "
                f"({min(unknown)}): restore it with that release or a later one."
            )
        close_connections()  # they would count as others
        _programs().load(connection.settings_dict, dumped)
    return manifest


def _programs() -> ModuleType:
    return postgresql if connection.vendor == "postgresql" else sqlite


def _applied_migrations() -> list[str]:
    try:
        migrations = MigrationLoader(connection).applied_migrations
    except Error as error:
        raise Unusable(f"The database does not answer: {error}.") from error
    if not any(app == "versioning" for app, _ in migrations):
        raise Unusable("The database has no editor: run manage.py migrate, or check DATABASE_URL.")
    return sorted(f"{app}.{name}" for app, name in migrations)
