"""The cost of evaluating: repeated work is done once where possible, and bounded otherwise."""

from __future__ import annotations

import time
from typing import Any

from editor_client.shared.conditions import MAX_STEPS, Evaluation, choose, holds, same_value
from editor_client.shared.instructions import BlockText, assemble
from hypothesis import given

from tests.conftest import Cast
from tests.support.api import Api
from tests.support.configurations import json_values
from tests.support.served import ask, encoded, published_agent, published_block, reference, text

LONG_LIST = list(range(100_000))
ECHO = {"provider": "echo", "name": "echo"}
# More than a request may cost: half a million characters, searched nine thousand times.
LONG_TEXT = {"a": "a" * 500_000}
SEARCHES = [{"field": "a", "operator": "contains", "value": "b"}] * 9_000


def any_of(conditions: list[dict[str, Any]]) -> dict[str, Any]:
    return {"operator": "OR", "conditions": conditions}


def steps_of(evaluation: Evaluation) -> int:
    return evaluation.steps - evaluation.steps_left


def costly(**more: Any) -> dict[str, Any]:
    return {"type": "prompt_block", "content": "x", "rules": any_of(SEARCHES), **more}


def test_a_thousand_conditions_read_a_long_list_once() -> None:
    conditions = [{"field": "a", "operator": "contains", "value": -number} for number in range(1, 1001)]
    first, all_of_them = Evaluation({"a": LONG_LIST}), Evaluation({"a": LONG_LIST})
    assert holds(any_of(conditions[:1]), first) is holds(any_of(conditions), all_of_them) is False
    assert steps_of(all_of_them) - steps_of(first) < len(LONG_LIST)


def test_a_thousand_conditions_over_a_long_list_are_answered(alice: Api) -> None:
    rules = any_of([{"field": "a", "operator": "contains", "value": "z"}] * 1_000)
    block = {"type": "prompt_block", "content": "shown", "rules": rules}
    body = {"blocks": [block], "context": {"a": [*LONG_LIST, "z"]}}
    answer = alice.post("/stored/agents/preview-instructions", body)
    assert (answer.status, answer.body["result"]) == (200, "shown")


@given(json_values, json_values, json_values)
def test_an_item_is_found_in_a_list_exactly_when_it_is_the_same_value(
    one: Any, other: Any, sought: Any
) -> None:
    rule = {"field": "a", "operator": "contains", "value": sought}
    same = same_value(one, sought) or same_value(other, sought)
    assert holds(any_of([rule]), {"a": [one, other]}) is same


def test_the_items_of_a_list_keep_type_and_value() -> None:
    for item, sought, found in (
        (1, 1.0, True),
        (2**70, float(2**70), True),
        (10**23, 1e23, False),
        (-0.0, 0, True),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        ('"a', "a", False),
        (None, "None", False),
        ([1.0, {"a": 2}], [1, {"a": 2.0}], True),
        ([1], [True], False),
        ("[1]", [1], False),
        ((1,), [1], False),
    ):
        rule = {"field": "a", "operator": "contains", "value": sought}
        assert holds(any_of([rule]), {"a": [item]}) is found, (item, sought)


def test_numbers_chosen_to_collide_make_no_long_list_slow() -> None:
    modulus = 2**61 - 1  # Python's hash of an integer is its rest
    items = [number * modulus for number in range(100_000)]
    assert not holds(any_of([{"field": "a", "operator": "contains", "value": 1}]), {"a": items})


def test_a_too_costly_evaluation_is_refused_and_the_field_named(alice: Api) -> None:
    answer = alice.post(
        "/stored/agents/preview-instructions", {"blocks": [text("x"), costly()], "context": LONG_TEXT}
    )
    assert (answer.status, answer.code, answer.fields) == (400, "evaluation_too_costly", ["blocks.1"])
    assert str(MAX_STEPS) in answer.body["error"]


def test_every_field_with_conditions_draws_on_the_budget(alice: Api) -> None:
    fields: dict[str, Any] = {
        "instructions.0": [costly()],
        "tools": {"a": {"rules": any_of(SEARCHES)}},
        "agents": {"a": {"rules": any_of(SEARCHES)}},
        "model": [{"value": ECHO, "rules": any_of(SEARCHES)}],
        "defaultOptions": [{"value": {}, "rules": any_of(SEARCHES)}],
    }
    run = {"messages": "hello", "requestContext": LONG_TEXT}
    for field, value in fields.items():
        name = field.partition(".")[0]
        published_agent(alice, f"with-{name}", **{name: value})
        answer = alice.post(f"/agents/with-{name}/generate", run)
        assert (answer.status, answer.code, answer.fields) == (400, "evaluation_too_costly", [field])


