"""The studio's words about the kinds of resource: every text about one kind, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from django.utils.module_loading import import_string
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext_lazy

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

    from versioning.domain.config import Config
    from versioning.domain.kinds import ResourceKind


@dataclass(frozen=True, kw_only=True)
class Part:
    """A member of a field that is an object, with its own control."""

    name: str
    title: StrOrPromise
    help: StrOrPromise = ""
    control: str = "value"
    """The control: `value`, any JSON or a text; `line`, a text; `lines`, a list of texts; `json`; `yes_no`;
    `choice`, one of the `options`; `rows`, a list of objects of `parts`."""
    options: Mapping[str, StrOrPromise] = field(default_factory=dict)
    parts: Sequence[Part] = ()


CONTROLS: Final = ("line", "text", "choice", "json", "parts")
"""The controls that a kind can choose for its own field."""


@dataclass(frozen=True, kw_only=True)
class FieldWords:
    """A field of a snapshot on the page: its title, its help, and its control."""

    title: StrOrPromise
    help: StrOrPromise = ""
    options: Mapping[str, StrOrPromise] = field(default_factory=dict)
    """The values of a `choice`, each in words; an empty value means none."""
    control: str = "json"
    """The control: `line`, `text`, `choice`, `json`, or `parts`, by the `parts` of a field.

    The fields of agents and blocks have their own controls.
    """
    parts: Mapping[str, Sequence[Part]] = field(default_factory=dict)
    """The parts of the object, by the value of the field `parts_by`; a part has one control everywhere."""
    parts_by: str = ""

    def __post_init__(self) -> None:
        if self.control not in CONTROLS:
            raise ValueError(
                f"The control {self.control!r} does not exist: it is one of {', '.join(CONTROLS)}"
            )


@dataclass(frozen=True, kw_only=True)
class FirstChoice:
    """A choice on the page for a new resource, instead of an initial text."""

    field: str
    begins: Callable[[str], Config]
    """Returns the other initial fields of a new one, by the chosen value."""


@dataclass(frozen=True, kw_only=True)
class KindWords:
    """The texts about one kind. Placeholders are those of the examples."""

    noun: StrOrPromise
    """For use in a sentence: `prompt block`."""
    title: StrOrPromise
    """The plural, as the title of a list: `Prompt blocks`."""
    new: StrOrPromise
    """`New prompt block`."""
    counted: Callable[[int], str]
    """The number of resources, with the placeholder `count`: `%(count)s prompt blocks`."""
    anything: StrOrPromise
    """The choice for all events about them."""
    named: StrOrPromise
    """`prompt block {name}`."""
    created: StrOrPromise
    """`{who} created this prompt block`."""
    metadata_changed: StrOrPromise
    deleted: StrOrPromise
    delete: StrOrPromise
    """`Delete this prompt block`."""
    has_changed: StrOrPromise
    """`This prompt block has changed since you opened it.`"""
    of_named: StrOrPromise = ""
    """`of prompt block {name}`, as an attribute; empty for `of` and `named`."""
    object_named: StrOrPromise = ""
    """`named` as the object of a sentence, which languages decline; empty for `named`."""
    beginning: StrOrPromise = ""
    """The introduction of an empty list, above an example."""
    example: StrOrPromise = ""
    first_choice: FirstChoice | None = None
    fields: Mapping[str, FieldWords] = field(default_factory=dict)
    """The words of the fields that only this kind has or names differently, in reading order."""
    needs: Callable[[str, Config], bool] = lambda _name, _config: True
    """Returns whether a field is offered for a configuration; one that has a value always is."""

    @classmethod
    def plain(cls, kind: ResourceKind, fields: Mapping[str, FieldWords] | None = None) -> KindWords:
        """Return English texts for a kind without translated ones."""
        singular, plural = kind.singular, kind.plural
        return cls(
            noun=singular,
            title=capfirst(plural),
            new=f"New {singular}",
            counted=lambda count: f"%(count)s {singular if count == 1 else plural}",
            anything=f"Anything about {plural}",
            named=f"{singular} {{name}}",
            created=f"{{who}} created this {singular}",
            metadata_changed=f"{{who}} changed the metadata of this {singular}",
            deleted=f"{{who}} deleted this {singular}",
            delete=f"Delete this {singular}",
            has_changed=f"This {singular} has changed since you opened it.",
            fields=fields or {},
        )


@cache
def words_of_kind(kind: ResourceKind) -> KindWords:
    words: KindWords = import_string(kind.studio_words) if kind.studio_words else KindWords.plain(kind)
    return words


AGENT: Final = KindWords(
    noun=_("agent"),
    title=_("Agents"),
    new=_("New agent"),
    counted=lambda count: ngettext("%(count)s agent", "%(count)s agents", count),
    anything=_("Anything about agents"),
    named=_("agent {name}"),
    of_named=_("of agent {name}"),
    object_named=pgettext_lazy("the object of a sentence", "agent {name}"),
    created=_("{who} created this agent"),
    metadata_changed=_("{who} changed the metadata of this agent"),
    deleted=_("{who} deleted this agent"),
    delete=_("Delete this agent"),
    has_changed=_("This agent has changed since you opened it."),
    beginning=_(
        "An agent begins with its instructions. What stands in double braces is filled in with each request:"
    ),
    example=_(
        "You answer the customers of {{ shop.name || 'our shop' }}. Be brief and friendly. "
        "If you do not know something, say so, and say who knows."
    ),
    fields={
        "instructions": FieldWords(
            title=_("Instructions"), help=_("What the agent is told before anything else.")
        ),
        "model": FieldWords(title=_("Model")),
        "tools": FieldWords(
            title=_("Tools"),
            help=_("What the agent can use. Your description overrides the tool’s own."),
        ),
        "agents": FieldWords(title=_("Sub-agents"), help=_("Agents this agent can delegate to.")),
        "workflows": FieldWords(title=_("Workflows")),
        "scorers": FieldWords(title=_("Scorers")),
        "integrationTools": FieldWords(title=_("Integration tools")),
        "toolProviders": FieldWords(title=_("Tool providers")),
        "mcpClients": FieldWords(title=_("MCP clients")),
        "defaultOptions": FieldWords(
            title=_("Default options"), help=_("Options of every run, such as maxSteps.")
        ),
        "inputProcessors": FieldWords(title=_("Input processors")),
        "outputProcessors": FieldWords(title=_("Output processors")),
        "memory": FieldWords(title=_("Memory")),
        "skills": FieldWords(title=_("Skills")),
        "workspace": FieldWords(
            title=_("Runtime folder"), help=_("The agent's own folder at run time; not the team's workspace.")
        ),
        "browser": FieldWords(title=_("Browser")),
    },
)
PROMPT_BLOCK: Final = KindWords(
    noun=_("prompt block"),
    title=_("Prompt blocks"),
    new=_("New prompt block"),
    counted=lambda count: ngettext("%(count)s prompt block", "%(count)s prompt blocks", count),
    anything=_("Anything about prompt blocks"),
    named=_("prompt block {name}"),
    of_named=_("of prompt block {name}"),
    object_named=pgettext_lazy("the object of a sentence", "prompt block {name}"),
    created=_("{who} created this prompt block"),
    metadata_changed=_("{who} changed the metadata of this prompt block"),
    deleted=_("{who} deleted this prompt block"),
    delete=_("Delete this prompt block"),
    has_changed=_("This prompt block has changed since you opened it."),
    beginning=_("A prompt block is a text that several agents share, and that is changed in one place:"),
    example=_(
        "Write plainly and warmly. Short sentences, no exclamation marks. "
        "Greet people by their name if you know it."
    ),
    fields={
        "content": FieldWords(
            title=_("Text"),
            help=_("{{ path }} is filled in from the context; {{ path || 'text' }} has a fallback."),
        ),
        "rules": FieldWords(title=_("When it is shown")),
    },
)
