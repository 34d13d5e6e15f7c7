"""Locks: the exact versions of agents and of everything that they run or contain, signed. Pure.

A lock is a JSON object that its holder keeps; the editor does not store it. It names each agent and each
prompt block with a version and the digest of its configuration. It also contains the conditions under which
they were served when the lock was made (`Terms`): otherwise a lock could give access to a draft, or to a
private agent that a public one merely names.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from editor_client.shared import canonical

from versioning.domain.errors import Invalid, Issue, Message, VersioningError

LOCK_VERSION: Final = 1
MAX_ENTRIES: Final = 2000
"""The maximum number of agents and prompt blocks in a lock, so that it fits into the body of a run."""

OWN_MEMBERS: Final = frozenset({"lockVersion", "digest", "signature"})
"""The members that distinguish a lock from other maps of versions."""

_MEMBERS: Final = OWN_MEMBERS | {"agents", "promptBlocks"}
_PIN_MEMBERS: Final = frozenset({"versionId", "digest"})

Json = dict[str, Any]


class LockInvalid(Invalid):
    """The object sent as a lock was not signed by this installation."""

    code = "lock_invalid"

    @classmethod
    def at(cls, place: str) -> LockInvalid:
        """Return the error; it does not describe the fault, since only whole locks can be used."""
        return cls([Issue(place, "is not a lock that this installation made")])


class LockBroken(VersioningError):
    """A resource in a lock no longer exists in that version, or the caller may not read it."""

    code = "lock_broken"

    def __init__(
        self,
        *,
        agents: Iterable[str] = (),
        prompt_blocks: Iterable[str] = (),
        leading_to: Collection[str] = (),
    ) -> None:
        self.agents, self.prompt_blocks = sorted(set(agents)), sorted(set(prompt_blocks))
        self.leading_to = leading_to
        """The sub-agents of the broken part, which the request may need as well."""
        names = [f"the agent {agent!r}" for agent in self.agents]
        names += [f"the prompt block {prompt_block!r}" for prompt_block in self.prompt_blocks]
        super().__init__(
            Message(
                "The lock no longer holds: {names} cannot be resolved as it says.", names=", ".join(names)
            )
        )

    def details(self) -> Json:
        """Return the ids that cannot be resolved."""
        return {"names": [*self.agents, *self.prompt_blocks]}


@dataclass(frozen=True, kw_only=True)
class Pin:
    """The exact version of an agent or of a prompt block."""

    version_id: str | None
    """None for an agent as defined in code."""
    digest: str
    """The digest of the evaluated configuration: for an agent in code, the code's with the override."""

    def as_dict(self) -> Json:
        return {"versionId": self.version_id, "digest": self.digest}


Pins = Mapping[str, Pin]
References = Mapping[str, frozenset[str]]
"""The targets of references, by the id of the agent that refers to them."""


