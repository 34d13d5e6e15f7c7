"""The editor in memory gives the same answers to the same requests as a real one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from editor_client import AsyncClient, Client, EditConflict, NotFound, Unreachable, ValidationFailed
from editor_client.parts import evaluate
from editor_client.testing import FakeEditor

from editor_project.wsgi import application
from tests.conftest import Cast
from tests.support.clients import Clients, with_both_clients
from tests.support.served import FOR_GOLD, encoded, reference, text

ECHO = {"provider": "echo", "name": "echo"}
_VOLATILE = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z|ek_[\w-]{4,8}"
    r'|(?<="position": )\d+|(?<="next": )\d+|(?<=after=)\d+|(?<=before=)\d+|(?<="epoch": ")\w+'
)


def spellings(context: Any) -> list[str]:
    """Return the forms in which a request context in base64 arrives."""
    sent = encoded(context)
    assert {"+", "/", "="} <= set(sent)
    url = sent.replace("+", "-").replace("/", "_")
    return [sent, quote(sent, safe=""), url, url.rstrip("="), f"{sent[:8]}%0D%0A{sent[8:]}%0A"]


@dataclass
class Conversation:
    """Requests and answers, with ids, entity tags and times replaced by constants."""

    http: httpx2.Client
    key: str
    said: list[Any] = field(default_factory=list)
    _names: dict[str, str] = field(default_factory=dict)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request, note the answer, and return its JSON."""
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            own["Content-Type"] = "application/json"
        answer = self.http.request(
            method, f"/api{path}", content=content, headers={"Authorization": f"Bearer {self.key}", **own}
        )
        found = answer.text
        if answer.headers.get("Content-Type", "").startswith("text/event-stream"):
            lines = [line.removeprefix("data: ") for line in found.splitlines() if line.startswith("data: ")]
            assert lines.pop() == "[DONE]"
            found = json.dumps(_without_tokens(list(map(json.loads, lines))), sort_keys=True)
        if answer.headers.get("Content-Type", "").startswith("application/json") and found:
            found = json.dumps(_without_tokens(answer.json()), sort_keys=True, ensure_ascii=False)
        self.said.append((method, self._masked(path), answer.status_code, self._masked(found)))
        return answer.json() if found.startswith("{") else {"etag": answer.headers.get("ETag")}

    def etag(self, path: str) -> str:
        """Return the entity tag of an answer."""
        answer = self.http.get(f"/api{path}", headers={"Authorization": f"Bearer {self.key}"})
        return answer.headers["ETag"]

    def _masked(self, text: str) -> str:
        return _VOLATILE.sub(self._name, text)

    def _name(self, match: re.Match[str]) -> str:
        if match[0].startswith("ek_"):  # before the times: a key may end in a Z as well
            return "<key>"
        if match[0].endswith("Z"):
            return "<time>"
        return self._names.setdefault(match[0], f"<{len(self._names)}>")


def _without_tokens(value: Any) -> Any:
    """Omit the token counts of models."""
    if isinstance(value, dict):
        return {name: _without_tokens(member) for name, member in value.items() if name != "usage"}
    return [_without_tokens(item) for item in value] if isinstance(value, list) else value


Scenario = Callable[[Conversation], object]


