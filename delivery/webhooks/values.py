"""What may be stored of a webhook: one check for the API and the studio, under the names of the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from delivery.webhooks.addresses import Refused
from delivery.webhooks.models import MAX_URL
from delivery.webhooks.resolving import looked_up
from versioning.domain.errors import Invalid, Issue, Message
from versioning.domain.events import matching

MAX_DESCRIPTION: Final = 500
MAX_EVENT_TYPES: Final = 100
MAX_ID_PREFIX: Final = 200
RESOLVING_SECONDS: Final = 5.0

COLUMNS: Final = {
    "url": "url",
    "eventTypes": "event_types",
    "idPrefix": "id_prefix",
    "description": "description",
    "enabled": "enabled",
}
"""The columns of what can be given, by the names in JSON."""


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns for what was given; raises `Invalid` with every problem.

    The host of a URL is looked up, and only if nothing else is wrong.
    """
    columns = {COLUMNS[name]: "" if value is None else value for name, value in given.items()}
    issues = [
        *_issues_of_types(given.get("eventTypes", ())),
        *_issues_of_text("url", given.get("url"), MAX_URL),
        *_issues_of_text("idPrefix", given.get("idPrefix"), MAX_ID_PREFIX),
        *_issues_of_text("description", given.get("description"), MAX_DESCRIPTION),
    ]
    if "eventTypes" in given and not given["eventTypes"]:
        issues.append(Issue("eventTypes", "must name at least one type of event"))
    if issues:
        raise Invalid(issues)
    if "url" in given:
        try:
            looked_up(given["url"], RESOLVING_SECONDS)
        except Refused as refusal:
            raise Invalid.field("url", refusal.args[0]) from None
    return columns


def _issues_of_types(patterns: Sequence[str]) -> Iterator[Issue]:
    if len(patterns) > MAX_EVENT_TYPES:
        yield Issue("eventTypes", Message("must not have more than {limit} items", limit=MAX_EVENT_TYPES))
        return
    for number, pattern in enumerate(patterns):
        try:
            matching([pattern])
        except Invalid as error:
            yield Issue(f"eventTypes.{number}", error.issues[0].message)


def _issues_of_text(name: str, text: str | None, longest: int) -> Iterator[Issue]:
    if text is not None and len(text) > longest:
        yield Issue(name, Message("must not be longer than {limit} characters", limit=longest))
    elif text is not None and "\0" in text:
        yield Issue(name, "must not hold the character NUL")
