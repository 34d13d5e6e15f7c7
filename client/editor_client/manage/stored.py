"""Stored resources: the methods that all kinds share, then agents, prompt blocks and scorers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, Self, TypeVar, Unpack

from editor_client.calls import (
    Answer,
    Base,
    Call,
    Query,
    Resource,
    Selector,
    cached_read,
    id_segment,
    query,
    reading,
    segment,
)
from editor_client.manage.records import (
    Activated,
    Created,
    Dependent,
    Dependents,
    Export,
    Favorited,
    Filters,
    Label,
    LabelList,
    Record,
    Saved,
    Status,
    Version,
    snapshot_names,
)
from editor_client.manage.shapes import (
    AgentArguments,
    AgentComparison,
    AgentPage,
    AgentRecord,
    AgentVersion,
    AgentVersionPage,
    PromptBlockArguments,
    PromptBlockComparison,
    PromptBlockPage,
    PromptBlockRecord,
    PromptBlockVersion,
    PromptBlockVersionPage,
    ScorerArguments,
    ScorerComparison,
    ScorerOutcome,
    ScorerPage,
    ScorerRecord,
    ScorerVersion,
    ScorerVersionPage,
    Tried,
    Visibility,
)
from editor_client.methods import (
    D_co,
    Driver,
    Handle,
    Page,
    Pages,
    Paging,
    iterating,
    iterator,
    listing,
    method,
)
from editor_client.result import Reasons, Result, Success, bypassing, members, with_json_names

T = TypeVar("T")
R = TypeVar("R", bound=Record)
V = TypeVar("V", bound=Version)
L = TypeVar("L", bound=Page[Any])
C = TypeVar("C", bound=Result)


@dataclass(frozen=True)
class Kind(Generic[R, V, L, C]):
    """A kind of resource: its addresses, and the types of its answers."""

    slug: str
    """The name in events and bodies."""
    segment: str
    """The segment in URLs."""
    text: str
    """The snapshot field with the text, which is searched."""
    record: type[R]
    page: type[Page[R]]
    """A page of the list of resources."""
    version: type[V]
    versions: type[L]
    comparison: type[C]
    needs: str = ""
    """The snapshot field that a new resource needs in addition to the name, if it is not the text."""

    @property
    def names(self) -> tuple[str, ...]:
        """The JSON names of the snapshot fields."""
        return snapshot_names(self.record)

    @property
    def list_member(self) -> str:
        """The member of a page with its resources."""
        return members(self.page)[-1].json_name

    @property
    def id_member(self) -> str:
        """The member of a version with the id of its resource."""
        return members(self.version)[-1].json_name

    @property
    def has_visibility(self) -> bool:
        """Whether a resource can be public."""
        return any(member.name == "visibility" for member in members(self.record))


class Stored(Handle[D_co], Generic[D_co, R, V, L, C]):
    """A stored resource, by id; whether it exists is unknown before a request."""

    def __init__(self, client: D_co, kind: Kind[R, V, L, C], resource_id: str) -> None:
        super().__init__(client, resource_id, f"/stored/{kind.segment}/{id_segment(resource_id)}")
        self._kind = kind
        self._about = Resource(kind.segment, resource_id)

    # Records

    @method
    def details(self, **selector: Unpack[Selector]) -> Call[R]:
        """Read the record with the fields of one version, the published one without a selector."""
        return self._details(**selector)

    def _details(self, **selector: Unpack[Selector]) -> Call[R]:
        version = ("resolved_version_id", selector.get("version_id"))
        return cached_read(
            self._kind.record, self._about, self._path, query(**selector), ("id", self.id), version
        )

    @method
    def delete(self, *, if_unused: bool | None = None, base: Base = None) -> Call[Success]:
        """Delete the resource with its versions and labels.

        With `if_unused`, raises `Conflict` if a published agent, or another dependent, refers to it.
        """
        return self._change(
            "DELETE", reading(Success), query=query(if_unused=if_unused), base=base, removes=True
        )

    @method
    def dependents(self, *, status: Status | None = None) -> Call[Dependents]:
        """List the agents that refer to it, in their published versions or in their drafts."""
        return self._get(reading(Dependents), "/dependents", query=query(status=status))

    @method
    def export(self, fields: Mapping[str, Any] | None = None, **selector: Unpack[Selector]) -> Call[Export]:
        """Return a version, or given snapshot fields, as the content of its file; nothing is saved."""
        path, params = f"{self._path}/export", query(**selector)
        return Call.to("POST", path, reading(Export), query=params, body=fields, about=self._about)

    @method
    def clone(
        self,
        new_id: str,
        *,
        new_name: str | None = None,
        workspace_id: str | None = None,
        **selector: Unpack[Selector],
    ) -> Call[R]:
        """Create a new resource, as a draft, from the version that the selector names."""
        names = {"new_id": new_id, "new_name": new_name, "workspace_id": workspace_id}
        body = with_json_names({name: value for name, value in names.items() if value is not None})
        read = reading(self._kind.record, id=new_id)
        return self._change("POST", read, "/clone", query=query(**selector), body=body)

    @method
    def unpublish(self, *, base: Base = None) -> Call[R]:
        """Stop serving any version; nothing is deleted."""
        return self._change("POST", self._record, "/unpublish", base=base, removes=True)

    # Versions

    @method
    def list_versions(
        self, *, source: Literal["database", "git"] | None = None, **page: Unpack[Paging]
    ) -> Call[L]:
        """List the versions, newest first."""
        return self._versions(source=source, **page)

    @iterator
    def iter_versions(
        self, *, source: Literal["database", "git"] | None = None, **page: Unpack[Paging]
    ) -> Pages[V]:
        """Iterate over all versions, newest first."""
        return Pages(partial(self._versions, source=source, **page))

    @method
    def get_version(self, version_id: str) -> Call[V]:
        """Read one version."""
        path = self._path + self._version(version_id)
        return cached_read(self._kind.version, self._about, path, (), ("id", version_id))

    @method
    def create_version(self, *, change_message: str | None = None, base: Base = None) -> Call[V]:
        """Save a copy of the published version, or else of the latest, as a new draft."""
        return self._change(
            "POST", reading(self._kind.version), "/versions", body=_message(change_message), base=base
        )

    @method
    def activate_version(
        self, version_id: str, *, base: Base = None, **reasons: Unpack[Reasons]
    ) -> Call[Activated]:
        """Publish exactly this version.

        Raises `Forbidden` with the code `review_required` if approvals are missing, and `evaluation_required`
        if evidence is. An admin may bypass both, with a reason.
        """
        path = f"{self._version(version_id)}/activate"
        return self._change("POST", reading(Activated), path, body=bypassing(reasons) or None, base=base)

    @method
    def restore_version(
        self, version_id: str, *, change_message: str | None = None, base: Base = None
    ) -> Call[V]:
        """Save a copy of this version as a new draft; the published version stays."""
        return self._change(
            "POST",
            reading(self._kind.version),
            f"{self._version(version_id)}/restore",
            body=_message(change_message),
            base=base,
        )

    @method
    def delete_version(self, version_id: str, *, base: Base = None) -> Call[Success]:
        """Delete a version that is neither published nor labelled nor the only one."""
        return self._change("DELETE", reading(Success), self._version(version_id), base=base, removes=True)

    @method
    def compare_versions(self, from_id: str, to_id: str) -> Call[C]:
        """Show the fields in which two versions differ."""
        return self._get(
            reading(self._kind.comparison), "/versions/compare", query=(("from", from_id), ("to", to_id))
        )

    # Labels

    @method
    def list_labels(self) -> Call[LabelList]:
        """List the labels: `latest` and `production`, which are computed, then those that people set."""
        return self._get(reading(LabelList), "/labels")

    @method
    def set_label(
        self,
        name: str,
        version_id: str,
        *,
        released: bool | None = None,
        base: Base = None,
        **reasons: Unpack[Reasons],
    ) -> Call[Label]:
        """Set a label on a version, or move it there.

        With `released=True`, everyone who can read published versions may read and run the version by this
        name; None leaves that unchanged. Releasing requires the same approvals as publishing.
        """
        body = {"versionId": version_id} | ({} if released is None else {"released": released})
        body |= bypassing(reasons)
        withdrawn = released is False  # callers without access to drafts could read it by this label
        return self._change("PUT", reading(Label), self._label(name), body=body, base=base, removes=withdrawn)

    @method
    def remove_label(self, name: str, *, base: Base = None) -> Call[Success]:
        """Remove a label."""
        return self._change("DELETE", reading(Success), self._label(name), base=base, removes=True)

    # Favorites

    @method
    def favorite(self) -> Call[Favorited]:
        """Mark the resource as a favorite of the key's owner."""
        return self._change("PUT", reading(Favorited), "/favorite")

    @method
    def unfavorite(self) -> Call[Favorited]:
        """Remove the mark."""
        return self._change("DELETE", reading(Favorited), "/favorite")

    # Construction

    @property
    def _record(self) -> Callable[[Answer], R]:
        return reading(self._kind.record, id=self.id)

    def _version(self, version_id: str) -> str:
        return f"/versions/{segment('versionId', version_id)}"

    def _label(self, name: str) -> str:
        return f"/labels/{segment('name', name)}"

    def _versions(self, **arguments: Any) -> Call[L]:
        return listing(f"{self._path}/versions", self._kind.versions, arguments)

    def _get(self, read: Callable[[Answer], T], rest: str, query: Query = ()) -> Call[T]:
        return Call.to("GET", self._path + rest, read, query=query, about=self._about)

    def _change(
        self, method: str, read: Callable[[Answer], T], rest: str = "", *, removes: bool = False, **more: Any
    ) -> Call[T]:
        path = self._path + rest
        return Call.to(method, path, read, about=self._about, changes=True, removes=removes, **more)


