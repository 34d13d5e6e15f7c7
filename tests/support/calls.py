"""Every call below one resource, as data: a description, a line of HTTP, and the right that it needs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from django.db import transaction

from tests.support.api import AGENTS, Answer, Api, Kind

READ: Final = "read what is published"
DRAFTS: Final = "read drafts and history"
SAVE: Final = "save drafts"
PUBLISH: Final = "publish"


@dataclass(frozen=True)
class History:
    """A resource with a version of each sort, each with its own text."""

    id: str
    labelled: str
    """Historical, with the label `first`."""
    historical: str
    published: str
    """Published, with the label `stable`."""
    draft: str
    opposite: str
    """The visibility that an agent does not have."""


SECRETS: Final = ("labelled words", "historical words", "draft words")
"""What only readers of drafts and history may see."""
PUBLISHED_WORDS: Final = "published words"


def make_history(kind: Kind, api: Api, resource_id: str = "writer", **more: Any) -> History:
    """Make a resource with four versions: two historical ones, the published one and a draft."""
    model = {"model": ECHO} if kind is AGENTS else {}
    labelled = kind.make(api, resource_id, "labelled words", **model, **more)["resolvedVersionId"]
    historical = kind.save(api, resource_id, "historical words")["resolvedVersionId"]
    published = kind.save(api, resource_id, PUBLISHED_WORDS, autoPublish=True)["resolvedVersionId"]
    draft = kind.save(api, resource_id, "draft words")["resolvedVersionId"]
    for label, version_id in (("first", labelled), ("stable", published)):
        answer = api.put(kind.url(resource_id, "labels", label), {"versionId": version_id})
        assert answer.status == 200, answer.body
    return History(
        id=resource_id,
        labelled=labelled,
        historical=historical,
        published=published,
        draft=draft,
        opposite="private" if more.get("visibility") == "public" else "public",
    )


def events(api: Api, method: str, path: str, body: Any) -> Answer:
    """Send a request that is answered with a stream; the body is the text and all events, as one string."""
    method, target, data, headers = api.prepare(method, path, body)
    response = api.client.generic(method, target, data, headers.pop("content-type"), headers=headers)
    if not response.streaming:
        return Answer(response.status_code, response.json(), response.headers)
    lines = b"".join(response.streaming_content).decode()
    found = [json.loads(line) for line in re.findall(r"^data: (\{.*\})$", lines, re.MULTILINE)]
    text = "".join(event["payload"].get("text", "") for event in found)
    return Answer(response.status_code, f"{text}\n{lines}", response.headers)


@dataclass(frozen=True)
class Call:
    """One call on a resource; `{names}` in the line and in the body are filled in."""

    words: str
    line: str
    right: str
    body: dict[str, Any] | None = None
    success: int | str = 200
    """The status; with the code where what is allowed cannot be done."""
    agents_only: bool = False

    def __str__(self) -> str:
        return self.words

    def send(self, api: Api, kind: Kind, history: History, resource_id: str | None = None) -> Answer:
        """Send the call, for another resource if an id is given, with the version ids of the history."""
        target = history.id if resource_id is None else resource_id
        names = {**vars(history), "url": kind.url(target), "served": f"/agents/{quote(target, safe='')}"}
        method, _, path = self.line.partition(" ")
        body = self.body and {
            name: value.format(**names) if isinstance(value, str) else value
            for name, value in self.body.items()
        }
        send = partial(events, api) if "/stream" in path else api.request
        return send(method, path.format(**names), body)


COPY = {"newId": "copy", "workspaceId": "acme"}
SAY = {"messages": "hello"}
ECHO = {"provider": "echo", "name": "echo"}


def say_to(**selector: str) -> dict[str, Any]:
    """The body of a run that selects the called agent's version."""
    return {**SAY, "versions": {"self": selector}}


