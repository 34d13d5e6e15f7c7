"""The client's results match the answers in the OpenAPI document."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from editor_client.manage import experiments, records, shapes, stored
from editor_client.manage.stored import KINDS, Kind
from editor_client.reads import agents, feed, reporting
from editor_client.result import Result, Success, members
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic.alias_generators import to_snake

from tests.support.api import Api
from tests.support.openapi import DATASETS, EXPERIMENTS, ROUTES, operations

Schema = dict[str, Any]


def _of_a_kind(kind: Kind[Any, Any, Any, Any]) -> dict[str, Any]:
    found = {
        "GET {}": kind.page,
        "POST {}": kind.record,
        "GET {}/{}": kind.record,
        "PATCH {}/{}": kind.record,
        "DELETE {}/{}": Success,
        "GET {}/{}/dependents": records.Dependents,
        "POST {}/{}/export": records.Export,
        "POST {}/{}/clone": kind.record,
        "POST {}/{}/unpublish": kind.record,
        "GET {}/{}/versions": kind.versions,
        "POST {}/{}/versions": kind.version,
        "GET {}/{}/versions/{}": kind.version,
        "GET {}/{}/versions/compare": kind.comparison,
        "POST {}/{}/versions/{}/activate": records.Activated,
        "POST {}/{}/versions/{}/restore": kind.version,
        "DELETE {}/{}/versions/{}": Success,
        "GET {}/{}/labels": records.LabelList,
        "PUT {}/{}/labels/{}": records.Label,
        "DELETE {}/{}/labels/{}": Success,
        "PUT {}/{}/favorite": records.Favorited,
        "DELETE {}/{}/favorite": records.Favorited,
    }
    return {route.replace("{}", f"/stored/{kind.segment}", 1): result for route, result in found.items()}


RESULTS: dict[str, Any] = {
    **{route: result for kind in KINDS.values() for route, result in _of_a_kind(kind).items()},
    "GET /stored/scorers/{}/dependents": stored.ScorerDependents,
    "POST /stored/scorers/{}/try": shapes.ScorerOutcome,
    "POST /stored/agents/preview-instructions": agents.Preview,
    "GET /agents": dict[str, agents.ServedAgent],
    "GET /agents/{}": agents.ServedAgent,
    "GET /agents/{}/parts": agents.AgentParts,
    "GET /providers": agents.ProviderList,
    "POST /agents/{}/generate": agents.Generated,
    "GET /events": feed.EventPage,
    "GET /webhooks": shapes.WebhookPage,
    "POST /webhooks": shapes.NewWebhook,
    "GET /webhooks/{}": shapes.WebhookRecord,
    "PATCH /webhooks/{}": shapes.WebhookRecord,
    "DELETE /webhooks/{}": Success,
    "POST /webhooks/{}/rotate": shapes.RotatedSecret,
    "POST /webhooks/{}/ping": shapes.Delivery,
    "GET /webhooks/{}/deliveries": shapes.DeliveryPage,
    "POST /webhooks/{}/deliveries/{}/replay": shapes.Delivery,
    "GET /workspaces/{}/review-policy": shapes.ReviewPolicy,
    "PUT /workspaces/{}/review-policy": shapes.ReviewPolicy,
    "GET /releases": shapes.ReleasePage,
    "POST /releases": shapes.ReleaseRecord,
    "GET /releases/{}": shapes.ReleaseRecord,
    "PATCH /releases/{}": shapes.ReleaseRecord,
    "DELETE /releases/{}": Success,
    "GET /releases/{}/check": shapes.ReleaseCheck,
    "POST /releases/{}/publish": shapes.ReleaseRecord,
    "POST /releases/{}/revert": shapes.Revert,
    "GET /reviews": shapes.ReviewPage,
    "POST /reviews": shapes.ReviewRecord,
    "GET /reviews/{}": shapes.ReviewRecord,
    "PATCH /reviews/{}": shapes.ReviewRecord,
    "POST /reviews/{}/verdicts": shapes.ReviewRecord,
    "GET /schedules": shapes.SchedulePage,
    "POST /schedules": shapes.ScheduleRecord,
    "GET /schedules/{}": shapes.ScheduleRecord,
    "PATCH /schedules/{}": shapes.ScheduleRecord,
    "DELETE /schedules/{}": shapes.ScheduleRecord,
    "GET /rollouts": shapes.RolloutPage,
    "POST /rollouts": shapes.RolloutRecord,
    "GET /rollouts/{}": shapes.RolloutRecord,
    "PATCH /rollouts/{}": shapes.RolloutRecord,
    "POST /rollouts/{}/stop": shapes.RolloutRecord,
    "POST /rollouts/{}/complete": shapes.RolloutRecord,
    "GET /gates": shapes.GatePage,
    "POST /gates": shapes.GateRecord,
    "GET /gates/{}": shapes.GateRecord,
    "PATCH /gates/{}": shapes.GateRecord,
    "DELETE /gates/{}": Success,
    "GET /gates/check": shapes.GateCheck,
    "POST /gates/run": shapes.StartedExperiments,
    "GET /usage": reporting.UsageList,
    "POST /usage": Success,
    "GET /feedback": reporting.FeedbackPage,
    "POST /feedback": reporting.FeedbackRecord,
    "GET /feedback/summary": reporting.FeedbackSummary,
    "GET /comments": shapes.CommentPage,
    "POST /comments": shapes.CommentRecord,
    "GET /comments/{}": shapes.CommentRecord,
    "PATCH /comments/{}": shapes.CommentRecord,
    "DELETE /comments/{}": Success,
    "GET /me": shapes.Identity,
    "GET /workspaces": shapes.WorkspacePage,
    "POST /workspaces": shapes.WorkspaceRecord,
    "GET /workspaces/{}": shapes.WorkspaceRecord,
    "PATCH /workspaces/{}": shapes.WorkspaceRecord,
    "DELETE /workspaces/{}": Success,
    "GET /workspaces/{}/members": shapes.MemberPage,
    "PUT /workspaces/{}/members/{}": shapes.Member,
    "DELETE /workspaces/{}/members/{}": Success,
    "GET /workspaces/{}/invitations": shapes.InvitationList,
    "POST /workspaces/{}/invitations": shapes.NewInvitation,
    "DELETE /workspaces/{}/invitations/{}": Success,
    "GET /keys": shapes.KeyPage,
    "POST /keys": shapes.NewKey,
    "DELETE /keys/{}": shapes.RevokedKey,
    "POST /people/{}/erase": shapes.ErasedPerson,
    "GET /service-accounts": shapes.ServiceAccountPage,
    "POST /service-accounts": shapes.ServiceAccount,
    "DELETE /service-accounts/{}": Success,
}
IN_PART: dict[str, Any] = {
    "GET /datasets": shapes.DatasetPage,
    "POST /datasets": shapes.DatasetRecord,
    "GET /datasets/{}": shapes.DatasetRecord,
    "PATCH /datasets/{}": shapes.DatasetRecord,
    "DELETE /datasets/{}": Success,
    "GET /datasets/{}/versions": shapes.DatasetVersionPage,
    "POST /datasets/{}/import": shapes.Imported,
    "GET /datasets/{}/items": shapes.ItemPage,
    "POST /datasets/{}/items": shapes.ItemRecord,
    "POST /datasets/{}/items/batch": shapes.ItemsAdded,
    "DELETE /datasets/{}/items/batch": shapes.ItemsDeleted,
    "GET /datasets/{}/items/{}": shapes.ItemRecord,
    "PATCH /datasets/{}/items/{}": shapes.ItemRecord,
    "GET /datasets/{}/items/{}/history": shapes.ItemHistory,
    "GET /experiments": experiments.ExperimentPage,
    "GET /datasets/{}/experiments/{}": experiments.ExperimentRecord,
    "POST /datasets/{}/experiments/{}/finalize": experiments.ExperimentRecord,
    "GET /datasets/{}/experiments/{}/results": experiments.ResultPage,
    "POST /datasets/{}/experiments/{}/results": experiments.ResultRecord,
    "GET /datasets/{}/experiments/{}/compare": experiments.Comparison,
}
"""What the client reads with fewer members than the document has."""
WITHOUT_A_RESULT = {
    "GET /events/stream",
    "POST /locks",
    "POST /stored/agents/{}/change-request",
    "POST /agents/{}/stream",
    *DATASETS,
    *EXPERIMENTS,
}
"""Two answer with events, a lock is plain JSON for a file; the client has no methods for the others."""
OWN_WORDS = {"fallback"}
"""What only the client itself says."""
REPEATED = {"agentId", "blockId", "scorerDefinitionId"}
"""Members of an export that only repeat what was asked for."""


@pytest.fixture(scope="module")
def document() -> Schema:
    return dict(Api("").request("GET", "/schema", accept="application/json").body)


LISTS: dict[str, Any] = {
    "GET /stored/agents": stored.AgentFilters,
    "GET /stored/prompt-blocks": records.Filters,
    "GET /stored/scorers": records.Filters,
    "GET /events": feed.EventList,
    "GET /releases": shapes.ReleaseFilters,
    "GET /reviews": shapes.ReviewFilters,
    "GET /schedules": shapes.ScheduleFilters,
    "GET /comments": shapes.CommentFilters,
    "GET /rollouts": shapes.RolloutFilters,
    "GET /feedback": reporting.FeedbackFilters,
    "GET /gates": shapes.GateFilters,
}
ORDER = {"orderBy[field]": "order_by", "orderBy[direction]": "direction"}


def test_lists_accept_the_filters_of_the_service(document: Schema) -> None:
    for route, filters in LISTS.items():
        offered = {parameter["name"] for parameter in operations(document)[route]["parameters"]}
        offered -= {"requestContext"}
        assert {ORDER.get(name) or to_snake(name) for name in offered} == get_type_hints(filters).keys(), (
            route
        )


def test_results_match_the_answers_of_the_service(document: Schema) -> None:
    assert set(ROUTES) - WITHOUT_A_RESULT == set(RESULTS)
    for route, result in RESULTS.items():
        schema = _answered(document, route)
        forms = zip(resolved(document, schema).get("anyOf", [schema]), alternatives(result), strict=True)
        assert [found for form, kind in forms for found in differences(document, form, kind, route)] == []


TIMES = st.sampled_from(["2026-01-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def values(document: Schema, schema: Schema) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a schema, with members that a newer server might add."""
    schema = resolved(document, schema)
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    if "anyOf" in schema:
        return st.one_of([values(document, one) for one in schema["anyOf"]])
    plain = {
        "null": st.none(),
        "boolean": st.booleans(),
        "integer": st.integers(schema.get("minimum", -(2**53)), 2**53),
        "number": st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False),
        "string": TIMES if schema.get("format") == "date-time" else st.text(max_size=9),
        "": ANYTHING,
    }
    found = []
    for kind in types_of(schema):
        if kind == "array":
            found.append(st.lists(values(document, schema.get("items", {})), max_size=2))
        elif kind == "object":
            found.append(_objects(document, schema))
        else:
            found.append(plain[kind])
    return st.one_of(found)