def lifecycle(say: Conversation) -> None:
    for kind, text_field, more in (
        ("agents", "instructions", {"model": ECHO, "visibility": "public"}),
        ("prompt-blocks", "content", {"description": "How."}),
    ):
        path = f"/stored/{kind}"
        made = say("POST", path, {"name": "One Two", text_field: "one", "metadata": {"a": 1}, **more})
        here = f"{path}/one-two"
        say("POST", path, {"name": "One Two", text_field: "one"})
        say("GET", here)
        edit = {text_field: "two", "description": "x", "metadata": {"a": None, "b": {"c": 1}}}
        draft = say("PATCH", here, {**edit, "changeMessage": " Why "})
        say("PATCH", here, edit)
        say("GET", f"{here}?status=draft")
        say("GET", f"{here}?versionId={made['latestVersionId']}")
        say("GET", f"{here}/versions")
        say("GET", f"{here}/versions/{draft['latestVersionId']}")
        say("POST", f"{here}/versions/{draft['latestVersionId']}/activate")
        say("POST", f"{here}/versions/{draft['latestVersionId']}/activate")
        say("PUT", f"{here}/labels/tested", {"versionId": made["latestVersionId"]})
        say("PUT", f"{here}/labels/tested", {"versionId": made["latestVersionId"], "released": True})
        say("GET", f"{here}/labels")
        say("GET", f"{here}?label=tested")
        say("GET", f"{here}?label=latest")
        say("GET", f"{here}?label=gone")
        say("DELETE", f"{here}/labels/tested")
        say("DELETE", f"{here}/labels/tested")
        say("PATCH", here, {"description": None, "autoPublish": True})
        say("GET", f"{here}/versions?perPage=2&page=1")
        say("GET", path)
        say("POST", f"{here}/unpublish")
        say("GET", path)
        say("GET", f"{path}?status=draft")
        say("GET", here)
        say("DELETE", here)
        say("GET", here)
        say("GET", "/events")


def conflicts_and_errors(say: Conversation) -> None:
    say("POST", "/stored/agents", {"id": "writer", "name": "Writer", "instructions": "one"})
    here = "/stored/agents/writer"
    for paging in ("perPage=1001", "perPage=-1", "page=x"):
        say("GET", f"/stored/agents?{paging}")
    base = say.etag(here)
    say("PATCH", here, {"instructions": "two"}, If_Match=base)
    for method, path, body in (
        ("PATCH", here, {"instructions": "three"}),
        ("DELETE", here, None),
        ("POST", f"{here}/unpublish", None),
    ):
        say(method, path, body, If_Match=base)
    unchanged = say("GET", here, If_None_Match=say.etag(here))
    assert unchanged["etag"] == say.etag(here)
    for body in (
        {"id": "x"},
        {"id": "x", "name": " ", "instructions": "one"},
        {"id": "versions", "name": "x", "instructions": "one"},
        {"name": "!", "instructions": "one"},
        {"id": "x", "name": "x", "instructions": "one", "status": "published", "nonsense": 1},
        {"id": "x", "name": "x", "instructions": "one", "workspaceId": "elsewhere"},
        {"id": "x", "name": "x", "instructions": [reference("gone")]},
        {"id": "x", "name": "x", "instructions": "one", "changeMessage": "x" * 501},
        [],
    ):
        say("POST", "/stored/agents", body)
    say("PATCH", here, {"name": None})
    say("PATCH", here, {"id": "other"})
    for query in ("status=draft&label=x", "status=live"):
        say("GET", f"{here}?{query}")
    say("GET", f"{here}/versions/00000000-0000-4000-8000-000000000000")
    say("PUT", f"{here}/labels/Latest", {"versionId": "x"})
    say("PUT", f"{here}/labels/latest", {"versionId": "x"})
    say("PUT", f"{here}/labels/good", {})
    say("DELETE", f"{here}/labels/latest")
    say("GET", "/stored/agents/gone")
    say("GET", "/agents/gone")


