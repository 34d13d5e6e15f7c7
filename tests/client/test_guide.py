"""The guide has every method and setting of the clients; tests/project/test_pages.py runs it."""

from __future__ import annotations

import re
from inspect import signature

from editor_client import AsyncClient, Client
from editor_client.base import BaseClient
from editor_client.manage.administration import Workspace
from editor_client.manage.comments import Comment
from editor_client.manage.dataset_items import DatasetItem
from editor_client.manage.datasets import Dataset
from editor_client.manage.experiments import Experiment
from editor_client.manage.gates import Gate
from editor_client.manage.releases import Release
from editor_client.manage.reviews import Review
from editor_client.manage.schedules import Schedule
from editor_client.manage.stored_agents import StoredAgent
from editor_client.manage.stored_prompt_blocks import StoredPromptBlock
from editor_client.manage.stored_scorers import StoredScorer
from editor_client.manage.webhooks import Webhook
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
