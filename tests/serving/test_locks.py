"""A lock gives exactly the same prompts after any change, or names the missing parts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api
from tests.support.calls import undone
from tests.support.locks import by_lock, lock, locked, prompts_of, refused
from tests.support.runs import agent, noticed, ran, run
from tests.support.served import FOR_GOLD, published_block, reference, text
from versioning.conf import get_editor
from versioning.domain.errors import Invalid, NotFound
from versioning.domain.selectors import DRAFT
from versioning.models import LockKey, PeriodicJob
from versioning.runtime import Framework
from versioning.worker.jobs import list_jobs
from versioning.worker.running import Worker


def house(api: Api) -> dict[str, str]:
    """Make `lead`, which delegates to `writer`; both show `tone`, and `writer` for gold `gold` too."""
    tone = published_block(api, "tone", "Be kind.")
    gold = published_block(api, "gold", "Be golden.", rules=FOR_GOLD)
    writer = agent(api, "writer", [text("Write."), reference("tone"), reference("gold")])
    lead = agent(api, "lead", [text("Lead."), reference("tone")], agents={"writer": {}})
    return {"lead": lead, "writer": writer, "tone": tone, "gold": gold}


def change_everything(api: Api) -> None:
    """Publish other versions of all, unpublish some, move labels, rename, and leave drafts behind."""
    for kind, names in ((AGENTS, ("lead", "writer")), (PROMPT_BLOCKS, ("tone", "gold"))):
        for name in names:
            kind.save(api, name, f"changed {name}", autoPublish=True)
            kind.save(api, name, f"drafted {name}")
    api.patch("/stored/agents/lead", {"agents": {}, "metadata": {"moved": True}, "autoPublish": True})
    for address in ("/stored/prompt-blocks/tone", "/stored/agents/writer", "/stored/agents/lead"):
        assert api.post(f"{address}/unpublish").status == 200


def test_a_lock_holds_all_agents_and_blocks_of_any_context(alice: Api) -> None:
    versions = house(alice)
    made = locked(alice, "lead")
    assert made.keys() == {"lockVersion", "digest", "signature", "agents", "promptBlocks"}
    assert made["lockVersion"] == 1
    pinned = {**made["agents"], **made["promptBlocks"]}
    assert {name: pin["versionId"] for name, pin in pinned.items()} == versions
    assert all(pin.keys() == {"versionId", "digest"} and len(pin["digest"]) == 64 for pin in pinned.values())
    assert locked(alice, "lead") == made


def test_a_lock_gives_the_same_bytes_after_everything_has_changed(cast: Cast) -> None:
    house(cast.alice)
    contexts: list[dict[str, Any]] = [{}, {"tier": "gold"}]
    readers = (cast.alice, cast.edgar, cast.vera)
    before = [prompts_of(ran(cast.vera, "lead", requestContext=context)) for context in contexts]
    locks = [json.loads(json.dumps(locked(reader, "lead"))) for reader in readers]
    change_everything(cast.alice)
    for reader, made in zip(readers, locks, strict=True):
        assert [prompts_of(by_lock(reader, made, requestContext=one)) for one in contexts] == before
    in_context = by_lock(cast.vera, None, requestContext={"versions": made})
    assert prompts_of(in_context) == before[0] and in_context["warnings"] == []
    assert in_context["resolvedVersions"] == {
        name: made["agents"][name]["versionId"] for name in ("lead", "writer")
    }


def test_locks_work_the_same_in_python(alice: Api) -> None:
    house(alice)
    editor = get_editor()
    framework = Framework(editor=editor)
    before = prompts_of(framework.generate("lead", "hello").as_dict())
    made = editor.lock(["lead"])
    assert made == locked(alice, "lead")
    change_everything(alice)
    assert prompts_of(framework.generate("lead", "hello", versions=made).as_dict()) == before
    events = framework.stream("lead", "hello", versions=made)
    assert "".join(event["payload"].get("text", "") for event in events if event) == before[0]
    with pytest.raises(NotFound):
        editor.lock(["nobody"])
    with pytest.raises(Invalid, match="not for a framework"):
        Framework(editor=editor, versions=made)


def test_resources_missing_when_a_lock_was_made_stay_missing(alice: Api) -> None:
    published_block(alice, "tone", "Be kind.")
    PROMPT_BLOCKS.make(alice, "later", "Be late.")
    agent(alice, "lead", [text("Lead."), reference("tone")], agents={"writer": {}})
    alice.post("/stored/prompt-blocks/tone/unpublish")
    made = locked(alice, "lead")
    assert (made["agents"].keys(), made["promptBlocks"]) == ({"lead"}, {})
    agent(alice, "writer", "I am here now.")
    PROMPT_BLOCKS.save(alice, "tone", "Be back.", autoPublish=True)
    answer = by_lock(alice, made)
    assert answer["text"] == "Lead.\n\nhello\n\nThe agent 'writer' is not available."
    assert noticed(answer) == [
        ("block_missing", "instructions.1.id"),
        ("agent_unavailable", "agents.writer"),
    ]


def test_a_deleted_version_is_named(alice: Api) -> None:
    versions = house(alice)
    made = locked(alice, "lead")
    for missing in ("lead", "writer", "tone", "gold"):
        kind = PROMPT_BLOCKS if missing in {"tone", "gold"} else AGENTS
        with undone():
            kind.save(alice, missing, "another", autoPublish=True)
            answer = alice.delete(kind.url(missing, "versions", versions[missing]))
            assert answer.status == 200
            refused(run(alice, "lead", versions=made), [missing])


def test_all_deleted_parts_of_a_lock_are_named_together(alice: Api) -> None:
    house(alice)
    made = locked(alice, "lead")
    for address in ("agents/lead", "agents/writer", "prompt-blocks/gold", "prompt-blocks/tone"):
        assert alice.delete(f"/stored/{address}").status == 200
    refused(run(alice, "lead", versions=made), ["lead"])
    # Agents that the lock does not hold are refused.
    refused(run(alice, "writer", versions=locked_of(alice, "other")), ["writer"])
    refused(run(alice, "nobody", versions=made), ["nobody"])


def locked_of(api: Api, agent_id: str) -> dict[str, Any]:
    agent(api, agent_id)
    return locked(api, agent_id)


def test_a_later_resource_with_the_same_id_does_not_satisfy_a_lock(cast: Cast) -> None:
    house(cast.alice)
    made = locked(cast.alice, "lead")
    for kind, name, content in ((AGENTS, "writer", "Write."), (PROMPT_BLOCKS, "tone", "Be kind.")):
        more = {"visibility": "public"} if kind is AGENTS else {}
        with undone():
            assert cast.alice.delete(kind.url(name)).status == 200
            kind.make(cast.charlie, name, content, autoPublish=True, **more)
            refused(run(cast.alice, "lead", versions=made), [name])
            refused(run(cast.charlie, "lead", versions=made), ["lead"])


def test_each_kind_of_selector_determines_the_locked_version(alice: Api) -> None:
    versions = house(alice)
    AGENTS.save(alice, "lead", "New lead.", autoPublish=True)
    alice.put("/stored/agents/lead/labels/old", {"versionId": versions["lead"]})
    drafts = {
        name: kind.save(alice, name, f"drafted {name}", **more)["latestVersionId"]
        for kind, name, more in (
            (AGENTS, "lead", {"instructions": [text("Drafted."), reference("tone")]}),
            (AGENTS, "writer", {}),
            (PROMPT_BLOCKS, "tone", {}),
        )
    }
    for selector in ({"versionId": versions["lead"]}, {"label": "old"}):
        made = locked(alice, "lead", selector=selector)
        assert {name: pin["versionId"] for name, pin in made["agents"].items()} == {
            name: versions[name] for name in ("lead", "writer")
        }
        assert made["promptBlocks"]["tone"]["versionId"] == versions["tone"]
    made = locked(alice, "lead", selector={"status": "draft"})
    assert {name: pin["versionId"] for name, pin in (made["agents"] | made["promptBlocks"]).items()} == drafts
    assert by_lock(alice, made)["text"].startswith("Drafted.\n\ndrafted tone")
    block = lock(alice, ("promptBlock", "tone"), selector={"versionId": versions["tone"]}).body
    assert (block["agents"], block["promptBlocks"]["tone"]["versionId"]) == ({}, versions["tone"])
    assert get_editor().lock(["lead"], selector=DRAFT) == made


def test_the_refusal_of_an_invalid_request_for_a_lock_names_the_field(alice: Api) -> None:
    one = {"kind": "agent", "id": "x"}
    bodies: list[tuple[dict[str, Any], str]] = [
        ({}, "resources"),
        ({"resources": []}, "resources"),
        ({"resources": [{"kind": "tool", "id": "x"}]}, "resources.0.kind"),
        ({"resources": [{"kind": "agent"}]}, "resources.0.id"),
        ({"resources": [{**one, "version": 1}]}, "resources.0.version"),
        ({"resources": [one] * 1001}, "resources"),
        ({"resources": [one], "selector": {}}, "selector"),
        ({"resources": [one], "selector": {"status": "live"}}, "selector"),
        ({"resources": [one], "label": "x"}, "label"),
    ]
    for body, field in bodies:
        answer = alice.post("/locks", body)
        assert answer.status == 400 and answer.fields[0].startswith(field)


def test_unreadable_resources_cannot_be_locked(cast: Cast) -> None:
    house(cast.alice)
    for selector in (None, {"status": "draft"}, {"versionId": "x"}, {"label": "x"}):
        strange = lock(cast.charlie, ("agent", "lead"), selector=selector)
        missing = lock(cast.charlie, ("agent", "nothing at all"), selector=selector)
        assert (strange.status, strange.body) == (404, missing.body)
        assert lock(cast.charlie, ("promptBlock", "tone"), selector=selector).body == missing.body
    assert lock(cast.vera, ("agent", "lead"), selector={"status": "draft"}).status == 403
    assert lock(cast.nobody, ("agent", "lead")).status == 401
    assert cast.alice.get("/locks").status == 405


def test_locks_remain_valid_after_a_rotation_of_the_secret_key(alice: Api, settings: Any) -> None:
    house(alice)
    made = locked(alice, "lead")
    old, settings.SECRET_KEY = settings.SECRET_KEY, "new"
    answer = run(alice, "lead", versions=made)
    assert (answer.status, answer.code) == (503, "lock_key_unreadable")
    assert lock(alice, ("agent", "lead")).code == "lock_key_unreadable"
    assert "SECRET_KEY_FALLBACKS" in answer.body["error"]
    settings.SECRET_KEY_FALLBACKS = [old]
    assert Worker([list_jobs()["keys"]]).once()
    settings.SECRET_KEY_FALLBACKS = []
    by_lock(alice, made)
    assert locked(alice, "lead") == made


def test_no_signing_key_is_made_before_the_first_lock(db: None) -> None:
    PeriodicJob.objects.update(due_at=timezone.now())
    assert Worker([list_jobs()["keys"]]).once() and not LockKey.objects.exists()
