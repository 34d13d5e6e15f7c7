"""The context of a preview or of a run on a page: its fields, its examples, and what is wrong with it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from django.http import QueryDict
from django.utils.translation import gettext as _

from studio.examples.stored import Examples
from studio.forms.context import (
    ContextControl,
    ContextGroup,
    context_controls,
    context_groups,
    read_context,
    shown_context,
)
from studio.forms.inputs import Input, Reading, controls_of
from studio.models import Example
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.domain.config import Config
from versioning.domain.errors import Invalid, Issue, NotFound

NEVER: Final = 0
"""The revision of no example: changes that begin with it are refused."""


@dataclass
class ContextForm:
    """The fields of a context with what stands in them, as the templates show them."""

    controls: Sequence[ContextControl]
    examples: Examples
    posted: Input = field(default_factory=lambda: Input(""))
    chosen: Example | None = None
    """The example that the fields began with; saving changes it."""
    message: str = ""
    """What became of the last thing that was asked for."""
    errors: list[str] = field(default_factory=list)
    """What is wrong with no field in particular."""
    name: str = ""
    """What was typed as the name of an example."""
    is_outdated: bool = False
    """Whether the example was changed elsewhere since the fields were filled in from it."""

    @classmethod
    def of(cls, configs: Sequence[Config], examples: Examples, *, drafts: bool) -> ContextForm:
        """Return an empty form for configurations; `drafts` are those of their prompt blocks."""
        return cls(controls=controls_for(configs, examples.caller, drafts=drafts), examples=examples)

    def take(self, sent: QueryDict) -> ContextForm:
        """Fill in what was sent: the fields, or the example that it names if it has no fields of its own."""
        self.posted = controls_of(sent)
        self.name = self.posted["example_name"].as_line
        example_id = self.posted["example"].typed
        loads = self.posted["do"].typed == "load"
        if example_id:
            self._choose(example_id)
        elif loads:
            self.posted = Input("")
        has_fields = "given" in self.posted or "context" in self.posted
        if self.chosen is not None and (loads or not has_fields):
            self.posted = shown_context(self.chosen.context, self.controls)
        elif self.chosen is not None and etag_of(self.chosen) != self.posted["example_tag"].typed:
            # The fields belong to another state of it, or to another example.
            self.chosen.revision = NEVER
        return self

    def choose(self, example: Example | None) -> None:
        """Go on with an example that was just stored, or with none."""
        self.chosen = example
        self.__dict__.pop("offered", None)

    def _choose(self, example_id: str) -> None:
        try:
            self.chosen = self.examples.get(example_id)
        except NotFound:
            self.errors.append(_("This example does not exist any more."))

    def read(self) -> dict[str, Any]:
        """Return the context; raises `Invalid`, and notes beside the fields what is wrong with them."""
        reading = Reading()
        try:
            return read_context(self.posted, self.controls, reading)
        except Invalid as error:
            self.note(error.issues, reading)
            raise

    def note(self, issues: Sequence[Issue], reading: Reading | None = None) -> None:
        """Note what is wrong, beside the field that it is about or above all of them."""
        unplaced = (reading or Reading()).attach(issues)
        self.errors.extend(issue.message for issue in unplaced)

    @property
    def groups(self) -> list[ContextGroup]:
        """The fields, those that belong together in one group."""
        return context_groups(self.controls, self.posted)

    @property
    def json(self) -> Input:
        """The control of what has no field."""
        return self.posted.part("context")

    @cached_property
    def offered(self) -> Sequence[Example]:
        """The examples to choose from."""
        return self.examples.all()

    @property
    def etag(self) -> str:
        """What the form says about the example that it began with."""
        return etag_of(self.chosen) if self.chosen is not None else ""

    @property
    def keeps_open(self) -> bool:
        """Whether to show at once how examples are kept: something about that has gone wrong."""
        return bool(self.name)

    @property
    def fingerprint(self) -> str:
        """What is another when the fields are others: an open page compares it."""
        names = [(control.path, control.type, control.options) for control in self.controls]
        return hashlib.sha256(repr(names).encode()).hexdigest()[:16]


def etag_of(example: Example) -> str:
    """Return what tells a state of an example from all others, for the form that begins with it."""
    return f"{example.pk}.{example.revision}"


def controls_for(configs: Sequence[Config], caller: Caller, *, drafts: bool) -> list[ContextControl]:
    """Return the controls for all names in configurations and in the prompt blocks that they refer to.

    Of prompt blocks that are too much to read there are none.
    """
    blocks: list[Config] = []
    with suppress(Invalid):
        for config in configs:
            blocks += get_editor().prompt.configs_used_in(config, drafts=drafts, by=caller)
    return context_controls(*configs, *blocks)
