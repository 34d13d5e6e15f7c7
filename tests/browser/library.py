"""Content for the tests of all pages, and for the screenshots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS
from tests.support.remote import RemoteApi

SCRIPT = "<script>document.title = 'taken over'</script>"
TONE = "Write plainly and warmly.\nShort sentences, no exclamation marks.\n" + SCRIPT
REFUNDS = "Refunds: within 30 days of delivery, no questions asked.\nLater than that, offer a voucher."
FOR_BILLING = {
    "operator": "AND",
    "conditions": [{"field": "topic", "operator": "equals", "value": "billing"}],
}
CONTEXT = {
    "type": "object",
    "properties": {
        "topic": {"type": "string", "enum": ["billing", "delivery"]},
        "customer": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}
ECHO = {"provider": "echo", "name": "echo"}


@dataclass(frozen=True)
class Library:
    """The ids of the created content."""

    agent: str
    block: str
    first: str
    """The id of the agent's first version."""
    live: str
    draft: str
    webhook: str = ""
    """The id of a webhook of acme."""
    key: str = ""
    """How an API key of acme begins."""
    comment: str = ""
    """The id of a comment on the draft of the agent."""
    review: str = ""
    """The id of a review of the agent."""
    release: str = ""
    """The id of a release of the agent and a block."""
    schedule: str = ""
    """The id of a schedule of the agent."""
    rollout: str = ""
    """The id of a rollout of the block `tone`."""
    dataset: str = ""
    """The id of a dataset of acme."""
    item: str = ""
    """The id of one of its items."""
    experiment: str = ""
    """The id of an experiment over it, which has a baseline."""
    gate: str = ""
    """The id of a gate of the agent, which is off."""

    @property
    def main_pages(self) -> dict[str, str]:
        """The URL of every main page below `/studio/`, by its name."""
        agent, block = f"versioning/agent/{self.agent}", f"versioning/promptblock/{quoted(self.block)}"
        acme = "versioning/workspace/acme"
        return {
            "home": "",
            "search": "search/?q=refund",
            "notifications": "notifications/",
            "waiting": "waiting/",
            "agents": "versioning/agent/",
            "blocks": "versioning/promptblock/?folder=policies/",
            "saved-filters": "versioning/agent/filters/",
            "new-agent": "versioning/agent/add/",
            "scorers": "evaluation/scorer/",
            "new-scorer": "evaluation/scorer/add/",
            "edit-scorer": "evaluation/scorer/polite/change/",
            "history-of-scorer": "evaluation/scorer/polite/history/",
            "duplicate": f"{agent}/duplicate/",
            "edit-agent": f"{agent}/change/",
            "edit-block": f"{block}/change/",
            "edit-override": "versioning/agent/support/change/",
            "history": f"{agent}/history/",
            "version": f"{agent}/versions/{self.first}/",
            "compare": f"{agent}/compare/?from={self.first}&to={self.draft}",
            "comment": f"{agent}/comments/{self.comment}/",
            "publish": f"{agent}/publish/",
            "preview": f"{agent}/preview/",
            "try": f"{agent}/try/",
            "try-block": "versioning/promptblock/tone/try/",
            "try-several": f"{agent}/try/?mode=several",
            "usage": f"{block}/usage/",
            "visibility": f"{agent}/visibility/",
            "unpublish": f"{block}/unpublish/",
            "discard": f"{agent}/discard/",
            "delete": f"{agent}/delete/",
            "delete-version": f"{agent}/versions/{self.first}/delete/",
            "access": "access/",
            "access-of-person": "access/?person=edgar",
            "workspaces": "versioning/workspace/",
            "new-workspace": "versioning/workspace/add/",
            "members": f"{acme}/members/",
            "remove-member": f"{acme}/members/edgar/remove/",
            "keys": f"{acme}/keys/",
            "service-accounts": f"{acme}/service-accounts/",
            "delete-service-account": f"{acme}/service-accounts/deploy-bot/delete/",
            "every-key": "versioning/workspace/keys/",
            "revoke-key": f"{acme}/keys/{self.key}/revoke/",
            "activity": f"{agent}/activity/",
            "activity-of-workspace": f"{acme}/activity/",
            "activity-in-all": "activity/",
            "webhooks": f"{acme}/webhooks/",
            "new-webhook": f"{acme}/webhooks/add/",
            "webhook": f"{acme}/webhooks/{self.webhook}/",
            "change-webhook": f"{acme}/webhooks/{self.webhook}/change/",
            "rotate-secret": f"{acme}/webhooks/{self.webhook}/rotate/",
            "delete-webhook": f"{acme}/webhooks/{self.webhook}/delete/",
            "reviews": f"{acme}/reviews/",
            "reviews-of-all": "reviews/?show=all",
            "review-policy": f"{acme}/review-policy/",
            "ask-for-review": "versioning/promptblock/tone/reviews/ask/",
            "review": f"{agent}/reviews/{self.review}/",
            "releases": f"{acme}/releases/",
            "releases-of-all": "releases/",
            "new-release": f"{acme}/releases/add/",
            "release": f"{acme}/releases/{self.release}/",
            "add-to-release": f"releases/add/?chosen=agent%3A{self.agent}%3A{self.draft}",
            "calendar": f"{acme}/calendar/",
            "calendar-of-all": "calendar/",
            "calendar-as-list": f"{acme}/calendar/?view=list",
            "schedule": f"{agent}/schedule/?version={self.draft}",
            "change-schedule": f"{acme}/schedules/{self.schedule}/",
            "schedule-release": f"{acme}/releases/{self.release}/schedule/",
            "share": f"{agent}/share/?version={self.draft}",
            "runs": f"{agent}/runs/",
            "nothing-on-a-share": f"{agent}/rollouts/",
            "rollout": f"versioning/promptblock/tone/rollouts/{self.rollout}/",
            "make-live": f"versioning/promptblock/tone/rollouts/{self.rollout}/complete/new/",
            "try-scorer": f"evaluation/scorer/polite/try-scorer/?dataset={self.dataset}",
            "datasets": f"{acme}/datasets/",
            "datasets-of-all": "datasets/",
            "add-item": "datasets/add-item/",
            "new-dataset": f"{acme}/datasets/add/",
            "dataset": f"{acme}/datasets/{self.dataset}/",
            "settings-of-dataset": f"{acme}/datasets/{self.dataset}/settings/",
            "delete-dataset": f"{acme}/datasets/{self.dataset}/delete/",
            "versions-of-dataset": f"{acme}/datasets/{self.dataset}/versions/",
            "import-into-dataset": f"{acme}/datasets/{self.dataset}/import/",
            "item": f"{acme}/datasets/{self.dataset}/items/{self.item}/",
            "purge-item": f"{acme}/datasets/{self.dataset}/items/{self.item}/purge/",
            "scorers-of-dataset": f"{acme}/datasets/{self.dataset}/scorers/",
            "judge-blind": f"{acme}/datasets/{self.dataset}/experiments/{self.experiment}/blind/",
            "results": f"{acme}/datasets/{self.dataset}/experiments/{self.experiment}/?show=results",
            "experiments": f"{acme}/datasets/{self.dataset}/experiments/",
            "start-experiment": f"{acme}/datasets/{self.dataset}/experiments/add/",
            "experiments-of-all": "experiments/",
            "dataset-of-experiment": "experiments/add/",
            "evaluate": f"{agent}/evaluate/?version={self.draft}",
            "experiment": f"{acme}/datasets/{self.dataset}/experiments/{self.experiment}/",
            "gates": f"{acme}/gates/",
            "new-gate": f"{acme}/gates/add/",
            "gate": f"{acme}/gates/{self.gate}/",
            "delete-gate": f"{acme}/gates/{self.gate}/delete/",
            "account": "account/",
            "confirm": "account/confirm/",
            "sessions": "account/sessions/",
            "second-factor": "account/second-factor/",
            "links": "account/links/",
            "mail": "account/mail/",
            "name": "name/",
            "preferences": "preferences/",
            "password": "password_change/",
            "password-changed": "password_change/done/",
            "invitation-used": "versioning/workspace/welcome/",
            "nothing-here": "versioning/agent/nothing/change/",
        }


