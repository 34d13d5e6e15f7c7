"""The application: nothing but its models makes the kind known."""

from __future__ import annotations

from django.apps import AppConfig


class ToyKindConfig(AppConfig):
    """Snippets."""

    name = "tests.toy_kind"
    label = "toy_kind"
    default_auto_field = "django.db.models.BigAutoField"