def _objects(document: Schema, schema: Schema) -> st.SearchStrategy[Any]:
    properties, more = schema.get("properties", {}), schema.get("additionalProperties")
    if not properties:
        members = values(document, more) if isinstance(more, dict) else ANYTHING
        return st.dictionaries(st.text(max_size=3), members, max_size=2)
    members = {name: values(document, one) for name, one in properties.items()}
    required = {name: members.pop(name) for name in schema.get("required", []) if name in members}
    return st.fixed_dictionaries(required, optional={**members, "addedLater": ANYTHING})


def test_whatever_the_document_allows_is_read(document: Schema) -> None:
    for route, result in (RESULTS | IN_PART).items():
        schema = _answered(document, route)
        forms = resolved(document, schema).get("anyOf", [schema])
        for form, kind in zip(forms, alternatives(result), strict=True):

            @settings(max_examples=5)
            @given(st.tuples(st.just(kind), values(document, form)))
            def every_one_is_read(one: tuple[Any, Any]) -> None:
                is_read(*one)

            every_one_is_read()


def is_read(kind: Any, answer: Any) -> None:
    """Read an answer; raises `ServerError` if it cannot be read."""
    if get_origin(kind) is dict:
        for one in answer.values():
            is_read(get_args(kind)[1], one)
    else:
        kind.of(json.loads(json.dumps(answer)))


