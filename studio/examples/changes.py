"""The actions of a context form on examples: save, rename and delete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.utils.translation import gettext as _
from editor_client.shared import canonical

from studio.examples.form import ContextForm
from studio.examples.stored import ExampleConflict
from studio.models import Example
from versioning.domain.errors import Invalid


def change_examples(form: ContextForm, wanted: str) -> int:
    """Perform the action of a button, if it is about examples; return the status of the answer.

    The form then contains a message about the result, and the typed values. Raises `NotFound` if the resource
    is gone, and `Forbidden` for callers who may not save.
    """
    action = _ACTIONS.get(wanted)
    if action is None:
        return 200
    try:
        form.message = action(form)
    except ExampleConflict as conflict:
        form.errors.append(conflict.message)
        form.is_outdated = True
        return 409
    except Invalid as error:
        form.note(error.issues)
        return 409 if error.code == "example_taken" else 400
    form.name = ""
    return 200


def _save_as(form: ContextForm) -> str:
    form.choose(form.examples.add(form.name, form.read()))
    return _("Saved as the example “%(name)s”.") % {"name": form.chosen}


def _save(form: ContextForm) -> str:
    form.choose(form.examples.change(_chosen(form), form.read()))
    return _("The example “%(name)s” is saved.") % {"name": form.chosen}


def _rename(form: ContextForm) -> str:
    form.choose(form.examples.rename(_chosen(form), form.name))
    return _("The example is now called “%(name)s”.") % {"name": form.chosen}


def _delete(form: ContextForm) -> str:
    deleted = _chosen(form)
    form.examples.delete(deleted)
    form.choose(None)
    form.deleted = deleted
    return _("The example “%(name)s” is deleted. What it held is still filled in.") % {"name": deleted}


def _undelete(form: ContextForm) -> str:
    context = canonical.parse(form.posted["deleted_context"].typed, field="context")
    form.choose(form.examples.add(form.posted["deleted_name"].as_line, context))
    return _("The example “%(name)s” is back.") % {"name": form.chosen}


def _chosen(form: ContextForm) -> Example:
    if form.chosen is None:
        raise Invalid.field("example", _("Choose an example first."))
    return form.chosen


_ACTIONS: Final[dict[str, Callable[[ContextForm], str]]] = {
    "save_as": _save_as,
    "save": _save,
    "rename": _rename,
    "delete": _delete,
    "undelete": _undelete,
}
