"""The assembled prompt of a version under review, in an empty context."""

from __future__ import annotations

from collections.abc import Sequence

from studio.preview.explained import Preview
from studio.resources.base import ResourcePage
from studio.resources.blocks import blocks_on_page
from versioning.domain.errors import Invalid, Issue, NotFound
from versioning.domain.selectors import Selector
from versioning.domain.snapshots import Snapshot


def assembled(page: ResourcePage, version: Snapshot) -> tuple[Preview | None, Sequence[Issue]]:
    """Return the prompt that publishing the version would serve, or its errors."""
    try:
        if page.kind.is_shown:
            config = version.config
            block = {"type": "prompt_block", "content": config["content"], "rules": config.get("rules")}
            return Preview.of(page.editor.prompt.explain([block], {}, by=page.caller)), []
        selector = Selector(version_id=version.version_id)
        explanation = page.editor.agent.explain(page.resource_id, selector, context={}, by=page.caller)
    except Invalid as error:
        return None, error.issues
    except NotFound:  # code leaves the instructions to the editor, and the version has none
        return None, []
    return Preview.of(explanation, blocks_on_page(page.effective(version), page.caller)), []
