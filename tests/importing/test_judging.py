"""What a plan promises can be applied: the server judges it; and the identity of what is imported."""

from __future__ import annotations

from typing import Any

import pytest
from editor_client import Client
from editor_client.errors import Unreachable
from editor_client.shared.dataset_items import MAX_NAME

from tests.conftest import Cast
from tests.importing.conftest import CONFLICTS, DONE, REFUSED, Desk, actions, losses
from tests.support.api import AGENTS, SCORERS


def config(*tests: Any, description: str = "My eval", prompts: Any = ("Answer {{q}}",)) -> dict[str, Any]:
    """Return a configuration of promptfoo."""
    return {"description": description, "prompts": list(prompts), "tests": list(tests)}


def case(question: str, *asserts: Any) -> dict[str, Any]:
    """Return a test with a variable."""
    return {"vars": {"q": question}, "assert": list(asserts)}


def items_of(desk: Desk, dataset: Any) -> int:
    """Return how many items a dataset has."""
    return len(list(desk.client.get_dataset(dataset.id).iter_items(per_page=200)))


REFUSED_SCORERS = [
    ({"type": "regex", "value": r"caf\u00e9"}, "regular expression"),
    ({"type": "regex", "value": "(?<!x)hi"}, "regular expression"),
    ({"type": "is-json", "value": {"$ref": "https://example.org/s.json"}}, "inside this schema"),
    ({"type": "is-json", "value": {"type": "no type"}}, "not valid"),
]


@pytest.mark.parametrize(("refused", "why"), REFUSED_SCORERS)
def test_a_scorer_that_the_server_refuses_is_one_to_be_filled_in(desk: Desk, refused: Any, why: str) -> None:
    path = desk.write(
        "promptfooconfig.json", config(case("a", refused), case("b", {"type": "contains", "value": "b"}))
    )
    plan = desk.imports("promptfoo", path)
    [loss] = [one for one in plan["losses"] if one["code"] == "scorer_to_be_filled_in"]
    assert why in loss["message"]
    code = next(one for one in plan["resources"] if one["kind"] == "scorer" and "contains" not in one["id"])
    [version] = code["versions"]
    assert version["config"]["type"] == "code" and version["config"]["config"]["name"].isidentifier()
    assert code["metadata"]["import"]["refused"]["config"]
    [dataset] = desk.client.list_datasets().datasets
    assert (items_of(desk, dataset), dataset.scorer_ids) == (2, ("my-eval/scorers/contains",))
    again = desk.plan("promptfoo", path)
    assert {*actions(again).values(), again["datasets"][0]["action"]} == {"unchanged"}


def test_a_schema_that_the_server_refuses_is_left_out_of_the_agent(desk: Desk) -> None:
    head = "input: {schema: {type: object, properties: {isActive: boolean}}}"
    path = desk.write("p.prompt", f"---\n{head}\n---\nHi {{{{isActive}}}}\n")
    plan = desk.imports("dotprompt", path)
    assert "refused" in losses(plan)
    agent = desk.client.get_stored_agent("p").details(status="draft")
    assert agent.request_context_schema is None
    assert agent.metadata["import"]["refused"]["requestContextSchema"]["type"] == "object"
    assert set(actions(desk.plan("dotprompt", path)).values()) == {"unchanged"}


def test_a_long_name_of_a_dataset_is_shortened(desk: Desk) -> None:
    path = desk.write("promptfooconfig.json", config(case("a"), description="long " * 60))
    plan = desk.imports("promptfoo", path)
    assert "name" in losses(plan) and len(plan["datasets"][0]["name"]) <= MAX_NAME
    assert desk.plan("promptfoo", path)["datasets"][0]["action"] == "unchanged"


@pytest.mark.parametrize("word", ["parts", "render", "try", "versions"])
def test_names_that_are_words_of_routes_get_other_ids(desk: Desk, word: str) -> None:
    path = desk.write("promptfooconfig.json", config(case("a"), description=word))
    assert set(actions(desk.imports("promptfoo", path)).values()) == {"create"}


def test_metadata_that_the_server_refuses_are_kept_elsewhere(desk: Desk) -> None:
    test = {**case("a"), "metadata": {"tags": "one, two", "__purged": True, "b": 1}}
    plan = desk.imports("promptfoo", desk.write("promptfooconfig.json", config(test)))
    [item] = plan["datasets"][0]["items"]
    kept = {"metadata": {"__purged": True, "tags": "one, two"}}
    assert item["metadata"] == {"b": 1, "import": kept}
    assert items_of(desk, desk.client.list_datasets().datasets[0]) == 1


def test_a_scorer_that_cannot_be_made_takes_no_dataset_with_it(desk: Desk) -> None:
    scorer = "my-eval/scorers/contains"
    SCORERS.make(desk.api, scorer, "Mine.", workspaceId="acme")
    tests = [case("a", {"type": "contains", "value": "x"}), case("b", {"type": "is-json"})]
    plan = desk.plan("promptfoo", desk.write("promptfooconfig.json", config(*tests)), code=CONFLICTS)
    assert actions(plan)[f"scorer {scorer}"] == "conflict"
    assert plan["datasets"][0]["action"] == "create" and "scorer" in losses(plan)
    desk.apply(code=CONFLICTS)
    [dataset] = desk.client.list_datasets().datasets
    assert (items_of(desk, dataset), dataset.scorer_ids) == (2, ("my-eval/scorers/is-json",))