def creation(kind: Kind[R, V, L, C], fields: Mapping[str, Any]) -> Call[R]:
    """Describe the call that creates a resource; the fields have their JSON names."""
    read = reading(kind.record, id=fields.get("id"))
    return Call.to("POST", f"/stored/{kind.segment}", read, body=fields, changes=True)


def creation_check(kind: Kind[Any, Any, Any, Any], fields: Mapping[str, Any]) -> Call[None]:
    """Describe the call that checks the fields of a new resource like its creation; nothing is stored."""
    path = f"/stored/{kind.segment}"
    return Call.to("POST", path, lambda _answer: None, query=query(dry_run=True), body=fields)


def edit(stored: Stored[Any, R, V, L, C], changes: Mapping[str, Any], base: Base = None) -> Call[R]:
    """Describe the call that saves an edit; the fields have their JSON names."""
    return stored._change("PATCH", stored._record, body=changes, base=base)  # noqa: SLF001


def _message(change_message: str | None) -> dict[str, str]:
    return {} if change_message is None else {"changeMessage": change_message}


class AgentChanges(AgentArguments, Saved, total=False):
    """An edit of an agent."""

    visibility: Visibility


class NewAgent(AgentChanges, Created, total=False):
    """A new agent; name and instructions are required unless code defines it."""


