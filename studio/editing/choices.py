"""The suggestions of the edit page's pickers: prompt blocks, agents, tools, models; names of the context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared import ids
from editor_client.shared.configurations import referenced_agents
from editor_client.shared.instructions import referenced_blocks
from editor_client.shared.text_keys import caseless

from studio.editing.base import EditablePage
from studio.forms.context import ContextControl, declared_values, names_in
from studio.forms.inputs import Input
from studio.kinds import AGENT, KINDS, PROMPT_BLOCK, StudioKind
from studio.limits import MAX_NAME, PageBudget, shorten
from studio.resources.base import ResourcePage
from studio.resources.rows import STATES
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.agents import referenced_tools
from versioning.domain.config import Config
from versioning.domain.errors import Invalid, Issue, Message
from versioning.domain.selectors import Status
from versioning.editor.catalog import Suggestion, suggestions, suggestions_by_id

MAX_READ: Final = 100
"""The number of agents of the workspace that are read, most recently changed first."""
MAX_CHARACTERS: Final = 2_000_000
"""The maximum total length of their configurations."""


def known_tools(agent_id: str, workspace_id: str, caller: Caller) -> dict[str, str]:
    """Return the tools to suggest, by name, each with its origin; three queries."""
    code = get_editor().code
    agent = code.get(agent_id)
    described = dict(agent.tool_descriptions) if agent is not None else {}
    tools = {name: described.get(name) or _("in the code") for name in sorted(code.tool_names(agent_id))}
    for config in _configs(workspace_id, caller):
        for _place, name in referenced_tools(config):
            tools.setdefault(name, _used_in(config))
    return tools


def known_models(provider: str, workspace_id: str, caller: Caller) -> dict[str, str]:
    """Return the names of models in use, of this provider or of any, each with its user; three queries."""
    models: dict[str, str] = {}
    for agent in get_editor().code.readable_by(caller).values():
        _add(models, provider, agent.model, _("used in %(name)s") % {"name": shorten(agent.name)})
    for config in _configs(workspace_id, caller):
        value = config.get("model") or {}
        for model in [variant["value"] for variant in value] if isinstance(value, list) else [value]:
            _add(models, provider, model, _used_in(config))
    return models


def known_providers() -> dict[str, str]:
    """Return the providers with their missing parts, ready ones first; others can be typed."""
    ready, incomplete = {}, {}
    for provider in get_editor().providers().all():
        if provider.missing_extra is not None:
            lacks = _("pydantic-ai-slim[%(extra)s] is not installed") % {"extra": provider.missing_extra}
            incomplete[provider.name] = lacks
        elif provider.missing_variable is not None:
            incomplete[provider.name] = _("%(variable)s is not set") % {"variable": provider.missing_variable}
        else:
            ready[provider.name] = _("ready")
    return {**ready, **incomplete}


def _configs(workspace_id: str, caller: Caller) -> Iterable[Config]:
    newest = AGENT.collection.changed_last(workspace_id, limit=MAX_READ, by=caller)
    versions = AGENT.collection.newest_readable(newest, limit=MAX_CHARACTERS, by=caller) if newest else {}
    return [versions[version].config for version in newest if version in versions]


def _add(models: dict[str, str], provider: str, model: Mapping[str, Any] | None, where: str) -> None:
    model_value = model or {}
    name = model_value.get("name")
    if name and provider in {"", model_value.get("provider")}:
        models.setdefault(name, where)


def _used_in(config: Config) -> str:
    return _("used in %(name)s") % {"name": shorten(str(config.get("name") or "…"))}


MAX_CHOICES: Final = 20
"""The maximum number of suggestions."""
MAX_PREVIEW: Final = 160
_KINDS = {kind.namespace: kind for kind in KINDS}


@dataclass(frozen=True, kw_only=True)
class ReferenceChoice:
    """A suggestion to refer to by id, in the words of the page; the script gets it as JSON."""

    id: str
    name: str = ""
    """Empty if the id is the name."""
    state: str = ""
    chip: str = ""
    address: str = ""
    folder: str = ""
    """The part of the id up to its last `/`."""
    preview: str = ""
    """The beginning of its prompt; for a tool or a model, the place of its declaration or use."""

    @classmethod
    def of(cls, kind: StudioKind, suggestion: Suggestion) -> ReferenceChoice:
        return cls(
            id=suggestion.id,
            name=shorten(suggestion.name),
            state=str(STATES[suggestion.state].word),
            chip=STATES[suggestion.state].chip,
            address=kind.address("change", suggestion.id),
            folder=suggestion.id[: suggestion.id.rfind("/") + 1],
            preview=shorten(suggestion.excerpt, MAX_PREVIEW),
        )


class ChoicesPage(ResourcePage):
    """Suggestions while a person types: `?of=prompt&q=tone`, as JSON."""

    def get(self, request: HttpRequest, resource: str) -> JsonResponse:
        self.require(Right.SAVE)
        choice_type, text = (request.GET.get(name, "").replace("\x00", "").strip() for name in ("of", "q"))
        names = self._names(choice_type)
        if names is None:
            kind = _KINDS.get(choice_type, PROMPT_BLOCK)
            choices = [
                ReferenceChoice.of(kind, suggestion)
                for suggestion in suggestions(kind.catalog(self.caller), text, MAX_CHOICES)
            ]
        else:
            choices = _containing(text, names)
        return JsonResponse({"choices": [asdict(block) for block in choices]})

    def _names(self, choice_type: str) -> Mapping[str, str] | None:
        """Return the suggestions chosen by name only, with their origins; None for resources."""
        match choice_type:
            case "tool":
                return known_tools(self.resource_id, self.workspace_id, self.caller)
            case "model":
                return known_models(self.request.GET.get("provider", ""), self.workspace_id, self.caller)
            case "provider":
                return known_providers()
        return None


def _containing(text: str, names: Mapping[str, str]) -> list[ReferenceChoice]:
    """Return the names that contain the text, those that begin with it first."""
    caseless_text = caseless(text)
    matching = [name for name in names if caseless_text in caseless(name)]
    ordered_names = sorted(matching, key=lambda name: not caseless(name).startswith(caseless_text))
    return [
        ReferenceChoice(id=block_id, preview=shorten(names[block_id], MAX_PREVIEW))
        for block_id in ordered_names[:MAX_CHOICES]
    ]


def known_names(resource_id: str, controls: Iterable[ContextControl]) -> Mapping[str, list[str]]:
    return {
        "tools": sorted(get_editor().code.tool_names(resource_id)),
        "context": [control.path for control in controls],
    }


MAX_NAMES: Final = 300
"""The maximum number of suggested names."""
MAX_NAMED: Final = 40
"""The number of resources of a kind that are read for names used elsewhere."""
MAX_NAME_CHARACTERS: Final = 1_000_000
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
    """The other resource that uses or declares it; empty if the resource itself does."""


class NamesPage(EditablePage):
    """The names, as JSON: `{"names": [{"path": "customer.name", …}]}`."""

    def get(self, request: HttpRequest, resource: str) -> JsonResponse:
        """Return the names that the resource declares, then those that other readable resources use."""
        self.require(Right.SAVE)
        config = self.effective(self.base)
        names: dict[str, ContextName] = {}
        for name in _list_declared(config, used=""):
            names.setdefault(name.path, name)
        for source in self._elsewhere(config):
            title = shorten(str(source.get("name") or "")) or "…"
            paths = [name.path for name in names_in(source) if len(name.path) <= MAX_NAME]
            used = [ContextName(path=path, used=title) for path in paths]
            for name in (*_list_declared(source, used=title), *used):
                names.setdefault(name.path, name)
        return JsonResponse({"names": [asdict(name) for name in list(names.values())[:MAX_NAMES]]})

    def _elsewhere(self, config: Config) -> Iterator[Config]:
        """Yield the resources to read: the related ones, then the newest of the workspace."""
        blocks = [block_id for _, block_id in referenced_blocks(config)]
        yield from _read(PROMPT_BLOCK, blocks, self.caller)
        dependents = self.collection.dependents(self.resource_id, status=Status.DRAFT, by=self.caller)
        yield from _read(AGENT, dependents.ids, self.caller)
        for kind in KINDS:
            newest = kind.collection.changed_last(self.workspace_id, limit=MAX_NAMED, by=self.caller)
            own = self.resource_id if kind.slug == self.kind.slug else None
            yield from _read(kind, [version for version in newest if version != own], self.caller)


def _read(kind: StudioKind, resource_ids: Sequence[str], caller: Caller) -> list[Config]:
    first = resource_ids[:MAX_NAMED]
    versions = kind.collection.newest_readable(first, limit=MAX_NAME_CHARACTERS, by=caller) if first else {}
    return [versions[version].config for version in first if version in versions]


def _list_declared(config: Config, *, used: str) -> Iterator[ContextName]:
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


MAX_REFERENCES: Final = 2 * PageBudget.characters
"""The maximum total length of the prompt blocks on a page."""
EXCERPT_LINES: Final = 2
EXCERPT: Final = 240
"""The maximum length in characters of an unexpanded prompt block on the page."""


@dataclass(frozen=True, kw_only=True)
class ShownBlock:
    """A prompt block that instructions refer to, with its text as far as the caller may read it."""

    choice: ReferenceChoice
    text: str | None
    """None if the texts together are too long for the page."""
    rules: Mapping[str, Any] | None
    """Its own display rules."""

    @property
    def excerpt(self) -> str:
        lines = [line for line in (self.text or "").splitlines() if line.strip()]
        return shorten("\n".join(lines[:EXCERPT_LINES]), EXCERPT)

    @property
    def has_more(self) -> bool:
        return self.text is not None and self.text.strip() != self.excerpt


@dataclass(frozen=True, kw_only=True)
class References:
    """The resources that are referred to and readable for the caller, by kind and id."""

    prompt: Mapping[str, ShownBlock]
    agent: Mapping[str, ReferenceChoice]


def references_to(blocks: Iterable[str], agents: Iterable[str], caller: Caller) -> References:
    """Return the resources with these ids; takes three queries."""
    return References(prompt=_blocks(blocks, caller), agent=_choices(AGENT, agents, caller))


def referred_to(controls: Input, caller: Caller) -> References:
    blocks = {row["id"].as_line for row in controls["instructions"]["blocks"].rows}
    lists = [controls["agents"], *(row["value"] for row in controls["agents"]["variants"].rows)]
    agents = {row["key"].as_line for reference in lists for row in reference["offered"].rows}
    return references_to(blocks, agents, caller)


class ReferencePage(ResourcePage):
    """A prompt block in the form of the edit page: `?id=tone`; a fragment for a new reference."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        self.require(Right.SAVE)
        requested = request.GET.get("id", "").strip()
        context = {
            "chosen": references_to({requested}, (), self.caller).prompt.get(requested),
            "id": requested,
        }
        return TemplateResponse(request, "studio/editing/reference.html", context)


