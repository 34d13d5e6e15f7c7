"""A project's own admin shows guarded rows read only, however they are registered.

Django imports this module where its admin is installed. Superusers have every Django permission, so
permissions cannot hide the forms of a plain `ModelAdmin`, whose saves would raise. Its methods are wrapped
instead. The studio's classes have their own methods.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin.options import BaseModelAdmin

from versioning.models.guarded import Guarded


def _without_guarded(inherited: Callable[..., bool]) -> Callable[..., bool]:
    """Return a `has_…_permission()` that is False for guarded rows."""

    @wraps(inherited)
    def permission(self: Any, *args: Any, **kwargs: Any) -> bool:
        return not issubclass(self.model, Guarded) and inherited(self, *args, **kwargs)

    return permission


def _with_guarded(inherited: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `get_readonly_fields()` with all columns of guarded rows, which no form can edit."""

    @wraps(inherited)
    def fields(self: Any, *args: Any, **kwargs: Any) -> Any:
        named_by_class = inherited(self, *args, **kwargs)
        if not issubclass(self.model, Guarded):
            return named_by_class
        columns = (field.name for field in self.model._meta.concrete_fields)
        return [*named_by_class, *(name for name in columns if name not in named_by_class)]

    return fields


_CHANGING = ("has_add_permission", "has_change_permission", "has_delete_permission")
for _name in _CHANGING:
    setattr(BaseModelAdmin, _name, _without_guarded(getattr(BaseModelAdmin, _name)))
BaseModelAdmin.get_readonly_fields = _with_guarded(BaseModelAdmin.get_readonly_fields)  # type: ignore[method-assign]
