"""The client needs httpx2 and nothing of the server, and knows every field of a snapshot."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints
from zipfile import ZipFile

import editor_client
import pytest
from editor_client.manage import shapes
from editor_client.manage.records import snapshot_names
from editor_client.result import camel

import versioning
from tests.support.service import ROOT, Service
from tests.support.wheels import installed, wheel_of
from versioning.domain.agents import AGENT, PROMPT_BLOCK

pytestmark = pytest.mark.processes

# httpx2 and its dependencies.
ALLOWED = {"httpx2", "httpcore2", "h11", "anyio", "idna", "truststore", "sniffio", "typing_extensions"}

# Runs a program in which nothing can be imported but the standard library, httpx2 and the client.
GUARDED = """
import runpy, sys

ALLOWED = {*sys.stdlib_module_names, *sys.argv[1].split(","), "editor_client"}

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ALLOWED:
            raise ModuleNotFoundError(name + " is not installed", name=name.partition(".")[0])

sys.meta_path.insert(0, Refusing())
del sys.argv[:2]
"""

PROGRAM = """
import asyncio, json
from editor_client import AsyncClient, Client, compile_prompt
from editor_client.testing import FakeEditor

url, key = sys.argv
with Client(url, api_key=key) as client:
    found = client.get_agent("support").details()

async def read():
    async with AsyncClient(url, api_key=key) as client:
        return await client.get_agent("support").details()

assert asyncio.run(read()) == found
blocks = [{"type": "prompt_block", "content": "Hi {{ a }}.", "rules": None}]
assert compile_prompt({"instructions": blocks}, {"a": [1]}) == "Hi [1]."
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


@pytest.fixture(scope="module")
def wheel() -> Path:
    return wheel_of("editor-client")


@pytest.fixture(scope="module")
def run() -> Callable[..., str]:
    """Run a program where the wheel is installed and nothing can be imported but it, and httpx2."""
    site_packages = installed("editor-client")
    environment = {**os.environ, "PYTHONPATH": str(site_packages)}

    def run(program: str, *arguments: str) -> str:
        command = [sys.executable, "-c", GUARDED + program, ",".join(ALLOWED), *arguments]
        done = subprocess.run(
            command,
            cwd=site_packages,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_guard_refuses_packages_that_are_not_installed(run: Callable[..., str]) -> None:
    with pytest.raises(AssertionError, match="django is not installed"):
        run("import django")
    with pytest.raises(AssertionError, match="versioning is not installed"):
        run("import versioning.domain.config")


def test_the_client_works_with_httpx_alone(run: Callable[..., str], live_service: Service) -> None:
    loaded = json.loads(run(PROGRAM, live_service.url, live_service.key))
    assert {"editor_client", "httpx2"} <= set(loaded)
    program = "sys.argv = ['client', '--help']\nrunpy.run_module('editor_client', run_name='__main__')"
    assert "pull" in run(program)
    assert not {"django", "rest_framework", "pydantic", "pydantic_core", "versioning"} & set(loaded)


def test_the_wheel_installs_one_package_and_requires_only_httpx(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        needs = re.findall(r"^Requires-Dist: (.+)$", archive.read(metadata).decode(), re.MULTILINE)
    assert {name.partition("/")[0] for name in names} == {"editor_client", metadata.partition("/")[0]}
    assert "editor_client/py.typed" in names
    assert [one for one in needs if "extra ==" not in one] == ["httpx2<3,>=2.16"]
    assert [one.partition("<")[0] for one in needs if 'extra == "import"' in one] == ["PyYAML"]


def test_every_package_of_the_service_is_marked_as_typed() -> None:
    with ZipFile(wheel_of("editor-server")) as archive:
        names = archive.namelist()
    packages = {name.partition("/")[0] for name in names if name.endswith("/__init__.py")}
    assert "studio" in packages
    assert not [package for package in packages if f"{package}/py.typed" not in names]


def test_client_and_service_are_released_together() -> None:
    server = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert editor_client.__version__ == versioning.__version__
    assert f"editor-client=={versioning.__version__}" in server["dependencies"]
    assert f": {versioning.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    ("result", "taken", "schema"),
    [
        (shapes.AgentFields, shapes.AgentArguments, AGENT.schema),
        (
            shapes.PromptBlockFields,
            shapes.PromptBlockArguments,
            PROMPT_BLOCK.schema,
        ),
    ],
    ids=["agents", "prompt-blocks"],
)
def test_the_client_knows_every_field_of_a_snapshot(result: Any, taken: Any, schema: Any) -> None:
    assert sorted(snapshot_names(result)) == sorted(schema.names)
    assert sorted(map(camel, get_type_hints(taken))) == sorted(schema.names)