class AgentFilters(Filters, total=False):
    """The filters and the order of a list of stored agents."""

    visibility: Visibility


AGENTS = Kind(
    "agent", "agents", "instructions", AgentRecord, AgentPage, AgentVersion, AgentVersionPage, AgentComparison
)


class StoredAgent(Stored[D_co, AgentRecord, AgentVersion, AgentVersionPage, AgentComparison]):
    """A stored agent, by id."""

    def __init__(self, client: D_co, agent_id: str) -> None:
        super().__init__(client, AGENTS, agent_id)

    @method
    def update(self, *, base: Base = None, **changes: Unpack[AgentChanges]) -> Call[AgentRecord]:
        """Save an edit as a draft, or publish it with `auto_publish=True`.

        With `base`, the record that the edit started from, raises `EditConflict` if another change has been
        saved since; then nothing is saved.
        """
        return edit(self, with_json_names(changes), base)


class StoredAgentMethods(Driver):
    """The methods of a client for stored agents."""

    @method
    def list_stored_agents(self, **filters: Unpack[AgentFilters]) -> Call[AgentPage]:
        """List the stored agents that the key may read, newest first; the published ones by default."""
        return listing("/stored/agents", AgentPage, filters)

    iter_stored_agents = iterating(list_stored_agents)

    @method
    def create_stored_agent(self, **fields: Unpack[NewAgent]) -> Call[AgentRecord]:
        """Create an agent; by default it is published at once if the key may publish."""
        return creation(AGENTS, with_json_names(fields))

    def get_stored_agent(self, agent_id: str) -> StoredAgent[Self]:
        """Return a stored agent; no request is sent yet."""
        return StoredAgent(self, agent_id)


class PromptBlockChanges(PromptBlockArguments, Saved, total=False):
    """An edit of a prompt block."""


class NewPromptBlock(PromptBlockChanges, Created, total=False):
    """A new prompt block; name and content are required."""


PROMPT_BLOCKS = Kind(
    "promptBlock",
    "prompt-blocks",
    "content",
    PromptBlockRecord,
    PromptBlockPage,
    PromptBlockVersion,
    PromptBlockVersionPage,
    PromptBlockComparison,
)


