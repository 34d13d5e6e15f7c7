"""All verbs of datasets, as a table of contents: each is a function in the module named here."""

from __future__ import annotations

from capabilities.evaluation.datasets import changing_items, editing, exporting, importing
from versioning.verbs import Verbs


class Datasets(Verbs):
    """What can be done with datasets; `by` is the caller, the default is the application."""

    list = staticmethod(editing.list_readable)
    find = staticmethod(editing.find)
    create = editing.create
    change = editing.change
    delete = staticmethod(editing.delete)
    add = staticmethod(changing_items.add)
    change_item = staticmethod(changing_items.change)
    save_items = staticmethod(changing_items.save)
    remove = staticmethod(changing_items.remove)
    purge = staticmethod(changing_items.purge)
    import_items = staticmethod(importing.import_items)
    export_items = staticmethod(exporting.export_items)
