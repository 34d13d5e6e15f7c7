"""The heart of the editor knows no framework, no database and no web; what the client shares, no library."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from django.conf import settings

from versioning.conf import declared_settings

ROOT = Path(__file__).resolve().parents[2]
DOMAIN = sorted(path.stem for path in (ROOT / "versioning" / "domain").glob("[a-z]*.py"))
SHARED = sorted(path.stem for path in (ROOT / "client/editor_client/shared").glob("[a-z]*.py"))
FRAMEWORKS = ["django", "rest_framework", "drf_spectacular", "django_filters", "environ", "psycopg"]

# An import of a framework fails here, and names the framework.
PROGRAM = """
import importlib, json, sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split():
            raise ImportError(name + " is imported")

sys.meta_path.insert(0, Refusing())
for name in sys.argv[2:]:
    importlib.import_module(name)
print(json.dumps(sorted(sys.modules)))
"""


def modules_loaded_by(*modules: str) -> set[str]:
    """Import modules in a new interpreter without frameworks or settings; return all that they load."""
    environment = {name: value for name, value in os.environ.items() if "DJANGO" not in name}
    environment.pop("SECRET_KEY", None)
    command = [sys.executable, "-c", PROGRAM, " ".join(FRAMEWORKS), *modules]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def imports_of(path: Path) -> Iterator[str]:
    """Yield the top-level packages that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_the_interpreter_really_refuses_a_framework() -> None:
    with pytest.raises(AssertionError, match="django is imported"):
        modules_loaded_by("versioning.models")


def test_a_pure_module_needs_no_framework_and_no_impure_module() -> None:
    pure = [f"versioning.domain.{name}" for name in DOMAIN]
    ours = {module for module in modules_loaded_by(*pure) if module.startswith("versioning.")}
    assert ours == {"versioning.domain", *pure}


def test_a_pure_module_needs_nothing_but_the_standard_library_and_pydantic() -> None:
    for name in DOMAIN:
        pydantic = {"pydantic", "pydantic_core", "typing_extensions"}  # which pydantic itself needs
        schemas = {"jsonschema", "jsonschema_specifications", "referencing"}
        own = schemas if name in {"bounded_validation", "context_schema"} else set()
        if name in {"text_search", "texts"}:
            own = {"regex"}  # Python's `re` knows no scripts
        if name == "patterns":
            own = {"re2", "regex"}
        allowed = {*sys.stdlib_module_names, *pydantic, *own, "editor_client", "versioning"}
        assert set(imports_of(ROOT / "versioning" / "domain" / f"{name}.py")) <= allowed


def test_a_shared_rule_needs_nothing_but_the_standard_library() -> None:
    loaded = modules_loaded_by(*(f"editor_client.shared.{name}" for name in SHARED))
    assert not {"editor_client.sync", "editor_client.asynchronous"} & loaded
    assert not {"httpcore2", "httpx2", "pydantic", "versioning"} & loaded


def names_at_runtime(path: Path) -> set[str]:
    """Return the imported names of a file, without imports for annotations."""
    tree = ast.parse(path.read_text())
    for_types = [
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    ]
    return {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node not in for_types
        for alias in node.names
    }


def test_a_project_may_have_its_own_account_model() -> None:
    packages = ("capabilities", "studio", "versioning")
    files = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    suspects = [path for path in files if "django.contrib.auth.models" in path.read_text()]
    assert not [path for path in suspects if "django.contrib.auth.models.User" in names_at_runtime(path)]
    assert "django.contrib.auth.get_user_model" in names_at_runtime(ROOT / "versioning/models/accounts.py")


def test_every_setting_of_the_project_is_declared_and_has_a_value() -> None:
    names = {one.name for one in declared_settings()}
    read = {name for name in vars(import_module("editor_project.settings")) if name.startswith("EDITOR_")}
    assert read - names == {"EDITOR_READ_SETTING"}
    assert [name for name in names if not hasattr(settings, name)] == []


def test_only_the_api_imports_web_frameworks() -> None:
    web = {"rest_framework", "drf_spectacular", "django_filters"}
    files = (ROOT / "versioning").rglob("*.py")
    knowing = {path.relative_to(ROOT).parts[1] for path in files if web & set(imports_of(path))}
    assert knowing == {"api"}