def quoted(resource_id: str) -> str:
    """Return an id as the admin encodes it in URLs."""
    return resource_id.replace("/", "_2F")


def make_library(api_of: Callable[[str], RemoteApi]) -> Library:
    """Let the cast create the content, as people would."""
    alice, paula, edgar = (api_of(name) for name in ("alice", "paula", "edgar"))
    _make(PROMPT_BLOCKS, paula, "policies/refunds", name="Refund policy", content=REFUNDS, autoPublish=True)
    _make(PROMPT_BLOCKS, paula, "tone", name="Tone of voice", content=TONE, autoPublish=True)
    _edit(PROMPT_BLOCKS, edgar, "tone", "Greet people by name", content=TONE + "\nGreet people by name.")
    _make(AGENTS, alice, "triage", name="Triage", instructions="You sort messages.", visibility="public")
    _make(SCORERS, paula, "polite", name="Polite", type="equals", autoPublish=True)
    instructions: list[dict[str, Any]] = [
        {"type": "text", "content": "You answer the customers of {{ shop.name || 'our shop' }}."},
        {"type": "prompt_block_ref", "id": "tone"},
        {"type": "prompt_block", "content": "Mention the invoice number.", "rules": FOR_BILLING},
        {"type": "prompt_block_ref", "id": "policies/refunds"},
    ]
    first = _make(
        AGENTS,
        paula,
        "front-desk",
        name="Front desk",
        instructions=instructions,
        model=ECHO,
        agents={"triage": {"description": "Sorts what comes in."}},
        requestContextSchema=CONTEXT,
        autoPublish=True,
    )
    more = [*instructions, {"type": "text", "content": "Say who will answer.\n" + SCRIPT}]
    live = _edit(AGENTS, paula, "front-desk", "Say who will answer", instructions=more, autoPublish=True)
    draft = _edit(
        AGENTS,
        edgar,
        "front-desk",
        "Be shorter",
        description="Answers customers, or lets someone answer who knows.",
        instructions=[*more[:-1], {"type": "text", "content": "Say who will answer, in a sentence."}],
    )
    stable = alice.put(AGENTS.url("front-desk", "labels", "stable"), {"versionId": live["activeVersionId"]})
    assert stable.status == 200, stable.body
    about = {"resource": {"kind": "agent", "id": "front-desk"}, "versionId": draft["latestVersionId"]}
    last = {"field": f"instructions.{len(instructions)}.content", "line": 1}
    comment = _comment(paula, {**about, **last, "body": "Is a sentence enough?\n" + SCRIPT})
    _comment(edgar, {**about, "body": "It was for the customers that I asked.", "parent": comment})
    _comment(edgar, {**about, "versionId": live["latestVersionId"], **last, "body": "Who will?"})
    done = _comment(edgar, {**about, "body": "Done."})
    assert paula.patch(f"/comments/{done}", {"resolved": True}).status == 200
    robot = {"username": "deploy-bot", "workspaceId": "acme", "role": "editor"}
    assert alice.post("/service-accounts", robot).status == 201
    dataset = edgar.post("/datasets", {"name": "Questions", "workspaceId": "acme", "description": SCRIPT})
    assert dataset.status == 201, dataset.body
    questions = [
        {"input": "Where is it?", "groundTruth": "Ask for the number.", "metadata": {"tags": ["must"]}},
        {"input": {"question": SCRIPT}, "externalId": "faq-" + "1" * 60, "requestContext": {"tier": "gold"}},
    ]
    items = edgar.post(f"/datasets/{dataset.body['id']}/items/batch", {"items": questions})
    assert items.status == 201, items.body
    over = f"/datasets/{dataset.body['id']}/experiments"
    ids = [item["id"] for item in items.body["items"]]
    before = _experiment(edgar, over, ids, "Ask for it.", name="Before")
    experiment = _experiment(edgar, over, ids, "Ask for the number.\n" + SCRIPT, name="Now", baseline=before)
    asked = {"scorerIds": ["polite"], "rules": [{"rule": "passRate", "min": 0.9}], "enabled": False}
    gate = paula.post("/gates", {"resource": about["resource"], "datasetId": dataset.body["id"], **asked})
    assert gate.status == 201, gate.body
    return Library(
        agent="front-desk",
        block="policies/refunds",
        first=first["latestVersionId"],
        live=live["latestVersionId"],
        draft=draft["latestVersionId"],
        comment=comment,
        dataset=dataset.body["id"],
        item=items.body["items"][1]["id"],
        experiment=experiment,
        gate=gate.body["id"],
    )


