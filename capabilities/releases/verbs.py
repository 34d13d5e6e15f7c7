"""All verbs of releases, as a table of contents: each is a function in the module named here."""

from __future__ import annotations

from capabilities.releases import checking, editing, publishing, reverting
from versioning.verbs import Verbs


class Releases(Verbs):
    """What can be done with releases.

        release = editor.releases.create(
            "acme", title="Autumn", items=[{"resource": {"kind": "agent", "id": "writer"}}], by=user
        )
        editor.releases.publish(str(release.pk), by=user)

    `by` is the caller, with their rights; the default is the application.
    """

    list = staticmethod(editing.list_readable)
    find = staticmethod(editing.find)
    create = editing.create
    change = editing.change
    add_items = editing.add_items
    remove_item = staticmethod(editing.remove_item)
    delete = staticmethod(editing.delete)
    check = checking.check
    publish = publishing.publish
    revert = reverting.revert
