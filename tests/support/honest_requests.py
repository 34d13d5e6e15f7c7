"""A workspace with one object of every type, and for each route a request about it that succeeds."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType

from capabilities.evaluation.datasets.models import Dataset, DatasetVersion, Item, Revision
from capabilities.evaluation.datasets.verbs import EMPTY
from capabilities.evaluation.experiments.models import Cell, Experiment, Label
from capabilities.evaluation.gates.models import Gate
from capabilities.releases.models import Release
from capabilities.review.models import Comment, Review
from capabilities.rollouts.models import Rollout
from capabilities.schedules.models import Schedule
from capabilities.schedules.verbs import Times
from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS, Api, Kind
from tests.support.reviews import ask
from tests.support.rollouts import arm, started
from tests.support.webhooks import DeliveryFactory, WebhookFactory
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.models import Agent, ApiKey, Invitation, PromptBlock

WEBHOOK, DELIVERY, REVIEW, COMMENT, RELEASE, PUBLISHED, SCHEDULE, ROLLOUT = (
    f"6f9619ff-8b86-4011-b42d-00c04fc964f{end}" for end in range(8)
)
DATASET, ITEM, GATE, UNUSED_DATASET = (f"6f9619ff-8b86-4011-b42d-00c04fc96{end}00" for end in (5, 6, 7, 8))
EXPERIMENT, RUN_BY_WORKERS, WITH_TARGET, RESULT = "nightly", "hourly", "with-a-target", "8001"
INVITATION = "7001"
KEY = "ek_robot-00"
EMPTY_WORKSPACE = "empty"


def make_one_of_everything(keys: dict[str, str]) -> dict[Kind, list[str]]:
    """Fill the workspace `acme` of the cast, and return the versions of its agent, block and scorer `writer`.

    These are three each, oldest first, of which the first has a label and none is published. There is a
    webhook too, with a delivery, an invitation, a service account with a key, a review of an agent that edgar
    has saved, a comment, two releases, a schedule, and the published agents `calm` and `shared` with drafts;
    one runs on a share.
    """
    webhook = WebhookFactory(pk=WEBHOOK, workspace_id="acme")
    DeliveryFactory(pk=DELIVERY, webhook=webhook)
    edgar = Api(keys["edgar"])
    AGENTS.make(edgar, "reviewed")
    Review.objects.filter(pk=ask(edgar, AGENTS, "reviewed")["id"]).update(id=REVIEW)
    made = {kind: make_writer(Api(keys["alice"]), kind) for kind in (AGENTS, PROMPT_BLOCKS, SCORERS)}
    alice = User.objects.get(username="alice")
    comment = get_editor().comments.add("agent", "writer", made[AGENTS][0], body="Why?", by=alice)
    Comment.objects.filter(pk=comment.pk).update(id=COMMENT)
    make_releases(Api(keys["alice"]))
    soon = Times(local_time="2028-12-24T09:00", time_zone="Europe/Berlin")
    later = get_editor().schedules.create("agent", "writer", soon, version_id=made[AGENTS][0], by=alice)
    Schedule.objects.filter(pk=later.pk).update(id=SCHEDULE)
    start_rollout(Api(keys["alice"]))
    invited, _ = get_editor().invitation.invite("acme", "ivan", Role.VIEWER, by=alice)
    Invitation.objects.filter(pk=invited.pk).update(id=INVITATION)
    get_editor().workspace.create(EMPTY_WORKSPACE, "Empty")
    get_editor().workspace.create_service_account("acme", "robot", Role.EDITOR, by=alice)
    made_key, _ = get_editor().key.issue(name="robot", owner="robot", by=alice)
    ApiKey.objects.filter(pk=made_key.pk).update(prefix=KEY)
    make_items()
    return made


def make_items() -> None:
    """Make an unused dataset, and one with an item, experiments, a result, and a gate of `reviewed`."""
    targets = {
        "target_type": "agent",
        "target_keys": "\nreviewed\n",
        "settings_json": '{"targetIds":["reviewed"],"targetType":"agent"}',
    }
    dataset = Dataset.objects.create(
        pk=DATASET, workspace_id="acme", name="Questions", version=1, items_count=1, digest=EMPTY, **targets
    )
    DatasetVersion.objects.create(dataset=dataset, version=1, digest=EMPTY)
    Dataset.objects.create(
        pk=UNUSED_DATASET, workspace_id="acme", name="Old questions", digest=EMPTY, **targets
    )
    item = Item.objects.create(pk=ITEM, dataset=dataset)
    revision = Revision.objects.create(
        item=item, dataset=dataset, version=1, payload_json='{"input":"Hi"}', digest=EMPTY
    )
    experiment = Experiment.objects.create(
        pk=EXPERIMENT,
        workspace_id="acme",
        dataset=dataset,
        dataset_version=1,
        dataset_digest=EMPTY,
        is_started=False,
        items_count=1,
        cells_count=1,
        done_count=1,
    )
    workers = {"is_started": True, "outcome": "cancelled", "dataset_digest": EMPTY, "dataset_version": 1}
    Experiment.objects.create(pk=RUN_BY_WORKERS, workspace_id="acme", dataset=dataset, **workers)
    now = experiment.created_at
    result = {"pk": RESULT, "state": "done", "started_at": now, "ended_at": now, "output_json": '"Hello"'}
    Cell.objects.create(experiment=experiment, item_id=ITEM, revision=revision, **result)
    Label.objects.create(experiment=experiment, item_id=ITEM, name="clear", value=True)
    target = {"target_type": "agent", "target_id": "writer", "is_started": False, "dataset_version": 1}
    asked = Experiment.objects.create(
        pk=WITH_TARGET, workspace_id="acme", dataset=dataset, dataset_digest=EMPTY, **target
    )
    answered = {**result, "pk": "8002"}
    Cell.objects.create(experiment=asked, item_id=ITEM, revision=revision, **answered)
    reviewed = Agent.objects.get(pk="reviewed")
    Gate.objects.create(
        pk=GATE,
        enabled=False,  # else its dataset is for those who may publish
        workspace_id="acme",
        agent_id=reviewed.pk,
        identity=reviewed.uuid,
        dataset=dataset,
        scorer_keys="\nwriter\n",
        primary_scorer="writer",
        rules_json='[{"rule":"notWorse"}]',
    )


def start_rollout(api: Api) -> None:
    """Make two published agents with drafts, and start a rollout of one."""
    for resource_id in ("calm", "shared"):
        AGENTS.make(api, resource_id, autoPublish=True)
        draft = AGENTS.save(api, resource_id, "two")["latestVersionId"]
    Rollout.objects.filter(pk=started(api, AGENTS, arm(draft), resource_id="shared")["id"]).update(id=ROLLOUT)


def versions_of(resource_id: str) -> dict[str, str]:
    """Return the ids of the active version and of the latest one."""
    agent = Agent.objects.get(pk=resource_id)
    return {"active": str(agent.active_version_id), "latest": str(agent.latest_version_id)}


def make_releases(api: Api) -> None:
    """Make a release that can be published, and one that is, of another prompt block."""
    PROMPT_BLOCKS.make(api, "released")
    for release_id, block_id in ((RELEASE, "writer"), (PUBLISHED, "released")):
        block = PromptBlock.objects.get(pk=block_id)
        release = Release.objects.create(pk=release_id, workspace_id="acme", title="Autumn")
        release.items.create(
            place=0,
            kind="promptBlock",
            resource_id=block.pk,
            identity=block.uuid,
            action="publish",
            version_id=block.latest_version_id,
            version_number=block.last_number,
        )
    get_editor().releases.publish(PUBLISHED)


def make_writer(api: Api, kind: Kind) -> list[str]:
    """Make a resource with all features, and return its versions, oldest first."""
    schema = {"type": "object", "properties": {"topic": {"type": "string"}}}
    rules = {"operator": "AND", "conditions": [{"field": "topic", "operator": "exists"}]}
    more: dict[str, Any] = {"rules": rules}
    if kind is AGENTS:
        reference = [{"type": "prompt_block_ref", "id": "writer"}, {"type": "text", "content": "one"}]
        tools = [{"value": {"search": {"description": "Finds."}}, "rules": rules}]
        more = {"instructions": reference, "tools": tools, "agents": {"writer": {}}, "autoPublish": False}
        more["model"] = {"provider": "echo", "name": "echo"}
    if kind is SCORERS:
        more = {"config": {"value": "{{groundTruth}}"}, "appliesIf": rules}
    else:
        more["requestContextSchema"] = schema
    record = kind.make(api, description="Writes.", metadata={"a": 1}, **more)
    kind.save(api)
    kind.save(api, text="three")
    first = record["latestVersionId"]
    assert api.put(kind.url("writer", "labels", "stable"), {"versionId": first}).status == 200
    return [version["id"] for version in reversed(kind.versions(api))]


def page_values(versions: dict[Kind, list[str]]) -> dict[str, str]:
    """Return a value for each variable in a URL of the studio, see `page_address`: that page exists."""
    return {
        "resource": "writer",
        "version": versions[AGENTS][2],
        "workspace": "acme",
        "member": "vera",
        "prefix": KEY,
        "token": "ei_nothing",
        "uidb64": "MQ",
        "provider": "corp",
        "language": "de",
        "webhook": WEBHOOK,
        "delivery": DELIVERY,
        "review": REVIEW,
        "comment": COMMENT,
        "gate": GATE,
        "release": RELEASE,
        "schedule": SCHEDULE,
        "rollout": ROLLOUT,
        "arm": "new",
        "dataset": DATASET,
        "item": ITEM,
        "experiment": EXPERIMENT,
        **dict.fromkeys(("id", "object_id"), str(User.objects.get(username="vera").pk)),
        "content_type_id": str(ContentType.objects.get_for_model(User).pk),
    }


def page_address(route: str, values: dict[str, str]) -> str:
    """Return the URL of a page: the review and the rollout are of other agents than `writer`."""
    owner = {"<str:review>": "reviewed", "<str:rollout>": "shared"}
    for variable, resource_id in owner.items():
        if variable in route and values["resource"] == "writer":
            values = values | {"resource": resource_id}
    return re.sub(
        r"<(?:\w+:)?(\w+)>",
        lambda found: quote(values[found[1]].encode("utf-8", "surrogatepass"), safe=""),
        route,
    )


BESIDES_RESOURCES = {
    "/webhooks": WEBHOOK,
    "/reviews": REVIEW,
    "/comments": COMMENT,
    "/workspaces": "acme",
    "/revert": PUBLISHED,
    "/releases": RELEASE,
    "/schedules": SCHEDULE,
    "/rollouts": ROLLOUT,
    "/datasets": DATASET,
    "/gates": GATE,
}
"""What the id in an address names, where that is neither an agent nor a prompt block."""


def kind_of(route: str) -> Kind:
    """Return the kind of resource that a route is about; routes about others say agents."""
    return next((kind for kind in (PROMPT_BLOCKS, SCORERS) if kind.path in route), AGENTS)


def existing(route: str, versions: dict[Kind, list[str]]) -> dict[str, str]:
    """Return the path parameters of a route in order, all naming existing objects."""
    kind = kind_of(route)
    resource = next((one for path, one in BESIDES_RESOURCES.items() if path in route), "writer")
    if route == "DELETE /workspaces/{}":  # only an empty one can be deleted
        resource = EMPTY_WORKSPACE
    if route == "DELETE /datasets/{}":  # no gate may use it
        resource = UNUSED_DATASET
    below = {
        "versions": ("version", "1" if "/datasets" in route else versions[kind][1]),
        "items": ("item", ITEM),
        "experiments": ("experiment", _experiment_for(route)),
        "results": ("result", RESULT),
        "run": ("run", EXPERIMENT),
        "labels": ("name", "stable"),
        "deliveries": ("delivery", DELIVERY),
        "members": ("username", "vera"),
        "people": ("username", "vera"),
        "service-accounts": ("username", "robot"),
        "keys": ("prefix", KEY),
        "invitations": ("invitation", INVITATION),
    }
    if "/scores/entity" in route:
        return {"type": "AGENT", "id": resource}
    return dict(below.get(part, ("id", resource)) for part in re.findall(r"([\w-]+)/{}", route))


def _experiment_for(route: str) -> str:
    others = {"/resume": RUN_BY_WORKERS, "/run": WITH_TARGET}
    return next((one for end, one in others.items() if route.endswith(end)), EXPERIMENT)


def honest(route: str, versions: dict[Kind, list[str]]) -> dict[str, Any]:
    """Return the query and the body of a request that succeeds."""
    kind = kind_of(route)
    first, second, _ = versions[kind]
    method, _, path = route.partition(" ")
    about_shared = {
        "resource": {"kind": "agent", "id": "shared"},
        "versionId": versions_of("shared")["active"],
    }
    body = {
        ("POST", kind.path): kind.body(id="new"),
        ("PATCH", f"{kind.path}/{{}}"): {"name": "Changed"},
        ("POST", f"{kind.path}/{{}}/export"): {},
        ("POST", f"{kind.path}/{{}}/clone"): {"newId": "copy"},
        ("POST", f"{kind.path}/{{}}/versions"): {"changeMessage": "Again"},
        ("POST", f"{kind.path}/{{}}/versions/{{}}/restore"): {"changeMessage": "Back"},
        ("PUT", f"{kind.path}/{{}}/labels/{{}}"): {"versionId": second},
        ("POST", "/stored/agents/{}/change-request"): {"instructions": "New.", "changeMessage": "Why"},
        ("POST", "/stored/agents/preview-instructions"): {
            "blocks": [{"type": "text", "content": "a"}, {"type": "prompt_block_ref", "id": "writer"}]
        },
        ("POST", "/stored/scorers/{}/try"): {"input": "Hi", "output": "Hello", "groundTruth": "Hello"},
        ("POST", "/agents/{}/generate"): {"messages": "Hello"},
        ("POST", "/agents/{}/stream"): {"messages": "Hello"},
        ("POST", "/webhooks"): {
            "workspaceId": "acme",
            "url": "http://127.0.0.1/hook",
            "eventTypes": ["agent.*"],
        },
        ("PATCH", "/webhooks/{}"): {"eventTypes": ["agent.published"], "idPrefix": None},
        ("POST", "/webhooks/{}/rotate"): {"keepPreviousHours": 24},
        ("POST", "/releases"): {"workspaceId": "acme", "title": "Autumn"},
        ("PATCH", "/releases/{}"): {"title": "Winter"},
        ("POST", "/releases/{}/publish"): {},
        ("POST", "/reviews"): {"resource": {"kind": "agent", "id": "writer"}, "reviewers": ["paula"]},
        ("POST", "/keys"): {"name": "CI", "workspaceId": "acme", "role": "viewer"},
        ("POST", "/service-accounts"): {"username": "ci", "workspaceId": "acme", "role": "viewer"},
        ("POST", "/workspaces"): {"id": "new", "name": "New"},
        ("PATCH", "/workspaces/{}"): {"name": "Acme & Sons"},
        ("PUT", "/workspaces/{}/members/{}"): {"role": "editor"},
        ("POST", "/workspaces/{}/invitations"): {"username": "ida", "role": "viewer"},
        ("PUT", "/workspaces/{}/review-policy"): {"required": 1, "bypass": "nobody"},
        ("PATCH", "/reviews/{}"): {"reviewers": ["paula", "vera"]},
        ("POST", "/reviews/{}/verdicts"): {"versionId": _version_under_review(), "verdict": "approve"},
        ("POST", "/locks"): {"resources": [{"kind": "promptBlock", "id": "writer"}]},
        ("POST", "/schedules"): {
            "resource": {"kind": "agent", "id": "writer"},
            "versionId": second,
            "runAt": "2028-12-23T08:00:00Z",
        },
        ("PATCH", "/schedules/{}"): {"runAt": "2028-12-25T08:00:00Z"},
        ("POST", "/comments"): {
            "resource": {"kind": "agent", "id": "writer"},
            "versionId": first,
            "field": "name",
            "line": 1,
            "body": "Why?",
        },
        ("PATCH", "/comments/{}"): {"body": "Why not?", "resolved": True},
        ("POST", "/rollouts"): {
            "resource": {"kind": "agent", "id": "calm"},
            "bucketBy": "userId",
            "arms": [{"name": "new", "versionId": versions_of("calm")["latest"], "weight": 500}],
        },
        ("PATCH", "/rollouts/{}"): {"arms": [{"name": "new", "weight": 1000}]},
        ("POST", "/rollouts/{}/stop"): {"reason": "Enough."},
        ("POST", "/rollouts/{}/complete"): {"arm": "new"},
        ("POST", "/usage"): {**about_shared, "runs": 1},
        ("POST", "/datasets"): {"name": "Answers", "workspaceId": "acme"},
        ("PATCH", "/datasets/{}"): {"name": "Answers"},
        ("POST", "/datasets/{}/items"): {"input": "Ho", "groundTruth": "Hello"},
        ("POST", "/datasets/{}/items/batch"): {"items": [{"input": "Ho"}]},
        ("DELETE", "/datasets/{}/items/batch"): {"itemIds": [ITEM]},
        ("PATCH", "/datasets/{}/items/{}"): {"input": "Ho"},
        ("POST", "/datasets/{}/experiments"): {"start": False, "name": "By hand"},
        ("PATCH", "/datasets/{}/experiments/{}"): {"name": "Nightly"},
        ("POST", "/datasets/{}/compare"): {"experimentIdA": EXPERIMENT, "experimentIdB": EXPERIMENT},
        ("POST", "/datasets/{}/experiments/{}/items/{}/run"): {"attempt": 0},
        ("POST", "/datasets/{}/experiments/{}/results"): {"itemId": ITEM, "output": "Hello"},
        ("PATCH", "/datasets/{}/experiments/{}/results/{}"): {"status": "reviewed"},
        ("POST", "/datasets/{}/experiments/{}/attempts"): {"attempts": 2},
        ("POST", "/datasets/{}/experiments/{}/score"): {"scorerIds": ["writer"]},
        ("POST", "/labels"): {"experimentId": EXPERIMENT, "itemId": ITEM, "name": "writer", "value": True},
        ("POST", "/scores"): {
            "score": {"scorerId": "writer", "runId": EXPERIMENT, "entityId": ITEM, "score": 1}
        },
        ("POST", "/gates"): {
            "resource": {"kind": "agent", "id": "reviewed"},
            "datasetId": DATASET,
            "scorerIds": ["writer"],
            "rules": [{"rule": "notWorse"}],
        },
        ("PATCH", "/gates/{}"): {"attempts": 3},
        ("POST", "/gates/run"): {"resource": {"kind": "agent", "id": "writer"}, "versionId": second},
        ("POST", "/feedback"): {**about_shared, "name": "helpful", "value": True},
    }.get((method, path))
    query = {}
    if path.endswith("/experiments/{}/compare"):
        query = {"baseline": EXPERIMENT}
    elif path == "/gates/check":
        query = {"kind": "agent", "id": "writer"}
    elif path.endswith("/versions/compare"):
        query = {"from": first, "to": second}
    elif method == "GET" and path.startswith(("/usage", "/feedback")):
        query = {"kind": "agent", "id": "shared"}
    return (
        {"query": query} if body is None else {"query": query, "body": body, "media_type": "application/json"}
    )


def _version_under_review() -> str:
    return Review.objects.values_list("version_id", flat=True).get(pk=REVIEW)