class StoredPromptBlock(
    Stored[D_co, PromptBlockRecord, PromptBlockVersion, PromptBlockVersionPage, PromptBlockComparison]
):
    """A prompt block, by id."""

    def __init__(self, client: D_co, block_id: str) -> None:
        super().__init__(client, PROMPT_BLOCKS, block_id)

    @method
    def update(self, *, base: Base = None, **changes: Unpack[PromptBlockChanges]) -> Call[PromptBlockRecord]:
        """Save an edit as a draft, or publish it with `auto_publish=True`.

        With `base`, the record that the edit started from, raises `EditConflict` if another change has been
        saved since; then nothing is saved.
        """
        return edit(self, with_json_names(changes), base)


class StoredPromptBlockMethods(Driver):
    """The methods of a client for prompt blocks."""

    @method
    def list_stored_prompt_blocks(self, **filters: Unpack[Filters]) -> Call[PromptBlockPage]:
        """List the prompt blocks that the key may read, newest first, published or not."""
        return listing("/stored/prompt-blocks", PromptBlockPage, filters)

    iter_stored_prompt_blocks = iterating(list_stored_prompt_blocks)

    @method
    def create_stored_prompt_block(self, **fields: Unpack[NewPromptBlock]) -> Call[PromptBlockRecord]:
        """Create a prompt block, as a draft unless `auto_publish=True`."""
        return creation(PROMPT_BLOCKS, with_json_names(fields))

    def get_stored_prompt_block(self, block_id: str) -> StoredPromptBlock[Self]:
        """Return a prompt block; no request is sent yet."""
        return StoredPromptBlock(self, block_id)


class ScorerChanges(ScorerArguments, Saved, total=False):
    """An edit of a scorer."""


class NewScorer(ScorerChanges, Created, total=False):
    """A new scorer; name and type are required."""


SCORERS = Kind(
    "scorer",
    "scorers",
    "instructions",
    ScorerRecord,
    ScorerPage,
    ScorerVersion,
    ScorerVersionPage,
    ScorerComparison,
    needs="type",
)


class ScorerDependent(Dependent):
    """A resource that names a scorer."""

    kind: Literal["agent", "dataset", "gate"]


class ScorerDependents(Dependents):
    """The resources that name a scorer: the readable ones, and the number of others."""

    dependents: tuple[ScorerDependent, ...]


class StoredScorer(Stored[D_co, ScorerRecord, ScorerVersion, ScorerVersionPage, ScorerComparison]):
    """A scorer, by id."""

    def __init__(self, client: D_co, scorer_id: str) -> None:
        super().__init__(client, SCORERS, scorer_id)

    @method
    def update(self, *, base: Base = None, **changes: Unpack[ScorerChanges]) -> Call[ScorerRecord]:
        """Save an edit as a draft, or publish it with `auto_publish=True`.

        With `base`, the record that the edit started from, raises `EditConflict` if another change has been
        saved since; then nothing is saved.
        """
        return edit(self, with_json_names(changes), base)

    @method
    def dependents(self, *, status: Status | None = None) -> Call[ScorerDependents]:
        """List its dependents: agents in their published versions or drafts, datasets and gates."""
        return self._get(reading(ScorerDependents), "/dependents", query=query(status=status))

    @method
    def try_out(self, input: Any, output: Any, **more: Unpack[Tried]) -> Call[ScorerOutcome]:
        """Score an answer with the latest or the named version; nothing is stored."""
        body = {"input": input, "output": output, **with_json_names(more)}
        return Call.to("POST", f"{self._path}/try", reading(ScorerOutcome), body=body)


class StoredScorerMethods(Driver):
    """The methods of a client for scorers."""

    @method
    def list_stored_scorers(self, **filters: Unpack[Filters]) -> Call[ScorerPage]:
        """List the scorers that the key may read, newest first, published or not."""
        return listing("/stored/scorers", ScorerPage, filters)

    iter_stored_scorers = iterating(list_stored_scorers)

    @method
    def create_stored_scorer(self, **fields: Unpack[NewScorer]) -> Call[ScorerRecord]:
        """Create a scorer, as a draft unless `auto_publish=True`."""
        return creation(SCORERS, with_json_names(fields))

    def get_stored_scorer(self, scorer_id: str) -> StoredScorer[Self]:
        """Return a scorer; no request is sent yet."""
        return StoredScorer(self, scorer_id)


KINDS: dict[str, Kind[Any, Any, Any, Any]] = {kind.segment: kind for kind in (SCORERS, PROMPT_BLOCKS, AGENTS)}
"""By their segment in URLs. Referenced kinds come first, so that they are published before others."""


class StoredMethods(StoredAgentMethods, StoredPromptBlockMethods, StoredScorerMethods):
    """The methods of a client for stored resources."""
