"""Items of datasets from test cases, which give values to the variables of prompts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from editor_client.importing.collection import external_id


@dataclass
class Cases:
    """Makes the items for one prompt, or for several that are tested together."""

    needed: Collection[str] = ()
    """The variables that the instructions have; the names in the source."""
    dropped: Sequence[str] = ()
    """The variables of a message that is left out: a single one is the input."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Our names of variables that cannot keep theirs."""
    items: list[dict[str, Any]] = field(default_factory=list, init=False)
    _seen: dict[str, int] = field(default_factory=dict, init=False)

    def add(self, given: Mapping[str, Any], **members: Any) -> None:
        """Add an item with these values of variables; of the further `members` those that are not None."""
        asked = self.dropped[0] if len(self.dropped) == 1 else "input"
        item: dict[str, Any] = {"input": given.get(asked, dict(given))}
        context = {
            self.names.get(name, name): value
            for name, value in given.items()
            if name != asked or name in self.needed
        }
        if context:
            item["requestContext"] = context
        self._add(item, members)

    def add_input(self, given: Any, **members: Any) -> None:
        """Add an item whose input is known."""
        self._add({"input": given}, members)

    def _add(self, item: dict[str, Any], members: Mapping[str, Any]) -> None:
        item |= {name: value for name, value in members.items() if value is not None}
        self.items.append({**item, "externalId": external_id(item, self._seen)})
