"""A store in memory: agents, overrides and the rights to them, without a database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from versioning.domain.access import Caller, Right, Role
from versioning.domain.agents import Notice, ResolvedAgent
from versioning.domain.errors import Forbidden, NotFound
from versioning.domain.overrides import IN_CODE, CodeAgent, merged_config
from versioning.domain.provider_catalog import BUILT_IN, OwnPrice, ProviderCatalog
from versioning.domain.selectors import NO_BLOCKS, SelectedBlocks, Selector, Status
from versioning.runtime.store import as_code

ECHO = {"provider": "echo", "name": "echo"}
EDITOR = Caller(username="edgar", roles={"acme": Role.EDITOR})
VIEWER = Caller(username="vera", roles={"acme": Role.VIEWER})
STRANGER = Caller(username="charlie", roles={"elsewhere": Role.ADMIN})


@dataclass
class Stored:
    """One stored agent, or the overrides of one that is defined in code."""

    versions: dict[str, dict[str, Any]]
    active: str | None
    labels: dict[str, str]
    public: bool
    workspace: str

    @property
    def latest(self) -> str:
        return list(self.versions)[-1]


@dataclass
class MemoryStore:
    """Serves its stored agents and overrides, by the rules of the contract."""

    stored: dict[str, Stored] = field(default_factory=dict)
    code: dict[str, CodeAgent] = field(default_factory=dict)
    tools: list[str] = field(default_factory=list)
    served: list[tuple[str, Selector]] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    """Where it was asked to serve, and where it was told that there are no more questions."""
    closed: list[int] = field(default_factory=list)
    given_back: list[int] = field(default_factory=list)
    catalog: ProviderCatalog = BUILT_IN
    own_prices: Mapping[str, OwnPrice] = field(default_factory=dict)
    granted: set[str] = field(default_factory=set)
    """The agents of other workspaces that every publisher might read."""

    def put(
        self,
        agent_id: str,
        *instructions: str,
        active: int | None = None,
        labels: Mapping[str, int] | None = None,
        public: bool = False,
        workspace: str = "acme",
        **config: Any,
    ) -> None:
        """Store an agent with a version for each text, `<id>-1`, `<id>-2` and so on."""
        versions = {
            f"{agent_id}-{number}": {"name": agent_id, "model": ECHO, **config, "instructions": text}
            for number, text in enumerate(instructions, start=1)
        }
        self.stored[agent_id] = Stored(
            versions=versions,
            active=f"{agent_id}-{active}" if active else None,
            labels={name: f"{agent_id}-{number}" for name, number in (labels or {}).items()},
            public=public,
            workspace=workspace,
        )

    def register(
        self, agents: Sequence[CodeAgent], tools: Collection[str], providers: Mapping[str, Any]
    ) -> None:
        self.code = {agent.id: agent for agent in agents}
        self.tools = list(tools)
        self.catalog = ProviderCatalog(own=providers)

    def providers(self) -> ProviderCatalog:
        return self.catalog

    def prices(self) -> Mapping[str, OwnPrice]:
        return self.own_prices

    def serve(
        self,
        agent_id: str,
        selector: Selector,
        *,
        context: Mapping[str, Any],
        by: Caller,
        identity: UUID | None,
        blocks: SelectedBlocks = NO_BLOCKS,
    ) -> ResolvedAgent:
        assert not blocks, "there are no prompt blocks here"
        self.served.append((agent_id, selector))
        self.threads.append(threading.get_ident())
        code, stored = self.code.get(agent_id), self.stored.get(agent_id)
        if (code is None and stored is None) or not (identity is not None or self._readable(agent_id, by)):
            raise NotFound
        drafts = by.may(Right.READ_DRAFTS, self._workspace(agent_id))
        version, fallback = self._version(stored, selector, latest=drafts and identity is None)
        if version is None and code is None:
            raise NotFound
        if version is None or stored is None:
            return as_code(self.code[agent_id], context, selector)
        if version != stored.active and not drafts:
            raise Forbidden("You may not read drafts and history.")
        return self._assembled(agent_id, version, selector, fallback)

    def consistently(self, read: Callable[[], Any]) -> Any:
        """Return the result of the call: nothing changes meanwhile."""
        return read()

    def granted_sub_agents(self, parent: ResolvedAgent) -> Mapping[str, UUID]:
        home = self._workspace(parent.id)
        return {
            agent_id: IN_CODE
            for agent_id in parent.agents
            if agent_id in self.granted
            or (agent_id in self.code.keys() | self.stored.keys() and self._workspace(agent_id) == home)
        }

    def give_back(self) -> None:
        self.given_back.append(threading.get_ident())

    def close_thread(self) -> None:
        self.closed.append(threading.get_ident())

    def _workspace(self, agent_id: str) -> str:
        return self.stored[agent_id].workspace if agent_id in self.stored else "acme"

    def _readable(self, agent_id: str, by: Caller) -> bool:
        code = self.code.get(agent_id)
        public = code.visibility == "public" if code else self.stored[agent_id].public
        return public or by.may(Right.READ, self._workspace(agent_id))

    def _version(
        self, stored: Stored | None, selector: Selector, *, latest: bool
    ) -> tuple[str | None, Notice | None]:
        named = selector.version_id
        if selector.label is not None:
            named = stored.labels.get(selector.label, "") if stored else ""
        if named is not None:
            if stored is None or named not in stored.versions:
                raise NotFound
            return named, None
        if stored is None:
            return None, None
        if selector.status is Status.DRAFT:
            return stored.latest, None
        if stored.active is None and latest:
            return stored.latest, Notice(
                "never_published", "There is no published version; this is the latest."
            )
        return stored.active, None

    def _assembled(
        self, agent_id: str, version: str, selector: Selector, fallback: Notice | None
    ) -> ResolvedAgent:
        stored, code = self.stored[agent_id], self.code.get(agent_id)
        config = stored.versions[version]
        config = merged_config(code, config) if code else config
        return ResolvedAgent(
            id=agent_id,
            uuid=IN_CODE,
            name=config["name"],
            description=config.get("description"),
            instructions=config["instructions"],
            tools=config.get("tools", {}),
            agents=config.get("agents", {}),
            model=config.get("model"),
            default_options=config.get("defaultOptions", {}),
            source="code" if code else "stored",
            status=Status.PUBLISHED if stored.active else Status.DRAFT,
            metadata={},
            resolved_version_id=version,
            active_version_id=stored.active,
            is_live=version == stored.active,
            selector=selector,
            fallback=fallback,
        )
