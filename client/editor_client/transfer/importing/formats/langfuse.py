"""Prompts of Langfuse: the file of its bulk export, or the same values from its REST interface."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from editor_client.shared import tags
from editor_client.transfer.importing import credentials, models
from editor_client.transfer.importing.agents import About, AgentReader, Extras, change_message, number_of
from editor_client.transfer.importing.cases import Cases
from editor_client.transfer.importing.collection import (
    Collection,
    Dataset,
    Resource,
    Snapshot,
    Unreadable,
    a_text,
    an_object,
    objects,
    shown,
)
from editor_client.transfer.importing.documents import Documents
from editor_client.transfer.importing.fetching import Server, from_environment, segment
from editor_client.transfer.importing.langfuse_references import PRODUCTION, Prompts, labels_of
from editor_client.transfer.importing.members import Members, nested
from editor_client.transfer.importing.messages import Message, messages_from
from editor_client.transfer.importing.templates import Translator

SYSTEM: Final = "langfuse"
PAGE: Final = 100
PUBLIC_KEY, SECRET_KEY = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
_BOOKKEEPING: Final = (
    *("id", "createdAt", "updatedAt", "projectId", "createdBy", "isActive", "resolutionGraph"),
    *("lastUpdatedAt",),
)
"""Members that every version has, and that say nothing about a prompt; a graph follows from the text."""
OWN: Final = "editor"
"""The member of a config in which an export says the name of an agent with another id."""
_COMPUTED: Final = {PRODUCTION, "latest"}


def read(documents: Documents) -> Collection:
    """Return the prompts in a bulk file, or in the JSON files of a folder."""
    found: list[Any] = []
    for path in documents.files([".json"]):
        value = documents.json(path)
        if not isinstance(value, list):
            raise Unreadable(f"{shown(documents.name(path))} is no list of prompts.")
        found += value
    return from_values(found)


def read_server(address: str) -> Collection:
    """Return the prompts of a server; the keys come from the environment."""
    public, secret = from_environment(PUBLIC_KEY, SECRET_KEY)
    server = Server(address, auth=(public, secret))
    try:
        return from_values(list(_prompts(server)))
    finally:
        server.close()


def _prompts(server: Server) -> Iterator[dict[str, Any]]:
    for entry in _entries(server):
        name, versions = entry.get("name"), entry.get("versions")
        if not isinstance(name, str) or not isinstance(versions, list):
            raise Unreadable("The list of prompts has an entry without a name, or without versions.")
        for version in versions:
            path = f"api/public/v2/prompts/{segment(name)}"
            # Resolved, the references would be lost.
            found = server.get(path, version=version, resolve="false")
            if not isinstance(found, dict) or found.get("name") != name:
                raise Unreadable(f"The answer about {shown(name)} is about another prompt.")
            yield found


def _entries(server: Server) -> Iterator[dict[str, Any]]:
    page, pages = 1, 1
    while page <= pages:
        found = an_object(server.get("api/public/v2/prompts", page=page, limit=PAGE))
        yield from objects(found.get("data"))
        total = an_object(found.get("meta")).get("totalPages")
        pages = total if isinstance(total, int) else page
        page += 1


def from_values(values: Sequence[Any]) -> Collection:
    """Return the prompts, and the items of datasets, in a list of those of Langfuse."""
    collection = Collection(SYSTEM)
    versions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    items: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for number, one in enumerate(values, 1):
        if isinstance(one, dict) and isinstance(one.get("datasetName"), str):
            items[one["datasetName"]].append(one)
        elif isinstance(one, dict) and a_text(one.get("name")).strip() and "prompt" in one:
            versions[one["name"]].append(one)
        else:
            raise Unreadable(f"Entry {number} is no prompt: it has no name, or no member `prompt`.")
    for name, found in versions.items():
        found.sort(key=lambda one: number_of(one, name))
    prompts = Prompts(versions, collection)
    for name in sorted(versions):
        if name in prompts.blocks:
            _read_block(name, prompts, collection)
        else:
            _read_agent(name, prompts, collection)
    for name in sorted(items):
        _read_items(name, items[name], collection)
    return collection


def _about(version: Mapping[str, Any], where: str, collection: Collection) -> About:
    """Return what is known of a version: its labels, its model and what else is configured."""
    members = Members(version, collection, where)
    labels = labels_of(version)
    members.skip("name", "version", "prompt", "tags", *_BOOKKEEPING)
    if members.peek("type") in ("text", "chat"):
        members.skip("type")
    if labels == members.peek("labels"):
        members.skip("labels")
    message = members.text("commitMessage")
    config = members.members("config")
    if set(an_object(config.peek(OWN))) == {"name"}:
        config.skip(OWN)
    settings = models.settings_in(config)
    provider, named = config.take("provider"), config.take("model")
    model = models.model_from(named, collection, where, provider=provider)
    return {
        "number": str(version["version"]),
        "message": message,
        "labels": sorted(set(labels) - _COMPUTED),
        "live": PRODUCTION in labels,
        "model": model,
        "settings": settings,
        "extra": nested(config=config.left() | models.without_place(named, model), version=members.left()),
    }


def _read_agent(name: str, prompts: Prompts, collection: Collection) -> None:
    own = an_object(an_object(prompts.versions[name][-1].get("config")).get(OWN))
    title = own.get("name") if set(own) == {"name"} else ""
    reader = AgentReader(collection, name, "curly", title=a_text(title))
    for version in prompts.versions[name]:
        where = f"{name} v{version['version']}"
        prompt = version["prompt"]
        if isinstance(prompt, str):
            messages = [Message(role="system", text=prompt)]
        else:
            messages = messages_from(prompt, collection, where)
        expanded = [prompts.expanded(message, where) for message in messages]
        reader.add(expanded, **_about(version, where, collection))
    reader.finish(tags=_tags(prompts.versions[name]))


def _read_block(name: str, prompts: Prompts, collection: Collection) -> None:
    """Make a prompt block of a text that others refer to."""
    snapshots: list[Snapshot] = []
    published: int | None = None
    extras = Extras(collection, name)
    for version in prompts.versions[name]:
        where = f"{name} v{version['version']}"
        about = _about(version, where, collection)
        text = credentials.without(version["prompt"], collection, where)
        content = Translator.of(collection, "curly", [text], where=where).text(text, where)
        if not content.strip():
            collection.lose("empty", where, "There is no text in it; it is left out.")
            continue
        if about["live"]:
            published = len(snapshots)
        kept = {key: about[key] for key in ("model", "settings") if about.get(key)}
        extras.add(about["number"], {**about["extra"], **kept})
        message = change_message(collection, name, about["number"], about["message"])
        config = {"name": name.strip(), "content": content}
        snapshots.append(
            Snapshot(config=config, message=message, number=about["number"], labels=about["labels"])
        )
    if snapshots:
        collection.resources.append(
            Resource(
                kind="promptBlock",
                id=prompts.block_id(name),
                name=name,
                snapshots=snapshots,
                published=published,
                extra=collection.fitting(extras.all(), name),
                tags=_tags(prompts.versions[name]),
            )
        )


def _tags(versions: Iterable[Mapping[str, Any]]) -> list[str]:
    found = [tag for version in versions if isinstance(version.get("tags"), list) for tag in version["tags"]]
    return tags.tags_of({tags.MEMBER: found})


def _read_items(name: str, found: Sequence[Mapping[str, Any]], collection: Collection) -> None:
    """Make a dataset of items; those that are archived are left out."""
    cases = Cases(collection, name)
    for entry in found:
        if entry.get("status") == "ARCHIVED":
            collection.lose("archived", name, f"The archived item {shown(entry.get('id'))} is left out.")
            continue
        where = f"{name}, item {shown(entry.get('id'))}"
        members = Members(entry, collection, f"{name}, items")
        if members.peek("status") == "ACTIVE":
            members.skip("status")
        members.skip("id", "datasetId", "datasetName", "createdAt", "updatedAt", "projectId")
        given = credentials.without(members.take("input"), collection, where, by_name=False)
        truth = credentials.without(members.take("expectedOutput"), collection, where, by_name=False)
        metadata = credentials.without(members.take("metadata"), collection, where)
        kept = metadata if isinstance(metadata, dict) else {} if metadata is None else {"value": metadata}
        cases.add_input(given, groundTruth=truth, metadata=kept, left=members.left())
    collection.datasets.append(Dataset(name=name, items=cases.items))
