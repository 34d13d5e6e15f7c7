"""All verbs of gates: reading and changing them, checking a change, and starting what is missing."""

from __future__ import annotations

from capabilities.evaluation.gates import checking, editing
from versioning.verbs import Verbs


class Gates(Verbs):
    """What can be done with gates; `by` is the caller, the default is the application."""

    list = staticmethod(editing.list_readable)
    find = staticmethod(editing.find)
    create = editing.create
    change = editing.change
    delete = staticmethod(editing.delete)
    check = checking.check
    run = checking.run