def test_a_key_that_may_not_save_is_told_by_the_plan(desk: Desk, cast: Cast) -> None:
    path = desk.write("promptfooconfig.json", config(case("a")))
    plan = desk.plan("promptfoo", path, "--api-key", cast.vera.key)
    assert "forbidden" in losses(plan)


def test_a_dry_run_checks_and_stores_nothing(desk: Desk) -> None:
    new = {"id": "bot", "name": "Bot", "instructions": "Hi", "workspaceId": "acme"}
    done = desk.api.post(f"{AGENTS.path}?dryRun=true", new)
    assert (done.status, done.body) == (200, {"id": "bot", "workspaceId": "acme"})
    assert desk.client.list_stored_agents(status="all").total == 0
    refused = desk.api.post(f"{AGENTS.path}?dryRun=true", {**new, "name": " "})
    assert (refused.status, refused.fields) == (400, ["name"])
    AGENTS.make(desk.api, "bot", "Hi", workspaceId="acme")
    assert desk.api.post(f"{AGENTS.path}?dryRun=true", new).status == 409
    assert desk.api.post(f"{AGENTS.path}?dryRun=true", {**new, "metadata": {"a": "x" * 40_000}}).status == 400


def test_an_interrupted_import_of_a_dataset_goes_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("editor_client.transfer.importing.datasets.BATCH", 2)
    path = desk.write("promptfooconfig.json", config(*(case(str(number)) for number in range(5))))
    desk.plan("promptfoo", path)
    perform, calls = Client.perform, []

    def failing(self: Client, call: Any) -> Any:
        if call.request.path.endswith("/items/batch") or "items" in call.request.path:
            calls.append(call)
            if len(calls) == 2:
                raise Unreachable("gone")
        return perform(self, call)

    with monkeypatch.context() as patched:
        patched.setattr(Client, "perform", failing)
        desk.apply(code=REFUSED)
    [dataset] = desk.client.list_datasets().datasets
    assert items_of(desk, dataset) < 5
    plan = desk.plan("promptfoo", path)
    assert plan["datasets"][0]["action"] == "update"
    desk.apply()
    assert items_of(desk, desk.client.list_datasets().datasets[0]) == 5


def test_two_sources_of_one_description_are_two_datasets(desk: Desk) -> None:
    desk.write("a/promptfooconfig.json", config(case("first", {"type": "contains", "value": "x"})))
    desk.write("b/promptfooconfig.json", config(case("second", {"type": "starts-with", "value": "x"})))
    for name in "ab":
        desk.plan("promptfoo", desk.folder / name, "--prefix", f"{name}/")
        desk.apply()
    found = {one.name: one for one in desk.client.list_datasets().datasets}
    assert {name: (items_of(desk, one), one.scorer_ids, one.target_ids) for name, one in found.items()} == {
        "a/My eval": (1, ("a/my-eval/scorers/contains",), ("a/my-eval",)),
        "b/My eval": (1, ("b/my-eval/scorers/starts-with",), ("b/my-eval",)),
    }
    plan = desk.plan("promptfoo", desk.folder / "b", "--prefix", "a/", code=CONFLICTS)
    assert plan["datasets"][0]["action"] == "conflict" and "another source" in plan["datasets"][0]["reason"]


def test_a_changed_source_brings_its_targets_and_scorers(desk: Desk) -> None:
    first = case("a", {"type": "contains", "value": "x"})
    path = desk.write("promptfooconfig.json", config(first))
    desk.imports("promptfoo", path)
    grown = config(
        first, case("b", {"type": "starts-with", "value": "x"}), prompts=["Answer {{q}}", "Reply {{q}}"]
    )
    desk.write("promptfooconfig.json", grown)
    plan = desk.imports("promptfoo", path)
    assert "1 targets that are not in the source stay" in plan["datasets"][0]["reason"]
    [dataset] = desk.client.list_datasets().datasets
    assert dataset.scorer_ids == ("my-eval/scorers/contains", "my-eval/scorers/starts-with")
    assert dataset.target_ids == ("my-eval", "my-eval/1", "my-eval/2")
    assert items_of(desk, dataset) == 2
    again = desk.plan("promptfoo", path)
    assert {*actions(again).values(), again["datasets"][0]["action"]} == {"unchanged"}


def test_items_that_a_dataset_does_not_take_are_named(desk: Desk) -> None:
    path = desk.write("promptfooconfig.json", config(case("a")))
    desk.imports("promptfoo", path)
    [dataset] = desk.client.list_datasets().datasets
    schema = {"type": "object", "properties": {"q": {"maxLength": 1}}}
    desk.client.get_dataset(dataset.id).update(input_schema=schema)
    desk.write("promptfooconfig.json", config(case("a"), case("b"), case("long")))
    plan = desk.plan("promptfoo", path, code=DONE)
    assert len(plan["datasets"][0]["items"]) == 1 and "refused" in losses(plan)
    desk.apply()
