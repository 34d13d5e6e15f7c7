"""Sub-agents give no access: a published agent runs only sub-agents that its publisher could read.

The grant is for that very agent: a later agent with the same id is not granted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api
from tests.support.people import key_of, person
from tests.support.runs import ECHO, agent, ran, run
from versioning.domain.access import Role
from versioning.editor import Editor
from versioning.models import ApiKey, Membership, SubAgentReference, caller_for
from versioning.runtime import Framework, RequestContext

SECRET = "the words of the other workspace"

PLACES: list[Callable[[str], Any]] = [
    lambda agent_id: {agent_id: {}},
    lambda agent_id: [{"value": {agent_id: {}}}],  # in a variant
]


def theirs(cast: Cast, **more: Any) -> str:
    """A published agent of `elsewhere`, private by default."""
    return agent(cast.charlie, "theirs", SECRET, workspaceId="elsewhere", **more)


def content_of(answer: Answer) -> str:
    """The content of an answer without the parts that always differ: ids of versions and runs, times."""
    assert answer.status < 300, answer.body
    words = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z", "…", str(answer.body))
    return words.replace("nobody", "theirs")


@pytest.fixture
def member_of_both(cast: Cast) -> Api:
    person("bo", acme=Role.PUBLISHER, elsewhere=Role.VIEWER)
    return key_of("bo")


def test_a_save_that_changes_nothing_grants_nothing(cast: Cast) -> None:
    agent(cast.alice, "lead", "lead", agents={"late": {}})
    agent(cast.alice, "late", "made after its lead")
    agent(cast.alice, "draft", "lead", agents={"late": {}}, autoPublish=False)
    assert cast.edgar.patch(AGENTS.url("lead"), {}).status == 200
    assert not SubAgentReference.objects.exclude(target_uuid=None).exists()
    active = cast.alice.get(AGENTS.url("lead")).body["activeVersionId"]
    AGENTS.publish(cast.alice, "lead", active)
    assert SubAgentReference.objects.exclude(target_uuid=None).count() == 1


def test_a_foreign_private_sub_agent_looks_like_a_missing_one(cast: Cast) -> None:
    theirs(cast)
    person("sam")
    callers = [key_of(name) for name in ("paula", "vera", "sam")]
    for number, place in enumerate(PLACES):
        answers = []
        for target in ("theirs", "nobody"):
            lead = f"lead-{number}-{target}"
            body = {**AGENTS.body("lead", agents=place(target), model=ECHO), "id": lead}
            made = cast.paula.post(AGENTS.path, {**body, "autoPublish": False})
            published = cast.paula.patch(AGENTS.url(lead), {"autoPublish": True, "visibility": "public"})
            answers.append([made, published, *(run(api, lead) for api in callers)])
        for foreign, missing in zip(*answers, strict=True):
            assert content_of(foreign) == content_of(missing)
            assert SECRET not in str(foreign.body)


def test_a_foreign_sub_agent_does_not_run_within_an_own_sub_agent(cast: Cast) -> None:
    theirs(cast)
    agent(cast.paula, "own-part", "part", agents={"theirs": {}})
    agent(cast.paula, "lead", "lead", agents={"own-part": {}}, visibility="public")
    for caller in (cast.paula, cast.vera, cast.charlie):
        answer = ran(caller, "lead")
        # Only charlie may run it in any case.
        assert (SECRET in str(answer)) is (caller is cast.charlie)


def test_a_sub_agent_that_turns_private_no_longer_runs_for_other_workspaces(cast: Cast) -> None:
    theirs(cast, visibility="public")
    agent(cast.paula, "lead", "lead", agents={"theirs": {}})
    assert SECRET in ran(cast.vera, "lead")["text"]
    assert cast.charlie.patch(AGENTS.url("theirs"), {"visibility": "private"}).status == 200
    assert SECRET not in str(ran(cast.vera, "lead"))


def test_a_sub_agent_runs_for_all_callers_if_the_publisher_was_a_member_of_its_workspace(
    cast: Cast, member_of_both: Api
) -> None:
    theirs(cast)
    agent(member_of_both, "lead", "lead", workspaceId="acme", agents={"theirs": {}}, visibility="public")
    Membership.objects.filter(user__username="bo", workspace="elsewhere").delete()
    for caller in (cast.vera, cast.paula, member_of_both):
        assert SECRET in ran(caller, "lead")["text"]


def test_a_later_publisher_who_is_not_a_member_withdraws_the_grant(cast: Cast, member_of_both: Api) -> None:
    theirs(cast)
    first = agent(member_of_both, "lead", "lead", workspaceId="acme", agents={"theirs": {}})
    AGENTS.publish(cast.paula, "lead", first)  # it is published already: nothing is revoked
    assert cast.paula.patch(AGENTS.url("lead"), {"autoPublish": True}).status == 200
    assert SECRET in ran(cast.vera, "lead")["text"]
    AGENTS.save(cast.paula, "lead", "lead 2", autoPublish=True)
    assert SECRET not in str(ran(cast.vera, "lead"))
    AGENTS.publish(cast.paula, "lead", first)
    assert SECRET not in str(ran(cast.vera, "lead"))


def test_a_key_for_one_workspace_grants_nothing_of_another(cast: Cast, member_of_both: Api) -> None:
    theirs(cast)
    owner = ApiKey.objects.filter(owner__username="bo").get().owner
    workspace = Membership.objects.get(user=owner, workspace="acme").workspace
    _, key = ApiKey.objects.issue(owner, workspace=workspace)
    agent(Api(key), "lead", "lead", agents={"theirs": {}})
    assert SECRET not in str(ran(cast.vera, "lead"))


def test_a_private_sub_agent_of_a_public_agent_cannot_be_called_directly(cast: Cast) -> None:
    theirs(cast)
    agent(cast.paula, "spy", "spy", agents={"theirs": {}, "zdesk": {}})
    agent(cast.charlie, "zdesk", "desk", workspaceId="elsewhere", visibility="public", agents={"theirs": {}})
    # The echo model asks the first by id. That `theirs` runs within `zdesk` grants it to no other agent.
    answer = ran(cast.paula, "spy")
    assert "theirs" in answer["resolvedVersions"]
    assert answer["toolResults"][0]["result"] == "The agent 'theirs' is not available."
    assert SECRET not in str(answer)


# Reused ids


def test_a_later_agent_with_the_same_id_in_another_workspace_does_not_run(cast: Cast) -> None:
    agent(cast.alice, "helper", "ours")
    agent(cast.alice, "lead", "lead", agents={"helper": {}}, visibility="public")
    assert cast.alice.delete(AGENTS.url("helper")).status == 200
    assert "helper" not in ran(cast.vera, "lead")["resolvedVersions"]
    agent(cast.charlie, "helper", SECRET, workspaceId="elsewhere")
    for caller in (cast.alice, cast.vera):
        answer = ran(caller, "lead")
        assert SECRET not in str(answer) and "not available" in answer["text"]


COSTLY = [{"type": "prompt_block", "content": "{{ big }}" * 2000}]
BIG = {"big": "x" * 60_000}


def test_a_foreign_agent_with_the_same_id_is_not_evaluated(cast: Cast) -> None:
    agent(cast.alice, "helper", "ours")
    agent(cast.alice, "lead", "lead", agents={"helper": {}}, visibility="public")
    assert cast.alice.delete(AGENTS.url("helper")).status == 200
    missing = run(cast.vera, "lead", requestContext=BIG)
    agent(cast.charlie, "helper", COSTLY, workspaceId="elsewhere")
    assert content_of(run(cast.vera, "lead", requestContext=BIG)) == content_of(missing)


def test_a_default_of_the_framework_evaluates_no_foreign_private_sub_agent(cast: Cast) -> None:
    agent(cast.charlie, "theirs", COSTLY, workspaceId="elsewhere")
    for target in ("theirs", "nobody"):
        agent(cast.alice, f"lead-{target}", "lead", agents={target: {}})
    by = caller_for(User.objects.get(username="alice"))
    drafts = {target: {"status": "draft"} for target in ("theirs", "nobody")}
    for versions in ({"defaultStatus": "draft"}, {"agents": drafts}):
        framework = Framework(agents=[], editor=Editor(), versions=versions)
        context = RequestContext.of(BIG, by=by)
        texts = [
            framework.generate(f"lead-{target}", "hello", request_context=context).text.replace(target, "…")
            for target in ("theirs", "nobody")
        ]
        assert texts[0] == texts[1]


def test_a_later_public_agent_with_the_same_id_runs_only_while_the_caller_may_run_it(cast: Cast) -> None:
    agent(cast.alice, "helper", "ours")
    agent(cast.alice, "lead", "lead", agents={"helper": {}})
    assert cast.alice.delete(AGENTS.url("helper")).status == 200
    agent(cast.charlie, "helper", SECRET, workspaceId="elsewhere", visibility="public")
    assert SECRET in ran(cast.vera, "lead")["text"]
    assert cast.charlie.patch(AGENTS.url("helper"), {"visibility": "private"}).status == 200
    assert SECRET not in str(ran(cast.vera, "lead"))


def test_a_sub_agent_created_later_is_granted_by_publishing_again(cast: Cast) -> None:
    version = agent(cast.alice, "lead", "lead", agents={"helper": {}}, visibility="public")
    agent(cast.alice, "helper", "ours")
    assert "ours" in ran(cast.vera, "lead")["text"]  # vera may run it in any case
    assert "ours" not in ran(cast.charlie, "lead")["text"]
    tag = cast.alice.get(AGENTS.url("lead")).etag
    AGENTS.publish(cast.alice, "lead", version)
    assert "ours" in ran(cast.charlie, "lead")["text"]
    assert cast.alice.get(AGENTS.url("lead")).etag != tag
    tag = cast.alice.get(AGENTS.url("lead")).etag
    AGENTS.publish(cast.alice, "lead", version)
    assert cast.alice.get(AGENTS.url("lead")).etag == tag


# Agents that code defines


def test_a_private_agent_of_the_code_looks_like_a_missing_one(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.private_code.framework"
    for target in ("hidden", "nobody"):
        agent(cast.paula, f"lead-{target}", "lead", agents={target: {}})
    for selector in ({"versionId": "gone"}, {"label": "gone"}, {"status": "draft"}, {"status": "published"}):
        answers = [
            str(ran(cast.paula, f"lead-{target}", versions={"agents": {target: selector}}))
            for target in ("hidden", "nobody")
        ]
        assert "in code" not in answers[0]
        shortened = {re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|hidden|nobody", "…", answer) for answer in answers}
        assert len(shortened) == 1


def test_an_agent_of_the_code_is_granted_to_agents_of_its_own_workspace(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.private_code.framework"
    person("dee", default=Role.PUBLISHER)
    agent(key_of("dee"), "lead", "lead", agents={"hidden": {}}, visibility="public")
    assert "in code" in ran(cast.charlie, "lead")["text"]
    settings.EDITOR_FRAMEWORK = "tests.support.no_code.framework"
    agent(key_of("dee"), "hidden", "a stored namesake")
    assert "namesake" not in str(ran(cast.charlie, "lead"))
