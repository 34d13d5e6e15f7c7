"""Fixtures for the tests of override files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.api import Api
from tests.support.override_files import Repository, repository
from tests.support.people import key_of, person
from versioning.domain.access import Role


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """An empty repository with the folder of the overrides."""
    return repository(tmp_path / "top")


@pytest.fixture
def admin(db: None) -> Api:
    """An admin of the workspace of the code."""
    person("ada", default=Role.ADMIN)
    return key_of("ada")
