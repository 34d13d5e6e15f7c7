"""Examples: named contexts of a resource, which the edit page, the preview and Try share.

Members who can read the drafts of a resource may read its examples, and those who can save may change them.
They belong to one resource and not to its id: a later resource with the same id does not inherit them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError
from django.db.models import F
from django.http import QueryDict
from django.utils.translation import gettext as _
from editor_client.shared import canonical

from studio.forms.context import (
    ContextControl,
    ContextGroup,
    context_controls,
    context_groups,
    read_context,
    shown_context,
)
from studio.forms.inputs import Input, Reading, controls_of
from studio.kinds import StudioKind
from studio.models import MAX_EXAMPLE_NAME, Example, ExampleQuerySet
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.errors import Invalid, Issue, NotFound, VersioningError
from versioning.domain.overrides import IN_CODE
from versioning.domain.uuids import is_key
from versioning.models import VersionedResource, Workspace, events
from versioning.models.followers import RESOURCES, Follower

MAX_EXAMPLES: Final = 50
"""The maximum number of examples of a resource."""
MAX_CONTEXT: Final = 50_000
"""The maximum length of an example's context as JSON."""


class ExampleConflict(VersioningError):
    """The examples were changed elsewhere in a way that conflicts with this change."""

    code = "example_conflict"


