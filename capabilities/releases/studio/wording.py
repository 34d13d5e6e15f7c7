"""Releases in the words of the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext_lazy

from capabilities.releases.items import ItemNow
from capabilities.releases.models import Release
from capabilities.releases.models.releases import MAX_TITLE, State
from capabilities.releases.rules import Problem
from studio.limits import shortened
from studio.publishing.views import reasons


@dataclass(frozen=True)
class Wording:
    """The name of a state, and the class of its chip."""

    word: Promise
    chip: str = ""


STATES: Final[Mapping[str, Wording]] = {
    State.DRAFT: Wording(pgettext_lazy("a release", "Draft"), "chip-changed"),
    "scheduled": Wording(pgettext_lazy("a release", "Scheduled"), "chip-changed"),
    State.PUBLISHED: Wording(pgettext_lazy("a release", "Published"), "chip-published"),
    State.REVERTED: Wording(pgettext_lazy("a release", "Reverted")),
}


def state_in_words(release: Release, *, is_scheduled: bool) -> Wording:
    """Return the state of a release; a draft that is published automatically is scheduled."""
    return STATES["scheduled" if is_scheduled else release.state]


def problem_in_words(problem: Problem) -> list[str]:
    """Return why a release cannot be published, or an item of it, as sentences."""
    if problem.error is not None:
        return reasons(problem.error)
    if problem.code == "gone":
        is_there = isinstance(problem.resource, ItemNow) and problem.resource.resource is not None
        return [_("The version to publish was deleted.") if is_there else _("It was deleted.")]
    if problem.code == "code_source":
        return [_("Its override is kept as a file, which no release can publish.")]
    return [_("The release is still empty.")]


def publishing_in_words(published: int, unpublished: int, *, goes_back: bool) -> str:
    """Return the label of the button that publishes a release with this many items of each type."""
    counts = {"published": published, "unpublished": unpublished}
    if not published and not unpublished:
        return _("Publish release")
    if goes_back and not unpublished:
        words = ngettext("Revert now (publish %(count)s)", "Revert now (publish %(count)s)", published)
        return words % {"count": published}
    if goes_back:
        back = [
            ngettext("publish %(count)s", "publish %(count)s", published) % {"count": published},
            ngettext("unpublish %(count)s", "unpublish %(count)s", unpublished) % {"count": unpublished},
        ]
        said = [words for words, count in zip(back, counts.values(), strict=True) if count]
        return _("Revert now (%(what)s)") % {"what": ", ".join(said)}
    if published and unpublished:
        return _("Publish %(published)s and unpublish %(unpublished)s together") % counts
    if unpublished:
        words = ngettext("Unpublish", "Unpublish all %(count)s together", unpublished)
        return words % {"count": unpublished}
    return ngettext("Publish", "Publish all %(count)s together", published) % {"count": published}


def title_for(names: Sequence[str]) -> str:
    """Return a title for a release of resources with these names, of which there is at least one."""
    first, more = shortened(names[0], MAX_TITLE // 2), len(names) - 1
    if not more:
        return first
    title = ngettext("%(name)s and %(count)s more", "%(name)s and %(count)s more", more)
    return title % {"name": first, "count": more}
