"""The catalogs of translations: collected from the sources, and compiled (`make translations`).

Every application has its own folder `locale`, so that it can be left out together with its translations.
Templates of errors are collected where they are written. gettext's own programs do the work.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from django.core.management.commands import makemessages

ROOT: Final = Path(__file__).resolve().parents[2]
APPS: Final = (
    "versioning",
    "studio",
    "capabilities/delivery",
    "capabilities/releases",
    "capabilities/review",
    "capabilities/schedules",
    "capabilities/rollouts",
    "capabilities/accounts",
    "capabilities/evaluation",
    "capabilities/mail",
)
LANGUAGES: Final = ("de",)
DOMAINS: Final = {"django": "html,txt,py", "djangojs": "js"}
IGNORED: Final = ("prompt-editor.js", "node_modules", "api", "runtime", "streams.py", "management")
"""What is built from other sources, and what speaks to programs and operators only."""
SHARED: Final = {"versioning": "client/editor_client/shared"}
"""Sources outside of an application whose texts are in its catalogs, because they know nothing of Django."""
MESSAGE_AT: Final = {
    "Message": 1,
    "field": 2,
    "Issue": 2,
    "Notice": 2,
    "__init__": 1,
    "OptionRefused": 1,
    "Conflict": 1,
    "Forbidden": 1,
    "IdTaken": 1,
    "NotFound": 1,
    "NotResolved": 1,
    "Refused": 1,
    "Unauthorized": 1,
}
"""The calls whose argument at this place, counted from 1, is a template that pages translate."""


class Collector(makemessages.Command):
    """Django's command, which also knows the templates of errors, and the sources that applications share."""

    xgettext_options = [
        *makemessages.Command.xgettext_options,
        *(f"--keyword={name}:{place}" for name, place in MESSAGE_AT.items()),
    ]

    def find_files(self, root: str) -> list[makemessages.TranslatableFile]:
        """Return the files of an application, and those that it shares with other applications."""
        shared = SHARED.get(Path.cwd().name)
        others = super().find_files(str(Path.cwd().parent / shared)) if shared else []
        return [*super().find_files(root), *others]


def collect(top: Path = ROOT) -> None:
    """Add the texts of the sources below a folder to its catalogs, preserving existing translations."""
    # Without settings it collects the texts below the folder, wherever that is.
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    command = [sys.executable, __file__, str(top)]
    subprocess.run(command, env=environment, check=True, capture_output=True, text=True)


def _collect_here(top: Path) -> None:
    """Do that in this process, which has no settings, and changes its folder."""
    for app in APPS:
        for language in LANGUAGES:
            (top / app / "locale" / language / "LC_MESSAGES").mkdir(parents=True, exist_ok=True)
        os.chdir(top / app)
        for domain, extensions in DOMAINS.items():
            Collector().run_from_argv(
                [
                    *("manage.py", "makemessages", "--domain", domain, "--extension", extensions),
                    *("--no-location", "--no-wrap", "--no-obsolete"),
                    *(part for language in LANGUAGES for part in ("--locale", language)),
                    *(part for name in IGNORED for part in ("--ignore", name)),
                ]
            )
            for catalog in Path().glob(f"locale/*/LC_MESSAGES/{domain}.po"):
                # gettext marks the head of a new catalog as fuzzy, and would not compile it.
                text = catalog.read_text()
                catalog.write_text(text.replace('#, fuzzy\nmsgid ""', 'msgid ""', 1))


def compiled(top: Path = ROOT) -> dict[Path, bytes]:
    """Return the compiled content of each catalog below a folder, by the path of the compiled file."""
    return {
        catalog.with_suffix(".mo"): subprocess.run(
            ["msgfmt", "--check-format", "--output-file=-", catalog], capture_output=True, check=True
        ).stdout
        for app in APPS
        for catalog in sorted((top / app / "locale").rglob("*.po"))
    }


if __name__ == "__main__":
    if sys.argv[1:]:
        _collect_here(Path(sys.argv[1]))
        sys.exit()
    if shutil.which("xgettext") is None:
        sys.exit("xgettext is missing; on Debian: apt-get install gettext")
    collect()
    for path, content in compiled().items():
        path.write_bytes(content)
        catalog = path.with_suffix(".po")
        statistics = subprocess.run(
            ["msgfmt", "--statistics", "--output-file=/dev/null", catalog],
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        if "untranslated" in statistics or "fuzzy" in statistics:
            sys.stdout.write(f"{catalog.relative_to(ROOT)}: {statistics}")
