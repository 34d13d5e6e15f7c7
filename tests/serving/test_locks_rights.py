"""Rights and locks: forged locks, locks of drafts, and parts that the caller may not read."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest
from editor_client.shared import canonical

from tests.conftest import Cast
from tests.serving.test_query_counts import insert_resources
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.calls import undone
from tests.support.locks import SECRET, by_lock, lock, locked, prompts_of, refused
from tests.support.people import give_role
from tests.support.runs import agent, ran, run
from tests.support.served import published_block, reference, text
from versioning.domain.access import Role
from versioning.domain.locks import MAX_ENTRIES
from versioning.models import AgentVersion, LockKey, Membership
from versioning.models.guarded import unguard


def lead(api: Api) -> dict[str, Any]:
    """Make `lead` with the block `tone` and the sub-agent `writer`, published, and return a lock of it."""
    published_block(api, "tone", "Be kind.")
    agent(api, "writer", "Write.")
    agent(api, "lead", [text("Lead."), reference("tone")], agents={"writer": {}})
    return locked(api, "lead")


def invalid(answer: Answer) -> None:
    assert (answer.status, answer.code) == (400, "lock_invalid"), answer.body


# Changed and forged


def changed(made: dict[str, Any], *path: str, to: Any) -> dict[str, Any]:
    copied = copy.deepcopy(made)
    inner = copied
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = to
    return copied


def redigested(made: dict[str, Any]) -> dict[str, Any]:
    """Return the lock with the digest of its changed content, which any caller can compute."""
    content = {name: made[name] for name in ("lockVersion", "agents", "promptBlocks")}
    return {**made, "digest": canonical.digest(content)}


def test_no_byte_of_a_lock_can_be_changed(cast: Cast) -> None:
    made = lead(cast.alice)
    draft = str(AGENTS.save(cast.alice, "lead", SECRET)["latestVersionId"])
    other = locked(cast.alice, "writer")
    signature = made["signature"]
    terms = base64.urlsafe_b64encode(b'{"draftAgents":[]}').decode().rstrip("=")
    forged: list[dict[str, Any]] = [
        changed(made, "agents", "lead", "versionId", to=draft),
        changed(made, "agents", "lead", "versionId", to=None),
        changed(made, "agents", "lead", "digest", to="0" * 64),
        changed(made, "agents", "other", to=made["agents"]["lead"]),
        changed(made, "agents", to={}),
        changed(made, "promptBlocks", to={}),
        changed(made, "signature", to=other["signature"]),
        changed(made, "signature", to=terms + signature[signature.index(".") :]),
        changed(made, "signature", to=signature[:-1] + ("0" if signature[-1] != "0" else "1")),
        changed(made, "signature", to=signature.partition(".")[2]),
        changed(made, "signature", to=""),
        changed(made, "signature", to="é."),
    ]
    invalid(run(cast.vera, "lead", versions=changed(made, "digest", to=other["digest"])))
    for sent in forged:
        invalid(run(cast.vera, "lead", versions=sent))
        invalid(run(cast.vera, "lead", versions=redigested(sent)))
        invalid(run(cast.vera, "lead", requestContext={"versions": sent}))
    by_lock(cast.vera, dict(reversed(made.items())))


def test_a_malformed_lock_is_refused(alice: Api) -> None:
    made = lead(alice)
    shapes: list[tuple[tuple[str, ...], Any]] = [
        (("lockVersion",), 2),
        (("lockVersion",), True),
        (("lockVersion",), "1"),
        (("digest",), 1),
        (("signature",), None),
        (("agents",), []),
        (("agents",), {"lead": "version"}),
        (("agents", "lead"), {"versionId": "x"}),
        (("agents", "lead"), {"versionId": 1, "digest": ""}),
        (("agents", "lead"), {"versionId": "x", "digest": "", "more": 1}),
        (("promptBlocks",), None),
        (("strict",), True),
        (("self",), {"status": "draft"}),
    ]
    for path, value in shapes:
        invalid(run(alice, "lead", versions=changed(made, *path, to=value)))
    for missing in made:
        invalid(run(alice, "lead", versions={name: made[name] for name in made if name != missing}))


def test_a_lock_of_another_installation_is_refused(alice: Api) -> None:
    made = lead(alice)
    LockKey.objects.all().delete()
    invalid(run(alice, "lead", versions=made))
    by_lock(alice, locked(alice, "lead"))


def test_no_selector_is_allowed_along_with_a_lock(alice: Api) -> None:
    made = lead(alice)
    draft: dict[str, Any] = {"status": "draft"}
    answer = run(alice, "lead", query=draft, versions=made)
    assert (answer.status, answer.fields) == (400, ["status", "versions"])
    for more in ({"agents": {"writer": draft}}, {"strict": True}, {"promptBlocks": {"tone": draft}}):
        answer = run(alice, "lead", versions=made, requestContext={"versions": more})
        assert (answer.status, answer.fields) == (400, ["versions"])
        answer = run(alice, "lead", versions=more, requestContext={"versions": made})
        assert (answer.status, answer.fields) == (400, ["requestContext.versions"])
    by_lock(alice, made, requestContext={"versions": made})


# Drafts


def test_a_lock_of_drafts_needs_the_right_to_read_drafts(cast: Cast) -> None:
    lead(cast.alice)
    AGENTS.save(cast.alice, "lead", SECRET)
    made = locked(cast.edgar, "lead", selector={"status": "draft"})
    assert SECRET in by_lock(cast.edgar, made)["text"]
    answer = run(cast.vera, "lead", versions=made)
    assert (answer.status, answer.code) == (403, "forbidden")
    assert "versions.agents.lead" in answer.body["error"]
    refused(run(cast.charlie, "lead", versions=made), ["lead"])
    cast.alice.patch("/stored/agents/lead", {"visibility": "public"})
    refused(run(cast.charlie, "lead", versions=made), ["lead"])
    # A version that has gone live since is no longer a draft.
    draft = made["agents"]["lead"]["versionId"]
    assert cast.alice.post(AGENTS.url("lead", "versions", draft, "activate")).status == 200
    assert SECRET in by_lock(cast.vera, made)["text"]
    refused(run(cast.charlie, "lead", versions=made), ["writer"])  # a draft runs nothing as a part of itself


def test_unreadable_drafts_of_blocks_and_sub_agents_in_a_lock_are_answered_as_missing(cast: Cast) -> None:
    lead(cast.alice)
    draft = str(PROMPT_BLOCKS.save(cast.alice, "tone", SECRET)["latestVersionId"])
    made = locked(cast.alice, "lead", selector={"status": "draft"})
    assert made["promptBlocks"]["tone"]["versionId"] == draft
    assert SECRET in by_lock(cast.edgar, made)["text"]
    refused(run(cast.vera, "lead", versions=made), ["tone"])
    AGENTS.save(cast.alice, "writer", SECRET)
    made = locked(cast.alice, "lead", selector={"status": "draft"})
    refused(run(cast.vera, "lead", versions=made), ["writer", "tone"])
    PROMPT_BLOCKS.save(cast.alice, "tone", SECRET, autoPublish=True)
    refused(run(cast.vera, "lead", versions=made), ["writer"])


def test_a_lock_of_a_never_published_agent_is_a_lock_of_a_draft(cast: Cast) -> None:
    AGENTS.make(cast.alice, "lead", SECRET, autoPublish=False, model={"provider": "echo", "name": "echo"})
    made = locked(cast.edgar, "lead")
    assert lock(cast.vera, ("agent", "lead")).status == 404
    assert run(cast.vera, "lead", versions=made).status == 403
    assert SECRET in by_lock(cast.edgar, made)["text"]


def test_a_released_label_gives_the_right_only_when_the_lock_is_made(cast: Cast) -> None:
    lead(cast.alice)
    draft = AGENTS.save(cast.alice, "lead", "Pilot.")["latestVersionId"]
    pilot = {"label": "pilot"}
    cast.alice.put("/stored/agents/lead/labels/pilot", {"versionId": draft})
    assert lock(cast.vera, ("agent", "lead"), selector=pilot).status == 403
    unreleased = locked(cast.edgar, "lead", selector=pilot)
    cast.alice.put("/stored/agents/lead/labels/pilot", {"versionId": draft, "released": True})
    released = locked(cast.vera, "lead", selector=pilot)
    cast.alice.delete("/stored/agents/lead/labels/pilot")
    assert by_lock(cast.vera, released)["text"].startswith("Pilot.")
    assert run(cast.vera, "lead", versions=unreleased).status == 403


# Rights that are gone, and rights that were never there


def test_a_lock_does_not_grant_the_right_to_run_the_agent(cast: Cast) -> None:
    made = lead(cast.alice)
    refused(run(cast.charlie, "lead", versions=made), ["lead"])
    assert run(cast.nobody, "lead", versions=made).status == 401
    by_lock(cast.vera, made)
    Membership.objects.filter(user__username="vera").delete()
    refused(run(cast.vera, "lead", versions=made), ["lead"])


def test_a_lock_of_an_agent_that_turned_private_is_refused_for_non_members(cast: Cast) -> None:
    lead(cast.alice)
    cast.alice.patch("/stored/agents/lead", {"visibility": "public"})
    made = locked(cast.charlie, "lead")
    before = ran(cast.charlie, "lead")
    assert prompts_of(by_lock(cast.charlie, made)) == prompts_of(before)
    assert made["agents"].keys() == {"lead", "writer"}  # which runs as part of it
    refused(run(cast.charlie, "writer", versions=made), ["writer"])
    cast.alice.patch("/stored/agents/lead", {"visibility": "private"})
    refused(run(cast.charlie, "lead", versions=made), ["lead"])


def test_a_lock_works_after_unpublishing_and_never_again_after_deleting(cast: Cast) -> None:
    """That is so of every part of a lock; that it is private stops no member of the workspace."""
    made = lead(cast.alice)
    before = prompts_of(by_lock(cast.vera, made))
    for kind, name in ((AGENTS, "lead"), (AGENTS, "writer"), (PROMPT_BLOCKS, "tone")):
        with undone():
            assert cast.alice.post(kind.url(name, "unpublish")).status == 200
            assert prompts_of(by_lock(cast.vera, made)) == before
            assert cast.alice.delete(kind.url(name)).status == 200
            refused(run(cast.vera, "lead", versions=made), [name])
            kind.make(cast.alice, name, "Anew.", autoPublish=True)
            refused(run(cast.vera, "lead", versions=made), [name])


def test_a_locked_sub_agent_without_a_grant_needs_the_callers_right(cast: Cast) -> None:
    """`helper` of another workspace was public when `lead` was published, and was not granted."""
    agent(cast.charlie, "helper", "Help.", visibility="public")
    agent(cast.alice, "lead", "Lead.", agents={"helper": {}})
    made = locked(cast.alice, "lead")
    assert by_lock(cast.vera, made)["toolResults"][0]["result"] == "Help.\n\nhello"
    cast.charlie.patch("/stored/agents/helper", {"visibility": "private"})
    refused(run(cast.vera, "lead", versions=made), ["helper"])
    assert locked(cast.alice, "lead")["agents"].keys() == {"lead"}


def test_a_locked_sub_agent_with_a_reused_id_is_not_granted(cast: Cast) -> None:
    """`helper` was granted to `lead`; the lock is made by a caller who may run a later, foreign `helper`."""
    agent(cast.alice, "helper", "Help.")
    agent(cast.alice, "lead", "Lead.", agents={"helper": {}})
    assert cast.alice.delete("/stored/agents/helper").status == 200
    agent(cast.charlie, "helper", SECRET)
    made = locked(cast.root, "lead")
    assert made["agents"].keys() == {"lead", "helper"}
    assert SECRET in str(by_lock(cast.root, made))
    refused(run(cast.vera, "lead", versions=made), ["helper"])


def test_a_locked_block_is_shown_only_by_agents_that_showed_it_before(cast: Cast) -> None:
    """`theirs` names a block of acme that its publisher could not read, and `ours` shows it."""
    published_block(cast.alice, "tone", SECRET)
    agent(cast.alice, "ours", [reference("tone")], visibility="public")
    agent(cast.charlie, "theirs", [text("Mine."), reference("tone")], autoPublish=False)
    give_role("edgar", "elsewhere", Role.PUBLISHER)
    version = AGENTS.versions(cast.charlie, "theirs")[0]["id"]
    assert cast.edgar.post(AGENTS.url("theirs", "versions", version, "activate")).status == 200
    granted = locked(cast.charlie, "theirs", "ours")
    assert SECRET in by_lock(cast.charlie, granted, "theirs")["text"]
    # Published again without the right to read the block, it no longer shows it; the lock is unaffected.
    unguard(AgentVersion.objects.get(pk=version).blocks.all()).update(target_uuid=None)
    made = locked(cast.charlie, "theirs", "ours")
    assert made["promptBlocks"].keys() == {"tone"}
    assert by_lock(cast.charlie, made, "theirs")["text"] == "Mine.\n\nhello"
    assert SECRET in by_lock(cast.charlie, made, "ours")["text"]
    assert SECRET in by_lock(cast.charlie, granted, "theirs")["text"]


def test_a_locked_sub_agent_runs_only_for_agents_that_ran_it_before(cast: Cast) -> None:
    """`theirs` merely names `writer`, which runs as part of `lead` only."""
    agent(cast.alice, "writer", SECRET)
    agent(cast.alice, "lead", "Lead.", agents={"writer": {}}, visibility="public")
    agent(cast.charlie, "theirs", "Mine.", agents={"writer": {}})
    made = locked(cast.charlie, "lead", "theirs")
    assert made["agents"].keys() == {"lead", "theirs", "writer"}
    assert SECRET in by_lock(cast.charlie, made)["toolResults"][0]["result"]
    answer = by_lock(cast.charlie, made, "theirs")
    assert answer["resolvedVersions"].keys() == {"theirs"} and SECRET not in str(answer)


def test_a_locked_draft_shows_blocks_only_to_callers_who_may_read_them(cast: Cast) -> None:
    give_role("edgar", "elsewhere", Role.EDITOR)
    published_block(cast.alice, "tone", SECRET)
    agent(cast.charlie, "theirs", [text("Mine.")])
    AGENTS.save(cast.charlie, "theirs", [text("Mine."), reference("tone")])
    draft: dict[str, Any] = {"status": "draft"}
    made = locked(cast.edgar, "theirs", selector=draft)
    assert SECRET in by_lock(cast.edgar, made, "theirs")["text"]
    refused(run(cast.charlie, "theirs", versions=made), ["tone"])
    own = locked(cast.charlie, "theirs", selector=draft)
    assert own["promptBlocks"] == {}
    assert by_lock(cast.edgar, own, "theirs")["text"] == "Mine.\n\nhello"


# Sizes, and ids that look like something else


def test_unusual_ids_can_be_locked(alice: Api) -> None:
    for name in ("__proto__", "a.b", "team/lead", "ünï", "digest", "{{ x }}"):
        PROMPT_BLOCKS.make(alice, name, "Be kind.", autoPublish=True)
        agent(alice, name, [reference(name)])
        made = locked(alice, name)
        assert by_lock(alice, made, name)["text"] == "Be kind.\n\nhello"
        assert alice.delete(PROMPT_BLOCKS.url(name)).status == 200
        refused(run(alice, name, versions=made), [name])


def test_a_lock_holds_a_thousand_blocks_within_its_size_limit(alice: Api) -> None:
    agent(alice, "writer", [text("Write.")])
    names = [f"block-{number}" for number in range(1000)]
    insert_resources(PROMPT_BLOCKS, names)
    agent(alice, "lead", [reference(name) for name in names])
    made = locked(alice, "lead")
    assert len(made["promptBlocks"]) == 1000 and len(json.dumps(made)) < 1024 * 1024
    assert by_lock(alice, made)["text"] == ran(alice, "lead")["text"]
    pin = made["agents"]["lead"]
    invalid(run(alice, "lead", versions={**made, "agents": {str(n): pin for n in range(MAX_ENTRIES + 1)}}))


def test_more_than_a_lock_may_hold_is_refused(alice: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    lead(alice)
    for most, status in ((3, 200), (2, 400), (1, 400)):
        monkeypatch.setattr("versioning.editor.locks.MAX_ENTRIES", most)
        answer = lock(alice, ("agent", "lead"))
        assert answer.status == status, most
    assert answer.fields == ["resources"]
