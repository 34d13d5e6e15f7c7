"""The choice: somebody says which version the published selector means, and every published path heeds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api
from tests.support.runs import ran, team
from tests.support.served import encoded, published_agent, published_block, reference, served
from versioning.conf import get_editor
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource
from versioning.serving import choice


@pytest.fixture(autouse=True)
def chooser() -> Iterator[None]:
    """Serve to requests with `beta` in their context whatever has the label `beta`."""

    def labelled_beta(
        resources: Sequence[VersionedResource], context: Mapping[str, Any]
    ) -> Mapping[str, Snapshot]:
        labels = resources[0].label_model.objects.filter(resource__in=resources, name="beta")
        found = labels.select_related("version") if context.get("beta") else ()
        return {label.resource_id: label.version for label in found}

    choice.register(labelled_beta)
    yield
    choice.unregister(labelled_beta)


BETA = {"beta": True}


def give_beta(api: Api, path: str, version_id: str) -> None:
    """Label a version; the chooser of these tests serves it although nobody has released the label."""
    assert api.put(f"{path}/labels/beta", {"versionId": version_id}).status == 200


@pytest.fixture
def writer(cast: Cast) -> str:
    """A published agent with a draft under the label; the id of the draft."""
    published_agent(cast.alice, visibility="public")
    draft = str(AGENTS.save(cast.alice)["latestVersionId"])
    give_beta(cast.alice, "/stored/agents/writer", draft)
    return draft


def test_a_published_read_gets_what_is_chosen_for_its_context(cast: Cast, writer: str) -> None:
    for context, text in (({}, "one"), (BETA, "two"), ({}, "one"), (BETA, "two")):
        for api in (cast.alice, cast.vera, cast.charlie):
            agent = served(api, context=context)
            assert (agent["instructions"], agent["fallback"]) == (text, None)
            assert (agent["resolvedVersionId"] == writer) == (context == BETA)
            assert agent["activeVersionId"] != writer


def test_the_list_of_agents_gets_it_too(cast: Cast, writer: str) -> None:
    for context, text in (({}, "one"), (BETA, "two")):
        listed = cast.charlie.get("/agents", requestContext=encoded(context)).body
        assert listed["writer"]["instructions"] == text


def test_an_explicit_selector_and_records_are_not_overruled(cast: Cast, writer: str) -> None:
    live = cast.alice.get("/stored/agents/writer").body["activeVersionId"]
    context = encoded(BETA)
    for query in ({"versionId": live}, {"label": "production"}):
        assert served(cast.alice, context=BETA, **query)["instructions"] == "one"
    assert cast.vera.get("/stored/agents/writer", requestContext=context).body["instructions"] == "one"


def test_a_block_that_is_shown_is_chosen_for(cast: Cast) -> None:
    published_block(cast.alice, "tone", "Be brief.")
    draft = PROMPT_BLOCKS.save(cast.alice, "tone", "Be kind.")["latestVersionId"]
    give_beta(cast.alice, "/stored/prompt-blocks/tone", draft)
    published_agent(cast.alice, "writer", [reference("tone")])
    for context, text in (({}, "Be brief."), (BETA, "Be kind.")):
        assert served(cast.vera, context=context)["instructions"] == text
        assert (
            cast.vera.get("/agents", requestContext=encoded(context)).body["writer"]["instructions"] == text
        )


def test_a_run_and_its_sub_agents_are_chosen_for(cast: Cast) -> None:
    lead, writer = team(cast.alice)
    drafts = {}
    for agent_id in ("lead", "writer"):
        drafts[agent_id] = AGENTS.save(cast.alice, agent_id, "chosen")["latestVersionId"]
        give_beta(cast.alice, f"/stored/agents/{agent_id}", drafts[agent_id])
    assert ran(cast.vera, "lead")["resolvedVersions"] == {"lead": lead, "writer": writer}
    assert ran(cast.vera, "lead", requestContext=BETA)["resolvedVersions"] == drafts
    assert ran(cast.vera, "writer", requestContext=BETA)["resolvedVersions"] == {"writer": drafts["writer"]}


def test_an_override_is_chosen_for(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    agents = get_editor().agent
    agents.update("answers", instructions="live")
    draft = agents.update("answers", instructions="chosen", publish=False).version.version_id
    agents.label("answers", "beta", draft)
    assert agents.serve("answers").instructions == "live"
    assert agents.serve("answers", context=BETA).instructions == "chosen"


def test_what_is_not_published_is_chosen_for_nobody(cast: Cast, writer: str) -> None:
    assert cast.alice.post("/stored/agents/writer/unpublish").status == 200
    assert cast.vera.get("/agents/writer", requestContext=encoded(BETA)).status == 404
    assert served(cast.alice, context=BETA)["fallback"]["code"] == "no_published_version"
