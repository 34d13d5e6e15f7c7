"""Items of datasets from test cases, which give values to the variables of prompts."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.shared import canonical, dataset_items
from editor_client.transfer.importing.collection import Collection, Unreadable, external_id, shown
from editor_client.transfer.importing.documents import MAX_TOTAL

MAX_ITEMS: Final = dataset_items.MAX_ITEMS
MAX_ITEM: Final = dataset_items.MAX_ITEM - 6 * 1024
"""The maximum size of an item, with what is added to it."""
IMPORT: Final = "import"
"""The member of metadata with what the editor has no place for."""


@dataclass
class Cases:
    """Makes the items for one prompt, or for several that are tested together."""

    collection: Collection
    name: str
    """The name of the dataset."""
    needed: Container[str] = ()
    """The variables that the instructions have; the names in the source."""
    dropped: Sequence[str] = ()
    """The variables of a message that is left out: a single one is the input."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Our names of variables that cannot keep theirs."""
    items: list[dict[str, Any]] = field(default_factory=list, init=False)
    _seen: dict[str, int] = field(default_factory=dict, init=False)
    _size: int = field(default=0, init=False)

    def add(
        self,
        given: Mapping[str, Any],
        *,
        left: Mapping[str, Any] | None = None,
        external: str | None = None,
        **members: Any,
    ) -> None:
        """Add an item with these values of variables; of the further `members` those that are not None.

        `left` is what the editor has no place for: the member `import` of the metadata. `external` is the
        external id, which is otherwise made of the content.
        """
        asked = self.dropped[0] if len(self.dropped) == 1 else "input"
        item: dict[str, Any] = {"input": given.get(asked, dict(given))}
        context = {
            self.names.get(name, name): value
            for name, value in given.items()
            if name != asked or name in self.needed
        }
        if context:
            item["requestContext"] = context
        self._add(item, members, left or {}, external)

    def add_input(self, given: Any, *, left: Mapping[str, Any] | None = None, **members: Any) -> None:
        """Add an item whose input is known."""
        self._add({"input": given}, members, left or {})

    def _add(
        self,
        item: dict[str, Any],
        members: Mapping[str, Any],
        left: Mapping[str, Any],
        external: str | None = None,
    ) -> None:
        item |= {name: value for name, value in members.items() if value is not None}
        if metadata := self._metadata(item.pop("metadata", {}), left):
            item["metadata"] = metadata
        size = len(canonical.dump(item).encode())
        self._size += size
        if len(self.items) >= MAX_ITEMS or self._size > MAX_TOTAL:
            limits = f"{MAX_ITEMS} items, or {MAX_TOTAL >> 20} MiB"
            raise Unreadable(f"{shown(self.name)} has more than {limits}.")
        if size > MAX_ITEM:
            lost = f"An item of more than {MAX_ITEM >> 10} KiB is left out."
            self.collection.lose("too_large", self.name, lost)
            return
        self.items.append({**item, "externalId": external or external_id(item, self._seen)})

    def _metadata(self, metadata: Mapping[str, Any], left: Mapping[str, Any]) -> dict[str, Any]:
        """Return metadata as the editor takes it, with what has no place elsewhere as the member `import`."""
        kept, more = dict(metadata), dict(left)
        while (refused := dataset_items.metadata_problem(kept)) is not None:
            name = refused.field.removeprefix("metadata.")
            more.setdefault("metadata", {})[name] = kept.pop(name)
            lost = f"{shown(name)!r} of the metadata {refused.message}: the member {IMPORT!r} has it."
            self.collection.lose("metadata", self.name, lost)
        if more and IMPORT in kept:
            more.setdefault("metadata", {})[IMPORT] = kept.pop(IMPORT)
            lost = f"The member {IMPORT!r} of the metadata has what the editor has no place for, and itself."
            self.collection.lose("metadata", self.name, lost)
        return {**kept, IMPORT: more} if more else kept
