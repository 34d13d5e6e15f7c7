"""All verbs of one kind of resource, as a table of contents: each is a function in the module named here."""

from __future__ import annotations

from typing import Any, TypeVar

from versioning.domain.agents import Registry
from versioning.domain.kinds import ResourceKind
from versioning.editor import blocks, deleting, favorites, labelling, reading, saving, serving
from versioning.editor.backends import Backend
from versioning.editor.backends.override_files import OverrideFiles
from versioning.editor.backends.rows import Rows
from versioning.editor.resources import Resources
from versioning.models import Agent, PromptBlock, VersionedResource
from versioning.models.versioned import find_model
from versioning.sources.overrides import OverrideSource

R = TypeVar("R", bound=VersionedResource)


class Collection(Resources[R]):
    """The resources of a kind: `editor.agent.publish("writer", version_id, by=user)`.

    `by` is the caller, with their rights; the default is the application. `expect` is the value of
    `If-Match`, a list of ETags: if none of them is the resource's, the verb raises `EditConflict`. Callers
    get only resources that they may read, and every change is logged.
    """

    list = reading.list_readable
    list_unstored = reading.list_unstored
    changed_last = reading.changed_last
    newest_readable = reading.newest_readable
    find = reading.find
    find_or_defined = reading.find_or_defined
    get = reading.get
    versions = reading.versions
    version = reading.version
    compare = reading.compare
    export = reading.export
    dependents = reading.dependents
    dependents_count = reading.dependents_count

    create = saving.create
    check_new = saving.check_new
    clone = saving.clone
    update = saving.update
    edit = saving.edit
    edit_live = saving.edit_live
    restore = saving.restore
    snapshot = saving.snapshot

    publish = saving.publish
    unpublish = saving.unpublish
    labels = labelling.labels
    label = labelling.label
    unlabel = labelling.unlabel
    favorite = favorites.favorite
    unfavorite = favorites.unfavorite

    delete = deleting.delete
    delete_version = deleting.delete_version
    discard_draft = deleting.discard_draft
    prune = deleting.prune


class Agents(Collection[Agent]):
    """The verbs of agents, stored or defined in code."""

    serve = serving.serve
    serve_all = serving.serve_all
    serve_locked = serving.serve_locked
    parts = serving.parts
    preview = serving.preview
    explain = serving.explain
    fingerprint = serving.fingerprint
    require_saving = reading.require_saving
    request_change = reading.request_change


class Prompts(Collection[PromptBlock]):
    """The verbs of prompt blocks."""

    preview = blocks.preview
    explain = blocks.explain
    require_drafts = blocks.require_drafts
    context_notices = blocks.context_notices
    used_in = blocks.used_in
    configs_used_in = blocks.configs_used_in


def make_agents(code: Registry, files: OverrideSource | None = None) -> Agents:
    """Return the verbs of agents; with a `source` their overrides are files, otherwise rows."""
    backend: Backend[Agent] = Rows(Agent, code) if files is None else OverrideFiles(code, files)
    return Agents(model=Agent, code=code, backend=backend, agents=backend)


def make_collection(kind: ResourceKind, code: Registry, agents: Agents) -> Collection[Any]:
    """Return the verbs of a kind that declares none."""
    model = find_model(kind)
    return Collection(model=model, code=code, backend=Rows(model, code), agents=agents.backend)


def make_prompts(code: Registry, agents: Agents) -> Prompts:
    """Return the verbs of prompt blocks, to which these agents refer."""
    return Prompts(model=PromptBlock, code=code, backend=Rows(PromptBlock, code), agents=agents.backend)