def _choices(kind: StudioKind, resource_ids: Iterable[str], caller: Caller) -> dict[str, ReferenceChoice]:
    suggestions = suggestions_by_id(kind.catalog(caller), resource_ids)
    return {id_: ReferenceChoice.of(kind, value) for id_, value in suggestions.items()}


def _blocks(block_ids: Iterable[str], caller: Caller) -> dict[str, ShownBlock]:
    possible = {name for name in block_ids if not ids.problem(name)}
    if not possible:
        return {}
    versions = PROMPT_BLOCK.collection.newest_readable(possible, limit=MAX_REFERENCES, by=caller)
    configs = {id_: version.config for id_, version in versions.items()}
    return {
        id_: ShownBlock(
            choice=choice,
            text=configs[id_]["content"] if id_ in configs else None,
            rules=configs.get(id_, {}).get("rules"),
        )
        for id_, choice in _choices(PROMPT_BLOCK, possible, caller).items()
    }


_REFERENCES: Final[Mapping[str, tuple[StudioKind, Callable[[Config], Iterable[tuple[str, str]]]]]] = {
    "instructions": (PROMPT_BLOCK, referenced_blocks),
    "agents": (AGENT, referenced_agents),
}
"""By the field with the references: the kind of their targets, and the function that finds them."""


def refuse_unknown(changed: Mapping[str, Any], known: list[Config], caller: Caller) -> None:
    """Raise `Invalid` with every new reference to something that the caller may not use.

    The API accepts them, because the target may be created later. In a form, such an id is a mistake.
    `changed` has the valid values of the changed fields; `known` are the configurations whose references are
    not new. Takes one query for each field with new references.
    """
    issues: list[Issue] = []
    for field, (kind, references) in _REFERENCES.items():
        if field not in changed:
            continue
        old = {target for config in known for _place, target in references(config)}
        new = [(place, target) for place, target in references({field: changed[field]}) if target not in old]
        suggestions = (
            suggestions_by_id(kind.catalog(caller), {target for _place, target in new}) if new else {}
        )
        for place, target in new:
            if target in suggestions:
                continue
            values = {"id": shorten(target)}
            if kind is AGENT:
                message = Message("there is no agent with the id {id} that you may use here", **values)
            else:
                message = Message("there is no prompt block with the id {id} that you may use here", **values)
            issues.append(Issue(place, message))
    if issues:
        raise Invalid(issues)
