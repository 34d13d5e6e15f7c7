"""What would prevent a schedule, in sentences with links to pages that can fix it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from capabilities.releases.studio.wording import problem_in_words
from capabilities.schedules.models import Action, Schedule
from capabilities.schedules.refusals import MAX_NAMED, NOT_ALLOWED, Problem, SomethingElseIsLive
from capabilities.schedules.studio.links import of_publishing, of_release
from capabilities.schedules.studio.wording import version_within
from capabilities.schedules.verbs import Schedules
from studio import additions
from studio.kinds import KINDS_BY_SLUG, PROMPT_BLOCK
from studio.named import Place, person, resource_name
from studio.publishing.views import reasons
from studio.translation import translated
from versioning.serving.reference_checks import UnpublishedBlocks

MAX_SHOWN: Final = 5
"""The maximum number of problems shown for a schedule; the page of a release shows all."""


def judged(schedules: Iterable[Schedule]) -> list[Schedule]:
    """Return schedules with what would prevent them from running now; a few statements for all."""
    found = list(schedules)
    problems = Schedules.current().problems(found)
    for one in found:
        one.problems = problems.get(one.pk, ())
    return found


def warnings_of(schedule: Schedule) -> list[SafeString]:
    """Return the warning that a schedule will fail, with `reasons_against`; empty if it will not."""
    reasons = reasons_against(schedule)
    lead = format_html("<strong>{}</strong>", _("As things stand it will fail."))
    return [format_html("{} {}", lead, reasons[0]), *reasons[1:]] if reasons else []


def reasons_against(schedule: Schedule) -> list[SafeString]:
    """Return what would prevent a schedule, a sentence each, next to the warning chip.

    Sentences about unexpected live versions contain what to do; the others have a link. If there are too
    many, the rest is on the page of the release.
    """
    sentences = [_sentence(schedule, problem) for problem in schedule.problems[:MAX_SHOWN]]
    more = len(schedule.problems) - len(sentences)
    if more:
        message = ngettext("And %(count)s more problem.", "And %(count)s more problems.", more)
        sentences.append(format_html("{}", message % {"count": more}))
    return sentences


def _sentence(schedule: Schedule, problem: Problem) -> SafeString:
    words = _words(schedule, problem)
    if problem.item is not None and problem.item.resource is not None:
        item = problem.item.resource
        words = f"{resource_name(item.kind, item.resource_id)}: {words}"
    title, address = _way(schedule, problem)
    if not address:
        return format_html("{}", words)
    return format_html('{} <a class="link" href="{}">{}</a>', words, address, title)


def _words(schedule: Schedule, problem: Problem) -> str:
    """Return a problem in the language of the page."""
    if problem.code == NOT_ALLOWED:
        who = person(schedule.author_name, Place.BEGINNING)
        return _("%(who)s may no longer publish here.") % {"who": who}
    if problem.code == SomethingElseIsLive.code:
        return _nothing_to_do(schedule) if problem.has_nothing_to_do else _something_else(schedule)
    if isinstance(problem.error, UnpublishedBlocks):
        return _blocks(problem.error.blocks)
    if problem.item is not None:
        return " ".join(problem_in_words(problem.item))
    return " ".join(reasons(problem.error)) or translated(problem.message)


def _nothing_to_do(schedule: Schedule) -> str:
    if schedule.release_id is not None:
        return _("By then, a part of the release is already live. Cancel the schedule and schedule it again.")
    if schedule.action == Action.UNPUBLISH:
        return _("By then, nothing is live any more. You can cancel the schedule.")
    version = version_within(schedule)
    return _("By then, %(version)s is already live. You can cancel the schedule.") % {"version": version}


def _something_else(schedule: Schedule) -> str:
    if schedule.release_id is None and schedule.expected_version_id is None:
        return _(
            "Nothing was to be live by then, but something is. Unpublish it first, or cancel this and "
            "schedule it again."
        )
    return _(
        "Another version will be live by then. Publish the earlier version "
        "again first, or cancel this and schedule it again."
    )


def _blocks(blocks: Sequence[str]) -> str:
    names = [resource_name(PROMPT_BLOCK.slug, block) for block in blocks[:MAX_NAMED]]
    named = ", ".join(names) + (", …" if len(blocks) > MAX_NAMED else "")
    message = ngettext(
        "The prompt block %(blocks)s is not published.",
        "The prompt blocks %(blocks)s are not published.",
        len(blocks),
    )
    return message % {"blocks": named}


def _way(schedule: Schedule, problem: Problem) -> tuple[str, str]:
    """Return the text and the address of a link that can fix a problem, if there is one."""
    if problem.error is None and problem.item is None:
        return "", ""
    about = problem.item.resource if problem.item is not None else schedule
    if problem.error is not None and about is not None:
        own = additions.find_way_out(KINDS_BY_SLUG[about.kind], about.resource_id, problem.error)
        if own is not None:
            return own.title, own.address
    if schedule.release_id is not None:
        return _("To the release"), of_release(schedule.workspace_id, str(schedule.release_id))
    return _("What is missing"), of_publishing(schedule)
