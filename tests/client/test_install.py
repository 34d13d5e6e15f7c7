"""What the client needs: httpx, and nothing of the server. What it knows: every field of a snapshot."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from tests.support.service import ROOT, Service
from versioning.client import fields
from versioning.client.fields import snapshot_names
from versioning.client.naming import camel
from versioning.domain.config import AGENT, PROMPT_BLOCK

# httpx, and what httpx brings.
ALLOWED = {"httpx", "httpcore", "h11", "anyio", "idna", "certifi", "sniffio", "typing_extensions"}

# Runs a program in which nothing can be imported but the standard library, httpx and our own code.
GUARDED = """
import runpy, sys

ALLOWED = {*sys.stdlib_module_names, *sys.argv[1].split(","), "versioning"}

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ALLOWED:
            raise ModuleNotFoundError(name + " is not installed", name=name.partition(".")[0])

sys.meta_path.insert(0, Refusing())
del sys.argv[:2]
"""

PROGRAM = """
import asyncio, json
from versioning.client import AsyncClient, Client, compile_prompt

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


def run(program: str, *arguments: str) -> str:
    """Run a program that has httpx alone and return what it prints."""
    command = [sys.executable, "-c", GUARDED + program, ",".join(ALLOWED), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_guard_refuses_what_is_not_installed() -> None:
    with pytest.raises(AssertionError, match="django is not installed"):
        run("import django")
    with pytest.raises(AssertionError, match="pydantic is not installed"):
        run("import versioning.domain.config")


def test_the_client_works_with_httpx_alone(live_service: Service) -> None:
    loaded = json.loads(run(PROGRAM, live_service.url, live_service.key))
    assert {"versioning", "httpx"} <= set(loaded)
    assert not {"django", "rest_framework", "pydantic", "pydantic_core"} & set(loaded)


def test_the_command_line_works_with_httpx_alone() -> None:
    program = "sys.argv = ['client', '--help']\nrunpy.run_module('versioning.client', run_name='__main__')"
    assert "pull" in run(program)


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_a_plain_installation_brings_httpx_and_no_library_of_the_server() -> None:
    project = PROJECT["project"]
    assert [one.partition(">")[0] for one in project["dependencies"]] == ["httpx"]
    assert any(one.startswith("Django") for one in project["optional-dependencies"]["server"])


def test_the_guide_names_every_package_that_an_installation_puts_beside_the_application() -> None:
    packages = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    installing = (ROOT / "docs/client.md").read_text().partition("## Reading")[0]
    assert {name.rstrip("*") for name in packages} <= set(re.findall(r"`(\w+)`", installing))


def imported_by(path: Path) -> set[str]:
    """Return the modules of ours that a file imports."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    names = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
    return {name for name in names if name.startswith("versioning.") and ".client" not in name}


def test_of_our_own_code_the_client_uses_pure_modules_alone() -> None:
    used = set().union(*map(imported_by, (ROOT / "versioning" / "client").glob("*.py")))
    assert {".".join(name.split(".")[:3]) for name in used} == {
        "versioning.domain.canonical",
        "versioning.domain.errors",
        "versioning.domain.ids",
        "versioning.domain.instructions",
    }


@pytest.mark.parametrize(
    ("result", "taken", "schema"),
    [
        (fields.AgentFields, fields.AgentArguments, AGENT),
        (fields.PromptBlockFields, fields.PromptBlockArguments, PROMPT_BLOCK),
    ],
    ids=["agents", "prompt-blocks"],
)
def test_the_client_knows_every_field_of_a_snapshot(result: Any, taken: Any, schema: Any) -> None:
    assert sorted(snapshot_names(result)) == sorted(schema.names)
    assert sorted(map(camel, get_type_hints(taken))) == sorted(schema.names)
