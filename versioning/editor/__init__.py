"""The use cases of people and programs for agents and prompt blocks.

    from versioning.editor import Editor

    editor = Editor()
    editor.agent.update("writer", instructions="…", by=user)     # saved and published AT ONCE
    editor.prompt.update("tone", content="…", by=user)           # saved as a DRAFT

That is the only difference between the two kinds. Every verb checks rights, applies the policies and writes
the audit log; the REST API, the studio and the commands call these same verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from editor_client.shared.conditions import Evaluation

from versioning import capabilities
from versioning.domain.access import APPLICATION
from versioning.domain.agents import AGENT, PROMPT_BLOCK, Involving, Registry, ResolvedAgent
from versioning.domain.kinds import KINDS, ResourceKind
from versioning.domain.locks import Lock, SentLock
from versioning.domain.overrides import CodeAgent
from versioning.domain.provider_catalog import OwnPrice, ProviderCatalog
from versioning.domain.selectors import NO_BLOCKS, PUBLISHED, SelectedBlocks, Selector
from versioning.editor.blocks import Explanation, UsedBlock
from versioning.editor.collection import (
    Agents,
    Collection,
    Prompts,
    make_agents,
    make_collection,
    make_prompts,
)
from versioning.editor.configuration_checks import configured_prices, provider_catalog
from versioning.editor.event_log import EventLog
from versioning.editor.invitations import Invitations
from versioning.editor.keys import Keys
from versioning.editor.locks import make_lock
from versioning.editor.people import People
from versioning.editor.resources import Who, caller_of
from versioning.editor.workspaces import Workspaces
from versioning.models import LockKey
from versioning.models.storage import give_back
from versioning.serving import grants
from versioning.serving.answer_cache import AnswerCache, list_dependencies
from versioning.serving.followed_log import Dependency, consistently
from versioning.serving.parts import AgentParts
from versioning.sources.overrides import OverrideSource

__all__ = [
    "Agents",
    "Collection",
    "Editor",
    "Explanation",
    "Invitations",
    "Prompts",
    "UsedBlock",
    "Workspaces",
]

Planned = TypeVar("Planned", bound=Involving)
V = TypeVar("V")


class Editor:
    """The public Python interface: one collection of verbs for each kind of resource.

    `agent` and `prompt` hold the verbs of the two kinds, `workspace` administers workspaces and members,
    `key` API keys, `invitation` lets people become members, and `person` erases people.

    `source` is the storage of overrides of code-defined agents: the `database`, or files under Git with
    `code`. The default is the setting `EDITOR_SOURCE`.
    """

    def __init__(self, *, source: str | None = None) -> None:
        source = settings.EDITOR_SOURCE if source is None else source
        if source not in {"database", "code"}:
            raise ImproperlyConfigured(f"EDITOR_SOURCE must be 'database' or 'code', not {source!r}")
        if settings.EDITOR_GIT_HISTORY_DEPTH < 0:
            raise ImproperlyConfigured("EDITOR_GIT_HISTORY_DEPTH must not be negative")
        self.source = source
        self.code = Registry(workspace_id=settings.EDITOR_CODE_WORKSPACE)
        self.files = OverrideSource(Path(settings.EDITOR_CODE_PATH), settings.EDITOR_GIT_HISTORY_DEPTH)
        self.agent = make_agents(self.code, None if source == "database" else self.files)
        self.prompt = make_prompts(self.code, self.agent)
        self.workspace = Workspaces()
        self.invitation = Invitations(self.workspace)
        self.key = Keys(self.workspace)
        self.person = People()
        self.event = EventLog(self.code)
        self.cache = AnswerCache(settings.EDITOR_CACHE_BYTES, self.agent.fingerprint)

    def __getattr__(self, name: str) -> Any:
        """Return the verbs that an application adds under this name; each is created once.

        `EditorApp.verbs` maps names to classes, which are called with this editor. Raises `AttributeError`
        for any other name.
        """
        if (verbs := capabilities.verbs(name)) is not None:
            added = verbs(self)
            setattr(self, name, added)
            return added
        for kind in KINDS:
            if kind.namespace == name:
                collection = make_collection(kind, self.code, self.agent)
                setattr(self, name, collection)
                return collection
        app = capabilities.left_out(name)
        where = "" if app is None else f" It is of the application {app!r}: add that to INSTALLED_APPS."
        raise AttributeError(f"The editor has no attribute {name!r}.{where}", name=name, obj=self)

    def capability(self, verbs: type[V]) -> V:
        """Return the verbs of an application with their type: `capability(Reviews)` is `editor.reviews`.

        Raises `LookupError` if no installed application declares the class.
        """
        instance: V = getattr(self, capabilities.name_of_verbs(verbs))
        return instance

    def collection(self, kind: ResourceKind) -> Collection[Any]:
        """Return the verbs of this kind."""
        collection: Collection[Any] = getattr(self, kind.namespace)
        return collection

    # The interface that the runtime needs: `versioning.runtime.store.AgentStore`

    def register(
        self, agents: Sequence[CodeAgent], tools: AnyCollection[str], providers: Mapping[str, Any]
    ) -> None:
        """Register the agents, tools and model providers that code defines."""
        self.code.register(agents, tools, providers)
        self.cache.clear()

    def providers(self) -> ProviderCatalog:
        """Return the model providers that agents may name: built in, of the settings, and of the code."""
        return provider_catalog(self.code)

    def prices(self) -> Mapping[str, OwnPrice]:
        """Return the prices of `EDITOR_PRICES`, by `provider/model`."""
        return configured_prices()

    def serve(
        self,
        agent_id: str,
        selector: Selector,
        *,
        context: Mapping[str, Any] | Evaluation,
        by: Who,
        identity: UUID | None,
        blocks: SelectedBlocks = NO_BLOCKS,
    ) -> ResolvedAgent:
        """Return the agent that the selector names; see `Agents.serve`."""
        values = context.context if isinstance(context, Evaluation) else context
        caller = caller_of(by)

        def make() -> ResolvedAgent:
            return self.agent.serve(
                agent_id,
                selector,
                context=context,
                by=caller,
                identity=identity,
                blocks=blocks,
            )

        request_key = selector, identity, caller.rights
        if blocks:
            return make()
        if not values:
            return self.cache.get_or_resolve(agent_id, request_key, make)

        def make_parts() -> AgentParts:
            return self.agent.parts(agent_id, selector, context=values, by=caller, identity=identity)

        return self.cache.parts(agent_id, request_key, values, make_parts).evaluate(Evaluation.of(context))

    def lock(
        self,
        agents: Iterable[str] = (),
        *,
        prompt_blocks: Iterable[str] = (),
        selector: Selector = PUBLISHED,
        by: Who = APPLICATION,
    ) -> dict[str, Any]:
        """Return a lock: a JSON object that can be passed as `versions` and always gives the same prompts.

        It contains the named agents and prompt blocks in the selected versions, plus every sub-agent and
        prompt block that they reach, read at one moment; see `make_lock`. The lock is not stored. Raises
        `NotFound`, `Forbidden` and `Invalid` as `make_lock` does, and `LockKeyUnreadable` if nothing can be
        signed.
        """
        key, caller = LockKey.load_key(), caller_of(by)
        agent_ids, blocks = list(dict.fromkeys(agents)), list(dict.fromkeys(prompt_blocks))
        lock = consistently(
            lambda: make_lock(
                self.agent, self.prompt, named=agent_ids, blocks=blocks, selector=selector, by=caller
            ),
            lambda _: ((AGENT.slug, None), (PROMPT_BLOCK.slug, None)),
        )
        return lock.sign(key)

    def open_lock(self, sent_lock: SentLock) -> Lock:
        """Verify and return a lock; raises `LockInvalid` if this installation has not signed it."""
        return sent_lock.open(LockKey.load_key())

    def serve_locked(
        self,
        agent_id: str,
        lock: Lock,
        *,
        context: Mapping[str, Any] | Evaluation,
        by: Who,
        as_part: bool,
        is_called: bool,
    ) -> ResolvedAgent:
        """Return the agent as the lock names it; see `Agents.serve_locked`."""
        return self.agent.serve_locked(
            agent_id, lock, context=context, by=by, as_part=as_part, is_called=is_called
        )

    def consistently(self, read: Callable[[], Planned]) -> Planned:
        """Return the result of `read`, with everything in it read at one moment."""

        def about(planned: Planned) -> Iterator[Dependency]:
            for agent_id in planned.looked_up:
                yield AGENT.slug, agent_id
            for agent in planned.agents.values():
                yield from list_dependencies(agent)

        return consistently(read, about)

    def granted_sub_agents(self, parent: ResolvedAgent) -> Mapping[str, UUID]:
        """Return the sub-agents that run as part of a published agent; see `versioning.serving.grants`."""
        return grants.granted_sub_agents(parent, self.code)

    def give_back(self) -> None:
        """Return this thread's database connection to the pool, unless the thread is in a transaction."""
        give_back()

    def close_thread(self) -> None:
        """Close the database connections of this thread.

        Django does this at the end of a request, but never for the threads of an event loop's executor,
        whose connections would be missing from the pool for ever.
        """
        connections.close_all()
