"""Third-party clients work: the unmodified npm client, and clients generated from the OpenAPI document."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.openapi import operations
from tests.support.service import Service
from versioning.api.openapi import document as openapi

pytestmark = pytest.mark.processes

FOLDER = Path(__file__).parent / "generated_clients"
NPM_CLIENT = Path(__file__).parent / "npm_client"
MINIMUM_OF_CHECKS = 40
TIMEOUT_SECONDS = 120


@pytest.fixture
def described(tmp_path: Path) -> Path:
    """The document as a file."""
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(openapi()))
    return path


@pytest.fixture
def node() -> str:
    """The path of `node`; without it there is nothing to run."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("`node` is not installed.")
    return path


def packages_of(folder: Path) -> Path:
    """Return where npm installs the packages of a folder; a test without them is skipped."""
    installed = folder / "node_modules"
    if not installed.is_dir():
        pytest.skip(f"Packages are missing: run `npm ci` in {folder}.")
    return installed


def run(command: list[str], folder: Path, **environment: str) -> str:
    """Run a program, which has to succeed, and return all that it printed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def asked_of(service: Service) -> dict[str, str]:
    """Return the environment in which a program finds the service."""
    return {"BASE_URL": service.url, "API_KEY": service.key}


def test_a_program_with_the_generated_typescript_types_compiles_and_works(
    node: str, described: Path, tmp_path: Path, live_service: Service
) -> None:
    installed = packages_of(FOLDER)
    generator = [node, str(installed / "openapi-typescript/bin/cli.js"), described.name, "-o", "schema.ts"]
    printed = run(generator, tmp_path)
    assert not re.search("warn|error|⚠", printed, re.IGNORECASE), printed
    for name in ("program.ts", "tsconfig.json", "package.json"):
        shutil.copy(FOLDER / name, tmp_path)
    run([node, str(installed / "typescript/bin/tsc")], tmp_path)
    printed = run([node, "program.js"], tmp_path, **asked_of(live_service))
    assert printed.count("yes: ") == 11, printed


def test_the_generated_python_client_is_complete_and_works(
    described: Path, tmp_path: Path, live_service: Service
) -> None:
    # The generated code is not formatted, so the generator needs no further tools.
    (tmp_path / "config.json").write_text('{"post_hooks": []}')
    generator = (
        "generate --meta none --fail-on-warning --config config.json --output-path editor_generated --path"
    )
    printed = run(
        [sys.executable, "-m", "openapi_python_client", *generator.split(), described.name], tmp_path
    )
    assert "warning" not in printed.lower(), printed
    package = tmp_path / "editor_generated"
    made = {path.stem for path in package.glob("api/*/*.py")} - {"__init__"}
    assert made == {operation["operationId"] for operation in operations(openapi()).values()}
    shutil.copy(FOLDER / "program.py", tmp_path)
    run([sys.executable, "-W", "error", "program.py"], tmp_path, **asked_of(live_service))


def test_the_npm_client_works_unmodified(node: str, live_service: Service) -> None:
    packages_of(NPM_CLIENT)
    printed = run([node, "drive.mjs"], NPM_CLIENT, **asked_of(live_service))
    count = re.search(r"^(\d+) checks$", printed, re.MULTILINE)
    assert count is not None and int(count[1]) >= MINIMUM_OF_CHECKS, printed
