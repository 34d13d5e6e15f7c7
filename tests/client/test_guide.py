"""The guide has every method and setting of the clients; tests/project/test_pages.py runs it."""

from __future__ import annotations

import re
from inspect import signature

import pytest
from editor_client import AsyncClient, Client
from editor_client.base import BaseClient
from editor_client.sync import Agent, Release, Review, StoredAgent, StoredPromptBlock

from tests.support.service import ROOT

GUIDE = (ROOT / "docs/client.md").read_text()


@pytest.mark.parametrize(
    "kind", [Client, AsyncClient, Agent, StoredAgent, StoredPromptBlock, Release, Review]
)
def test_the_guide_names_every_method(kind: type) -> None:
    methods = {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}
    assert methods - {"perform", "run_events", "log_events"} <= set(re.findall(r"`(\w+)`", GUIDE))


SETTINGS = [
    one.name for one in signature(BaseClient).parameters.values() if one.name not in {"url", "api_key"}
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_guide_explains_every_setting(setting: str) -> None:
    assert f"| `{setting}` |" in GUIDE
