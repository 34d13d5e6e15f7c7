"""The prompt blocks that an agent refers to, with their versions: "draft 3, live 1"."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from studio.kinds import PROMPT_BLOCK
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.domain.config import Config
from versioning.editor import UsedBlock


@dataclass(frozen=True, kw_only=True)
class BlockOnPage:
    """A prompt block with a link to it, and the numbers of its live version and draft."""

    id: str
    name: str
    address: str
    live: int | None
    draft: int | None

    @classmethod
    def of(cls, block: UsedBlock) -> BlockOnPage:
        """Return the block as a page shows it."""
        address = PROMPT_BLOCK.address("change", block.id)
        return cls(id=block.id, name=block.name, address=address, live=block.live, draft=block.draft)

    @property
    def numbers(self) -> str:
        """The numbers of its draft and its live version: `draft 3, live 1`."""
        if self.live is None:
            words = _("not live") if self.draft is None else _("draft %(draft)s, not live")
        else:
            words = _("live %(live)s") if self.draft is None else _("draft %(draft)s, live %(live)s")
        return words % {"draft": self.draft, "live": self.live}


def blocks_on_page(config: Config, caller: Caller) -> list[BlockOnPage]:
    """Return the prompt blocks that a configuration refers to and that the caller may read."""
    return [BlockOnPage.of(block) for block in get_editor().prompt.used_in(config, by=caller)]


def unpublished(blocks: list[BlockOnPage]) -> list[BlockOnPage]:
    """Return the blocks with unpublished changes."""
    return [block for block in blocks if block.draft is not None]
