"""What an item may hold, and how it is checked. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from editor_client.shared import canonical, dataset_items

from versioning.domain.context_schema import UnusableSchema, schema_problem, value_refusals
from versioning.domain.errors import MAX_ISSUES, Invalid, Issue, Message, VersioningError

MAX_ITEMS: Final = dataset_items.MAX_ITEMS
MAX_ITEM: Final = dataset_items.MAX_ITEM
MAX_EXTERNAL_ID: Final = dataset_items.MAX_EXTERNAL_ID
MAX_BATCH: Final = 1_000
SCHEMAS: Final = {
    "inputSchema": "input",
    "groundTruthSchema": "groundTruth",
    "requestContextSchema": "requestContext",
}
"""The schemas of a dataset, each with the member of its items that it is about."""

Payload = Mapping[str, Any]


class ItemTooLarge(VersioningError):
    """An item is larger than `MAX_ITEM`."""

    code = "payload_too_large"


class SchemaRefusal(Invalid):
    """Items break a schema; the error has them."""

    def __init__(self, issues: Sequence[Issue], failing: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(list(issues))
        self.failing = failing

    def details(self) -> dict[str, Any]:
        """Return the issues, and the items that fail."""
        return {**super().details(), "failingItems": list(self.failing)}


class Content(NamedTuple):
    """What an item holds in one revision: its members, as text, and their digest."""

    payload: Payload
    text: str
    digest: str


def content_of(given: Mapping[str, Any]) -> Content:
    """Return the members that make up the revision of an item, without null ones.

    Raises `ItemTooLarge`, and `Invalid` for what JSON cannot hold, whichever way it came.
    """
    if (fault := canonical.fault(given)) is not None:
        place, reason = fault
        raise Invalid.field(place or "row", reason)
    payload = {name: value for name, value in given.items() if name != "externalId"}
    payload = {name: value for name, value in payload.items() if value is not None or name == "input"}
    text = canonical.dump(payload)
    if len(text.encode()) > MAX_ITEM:
        raise ItemTooLarge(Message("An item must not be larger than {limit} KiB.", limit=MAX_ITEM // 1024))
    return Content(payload, text, canonical.digest(payload))


def refuse_by_schemas(
    settings: Mapping[str, Any], payloads: Sequence[Payload], places: Sequence[str], names: Sequence[str] = ()
) -> None:
    """Raise `SchemaRefusal` if an item breaks a schema of its dataset.

    `places` are what issues about each item begin with; `names` limits the schemas.
    """
    issues: list[Issue] = []
    failing = []
    for index, (payload, place) in enumerate(zip(payloads, places, strict=True)):
        for name, member, found in schema_refusals(settings, payload, place):
            if names and name not in names:
                continue
            issues += found
            errors = [one.as_dict() for one in found]
            failing.append({"index": index, "data": payload.get(member), "field": member, "errors": errors})
        if len(failing) >= MAX_ISSUES:  # enough to mend
            break
    if issues:
        raise SchemaRefusal(issues, failing)


def schema_refusals(
    settings: Mapping[str, Any], payload: Payload, place: str = ""
) -> Iterator[tuple[str, str, list[Issue]]]:
    """Yield each schema of a dataset that an item breaks, with the member and what is wrong with it."""
    for name, member in SCHEMAS.items():
        schema = settings.get(name)
        if schema is None or (member != "input" and member not in payload):
            continue
        try:
            found = value_refusals(schema, payload.get(member), field=f"{place}{member}")
        except UnusableSchema as error:
            found = [Issue(name, str(error))]
        if found:
            yield name, member, found


def schema_problems(settings: Mapping[str, Any]) -> Iterator[Issue]:
    """Yield what is wrong with the schemas of a dataset."""
    for name in SCHEMAS:
        problem = None if settings.get(name) is None else schema_problem(settings[name], field=name)
        if problem is not None:
            yield problem