def serving(say: Conversation) -> None:
    block = say(
        "POST", "/stored/prompt-blocks", {"id": "team/tone", "name": "T", "content": "Be {{ m || 'kind' }}."}
    )
    say("POST", "/stored/prompt-blocks", {"id": "draft", "name": "T", "content": "x"})
    instructions = [
        text("Hi {{ name }}."),
        reference("team/tone"),
        {"type": "prompt_block", "content": "gold", "rules": FOR_GOLD},
        reference("draft"),
        reference("gone"),
    ]
    agent = {
        "id": "host",
        "name": "Host",
        "instructions": instructions,
        "model": [{"value": ECHO}, {"value": {"temperature": 1.0, **ECHO}, "rules": FOR_GOLD}],
        "defaultOptions": {"maxSteps": 1},
        "requestContextSchema": {"required": ["name"]},
    }
    say("POST", "/stored/agents", agent)
    made = say("POST", "/stored/agents", {**agent, "autoPublish": False})
    gold = f"requestContext={encoded({'name': 'Ann', 'tier': 'gold'})}"
    for query in (
        "",
        gold,
        "status=draft",
        f"status=draft&{gold}",
        "form=parts",
        "requestContext=x",
    ):
        say("GET", f"/agents/host?{query}")
    say("POST", f"/stored/prompt-blocks/team%2Ftone/versions/{block['latestVersionId']}/activate")
    say("PATCH", "/stored/prompt-blocks/team%2Ftone", {"content": "Draft."})
    say("PATCH", "/stored/agents/host", {"instructions": instructions[:3], "autoPublish": True})
    for query in (
        "",
        gold,
        "status=draft",
        "form=parts",
        "form=parts&status=draft",
        f"versionId={made['latestVersionId']}",
        "label=none",
    ):
        say("GET", f"/agents/host?{query}")
    # Base64 with its `+` sent bare, as base64url, without padding and in lines; and what is none.
    for sent in (*spellings({"tier": "gold", "name": "~~>?~~>?~"}), "a*b=", "e30", "W10"):
        say("GET", f"/agents/host?requestContext={sent}")
    say("GET", "/agents")
    say("GET", f"/agents?{gold}")
    context = {"name": "Ann"}
    for body in (
        {"messages": "hello", "requestContext": context},
        {
            "messages": [{"role": "user", "content": "hello"}],
            "requestContext": context,
            "instructions": "Else.",
        },
        {"messages": "hello", "requestContext": context, "versions": {"self": {"status": "draft"}}},
        {"messages": "hello"},
        {"messages": "hello", "nonsense": 1},
        {},
    ):
        say("POST", "/agents/host/generate", body)
    say(
        "POST", f"/agents/host/generate?status=draft&requestContext={encoded(context)}", {"messages": "hello"}
    )
    say("POST", "/agents/host/stream", {"messages": "hello you", "requestContext": context})
    say("POST", "/agents/gone/generate", {"messages": "hello"})
    say("POST", "/stored/agents", {"id": "mute", "name": "M", "instructions": "x"})
    say("POST", "/agents/mute/generate", {"messages": "hello"})


def following(say: Conversation) -> None:
    say("GET", "/events?after=now")
    say("POST", "/stored/agents", {"id": "a", "name": "A", "instructions": "x"})
    begun = say("GET", "/events")["next"]
    for number in range(3):
        say("PATCH", "/stored/agents/a", {"instructions": f"{number}", "autoPublish": number > 0})
    for query in (
        f"after={begun}",
        f"after={begun}&limit=1",
        "limit=2",
        "type=agent.published",
        "type=agent.*,promptBlock.created",
        "kind=promptBlock",
        "kind=agent&id=a&limit=1000",
        "id=b",
        "actor=alice&limit=1",
        "actor=bob",
    ):
        say("GET", f"/events?{query}")