def test_a_block_is_evaluated_once_for_all_its_references() -> None:
    rules = any_of([{"field": "a", "operator": "exists"}] * 100)
    found = {"b": BlockText(version_id="", config={"content": "{{ b }}" * 1_000, "rules": rules})}
    context = {"a": 1, "b": ""}
    once, often = Evaluation(context), Evaluation(context)
    assemble([reference("b")], once, found)
    _, reports = assemble([reference("b")] * 1_000, often, found)
    assert [report.reason for report in reports] == ["blank"] * 1_000
    assert steps_of(often) == steps_of(once)


def test_many_variants_merge_in_order_without_changing_the_configuration() -> None:
    variants = [{"value": {"a": number, str(number): number}} for number in range(30_000)]
    chosen = choose(variants, {})
    assert (len(chosen), chosen["a"]) == (30_001, 29_999)
    assert variants[0] == {"value": {"a": 0, "0": 0}}


def test_the_agents_of_one_run_share_one_budget(alice: Api) -> None:
    block = {"type": "prompt_block", "content": "x", "rules": any_of(SEARCHES[:40])}
    for agent_id in ("first", "second"):
        published_agent(alice, agent_id, [block])
    published_agent(alice, "lead", "x", agents={"first": {}, "second": {}}, model=ECHO)
    run = {"messages": "hello", "requestContext": LONG_TEXT}
    answer = alice.post("/agents/lead/generate", run)
    assert (answer.status, answer.code) == (400, "evaluation_too_costly")
    assert answer.fields == ["agents.second.instructions.0"]
    for agent_id in ("first", "second"):
        assert alice.post(f"/agents/{agent_id}/generate", run).code == "no_model"


def test_the_number_of_sub_agents_of_a_run_is_limited(alice: Api) -> None:
    published_agent(
        alice, "lead", "x", model=ECHO, agents={f"missing-{number}": {} for number in range(2_000)}
    )
    answer = alice.post("/agents/lead/generate", {"messages": "hello"})
    assert (answer.status, answer.code) == (400, "evaluation_too_costly")
    assert answer.fields[0].startswith("agents")


def test_a_public_agent_of_another_workspace_never_makes_the_list_fail(cast: Cast) -> None:
    for api, workspace in ((cast.alice, "acme"), (cast.charlie, "elsewhere")):
        published_block(api, f"long-{workspace}", "x" * 1_000_000, workspaceId=workspace)
    long = [reference("long-elsewhere")] * 17
    published_agent(cast.charlie, "endless", long, workspaceId="elsewhere", visibility="public")
    published_agent(cast.alice, "writer", "x", workspaceId="acme")
    assert ask(cast.alice, "endless").code == "instructions_too_long"
    assert list(cast.alice.get("/agents").body) == ["writer"]
    own = cast.charlie.get("/agents")
    assert (own.code, own.fields) == ("instructions_too_long", ["endless.instructions.16"])


def test_the_agents_of_a_list_share_one_budget(alice: Api) -> None:
    context = encoded({"a": "a" * 4_000})
    rules = any_of(SEARCHES[:5_000])
    published_agent(alice, "writer", [{"type": "prompt_block", "content": "x", "rules": rules}])
    assert ask(alice, requestContext=context).status == 200
    published_agent(alice, "reader", [{"type": "prompt_block", "content": "x", "rules": rules}])
    refused = alice.get("/agents", requestContext=context)
    assert (refused.status, refused.code) == (400, "evaluation_too_costly")
    assert alice.get("/agents").status == 200


def test_a_body_full_of_problems_is_answered_with_the_first_thousand(alice: Api) -> None:
    answer = alice.post("/stored/agents/preview-instructions", {"blocks": [1] * 100_000})
    assert (answer.status, answer.code, len(answer.body["issues"])) == (400, "validation_failed", 1_001)
    assert answer.body["issues"][-1] == {"field": "body", "message": "has 99000 more problems"}


def test_a_run_full_of_problems_is_answered_with_the_first_thousand(alice: Api) -> None:
    published_agent(alice, model=ECHO)
    for wrong in ({"modelSettings": {f"k{one}": 1 for one in range(5_000)}}, {"messages": [1] * 5_000}):
        answer = alice.post("/agents/writer/generate", {"messages": "hello", **wrong})
        assert (answer.status, len(answer.body["issues"])) == (400, 1_001)
        assert answer.body["issues"][-1] == {"field": "body", "message": "has 4000 more problems"}


def test_many_consecutive_messages_of_one_role_are_processed_quickly(alice: Api) -> None:
    published_agent(alice, model=ECHO)
    for role in ("user", "assistant"):
        messages = [*[{"role": role, "content": "m"}] * 10_000, {"role": "user", "content": "hello"}]
        begun = time.thread_time()
        answer = alice.post("/agents/writer/generate", {"messages": messages})
        assert (answer.status, len(answer.body["messages"])) == (200, 10_002)
        assert time.thread_time() - begun < 2