def _experiment(api: RemoteApi, path: str, items: list[str], output: str, **members: str) -> str:
    """Send the results of an experiment, and return its id."""
    made = api.post(path, {"start": False, **members})
    assert made.status == 201, made.body
    own = f"{path}/{made.body['id']}"
    for item in items:
        assert api.post(f"{own}/results", {"itemId": item, "output": output}).status == 201
    assert api.post(f"{own}/finalize", {}).status == 200
    return str(made.body["id"])


def add_something_awkward(edgar: RemoteApi) -> None:
    """Add resources with names and ids that are too long for a line."""
    long = "a-very-long-identifier-without-any-place-to-break-it/" * 3 + "end"
    _make(AGENTS, edgar, long, name="Anunusuallylongnamethatnobodywouldchoose" * 3, instructions="Short.")


def _make(kind: Any, api: RemoteApi, resource_id: str, **fields: Any) -> dict[str, Any]:
    answer = api.post(kind.path, {"id": resource_id, "workspaceId": "acme", **fields})
    assert answer.status == 201, answer.body
    return dict(answer.body)


def _comment(api: RemoteApi, body: dict[str, Any]) -> str:
    answer = api.post("/comments", body)
    assert answer.status == 201, answer.body
    return str(answer.body["id"])


def _edit(kind: Any, api: RemoteApi, resource_id: str, message: str, **fields: Any) -> dict[str, Any]:
    answer = api.patch(kind.url(resource_id), {"changeMessage": message, **fields})
    assert answer.status == 200, answer.body
    return dict(answer.body)