def rolling_out(say: Conversation) -> None:
    tone = say(
        "POST",
        "/stored/prompt-blocks",
        {"id": "tone", "name": "T", "content": "Be kind.", "autoPublish": True},
    )
    brief = say("PATCH", "/stored/prompt-blocks/tone", {"content": "Be brief."})["latestVersionId"]
    shown = [text("Hi {{ name }}."), reference("tone")]
    made = say("POST", "/stored/agents", {"id": "a", "name": "A", "instructions": shown, "model": ECHO})
    here = "/stored/agents/a"
    draft = say("PATCH", here, {"instructions": "two", "requestContextSchema": {"required": ["name"]}})
    new = {"name": "new", "versionId": draft["latestVersionId"], "weight": 10_000}
    agent, block = ({"kind": kind, "id": one} for kind, one in (("agent", "a"), ("promptBlock", "tone")))
    for body in (
        {"resource": agent, "bucketBy": "user id", "arms": [new]},
        {"resource": agent, "bucketBy": "user", "arms": []},
        {"resource": agent, "bucketBy": "user", "arms": [{**new, "versionId": tone["latestVersionId"]}]},
        {"resource": agent, "bucketBy": "user", "arms": [new, {**new, "weight": 1}]},
        {"resource": {**agent, "id": "none"}, "bucketBy": "user", "arms": [new]},
        {"resource": agent, "bucketBy": "user"},
    ):
        say("POST", "/rollouts", body)
    started = say("POST", "/rollouts", {"resource": agent, "bucketBy": "user", "arms": [new]})
    arms = [{"name": "brief", "versionId": brief, "weight": 10_000}]
    say("POST", "/rollouts", {"resource": block, "bucketBy": "user", "arms": arms})
    say("POST", "/rollouts", {"resource": agent, "bucketBy": "user", "arms": [new]})
    ada, nobody = f"requestContext={encoded({'user': 'ada'})}", f"requestContext={encoded({'name': 'Ann'})}"
    for query in (
        "",
        ada,
        nobody,
        "form=parts",
        "status=draft",
        f"versionId={made['latestVersionId']}&{ada}",
    ):
        say("GET", f"/agents/a?{query}")
    say("GET", f"/agents?{ada}")
    context = {"user": "ada", "name": "Ann"}
    say("POST", "/agents/a/generate", {"messages": "hello", "requestContext": context})
    say("POST", "/agents/a/stream", {"messages": "hello", "requestContext": {"name": "Ann"}})
    for method, path, body in (
        ("POST", f"{here}/versions/{draft['latestVersionId']}/activate", {}),
        ("PATCH", here, {"instructions": "three", "autoPublish": True}),
        ("POST", f"{here}/unpublish", {}),
        ("DELETE", here, None),
    ):
        say(method, path, body)
    rollout = f"/rollouts/{started['id']}"
    for weights in (
        [{"name": "new", "weight": 500}],
        [{"name": "old", "weight": 500}],
        [{"name": "new", "weight": -1}],
    ):
        say("PATCH", rollout, {"arms": weights})
    say("POST", f"{rollout}/complete", {"arm": "old"})
    say("POST", f"{rollout}/complete", {"arm": "new"})
    say("POST", f"{rollout}/stop", {})
    for query in ("", "kind=agent", "kind=agent&id=a", "state=running"):
        say("GET", f"/rollouts?{query}")
    say("GET", rollout)
    say("POST", f"/stored/prompt-blocks/tone/versions/{brief}/activate", {"endRollout": True})
    say("GET", f"/agents/a?{nobody}")
    say("POST", "/rollouts", {"resource": agent, "bucketBy": "user", "arms": [{**new, "weight": 0}]})
    say("PATCH", here, {"instructions": "three", "autoPublish": True, "endRollout": True})
    say("GET", "/events")


SCENARIOS: list[Scenario] = [
    lifecycle,
    conflicts_and_errors,
    serving,
    following,
    rolling_out,
]


@pytest.fixture
def real(cast: Cast) -> Iterator[Conversation]:
    """A real service, used by the admin of a workspace."""
    with httpx2.Client(transport=httpx2.WSGITransport(app=application), base_url="http://testserver") as http:
        yield Conversation(http, cast.alice.key)


@pytest.fixture
def fake() -> Iterator[Conversation]:
    """An editor in memory, with the same person in the same workspace."""
    transport = FakeEditor(workspace="acme", username="alice")
    with httpx2.Client(transport=transport, base_url="http://editor") as http:
        yield Conversation(http, "ek_test")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_the_same_requests_have_the_same_answers(
    scenario: Scenario, real: Conversation, fake: Conversation
) -> None:
    scenario(real)
    scenario(fake)
    for expected, found in zip(real.said, fake.said, strict=True):
        assert found == expected