def _nothing() -> References:
    return MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The conditions when a lock was made, in addition to the versions.

    A reference in a published agent leads to a target that runs or is shown as a part of it, for every
    caller. The exceptions are listed here. The references of a draft count only for callers who can read the
    target themselves.
    """

    draft_agents: frozenset[str] = frozenset()
    """The agents whose version was not published; running it requires the right to read drafts."""
    draft_blocks: frozenset[str] = frozenset()
    own_agents: References = field(default_factory=_nothing)
    """The sub-agents of published agents that were available only by the lock maker's own right."""
    without_agents: References = field(default_factory=_nothing)
    """The sub-agents that are in the lock because of other agents, and were unavailable to this one."""
    without_blocks: References = field(default_factory=_nothing)
    """The prompt blocks that are in the lock because of other agents, and that this one did not show."""

    def as_dict(self) -> Json:
        """Return the JSON form, without empty members."""
        members: Json = {
            "draftAgents": sorted(self.draft_agents),
            "draftBlocks": sorted(self.draft_blocks),
            "ownAgents": _list_references(self.own_agents),
            "withoutAgents": _list_references(self.without_agents),
            "withoutBlocks": _list_references(self.without_blocks),
        }
        return {name: value for name, value in members.items() if value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Terms:
        """Return the terms for their JSON form, whose signature has been verified."""
        return cls(
            draft_agents=frozenset(data.get("draftAgents", ())),
            draft_blocks=frozenset(data.get("draftBlocks", ())),
            own_agents=_references(data.get("ownAgents", {})),
            without_agents=_references(data.get("withoutAgents", {})),
            without_blocks=_references(data.get("withoutBlocks", {})),
        )

    def runs_as_part(self, agent_id: str, sub_agent_id: str) -> bool:
        """Return whether a sub-agent runs as part of this agent for everyone who can run the agent."""
        return agent_id not in self.draft_agents and sub_agent_id not in self.own_agents.get(agent_id, ())


@dataclass(frozen=True, kw_only=True)
class Lock:
    """The exact versions of agents and prompt blocks, and the conditions of their use."""

    agents: Pins
    prompt_blocks: Pins
    terms: Terms

    def sign(self, key: bytes) -> Json:
        """Return the lock as its holder keeps it; equal locks give equal JSON."""
        content = _content(self.agents, self.prompt_blocks)
        digest = canonical.digest(content)
        text = canonical.dump(self.terms.as_dict())
        terms = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return {**content, "digest": digest, "signature": f"{terms}.{_mac(key, digest, terms)}"}

    def sub_agents(self, agent_id: str, ids: Collection[str]) -> list[str]:
        """Return those of the named sub-agents that were available to the agent."""
        without = self.terms.without_agents.get(agent_id, frozenset())
        return [sub_agent for sub_agent in ids if sub_agent in self.agents and sub_agent not in without]

    def blocks(self, agent_id: str, ids: Collection[str]) -> list[str]:
        """Return those of the named prompt blocks that the agent shows."""
        without = self.terms.without_blocks.get(agent_id, frozenset())
        return [block_id for block_id in ids if block_id in self.prompt_blocks and block_id not in without]


@dataclass(frozen=True, kw_only=True)
class SentLock:
    """A lock as it was sent, to be verified by opening it."""

    place: str = field(compare=False)
    """Its place in the request."""
    agents: Pins
    prompt_blocks: Pins
    digest: str
    signature: str

    @classmethod
    def parse(cls, value: Mapping[str, Any], place: str) -> SentLock:
        """Return the lock for a JSON object; raises `LockInvalid` for one of another shape."""
        digest, signature = value.get("digest"), value.get("signature")
        try:
            canonical.check(value)
        except ValueError:
            raise LockInvalid.at(place) from None
        is_known = value.keys() == _MEMBERS and canonical.same(value["lockVersion"], LOCK_VERSION)
        if not is_known or not isinstance(digest, str) or not isinstance(signature, str):
            raise LockInvalid.at(place)
        return cls(
            place=place,
            agents=_pins(value["agents"], place),
            prompt_blocks=_pins(value["promptBlocks"], place),
            digest=digest,
            signature=signature,
        )

    def open(self, key: bytes) -> Lock:
        """Return the lock; raises `LockInvalid` unless it was signed with this key and is unchanged."""
        digest = canonical.digest(_content(self.agents, self.prompt_blocks))
        terms, _, mac = self.signature.partition(".")
        expected = f"{digest}.{_mac(key, digest, terms)}"
        if not hmac.compare_digest(f"{self.digest}.{mac}".encode(), expected.encode()):
            raise LockInvalid.at(self.place)
        decoded: Json = json.loads(base64.urlsafe_b64decode(terms + "=" * (-len(terms) % 4)))
        return Lock(agents=self.agents, prompt_blocks=self.prompt_blocks, terms=Terms.from_dict(decoded))


def _content(agents: Pins, prompt_blocks: Pins) -> Json:
    return {
        "lockVersion": LOCK_VERSION,
        "agents": {agent: agents[agent].as_dict() for agent in sorted(agents)},
        "promptBlocks": {
            prompt_block: prompt_blocks[prompt_block].as_dict() for prompt_block in sorted(prompt_blocks)
        },
    }


def _mac(key: bytes, digest: str, terms: str) -> str:
    return hmac.new(key, f"{digest}.{terms}".encode(), hashlib.sha256).hexdigest()


def _pins(value: Any, place: str) -> Pins:
    if not isinstance(value, Mapping) or len(value) > MAX_ENTRIES:
        raise LockInvalid.at(place)
    return MappingProxyType({str(resource_id): _pin(pin, place) for resource_id, pin in value.items()})


def _pin(value: Any, place: str) -> Pin:
    if not isinstance(value, Mapping) or value.keys() != _PIN_MEMBERS:
        raise LockInvalid.at(place)
    version_id, digest = value["versionId"], value["digest"]
    if not isinstance(version_id, str | None) or not isinstance(digest, str):
        raise LockInvalid.at(place)
    return Pin(version_id=version_id, digest=digest)


def _list_references(references: References) -> dict[str, list[str]]:
    return {kind: sorted(targets) for kind, targets in references.items() if targets}


def _references(data: Mapping[str, Iterable[str]]) -> References:
    return {kind: frozenset(targets) for kind, targets in data.items()}
