"""The names that the prompt editor suggests: from the context schema, and used elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from django.http import HttpRequest, JsonResponse
from django.utils.translation import gettext_lazy
from editor_client.shared.instructions import referenced_blocks

from studio.editing.base import EditablePage
from studio.forms.context import declared_values, names_in
from studio.kinds import AGENT, KINDS, PROMPT_BLOCK, StudioKind
from studio.limits import MAX_NAME, shortened
from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.selectors import Status

MAX_NAMES: Final = 300
"""The maximum number of suggested names."""
MAX_READ: Final = 40
"""How many resources of a kind are read for names used elsewhere."""
MAX_CHARACTERS: Final = 1_000_000
"""The maximum total length of their configurations."""

_TYPES: Final = {
    "string": gettext_lazy("text"),
    "number": gettext_lazy("number"),
    "integer": gettext_lazy("whole number"),
    "boolean": gettext_lazy("yes or no"),
}


@dataclass(frozen=True, kw_only=True)
class ContextName:
    """A name in the context, in the words of the page; the script gets it as JSON."""

    path: str
    type: str = ""
    title: str = ""
    help: str = ""
    declared: bool = False
    """Whether the context schema of the resource itself declares it."""
    used: str = ""
    """Which other resource uses or declares it; empty if the resource itself does."""


class NamesPage(EditablePage):
    """The names, as JSON: `{"names": [{"path": "customer.name", …}]}`."""

    def get(self, request: HttpRequest, resource: str) -> JsonResponse:
        """Return the names that the resource declares, then those that other readable resources use."""
        self.require(Right.SAVE)
        config = self.effective(self.base)
        found: dict[str, ContextName] = {}
        for name in _declared(config, used=""):
            found.setdefault(name.path, name)
        for source in self._elsewhere(config):
            for name in (*_declared(source, used=_title(source)), *_used(source)):
                found.setdefault(name.path, name)
        return JsonResponse({"names": [asdict(name) for name in list(found.values())[:MAX_NAMES]]})

    def _elsewhere(self, config: Config) -> Iterator[Config]:
        """Yield the resources to read: the related ones, then the newest of the workspace."""
        blocks = [block_id for _, block_id in referenced_blocks(config)]
        yield from _read(PROMPT_BLOCK, blocks, self.caller)
        found = self.collection.dependents(self.resource_id, status=Status.DRAFT, by=self.caller)
        yield from _read(AGENT, found.ids, self.caller)
        for kind in KINDS:
            newest = kind.collection.changed_last(self.workspace_id, limit=MAX_READ, by=self.caller)
            own = self.resource_id if kind.slug == self.kind.slug else None
            yield from _read(kind, [one for one in newest if one != own], self.caller)


def _read(kind: StudioKind, wanted: Sequence[str], caller: Caller) -> list[Config]:
    """Return the configurations of the readable ones among some resources, in their order."""
    first = wanted[:MAX_READ]
    found = kind.collection.newest_readable(first, limit=MAX_CHARACTERS, by=caller) if first else {}
    return [found[one].config for one in first if one in found]


def _declared(config: Config, *, used: str) -> Iterator[ContextName]:
    """Yield the names that a schema declares; `used` is its resource, or empty for the page's own."""
    for control in declared_values(config):
        yield ContextName(
            path=control.path,
            type=str(_TYPES[control.type]),
            title=control.title,
            help=control.help,
            declared=not used,
            used=used,
        )


def _used(config: Config) -> Iterator[ContextName]:
    """Yield the names in the placeholders and conditions of a configuration."""
    for name in names_in(config):
        if len(name.path) <= MAX_NAME:
            yield ContextName(path=name.path, used=_title(config))


def _title(config: Config) -> str:
    return shortened(str(config.get("name") or "")) or "…"
