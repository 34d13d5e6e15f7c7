"""The catalogs of the studio's texts: collected from the sources, and compiled (`make translations`).

An application that draws pages of the studio has a folder `locale` of its own, so that it can be left out
together with its translations. gettext's own programs do the work.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
APPS: Final = ("studio", "delivery", "releases", "review", "schedules")
LANGUAGES: Final = ("de",)
DOMAINS: Final = {"django": "html,txt,py", "djangojs": "js"}
BUILT: Final = "prompt-editor.js"
"""What is built from other sources, which name the same texts."""


def collect(top: Path = ROOT) -> None:
    """Write the texts of the sources below a folder into its catalogs, beside what is translated already."""
    for app in APPS:
        for language in LANGUAGES:
            (top / app / "locale" / language / "LC_MESSAGES").mkdir(parents=True, exist_ok=True)
        for domain, extensions in DOMAINS.items():
            _django(
                *(
                    "makemessages",
                    "--domain",
                    domain,
                    "--extension",
                    extensions,
                    "--no-location",
                    "--no-wrap",
                ),
                *(part for language in LANGUAGES for part in ("--locale", language)),
                *("--no-obsolete", "--ignore", BUILT, "--ignore", "node_modules"),
                folder=top / app,
            )


def compiled(top: Path = ROOT) -> dict[Path, bytes]:
    """Return what each catalog below a folder is once compiled, by the path of the compiled file."""
    return {
        catalog.with_suffix(".mo"): subprocess.run(
            ["msgfmt", "--check-format", "--output-file=-", catalog], capture_output=True, check=True
        ).stdout
        for app in APPS
        for catalog in sorted((top / app / "locale").rglob("*.po"))
    }


def _django(*arguments: str, folder: Path) -> None:
    # Without settings it collects what is below the folder, wherever that is.
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    command = [sys.executable, "-m", "django", *arguments]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)


if __name__ == "__main__":
    if shutil.which("xgettext") is None:
        sys.exit("xgettext is missing; on Debian: apt-get install gettext")
    collect()
    for path, content in compiled().items():
        path.write_bytes(content)
