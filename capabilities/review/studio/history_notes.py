"""The history's notes on versions: who suggested wordings, approved, requested changes, bypassed a review."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from capabilities.review.models import OtherAuthor, Verdict, VerdictValue
from capabilities.review.studio.links import of_review
from studio.kinds import StudioKind
from studio.named import Place, people, person
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.domain.events import Target
from versioning.domain.snapshots import Snapshot
from versioning.models import Event, VersionedResource
from versioning.serving.grants import target_of


def notes(
    caller: Caller, kind: StudioKind, resource: VersionedResource, versions: Sequence[Snapshot]
) -> Mapping[str, Sequence[SafeString]]:
    """Return the notes on each version, by its id; three queries at most."""
    target = target_of(resource, get_editor().code)
    ids = [version.version_id for version in versions]
    found: defaultdict[str, list[SafeString]] = defaultdict(list)
    verdicts = Verdict.objects.about(target).filter(version_id__in=ids).order_by("pk")
    for version_id, given in _latest(verdicts.defer("body")).items():
        found[version_id] += _sentences(given)
    for version_id, names in _suggesters(target, versions).items():
        words = format_html(_("Wording suggested by {people}"), people=people(names))
        found[version_id].append(words)
    for version_id, words in _bypasses(target, versions):
        found[version_id].append(words)
    return found


def _suggesters(target: Target, versions: Sequence[Snapshot]) -> Mapping[str, list[str]]:
    """Return whose suggested wordings versions accepted, by the ids of the versions."""
    ids = {version.number: version.version_id for version in versions if not version.read_only}
    rows = OtherAuthor.objects.about(target).filter(number__in=ids, suggestion__isnull=False)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows.select_related("author").order_by("pk"):
        found[ids[row.number]].append(row.author.get_username())
    return found


def _bypasses(target: Target, versions: Sequence[Snapshot]) -> Iterator[tuple[str, SafeString]]:
    """Yield who published versions without a review, and why, if still logged; one query."""
    # Versions in a file or in Git have no such column.
    columns = {version.version_id: getattr(version, "bypassed_by", "?") for version in versions}
    names = {version_id: name for version_id, name in columns.items() if name}
    if not names:
        return
    events = Event.objects.filter(
        type="review.bypassed",
        resource_id=target.id,
        resource_uuid=target.identity,
        version_id__in=names,
    ).order_by("position")
    for event in events:
        names.pop(event.version_id, None)
        yield event.version_id, _bypassed(event.actor, str(event.detail.get("reason") or ""))
    for version_id, name in names.items():
        if name != "?":
            yield version_id, _bypassed(name, "")


def _latest(verdicts: Iterable[Verdict]) -> Mapping[str, list[Verdict]]:
    """Return the latest verdict of each person, by version."""
    latest: dict[tuple[str, Any], Verdict] = {}
    for one in verdicts:
        latest[one.version_id, one.author_name] = one
    found: defaultdict[str, list[Verdict]] = defaultdict(list)
    for (version_id, _name), one in latest.items():
        found[version_id].append(one)
    return found


def _sentences(given: Sequence[Verdict]) -> Iterable[SafeString]:
    sentences = {
        VerdictValue.APPROVE: _("Approved by {people}"),
        VerdictValue.REQUEST_CHANGES: _("Changes requested by {people}"),
    }
    for verdict, sentence in sentences.items():
        some = [one for one in given if one.verdict == verdict]
        if some:
            last = some[-1]
            address = of_review(last.kind, last.resource_id, last.review_id)
            words = format_html(sentence, people=people(one.author_name for one in some))
            yield format_html('<a class="link" href="{}">{}</a>', address, words)


def _bypassed(actor: str, reason: str) -> SafeString:
    sentence = _("{who} published it without a review")
    if reason:
        sentence = _("{who} published it without a review: “{reason}”")
    said = format_html(sentence, who=person(actor, Place.BEGINNING), reason=reason)
    return format_html("<strong>{}</strong>", said)
