"""Prompts of Langfuse: the file of its bulk export, or the same values from its REST interface."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.shared import tags
from editor_client.transfer.importing.agents import (
    About,
    AgentReader,
    Extras,
    change_message,
    model_from,
    read_number,
    settings_in,
    without_place,
)
from editor_client.transfer.importing.collection import (
    Collection,
    Dataset,
    Members,
    Resource,
    Snapshot,
    Unreadable,
    a_text,
    an_object,
    excerpt,
    nonempty,
    objects,
    remove_credentials,
)
from editor_client.transfer.importing.datasets import Cases
from editor_client.transfer.importing.documents import Documents, Server, from_environment, segment
from editor_client.transfer.importing.messages import Message, Part, Translator, messages_from

PRODUCTION: Final = "production"
MAX_PASTED: Final = 4 * 1024 * 1024
"""The maximum length of all pasted texts together, because texts that paste each other grow exponentially."""
COST: Final = 200
"""The cost of each reference besides its text."""
_REFERENCE: Final = re.compile(
    r"@@@langfusePrompt:name=(?P<name>[^|@]{1,255})\|(?P<by>version|label)=(?P<which>[^|@]{1,64})@@@"
)


@dataclass
class Prompts:
    """All prompts of an import, by name, with their versions in order."""

    versions: Mapping[str, Sequence[Mapping[str, Any]]]
    collection: Collection
    blocks: set[str] = field(default_factory=set, init=False)
    """The names of the texts that others refer to by their published version: they become prompt blocks."""
    _pasted: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        names = {match["name"] for match in self._all_references() if match["which"] == PRODUCTION}
        for name in names:
            versions = self.versions.get(name, ())
            texts = [version["prompt"] for version in versions]
            is_plain = all(isinstance(text, str) and not _REFERENCE.search(text) for text in texts)
            if is_plain and any(PRODUCTION in read_labels(version) for version in versions):
                self.blocks.add(name)

    def block_id(self, name: str) -> str:
        """Return the id of a prompt block."""
        return self.collection.id_for(name, "promptBlock")

    def expand(self, message: Message, where: str) -> Message:
        """Return a message with the parts in which its references are resolved."""
        if message.text is None or not _REFERENCE.search(message.text):
            return message
        parts = self._parts(message.text, where)
        return Message(role=message.role, text=message.text, line=message.line, parts=parts)

    def _parts(self, text: str, where: str) -> list[Part]:
        parts: list[Part] = [Part("")]
        end = 0
        for match in _REFERENCE.finditer(text):
            self._append(parts, Part(text[end : match.start()]))
            self._append(parts, self._part(match, where))
            end = match.end()
        self._append(parts, Part(text[end:]))
        return [part for part in parts if part.text]

    @staticmethod
    def _append(parts: list[Part], part: Part) -> None:
        """Add a part; consecutive text stays in one piece."""
        if part.block_id is None and not part.note and parts[-1].block_id is None and not parts[-1].note:
            parts[-1] = Part(parts[-1].text + part.text)
        else:
            parts.append(part)

    def _part(self, match: re.Match[str], where: str) -> Part:
        name, origin = match["name"], f"{match['by']} {match['which']}"
        target = self._resolve_text(match, (), where)
        if target is None:
            return Part(match[0])
        if name in self.blocks and match["which"] == PRODUCTION:
            return Part(target, block_id=self.block_id(name))
        reason = (
            "it has references itself" if match["which"] == PRODUCTION else "references follow what is live"
        )
        return Part(target, note=f"The text of {excerpt(name)}, {excerpt(origin)}, is pasted: {reason}.")

    def _resolve_text(self, match: re.Match[str], above: tuple[str, ...], where: str) -> str | None:
        """Return the text of a reference; None, with a note, if there is none."""
        version = self._version(match)
        text = None if version is None else version["prompt"]
        if not isinstance(text, str) or match["name"] in above:
            reason = "it goes in a circle" if match["name"] in above else "no such text is in the source"
            message = f"{excerpt(match[0])} stays as text: {reason}."
            self.collection.lose("reference", where, message)
            return None
        inner = (*above, match["name"])

        def insert(nested_match: re.Match[str]) -> str:
            nested = self._resolve_text(nested_match, inner, where)
            return nested_match[0] if nested is None else nested

        full = _REFERENCE.sub(insert, text)
        self._pasted += len(full) + COST
        if self._pasted > MAX_PASTED:
            raise Unreadable("The prompts refer to each other so often that their texts become too large.")
        return full

    def _version(self, match: re.Match[str]) -> Mapping[str, Any] | None:
        versions = self.versions.get(match["name"], ())
        if match["by"] == "version":
            return next(
                (version for version in versions if str(version.get("version")) == match["which"]), None
            )
        if match["which"] == "latest":
            return versions[-1] if versions else None
        return next(
            (version for version in reversed(versions) if match["which"] in read_labels(version)), None
        )

    def _all_references(self) -> list[re.Match[str]]:
        prompts = [version["prompt"] for versions in self.versions.values() for version in versions]
        messages = [
            message
            for prompt in prompts
            for message in (prompt if isinstance(prompt, list) else [{"content": prompt}])
        ]
        texts = [message.get("content") for message in messages if isinstance(message, dict)]
        return [match for text in texts if isinstance(text, str) for match in _REFERENCE.finditer(text)]


def read_labels(version: Mapping[str, Any]) -> list[str]:
    """Return the labels of a version."""
    labels = version.get("labels")
    return [text for text in labels if isinstance(text, str)] if isinstance(labels, list) else []


SYSTEM: Final = "langfuse"
PAGE: Final = 100
PUBLIC_KEY, SECRET_KEY = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
_BOOKKEEPING: Final = (
    *("id", "createdAt", "updatedAt", "projectId", "createdBy", "isActive", "resolutionGraph"),
    *("lastUpdatedAt",),
)
"""Members that every version has and that are irrelevant to a prompt; a graph follows from the text."""
OWN: Final = "editor"
"""The member of a config in which an export stores the name of an agent with another id."""
_COMPUTED: Final = {PRODUCTION, "latest"}


def read(documents: Documents) -> Collection:
    """Return the prompts in a bulk file, or in the JSON files of a folder."""
    values: list[Any] = []
    for path in documents.files([".json"]):
        value = documents.json(path)
        if not isinstance(value, list):
            raise Unreadable(f"{excerpt(documents.name(path))} is no list of prompts.")
        values += value
    return from_values(values)


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
            prompt = server.get(path, version=version, resolve="false")
            if not isinstance(prompt, dict) or prompt.get("name") != name:
                raise Unreadable(f"The answer about {excerpt(name)} is about another prompt.")
            yield prompt


def _entries(server: Server) -> Iterator[dict[str, Any]]:
    page, pages = 1, 1
    while page <= pages:
        body = an_object(server.get("api/public/v2/prompts", page=page, limit=PAGE))
        yield from objects(body.get("data"))
        total = an_object(body.get("meta")).get("totalPages")
        pages = total if isinstance(total, int) else page
        page += 1


def from_values(values: Sequence[Any]) -> Collection:
    """Return the prompts, and the items of datasets, in a list of those of Langfuse."""
    collection = Collection(SYSTEM)
    versions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    items: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for number, value in enumerate(values, 1):
        if isinstance(value, dict) and isinstance(value.get("datasetName"), str):
            items[value["datasetName"]].append(value)
        elif isinstance(value, dict) and a_text(value.get("name")).strip() and "prompt" in value:
            versions[value["name"]].append(value)
        else:
            raise Unreadable(f"Entry {number} is no prompt: it has no name, or no member `prompt`.")
    for name, prompt_versions in versions.items():
        prompt_versions.sort(key=lambda version: read_number(version, name))
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
    """Return the data of a version: its labels, its model and further settings."""
    members = Members(version, collection, where)
    labels = read_labels(version)
    members.skip("name", "version", "prompt", "tags", *_BOOKKEEPING)
    if members.peek("type") in ("text", "chat"):
        members.skip("type")
    if labels == members.peek("labels"):
        members.skip("labels")
    message = members.text("commitMessage")
    config = members.members("config")
    if set(an_object(config.peek(OWN))) == {"name"}:
        config.skip(OWN)
    settings = settings_in(config)
    provider, model_name = config.take("provider"), config.take("model")
    model = model_from(model_name, collection, where, provider=provider)
    return {
        "number": str(version["version"]),
        "message": message,
        "labels": sorted(set(labels) - _COMPUTED),
        "live": PRODUCTION in labels,
        "model": model,
        "settings": settings,
        "extra": nonempty(
            config=config.take_rest() | without_place(model_name, model), version=members.take_rest()
        ),
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
        expanded = [prompts.expand(message, where) for message in messages]
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
        text = remove_credentials(version["prompt"], collection, where)
        content = Translator.of(collection, "curly", [text], where=where).text(text, where)
        if not content.strip():
            collection.lose("empty", where, "There is no text in it; it is left out.")
            continue
        if about["live"]:
            published = len(snapshots)
        run_settings = {key: about[key] for key in ("model", "settings") if about.get(key)}
        extras.add(about["number"], {**about["extra"], **run_settings})
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
    tag_names = [
        tag for version in versions if isinstance(version.get("tags"), list) for tag in version["tags"]
    ]
    return tags.read_tags({tags.MEMBER: tag_names})


def _read_items(name: str, entries: Sequence[Mapping[str, Any]], collection: Collection) -> None:
    """Make a dataset of items, without archived ones."""
    cases = Cases(collection, name)
    for entry in entries:
        if entry.get("status") == "ARCHIVED":
            collection.lose("archived", name, f"The archived item {excerpt(entry.get('id'))} is left out.")
            continue
        where = f"{name}, item {excerpt(entry.get('id'))}"
        members = Members(entry, collection, f"{name}, items")
        if members.peek("status") == "ACTIVE":
            members.skip("status")
        members.skip("id", "datasetId", "datasetName", "createdAt", "updatedAt", "projectId")
        item_input = remove_credentials(members.take("input"), collection, where, by_name=False)
        truth = remove_credentials(members.take("expectedOutput"), collection, where, by_name=False)
        metadata = remove_credentials(members.take("metadata"), collection, where)
        metadata_object = (
            metadata if isinstance(metadata, dict) else {} if metadata is None else {"value": metadata}
        )
        cases.add_input(item_input, groundTruth=truth, metadata=metadata_object, leftover=members.take_rest())
    collection.datasets.append(Dataset(name=name, items=cases.items))
