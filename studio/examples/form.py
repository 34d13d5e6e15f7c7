"""The context form of a preview or run: its fields, its examples, and errors."""

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
"""The revision of no example: changes based on it are refused."""


@dataclass
class ContextForm:
    """The fields of a context with their values, as the templates show them."""

    controls: Sequence[ContextControl]
    examples: Examples
    posted: Input = field(default_factory=lambda: Input(""))
    chosen: Example | None = None
    """The example that the fields began with; saving changes it."""
    message: str = ""
    """The result of the last action."""
    errors: list[str] = field(default_factory=list)
    """The errors that belong to no field."""
    name: str = ""
    """The typed name of an example."""
    deleted: Example | None = None
    """The example that the last action deleted, which can be undone."""
    is_outdated: bool = False
    """Whether the example was changed elsewhere since the fields were filled in from it."""

    @classmethod
    def of(cls, configs: Sequence[Config], examples: Examples, *, drafts: bool) -> ContextForm:
        """Return an empty form for configurations; `drafts` are those of their prompt blocks."""
        return cls(controls=controls_for(configs, examples.caller, drafts=drafts), examples=examples)

    def take(self, sent: QueryDict) -> ContextForm:
        """Fill in the posted fields, or the example that is named if there are no fields."""
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
        """Continue with an example that was just stored, or with none."""
        self.chosen = example
        self.__dict__.pop("offered", None)

    def _choose(self, example_id: str) -> None:
        try:
            self.chosen = self.examples.get(example_id)
        except NotFound:
            self.errors.append(_("This example no longer exists."))

    def read(self) -> dict[str, Any]:
        """Return the context; raises `Invalid`, and adds the errors to the fields."""
        reading = Reading()
        try:
            return read_context(self.posted, self.controls, reading)
        except Invalid as error:
            self.note(error.issues, reading)
            raise

    def note(self, issues: Sequence[Issue], reading: Reading | None = None) -> None:
        """Add an error to its field, or above all fields."""
        unplaced = (reading or Reading()).attach(issues)
        self.errors.extend(issue.message for issue in unplaced)

    @property
    def groups(self) -> list[ContextGroup]:
        """The fields in groups that belong together."""
        return context_groups(self.controls, self.posted)

    @property
    def json(self) -> Input:
        """The control for values without a field."""
        return self.posted.child("context")

    @cached_property
    def offered(self) -> Sequence[Example]:
        """The examples to choose from."""
        return self.examples.all()

    @property
    def etag(self) -> str:
        """The tag of the example that the form began with."""
        return etag_of(self.chosen) if self.chosen is not None else ""

    @property
    def keeps_open(self) -> bool:
        """Whether to expand the controls for saving examples: an error concerns them."""
        return bool(self.name)

    @property
    def fingerprint(self) -> str:
        """A value that changes with the set of fields: an open page compares it."""
        names = [(control.path, control.type, control.options) for control in self.controls]
        return hashlib.sha256(repr(names).encode()).hexdigest()[:16]


def etag_of(example: Example) -> str:
    """Return the tag of an example's state, for the form that begins with it."""
    return f"{example.pk}.{example.revision}"


def controls_for(configs: Sequence[Config], caller: Caller, *, drafts: bool) -> list[ContextControl]:
    """Return the controls for all names in configurations and in the prompt blocks that they refer to.

    Prompt blocks that are too much to read are ignored.
    """
    blocks: list[Config] = []
    with suppress(Invalid):
        for config in configs:
            blocks += get_editor().prompt.configs_used_in(config, drafts=drafts, by=caller)
    return context_controls(*configs, *blocks)
