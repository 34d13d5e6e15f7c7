"""All verbs of one kind of resource, in the order of the roles: reading, saving, publishing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from versioning.domain.access import APPLICATION
from versioning.domain.registry import Registry
from versioning.editor.live_edits import LiveEdits
from versioning.editor.reading import Who
from versioning.models import VersionedResource, VersionLabel
from versioning.serving.resolution import Resolved

R = TypeVar("R", bound=VersionedResource)


class Collection(LiveEdits[R]):
    """The agents, or the prompt blocks.

    `publishes_at_once` is the one difference between the kinds: `update` publishes an agent, and
    makes a draft of a prompt block.
    """

    def __init__(
        self,
        model: type[R],
        label_model: type[VersionLabel],
        code: Registry,
        *,
        publishes_at_once: bool,
    ) -> None:
        super().__init__(model, label_model, code)
        self.publishes_at_once = publishes_at_once

    def update(
        self,
        resource_id: str,
        fields: Mapping[str, Any] | None = None,
        *,
        publish: bool | None = None,
        by: Who = APPLICATION,
        **more: Any,
    ) -> Resolved[R]:
        """Save an edit, and BE CAREFUL: an agent is published by it, at once.

        The one difference between the kinds: `editor.agent.update()` makes a version and serves it
        from the next read on, as `edit_live` does (`publish=False` keeps it a draft);
        `editor.prompt.update()` makes a draft that nobody is served, as `edit` does
        (`publish=True` publishes it).
        """
        publish = self.publishes_at_once if publish is None else publish
        save = self.edit_live if publish else self.edit
        return save(resource_id, fields, by=by, **more)