@dataclass(frozen=True)
class Examples:
    kind: StudioKind
    resource_id: str
    identity: UUID
    workspace_id: str
    caller: Caller

    @classmethod
    def of(
        cls, kind: StudioKind, resource_id: str, resource: VersionedResource | None, caller: Caller
    ) -> Examples:
        """Return the examples of a readable resource; one without a row is defined in code.

        A row of another workspace with the id of a code-defined agent is not an override, and has its own.
        """
        if resource is None:
            return cls(kind, resource_id, IN_CODE, get_editor().code.workspace_id, caller)
        is_override = kind.collection.ownership.overridden_by(resource) is not None
        identity = IN_CODE if is_override else resource.uuid
        return cls(kind, resource_id, identity, resource.workspace_id, caller)

    @property
    def may_read(self) -> bool:
        return self.caller.may(Right.READ_DRAFTS, self.workspace_id)

    @property
    def may_change(self) -> bool:
        return self.caller.may(Right.SAVE, self.workspace_id)

    def all(self) -> Sequence[Example]:
        """Return them ordered by name; none for callers without access to drafts."""
        return list(self._rows.defer("context_json")) if self.may_read else []

    def get(self, example_id: str) -> Example:
        """Return one of them; raises `NotFound`."""
        example = self._rows.filter(pk=example_id).first() if self.may_read and is_key(example_id) else None
        if example is None:
            raise NotFound
        return example

    def add(self, name: str, context: Mapping[str, Any]) -> Example:
        """Add an example. Raises `Invalid` for an invalid or taken name, and beyond the limits."""
        example = Example(
            kind=self.kind.slug,
            resource_id=self.resource_id,
            identity=self.identity,
            name=_checked_name(name),
            context_json=_checked_context(context),
            author_id=self.caller.user_id,
        )
        with _naming(), self._changing():
            if self._rows.count() >= MAX_EXAMPLES:
                message = _("There are already %(count)d examples, which is the limit.")
                raise Invalid.field("example_name", message % {"count": MAX_EXAMPLES})
            example.save()
        return example

    def change(self, example: Example, context: Mapping[str, Any]) -> Example:
        """Change the context of an example.

        Raises `ExampleConflict` if it was changed or deleted since it was read.
        """
        return self._update(example, context_json=_checked_context(context))

    def rename(self, example: Example, name: str) -> Example:
        """Rename an example; raises as `add` and `change` do."""
        with _naming():
            return self._update(example, name=_checked_name(name))

    def delete(self, example: Example) -> None:
        """Delete an example; raises `ExampleConflict` if it was changed since it was read."""
        with self._changing():
            deleted, _by_model = self._with_revision(example).delete()
            if not deleted and self._rows.filter(pk=example.pk).exists():
                raise ExampleConflict(_changed_meanwhile(example))

    @property
    def _rows(self) -> ExampleQuerySet:
        return Example.objects.about(self.kind.slug, self.resource_id, self.identity)

    def _with_revision(self, example: Example) -> ExampleQuerySet:
        return self._rows.filter(pk=example.pk, revision=example.revision)

    def _update(self, example: Example, **values: Any) -> Example:
        with self._changing():
            changes = {**values, "author_id": self.caller.user_id, "revision": F("revision") + 1}
            if not self._with_revision(example).update(**changes):
                raise ExampleConflict(_changed_meanwhile(example))
            return self._rows.get(pk=example.pk)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Open a transaction that prevents others from changing the examples or deleting the resource."""
        self.caller.require(Right.SAVE, self.workspace_id)
        with events.transaction():
            events.acts(self.caller)
            if self.identity == IN_CODE:
                list(Workspace.objects.select_for_update(no_key=True).filter(pk=self.workspace_id))
            elif not list(self.kind.collection.all.with_lock().filter(uuid=self.identity).only("pk")):
                raise NotFound
            yield


# The examples of a code-defined agent outlive its overrides.
FOLLOWER: Final = Follower(
    call=lambda instance, **_signal: Example.objects.filter(
        kind=instance.kind.slug, identity=instance.uuid
    ).delete(),
    rows=RESOURCES,
)


@contextmanager
def _naming() -> Iterator[None]:
    """Raise `Invalid` if storing fails because the name is taken."""
    try:
        yield
    except IntegrityError:
        message = _(
            "There is already an example with this name. Choose another name, or choose that example."
        )
        raise Invalid.field("example_name", message, code="example_taken") from None


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise Invalid.field("example_name", _("An example needs a name."))
    if len(name) > MAX_EXAMPLE_NAME or not name.isprintable():
        message = _("The name of an example is a line of up to %(count)d characters.")
        raise Invalid.field("example_name", message % {"count": MAX_EXAMPLE_NAME})
    return name


def _checked_context(context: Mapping[str, Any]) -> str:
    text = canonical.dump(context)
    canonical.parse(text, field="context")
    if len(text) > MAX_CONTEXT:
        message = _("The context of an example is JSON of up to %(count)d characters.")
        raise Invalid.field("context", message % {"count": MAX_CONTEXT})
    return text


def _changed_meanwhile(example: Example) -> str:
    message = _(
        "Someone has changed or deleted the example “%(name)s” since you opened it, so nothing was changed. "
        "What you typed is still here: save it under another name, or look at the example as it is now."
    )
    return message % {"name": example.name}


NEVER: Final = 0
"""A revision that no example has: changes based on it are refused."""


@dataclass
class ContextForm:
    controls: Sequence[ContextControl]
    examples: Examples
    posted: Input = field(default_factory=lambda: Input(""))
    chosen: Example | None = None
    """The example from which the fields were filled in; saving changes it."""
    message: str = ""
    errors: list[str] = field(default_factory=list)
    """The errors that belong to no field."""
    name: str = ""
    deleted: Example | None = None
    """The example that the last action deleted, which can be undone."""
    is_outdated: bool = False
    """Whether the example was changed elsewhere since the fields were filled in from it."""

    @classmethod
    def of(cls, configs: Sequence[Config], examples: Examples, *, drafts: bool) -> ContextForm:
        """Return an empty form for configurations; `drafts` are those of their prompt blocks."""
        return cls(controls=controls_for(configs, examples.caller, drafts=drafts), examples=examples)

    def take(self, data: QueryDict) -> ContextForm:
        """Fill in the posted fields or, without fields, the named example."""
        self.posted = controls_of(data)
        self.name = self.posted["example_name"].as_line
        example_id = self.posted["example"].typed
        loads = self.posted["do"].typed == "load"
        if example_id:
            try:
                self.chosen = self.examples.get(example_id)
            except NotFound:
                self.errors.append(_("This example no longer exists."))
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
        self.chosen = example
        self.__dict__.pop("offered", None)

    def read(self) -> dict[str, Any]:
        """Return the context; raises `Invalid`, and adds the errors to the fields."""
        reading = Reading()
        try:
            return read_context(self.posted, self.controls, reading)
        except Invalid as error:
            self.note(error.issues, reading)
            raise

    def note(self, issues: Sequence[Issue], reading: Reading | None = None) -> None:
        unplaced = (reading or Reading()).attach(issues)
        self.errors.extend(issue.message for issue in unplaced)

    @property
    def groups(self) -> list[ContextGroup]:
        return context_groups(self.controls, self.posted)

    @property
    def json(self) -> Input:
        """The control for values without a field."""
        return self.posted.child("context")

    @cached_property
    def choices(self) -> Sequence[Example]:
        return self.examples.all()

    @property
    def etag(self) -> str:
        return etag_of(self.chosen) if self.chosen is not None else ""

    @property
    def keeps_open(self) -> bool:
        """Whether to expand the controls for saving examples because of an error in them."""
        return bool(self.name)

    @property
    def fingerprint(self) -> str:
        """A value that changes with the set of fields: an open page compares it."""
        names = [(control.path, control.type, control.options) for control in self.controls]
        return hashlib.sha256(repr(names).encode()).hexdigest()[:16]


def etag_of(example: Example) -> str:
    return f"{example.pk}.{example.revision}"


def controls_for(configs: Sequence[Config], caller: Caller, *, drafts: bool) -> list[ContextControl]:
    """Return the controls for all names in configurations and in the prompt blocks that they refer to.

    Prompt blocks beyond the read limit are ignored.
    """
    blocks: list[Config] = []
    with suppress(Invalid):
        for config in configs:
            blocks += get_editor().prompt.configs_used_in(config, drafts=drafts, by=caller)
    return context_controls(*configs, *blocks)


def change_examples(form: ContextForm, action: str) -> int:
    """Perform the action of a button, if it is about examples; return the status of the answer.

    The form then contains a message about the result, and the typed values. Raises `NotFound` if the resource
    was deleted, and `Forbidden` for callers who cannot save.
    """
    try:
        form.message = _act(form, action)
    except ExampleConflict as conflict:
        form.errors.append(conflict.message)
        form.is_outdated = True
        return 409
    except Invalid as error:
        form.note(error.issues)
        return 409 if error.code == "example_taken" else 400
    if form.message:
        form.name = ""
    return 200


def _act(form: ContextForm, action: str) -> str:
    """Perform the action, and return the message about the result; empty for other buttons."""
    if action in {"save", "rename", "delete"} and form.chosen is None:
        raise Invalid.field("example", _("Choose an example first."))
    match action, form.chosen:
        case "save_as", _example:
            form.choose(form.examples.add(form.name, form.read()))
            message = _("Saved as the example “%(name)s”.")
        case "save", Example() as example:
            form.choose(form.examples.change(example, form.read()))
            message = _("The example “%(name)s” is saved.")
        case "rename", Example() as example:
            form.choose(form.examples.rename(example, form.name))
            message = _("The example is now called “%(name)s”.")
        case "delete", Example() as example:
            form.examples.delete(example)
            form.choose(None)
            form.deleted = example
            message = _("The example “%(name)s” is deleted. What it held is still filled in.")
        case "undelete", _example:
            context = canonical.parse(form.posted["deleted_context"].typed, field="context")
            form.choose(form.examples.add(form.posted["deleted_name"].as_line, context))
            message = _("The example “%(name)s” is back.")
        case _:
            return ""
    return message % {"name": form.chosen or form.deleted}