CALLS: Final = [
    Call("reading the record", "GET {url}", READ),
    Call("reading the published version by status", "GET {url}?status=published", READ),
    Call("reading the published version by id", "GET {url}?versionId={published}", READ),
    Call("reading the published version by its label", "GET {url}?label=stable", READ),
    Call("reading the label production", "GET {url}?label=production", READ),
    Call("asking for the head of the record", "HEAD {url}", READ),
    Call("opening the published version", "GET {url}/versions/{published}", READ),
    Call(
        "comparing the published version with itself",
        "GET {url}/versions/compare?from={published}&to={published}",
        READ,
    ),
    Call("listing labels", "GET {url}/labels", READ),
    Call("listing dependents", "GET {url}/dependents", READ),
    Call("exporting the published version", "POST {url}/export", READ),
    Call("exporting fields of one's own", "POST {url}/export", READ, {"name": "Mine"}),
    Call("serving the agent", "GET {served}", READ, agents_only=True),
    Call("serving the published version by id", "GET {served}?versionId={published}", READ, agents_only=True),
    Call("serving the published version by label", "GET {served}?label=stable", READ, agents_only=True),
    Call("serving the label production", "GET {served}?label=production", READ, agents_only=True),
    Call("reading its parts", "GET {served}/parts", READ, agents_only=True),
    Call("running the agent", "POST {served}/generate", READ, SAY, agents_only=True),
    Call("running the label stable", "POST {served}/generate?label=stable", READ, SAY, agents_only=True),
    Call("marking a favorite", "PUT {url}/favorite", READ),
    Call("taking the mark away", "DELETE {url}/favorite", READ),
    Call("reading the draft", "GET {url}?status=draft", DRAFTS),
    Call("reading the draft by id", "GET {url}?versionId={draft}", DRAFTS),
    Call("reading the label latest", "GET {url}?label=latest", DRAFTS),
    Call("reading a historical version by id", "GET {url}?versionId={historical}", DRAFTS),
    Call("reading a historical version by label", "GET {url}?label=first", DRAFTS),
    Call("listing versions", "GET {url}/versions", DRAFTS),
    Call("opening the draft", "GET {url}/versions/{draft}", DRAFTS),
    Call("opening a historical version", "GET {url}/versions/{historical}", DRAFTS),
    Call("comparing with the draft", "GET {url}/versions/compare?from={published}&to={draft}", DRAFTS),
    Call("comparing with history", "GET {url}/versions/compare?from={historical}&to={published}", DRAFTS),
    Call("exporting the draft", "POST {url}/export?status=draft", DRAFTS),
    Call("exporting a historical version", "POST {url}/export?versionId={historical}", DRAFTS),
    Call("exporting by the label latest", "POST {url}/export?label=latest", DRAFTS),
    Call("serving the draft", "GET {served}?status=draft", DRAFTS, agents_only=True),
    Call("serving the draft by id", "GET {served}?versionId={draft}", DRAFTS, agents_only=True),
    Call("serving the label latest", "GET {served}?label=latest", DRAFTS, agents_only=True),
    Call("serving a historical version", "GET {served}?versionId={historical}", DRAFTS, agents_only=True),
    Call("serving a historical label", "GET {served}?label=first", DRAFTS, agents_only=True),
    Call("running the draft", "POST {served}/generate?status=draft", DRAFTS, SAY, agents_only=True),
    Call("running a historical version", "POST {served}/generate?label=first", DRAFTS, SAY, agents_only=True),
    Call(
        "running the draft by a map",
        "POST {served}/generate",
        DRAFTS,
        say_to(status="draft"),
        agents_only=True,
    ),
    Call("saving", "PATCH {url}", SAVE, {"name": "Renamed"}),
    Call("saving metadata", "PATCH {url}", SAVE, {"metadata": {"team": "one"}}),
    Call("saving what is there already", "PATCH {url}", SAVE, {}),
    Call("making a version", "POST {url}/versions", SAVE, {}, success=201),
    Call("restoring a historical version", "POST {url}/versions/{historical}/restore", SAVE, {}, success=201),
    Call("restoring the published version", "POST {url}/versions/{published}/restore", SAVE, success=201),
    Call("deleting the draft version", "DELETE {url}/versions/{draft}", SAVE),
    Call("cloning the published version", "POST {url}/clone", SAVE, COPY, success=201),
    Call("cloning the draft", "POST {url}/clone?status=draft", SAVE, COPY, success=201),
    Call(
        "requesting a change",
        "POST {url}/change-request",
        SAVE,
        {"instructions": "proposed"},
        success="400 no_source_control",
        agents_only=True,
    ),
    Call("publishing the draft", "POST {url}/versions/{draft}/activate", PUBLISH),
    Call("publishing a historical version", "POST {url}/versions/{historical}/activate", PUBLISH),
    Call("publishing what is published", "POST {url}/versions/{published}/activate", PUBLISH),
    Call("publishing a save", "PATCH {url}", PUBLISH, {"name": "Renamed", "autoPublish": True}),
    Call("publishing without a change", "PATCH {url}", PUBLISH, {"autoPublish": True}),
    Call("unpublishing", "POST {url}/unpublish", PUBLISH),
    Call("setting a label", "PUT {url}/labels/canary", PUBLISH, {"versionId": "{published}"}),
    Call("moving a label", "PUT {url}/labels/stable", PUBLISH, {"versionId": "{draft}"}),
    Call("removing a label", "DELETE {url}/labels/stable", PUBLISH),
    Call("deleting a historical version", "DELETE {url}/versions/{historical}", PUBLISH),
    Call("deleting", "DELETE {url}", PUBLISH),
    Call("deleting if unused", "DELETE {url}?ifUnused=true", PUBLISH),
    Call("changing the visibility", "PATCH {url}", PUBLISH, {"visibility": "{opposite}"}, agents_only=True),
]


# A stream gives its connection to the database back before it begins, so these are not for a test
# that runs in a transaction.
STREAMS: Final = [
    Call("streaming the agent", "POST {served}/stream", READ, SAY, agents_only=True),
    Call("streaming the label stable", "POST {served}/stream?label=stable", READ, SAY, agents_only=True),
    Call("streaming the draft", "POST {served}/stream?status=draft", DRAFTS, SAY, agents_only=True),
    Call("streaming a historical version", "POST {served}/stream?label=first", DRAFTS, SAY, agents_only=True),
    Call(
        "streaming the draft by a map",
        "POST {served}/stream",
        DRAFTS,
        say_to(status="draft"),
        agents_only=True,
    ),
]


def calls_of(kind: Kind, *rights: str) -> list[Call]:
    """Return the calls of a kind; if rights are given, only those that need one of them."""
    chosen = [call for call in CALLS if not rights or call.right in rights]
    return [call for call in chosen if kind is AGENTS or not call.agents_only]


@contextmanager
def undone() -> Iterator[None]:
    """Undo all changes made inside, so that one history serves many calls."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
