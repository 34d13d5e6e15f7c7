"""All verbs of one kind of resource, in the order of the roles: reading, saving, publishing."""

from __future__ import annotations

from typing import TypeVar

from versioning.editor.saving import Saving
from versioning.models import VersionedResource, VersionLabel

R = TypeVar("R", bound=VersionedResource)


class Collection(Saving[R]):
    """The agents, or the prompt blocks.

    `publishes_at_once` is the one difference between the kinds: saving an agent through Python
    publishes it, saving a prompt block makes a draft.
    """

    def __init__(self, model: type[R], label_model: type[VersionLabel], *, publishes_at_once: bool) -> None:
        super().__init__(model, label_model)
        self.publishes_at_once = publishes_at_once
