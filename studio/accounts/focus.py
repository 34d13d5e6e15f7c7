"""The focus of forms that were refused."""

from __future__ import annotations

from typing import Any


class FocusOnError:
    """A form whose first field with an error has the focus, wherever it was before."""

    fields: dict[str, Any]
    errors: Any

    def full_clean(self) -> None:
        """Check the form, and let its first field with an error have the focus."""
        super().full_clean()  # type: ignore[misc]  # of Django's forms
        first = next((name for name in self.fields if name in self.errors), None)
        if first is not None:
            for field in self.fields.values():
                field.widget.attrs.pop("autofocus", None)
            self.fields[first].widget.attrs["autofocus"] = True
