"""Stored agents and prompt blocks: each method once, as its request and how to read the answer.

`editor_client.sync` and `editor_client.asynchronous` turn these descriptions into methods that make the
call. Every description may raise `ValidationFailed` before anything is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic, Literal, TypeVar, Unpack

from editor_client.arguments import AgentChanges, Ordering, Paging, PromptBlockChanges, Selector, Status
from editor_client.calls import (
    Answer,
    Call,
    Query,
    Request,
    Resource,
    cached_read,
    encoded,
    id_segment,
    paging,
    query,
    reading,
    segment,
)
from editor_client.kinds import AGENTS, PROMPT_BLOCKS, C, Kind, P, R, V
from editor_client.naming import bypassing, with_json_names
from editor_client.pages import Pages
from editor_client.records import (
    Activated,
    AgentComparison,
    AgentRecord,
    AgentVersion,
    AgentVersionPage,
    Dependents,
    Export,
    Favorited,
    Label,
    LabelList,
    PromptBlockComparison,
    PromptBlockRecord,
    PromptBlockVersion,
    PromptBlockVersionPage,
)
from editor_client.result import CachedResult, Success

T = TypeVar("T")

Base = CachedResult | str | None
"""What a change builds on: a record as it was read, or its entity tag. None: whatever is there."""


class Stored(Generic[R, V, P, C]):
    """One resource, by id; whether it exists is not known before a request."""

    def __init__(self, kind: Kind[R, V, P, C], resource_id: str) -> None:
        self.kind = kind
        self.id = resource_id
        self.about = Resource(kind.segment, resource_id)
        self.path = f"/stored/{kind.segment}/{id_segment(resource_id)}"

    # Records

    def details(self, **selector: Unpack[Selector]) -> Call[R]:
        """Read the record with the fields of one version, the published one without a selector."""
        version = ("resolved_version_id", selector.get("version_id"))
        return cached_read(
            self.kind.record, self.about, self.path, query(**selector), ("id", self.id), version
        )

    def delete(self, *, if_unused: bool | None = None, base: Base = None) -> Call[Success]:
        """Delete the resource with its versions and labels.

        With `if_unused`, raises `Conflict` if a published agent refers to it.
        """
        return self._change(
            "DELETE", reading(Success), query=query(if_unused=if_unused), base=base, removes=True
        )

    def dependents(self, *, status: Status | None = None) -> Call[Dependents]:
        """List the agents that refer to it, in their published versions or in their drafts."""
        return self._get(reading(Dependents), "/dependents", query=query(status=status))

    def export(self, fields: Mapping[str, Any] | None = None, **selector: Unpack[Selector]) -> Call[Export]:
        """Return a version, or given snapshot fields, as the content of its file; nothing is saved."""
        body = None if fields is None else encoded(fields)
        request = Request(method="POST", path=f"{self.path}/export", query=query(**selector), body=body)
        return Call(request=request, read=reading(Export), about=self.about)

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
        read = reading(self.kind.record, id=new_id)
        return self._change("POST", read, "/clone", query=query(**selector), body=body)

    def unpublish(self, *, base: Base = None) -> Call[R]:
        """Stop serving any version; nothing is deleted."""
        return self._change("POST", self._record, "/unpublish", base=base, removes=True)

    # Versions

    def list_versions(
        self, *, source: Literal["database", "git"] | None = None, **page: Unpack[Paging]
    ) -> Call[P]:
        """List the versions, newest first."""
        return self._get(
            reading(self.kind.versions), "/versions", query=(*paging(page), *query(source=source))
        )

    def iter_versions(
        self, *, source: Literal["database", "git"] | None = None, **order: Unpack[Ordering]
    ) -> Pages[V]:
        """Iterate over all versions, newest first."""
        return Pages(partial(self.list_versions, source=source, **order))

    def get_version(self, version_id: str) -> Call[V]:
        """Read one version."""
        path = self.path + self._version(version_id)
        return cached_read(self.kind.version, self.about, path, (), ("id", version_id))

    def create_version(self, *, change_message: str | None = None, base: Base = None) -> Call[V]:
        """Save a copy of the published version, or else of the latest, as a new draft."""
        return self._change(
            "POST", reading(self.kind.version), "/versions", body=_message(change_message), base=base
        )

    def activate_version(
        self, version_id: str, *, bypass_review: str | None = None, base: Base = None
    ) -> Call[Activated]:
        """Publish exactly this version.

        Raises `Forbidden` with the code `review_required` if approvals are missing. An admin may give a
        reason to do without them.
        """
        path = f"{self._version(version_id)}/activate"
        return self._change(
            "POST", reading(Activated), path, body=bypassing(bypass_review) or None, base=base
        )

    def restore_version(
        self, version_id: str, *, change_message: str | None = None, base: Base = None
    ) -> Call[V]:
        """Save a copy of this version as a new draft; what is published stays."""
        return self._change(
            "POST",
            reading(self.kind.version),
            f"{self._version(version_id)}/restore",
            body=_message(change_message),
            base=base,
        )

    def delete_version(self, version_id: str, *, base: Base = None) -> Call[Success]:
        """Delete a version that is neither published nor labelled nor the only one."""
        return self._change("DELETE", reading(Success), self._version(version_id), base=base, removes=True)

    def compare_versions(self, from_id: str, to_id: str) -> Call[C]:
        """Show the fields in which two versions differ."""
        return self._get(
            reading(self.kind.comparison), "/versions/compare", query=(("from", from_id), ("to", to_id))
        )

    # Labels

    def list_labels(self) -> Call[LabelList]:
        """List the labels: `latest` and `production`, which are computed, then those that people set."""
        return self._get(reading(LabelList), "/labels")

    def set_label(
        self,
        name: str,
        version_id: str,
        *,
        released: bool | None = None,
        bypass_review: str | None = None,
        base: Base = None,
    ) -> Call[Label]:
        """Set a label on a version, or move it there.

        With `released=True`, everybody who may read what is published may read and run the version by this
        name; None leaves that as it is. That needs approvals as publishing does.
        """
        body = {"versionId": version_id} | ({} if released is None else {"released": released})
        body |= bypassing(bypass_review)
        withdrawn = released is False  # what was served by this name, to whoever reads no drafts
        return self._change("PUT", reading(Label), self._label(name), body=body, base=base, removes=withdrawn)

    def remove_label(self, name: str, *, base: Base = None) -> Call[Success]:
        """Remove a label."""
        return self._change("DELETE", reading(Success), self._label(name), base=base, removes=True)

    # Favorites

    def favorite(self) -> Call[Favorited]:
        """Mark it as a favorite of the owner of the key."""
        return self._change("PUT", reading(Favorited), "/favorite")

    def unfavorite(self) -> Call[Favorited]:
        """Remove the mark."""
        return self._change("DELETE", reading(Favorited), "/favorite")

    # With the JSON names, as files have them

    def create(self, fields: Mapping[str, Any]) -> Call[R]:
        """Create the resource."""
        request = Request(
            method="POST", path=f"/stored/{self.kind.segment}", body=encoded({**fields, "id": self.id})
        )
        return Call(request=request, read=self._record, about=self.about, changes=True)

    def edit(self, changes: Mapping[str, Any], base: Base = None) -> Call[R]:
        """Save an edit."""
        return self._change("PATCH", self._record, body=changes, base=base)

    # How they are put together

    @property
    def _record(self) -> Callable[[Answer], R]:
        return reading(self.kind.record, id=self.id)

    def _version(self, version_id: str) -> str:
        return f"/versions/{segment('versionId', version_id)}"

    def _label(self, name: str) -> str:
        return f"/labels/{segment('name', name)}"

    def _get(self, read: Callable[[Answer], T], rest: str, query: Query = ()) -> Call[T]:
        request = Request(method="GET", path=self.path + rest, query=query)
        return Call(request=request, read=read, about=self.about)

    def _change(
        self,
        method: str,
        read: Callable[[Answer], T],
        rest: str = "",
        *,
        query: Query = (),
        body: Any = None,
        base: Base = None,
        removes: bool = False,
    ) -> Call[T]:
        request = Request(
            method=method,
            path=self.path + rest,
            query=query,
            body=None if body is None else encoded(body),
            if_match=entity_tag(base),
        )
        return Call(request=request, read=read, about=self.about, changes=True, removes=removes)


class StoredAgent(Stored[AgentRecord, AgentVersion, AgentVersionPage, AgentComparison]):
    """A stored agent."""

    def __init__(self, agent_id: str) -> None:
        super().__init__(AGENTS, agent_id)

    def update(self, *, base: Base = None, **changes: Unpack[AgentChanges]) -> Call[AgentRecord]:
        """Save an edit as a draft, or publish it with `auto_publish=True`.

        With `base`, the record that the edit started from, raises `EditConflict` if somebody else has saved
        a change since; then nothing is saved.
        """
        return self.edit(with_json_names(changes), base)


class StoredPromptBlock(
    Stored[PromptBlockRecord, PromptBlockVersion, PromptBlockVersionPage, PromptBlockComparison]
):
    """A prompt block."""

    def __init__(self, block_id: str) -> None:
        super().__init__(PROMPT_BLOCKS, block_id)

    def update(self, *, base: Base = None, **changes: Unpack[PromptBlockChanges]) -> Call[PromptBlockRecord]:
        """Save an edit as a draft, or publish it with `auto_publish=True`; `base` as for agents."""
        return self.edit(with_json_names(changes), base)


def entity_tag(base: Base) -> str | None:
    """Return the value of `If-Match` for the base; raises `ValueError` for a record without a tag."""
    if not isinstance(base, CachedResult):
        return base
    if base.etag is None:
        raise ValueError("this record comes from a list and has no entity tag: read it with details()")
    return base.etag


def _message(change_message: str | None) -> dict[str, str]:
    return {} if change_message is None else {"changeMessage": change_message}