def _answered(document: Schema, route: str) -> Schema:
    responses = operations(document)[route]["responses"]
    # What is created is answered with 201, and with 200 where nothing was, such as a dry run.
    success = max(status for status in responses if status.startswith("2"))
    schema: Schema = responses[success]["content"]["application/json"]["schema"]
    return schema


def differences(document: Schema, schema: Schema, kind: Any, place: str) -> Iterator[str]:
    """Yield the differences between a kind of result and a schema; `ShownBlock` stands for two kinds."""
    schema = resolved(document, schema)
    variants = [
        {**one, "type": plain}
        for given in schema.get("anyOf", [schema])
        for one in [resolved(document, given)]
        for plain in types_of(one)
    ]
    described = [one for one in variants if one.get("type") != "null"]
    kinds = [one for one in alternatives(kind) if one is not NoneType]
    if len(described) < len(variants) and not {NoneType, Any} & set(alternatives(kind)):
        yield f"{place} may be null"
    if kinds == [Any] or len(described) != 1 or len(kinds) != 1:
        return
    [schema], [kind] = described, kinds
    named = set(schema.get("enum", [])) | ({schema["const"]} if "const" in schema else set())
    if get_origin(kind) is Literal and set(get_args(kind)) - OWN_WORDS != named:
        yield f"{place} is one of {sorted(named)}"
    elif named and kind is str:
        yield f"{place} has no literal type of {sorted(named)}"
    elif get_origin(kind) is dict and "additionalProperties" in schema:
        yield from differences(document, schema["additionalProperties"], get_args(kind)[1], f"{place}{{}}")
    elif get_origin(kind) is tuple and schema.get("type") == "array":
        yield from differences(document, schema["items"], get_args(kind)[0], f"{place}[]")
    elif isinstance(kind, type) and issubclass(kind, Result):
        yield from _of_members(document, schema, kind, place)
    elif isinstance(kind, type) and not fits(schema, kind):
        yield f"{place} is {schema.get('type')}, not {kind.__name__}"


def _of_members(document: Schema, schema: Schema, kind: type[Result], place: str) -> Iterator[str]:
    hints = get_type_hints(kind)
    own = {member.json_name: hints[member.name] for member in members(kind)}
    for name, described in schema["properties"].items():
        if name in own:
            yield from differences(document, described, own[name], f"{place}.{name}")
        elif name not in REPEATED:
            yield f"{place}.{name} is missing"
    unknown = own.keys() - schema["properties"].keys() if kind is not agents.ShownBlock else ()
    yield from (f"{place}.{name} is never answered" for name in unknown)


def types_of(schema: Schema) -> list[str]:
    """Return the names of the types of a schema; one without any is a type of its own."""
    types = schema.get("type", "")
    return types if isinstance(types, list) else [types]


def resolved(document: Schema, schema: Schema) -> Schema:
    """Return the target of a schema's reference."""
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)


def fits(schema: Schema, kind: type) -> bool:
    """Return whether values of a plain schema are of the type."""
    types = {"string": {str, datetime.datetime}, "integer": {int}, "boolean": {bool}, "number": {float}}
    return kind in types.get(schema["type"], {kind})
