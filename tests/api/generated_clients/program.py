"""An application written against the generated Python client, which the test runs next to that client."""

from __future__ import annotations

import importlib
import os
import pkgutil

import editor_generated
from editor_generated import AuthenticatedClient
from editor_generated.api.edit_agents import (
    create_stored_agent,
    export_stored_agent,
    list_stored_agent_versions,
    list_stored_agents,
    update_stored_agent,
)
from editor_generated.api.edit_prompt_blocks import create_prompt_block
from editor_generated.api.run_agents import generate_agent, get_agent, get_agent_parts
from editor_generated.models import (
    AgentCreate,
    AgentExport,
    AgentPage,
    AgentPartsAnswer,
    AgentRecord,
    AgentToExport,
    AgentUpdate,
    AgentVersionPage,
    ErrorAnswer,
    InlinePromptBlock,
    Junction,
    Model,
    Operator,
    PromptBlockCreate,
    PromptBlockRecord,
    ResolvedAgentAnswer,
    Rule,
    RuleGroup,
    Run,
    RunAnswer,
    TextBlock,
    Usage,
    Usages,
    UsagesVariant,
    VersionState,
)
from editor_generated.types import UNSET

for module in pkgutil.walk_packages(editor_generated.__path__, "editor_generated."):
    importlib.import_module(module.name)

client = AuthenticatedClient(base_url=os.environ["BASE_URL"] + "/api", token=os.environ["API_KEY"])

# Only required members have to be given.
made = create_stored_agent.sync(client=client, body=AgentCreate(name="Drawn", instructions="one"))
assert isinstance(made, AgentRecord), made
assert made.id == "drawn" and made.description is UNSET

for_gold = RuleGroup(Junction.AND, [Rule(field="tier", operator=Operator.EQUALS, value="gold")])
search = Usages()
search["search"] = Usage(description="Finds.")
edit = AgentUpdate(
    instructions=[
        TextBlock(type_="text", content="two"),
        InlinePromptBlock(type_="prompt_block", content="for gold", rules=for_gold),
    ],
    model=Model(provider="echo", name="echo"),
    tools=[UsagesVariant(value=search, rules=for_gold)],
    description=None,
    auto_publish=True,
)
saved = update_stored_agent.sync("drawn", client=client, body=edit)
assert isinstance(saved, AgentRecord), saved
assert saved.instructions == edit.instructions and isinstance(saved.tools, list)
assert saved.active_version_id == saved.latest_version_id

exported = export_stored_agent.sync("drawn", client=client, body=AgentToExport())
assert isinstance(exported, AgentExport), exported
assert "for gold" in exported.content

versions = list_stored_agent_versions.sync("drawn", client=client, per_page=1)
assert isinstance(versions, AgentVersionPage), versions
assert versions.total == 2 and versions.versions[0].state is VersionState.PUBLISHED

listed = list_stored_agents.sync(client=client)
assert isinstance(listed, AgentPage), listed
assert "drawn" in {agent.id for agent in listed.agents}

block = create_prompt_block.sync(
    client=client, body=PromptBlockCreate(id="drawn", name="Drawn", content="one")
)
assert isinstance(block, PromptBlockRecord), block

served = get_agent.sync("drawn", client=client)
assert isinstance(served, ResolvedAgentAnswer), served
assert served.instructions == "two"
parts = get_agent_parts.sync("drawn", client=client)
assert isinstance(parts, AgentPartsAnswer), parts
assert parts.resolved_version_id == served.resolved_version_id

run = generate_agent.sync("drawn", client=client, body=Run(messages="Hello"))
assert isinstance(run, RunAnswer), run
assert "Hello" in run.text and run.steps[0].finish_reason == "stop"

refused = create_stored_agent.sync(client=client, body=AgentCreate(name="Drawn", instructions="one"))
assert isinstance(refused, ErrorAnswer), refused
assert refused.code == "id_taken"
