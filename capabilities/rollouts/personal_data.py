"""The application's data about people, erased with them."""

from __future__ import annotations

from typing import Final

from versioning.models.personal_data import names_in, sentences_in

PERSONAL_DATA: Final = (
    names_in("experiments.Rollout", "author_name"),
    names_in("experiments.RolloutStep", "author_name"),
    sentences_in("experiments.RolloutStep", "problem"),
    names_in("experiments.Usage", "last_used_by"),
)