def test_unsupported_requests_are_named(fake: Conversation) -> None:
    fake("POST", "/stored/agents", {"id": "a", "name": "A", "instructions": "x"})
    schema = {"properties": {"a": {"pattern": "x"}}}
    checked = {"id": "b", "name": "B", "instructions": "x", "requestContextSchema": schema}
    fake("POST", "/stored/agents", checked)
    fake("POST", "/stored/agents", {"id": "c", "name": "C", "instructions": [1], "autoPublish": False})
    for method, path, code, word in (
        ("POST", "/webhooks", "not_in_fake_editor", "webhooks"),
        ("GET", "/events/stream", "not_in_fake_editor", "stream"),
        ("GET", "/stored/agents?metadata=x", "not_in_fake_editor", "'metadata'"),
        ("DELETE", "/stored/agents/a?ifUnused=true", "not_in_fake_editor", "dependents"),
        ("GET", "/events?limit=0", "not_in_fake_editor", "content of a field"),
        ("GET", "/agents/b", None, ""),
        ("GET", "/agents/c", None, "content of a field"),
    ):
        answer = fake(method, path)
        assert fake.said[-1][2] == 501 and word in answer["error"]
        assert code in {answer["code"], None}
    with httpx2.Client(transport=FakeEditor(), base_url="http://editor") as http:
        assert http.get("/api/agents").status_code == 401  # it takes any key but none
        assert http.get("/api/agents", headers={"Authorization": "Bearer x"}).status_code == 200


def test_an_application_answers_runs_itself_and_sub_agents_need_that() -> None:
    def generate(agent: Mapping[str, Any], run: Mapping[str, Any]) -> str:
        return f"{agent['id']} hears {run['messages']}"

    for given, status, answered in ((generate, 200, "lead hears hello"), (None, 501, "sub-agents")):
        with httpx2.Client(transport=FakeEditor(generate=given), base_url="http://editor") as http:
            say = Conversation(http, "ek_test")
            agent = {"id": "lead", "name": "Lead", "instructions": "x", "model": ECHO, "agents": {"a": {}}}
            say("POST", "/stored/agents", agent)
            say("POST", "/agents/lead/generate", {"messages": "hello"})
            assert say.said[-1][2] == status
            assert answered in say.said[-1][3]


TRANSPORTS = {Client: httpx2.Client, AsyncClient: httpx2.AsyncClient}


def connected(connect: Clients, editor: FakeEditor, **settings: Any) -> Any:
    """Return a client of an editor in memory."""
    http_client: Any = TRANSPORTS[connect.kind]
    return connect("http://editor", "ek_test", http_client=http_client(transport=editor), **settings)


@with_both_clients
def test_the_methods_of_a_client_fill_it(connect: Clients) -> None:
    client = connected(connect, FakeEditor())
    client.create_stored_prompt_block(id="tone", name="T", content="Be {{ m || 'kind' }}.", auto_publish=True)
    client.create_stored_agent(id="writer", name="W", instructions=[reference("tone")], model=ECHO)
    writer, stored = client.get_agent("writer"), client.get_stored_agent("writer")
    assert writer.details(request_context={"m": "brisk"}).instructions == "Be brisk."
    assert evaluate(writer.parts(), {"m": "brisk"})["instructions"] == "Be brisk."
    base = stored.details()
    draft = stored.update(instructions="two", base=base)
    assert writer.details().instructions == "Be kind."
    with pytest.raises(EditConflict):
        stored.update(instructions="three", base=base)
    stored.set_label("next", draft.latest_version_id)
    assert client.get_agent("writer", label="next").details().instructions == "two"
    stored.activate_version(draft.latest_version_id)
    assert writer.generate("hello").text == "two\n\nhello"
    assert "".join(event.text for event in writer.stream("hello")) == "two\n\nhello"
    with pytest.raises(ValidationFailed):
        client.create_stored_agent(id="x", name="X", instructions=[reference("gone")])
    with pytest.raises(NotFound):
        client.get_agent("x").details()


