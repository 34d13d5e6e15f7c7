"""The application: its models make the kind known, and its lists have a filter."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class ToyKindConfig(EditorApp):
    """Snippets."""

    name = "tests.toy_kind"
    label = "toy_kind"
    filters = "tests.toy_kind.filters.PREFIX"
