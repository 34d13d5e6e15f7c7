"""The guide has every method and setting of the clients; tests/project/test_pages.py runs it."""

from __future__ import annotations

import re
from inspect import signature

import pytest
from editor_client import AsyncClient, Client
from editor_client.agents import Agent
from editor_client.base import BaseClient
from editor_client.comments import Comment
from editor_client.releases import Release
from editor_client.reviews import Review
from editor_client.schedules import Schedule
from editor_client.stored_agents import StoredAgent
from editor_client.stored_prompt_blocks import StoredPromptBlock
from editor_client.webhooks import Webhook

from tests.support.service import ROOT

GUIDE = (ROOT / "docs/client.md").read_text()


@pytest.mark.parametrize(
    "kind",
    [
        Client,
        AsyncClient,
        Agent,
        StoredAgent,
        StoredPromptBlock,
        Webhook,
        Release,
        Review,
        Schedule,
        Comment,
    ],
)
def test_the_guide_names_every_method(kind: type) -> None:
    methods = {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}
    assert methods - {"perform", "iterate"} <= set(re.findall(r"`(\w+)`", GUIDE))


SETTINGS = [
    one.name for one in signature(BaseClient).parameters.values() if one.name not in {"url", "api_key"}
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_guide_explains_every_setting(setting: str) -> None:
    assert f"| `{setting}` |" in GUIDE