@pytest.mark.parametrize("updates", ["poll", "stream"])
def test_a_client_that_follows_the_fake_editor_sees_changes(
    connect: Clients, updates: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("editor_client.reads.feed.POLL_SECONDS", 0.1)
    editor = FakeEditor()
    client, other = connected(connect, editor, updates=updates), connected(connect, editor)
    other.create_stored_agent(id="writer", name="W", instructions="one")
    writer = client.get_agent("writer")
    assert writer.details().instructions == "one"
    other.get_stored_agent("writer").update(instructions="two", auto_publish=True)
    deadline = time.monotonic() + 30
    while writer.details().instructions == "one":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    heard = client.events(after=None)
    types = [next(heard).type for _ in range(4)]
    heard.close()
    assert types == ["agent.created", "agent.published", "agent.versionCreated", "agent.published"]


def test_an_application_can_be_tested_in_an_outage_and_with_a_new_key(tmp_path: Path) -> None:
    editor = FakeEditor()

    def client(key: str, editor: FakeEditor = editor) -> Client:
        http = httpx2.Client(transport=editor)
        return Client("http://editor", api_key=key, retries=0, cache_dir=tmp_path, http_client=http)

    client("ek_old").create_stored_agent(
        id="writer", name="Writer", instructions=[{"type": "prompt_block", "content": "Hi {{ name }}."}]
    )
    assert client("ek_old").get_agent("writer").details().instructions == "Hi {{ name }}."
    assert client("ek_new").list_stored_agents().total == 1
    editor.is_down = True
    for key in ("ek_old", "ek_new"):
        found = client(key).get_agent("writer").details(request_context={"name": key})
        assert (found.instructions, found.stale) == (f"Hi {key}.", True)
    assert client("ek_new", FakeEditor()).list_stored_agents().total == 0
    for key in ("ek_new", "ek_never_answered"):  # the latest answer to the new key was another editor's
        with pytest.raises(Unreachable):
            client(key).get_agent("writer").details()


@with_both_clients
def test_usage_and_feedback_are_attributed_to_the_arm(connect: Clients) -> None:
    client = connected(connect, FakeEditor(), report_usage=True)
    client.create_stored_prompt_block(id="tone", name="T", content="Be kind.", auto_publish=True)
    client.create_stored_agent(id="writer", name="W", instructions=[reference("tone")], model=ECHO)
    draft = client.get_stored_agent("writer").update(instructions="two").latest_version_id
    arms = [{"name": "new", "version_id": draft, "weight": 10_000}]
    client.create_rollout("agent", "writer", bucket_by="user", arms=arms)
    ran = client.get_agent("writer").generate("hello", request_context={"user": "ada"})
    client.send_usage("agent", "writer", draft, arm="new", runs=2, input_tokens=5)
    [used] = client.summarize_usage("agent", "writer").usage
    assert (used.version_id, used.arm, used.runs, used.input_tokens) == (draft, "new", 3, 5)
    for value in (5, 4):
        client.send_feedback("stars", value, run_id=ran.run_id)
    said = {"run_id": ran.run_id, "external_id": "1"}
    assert len({client.send_feedback("kind", value=True, **said).id for _ in range(2)}) == 1
    kind, stars = client.summarize_feedback("agent", "writer").summary
    assert (stars.version_id, stars.arm, stars.count, stars.mean) == (draft, "new", 2, 4.5)
    assert (kind.name, kind.counts) == ("kind", {"true": 1})
    assert [one.value for one in client.iter_feedback(kind="agent", id="writer", name="stars")] == [4, 5]


def test_feedback_on_a_run_is_not_about_a_later_namesake(connect: Clients) -> None:
    client = connected(connect, FakeEditor())
    fields = {"id": "writer", "name": "W", "instructions": "one", "model": ECHO}
    client.create_stored_agent(**fields)
    ran = client.get_agent("writer").generate("hello")
    client.create_stored_prompt_block(id="tone", name="T", content="Be kind.", auto_publish=True)
    with pytest.raises(ValidationFailed):
        client.send_feedback("stars", 5, run_id=ran.run_id, kind="promptBlock", resource_id="tone")
    client.get_stored_agent("writer").delete()
    with pytest.raises(NotFound):
        client.send_feedback("stars", 5, run_id=ran.run_id)
    client.create_stored_agent(**fields)
    with pytest.raises(NotFound):
        client.send_feedback("stars", 5, run_id=ran.run_id)
