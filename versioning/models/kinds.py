"""Which model stores a kind of resource. The model itself names its versions, labels and references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from versioning.domain.kinds import ResourceKind
from versioning.models.agents import Agent
from versioning.models.prompts import PromptBlock
from versioning.models.versioned import VersionedResource

MODELS: Final[tuple[type[VersionedResource], ...]] = (Agent, PromptBlock)
"""The model of each kind."""

MODELS_BY_SLUG: Final[Mapping[str, type[VersionedResource]]] = {model.kind.slug: model for model in MODELS}
"""The same, by the slug of the kind."""


def model_of(kind: ResourceKind) -> type[VersionedResource]:
    """Return the model that stores resources of this kind."""
    return MODELS_BY_SLUG[kind.slug]
