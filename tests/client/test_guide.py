"""The guide has every method and setting of the clients; tests/project/test_pages.py runs it."""

from __future__ import annotations

import re
from inspect import signature

from editor_client import AsyncClient, Client
from editor_client.base import BaseClient
from editor_client.manage.administration import Webhook, Workspace
from editor_client.manage.datasets import Dataset, DatasetItem
from editor_client.manage.experiments import Experiment, Gate
from editor_client.manage.releases import Release, Schedule
from editor_client.manage.reviews import Comment, Review
from editor_client.manage.stored import StoredAgent, StoredPromptBlock, StoredScorer
from editor_client.reads.agents import Agent

from tests.support.service import ROOT

GUIDE = (ROOT / "docs/reference/client.md").read_text()


KINDS = [
    *(Client, AsyncClient, Agent, StoredAgent, StoredPromptBlock, StoredScorer),
    *(Webhook, Release, Review, Schedule, Comment, Workspace),
    *(Dataset, DatasetItem, Experiment, Gate),
]


def test_the_guide_names_every_method_and_explains_every_setting() -> None:
    named = set(re.findall(r"`(\w+)`", GUIDE))
    for kind in KINDS:
        methods = {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}
        assert methods - {"perform", "iterate"} <= named
    for setting in signature(BaseClient).parameters.keys() - {"url", "api_key"}:
        assert f"| `{setting}` |" in GUIDE
