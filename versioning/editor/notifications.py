"""Events that concern a person: changes by others to resources they made, saved or marked, or to their role.

An application declares further rules, such as being asked for a review, as conditions
(`EditorApp.notifications`). A rule only chooses among the events that the person may see.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Final

from django.core.exceptions import EmptyResultSet
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Greatest

from versioning.domain.access import Caller
from versioning.domain.agents import Registry
from versioning.domain.kinds import KINDS, ResourceKind
from versioning.domain.overrides import IN_CODE
from versioning.domain.registering import require_callable, require_instance
from versioning.models import Event, Favorite, LogPosition
from versioning.models.statements import QueriesForCallers, prepared_cursor
from versioning.models.versioned import find_model
from versioning.serving.event_visibility import is_about_oneself, is_visible_to

WINDOW: Final = 3000
"""How many positions before the end of the log count as news."""

Condition = Callable[[Caller], Q]
"""Returns the condition that an event concerns the caller, who is a person.

It is called once for a caller and then compiled, so it may depend only on the caller's rights and on stored
data.
"""


@dataclass(frozen=True, kw_only=True)
class NotificationRule:
    """A rule that decides which events concern a person."""

    condition: Condition
    unattended: bool = False
    """Whether it covers unattended work on behalf of the person, rather than actions of others."""
    topic: str = ""
    """The name of the topic of its events; empty if the event types determine it."""


@dataclass(frozen=True, kw_only=True)
class NotificationTopic:
    """Events that people can have sent to them, and turn off, under one title (`EditorApp.topics`).

    A topic does not decide who is notified; the rules do.
    """

    name: str
    """The name in stored preferences, such as `reviewRequested`."""
    title: object
    """The words, lazily translated, after *Send me mail about*."""
    types: Collection[str] = ()
    """The types of its events; undeclared types are ignored."""
    has_rules: bool = False
    """Whether it has only the events of the rules that name it, such as mentions of a person in comments."""


_Compiled = tuple[str, tuple[Any, ...]] | None
_AFTER: Final = -(2**62)
"""Stands for the position while the statement is built."""
_queries: Final[QueriesForCallers[_Compiled]] = QueriesForCallers()
_TOLD: Final = ("published", "unpublished", "versionCreated", "updated", "deleted")
_SAVES: Final = ("created", "versionCreated")


def news(caller: Caller, code: Registry, *, after: int = 0) -> QuerySet[Event]:
    """Return the events after a position that concern the caller and that they may see, newest first.

    Only the newest `WINDOW` positions are searched, which limits the time.
    """
    end = LogPosition.objects.values(first=F("position") - WINDOW)[:1]
    newer = Event.objects.filter(position__gt=Greatest(Value(after), Subquery(end)))
    return concerning(caller, code, newer).order_by("-position")


def concerning(
    caller: Caller, code: Registry, events: QuerySet[Event], topic_names: Collection[str] | None = None
) -> QuerySet[Event]:
    """Return those of the events that concern the caller and that they may see; the application has none.

    `topic_names` are the names of the topics; None for everything.
    """
    if caller.user_id is None or not caller.username:
        return Event.objects.none()
    own, of_types = Q(actor=caller.username), Q()
    if topic_names is not None:
        by_type = (topic.types for topic in topics() if topic.name in topic_names and not topic.has_rules)
        of_types = Q(type__in={name for types in by_type for name in types})
    rules = [rule for rule in _rules if topic_names is None or not rule.topic or rule.topic in topic_names]
    concerns = reduce(
        or_,
        (
            rule.condition(caller) & (own if rule.unattended else ~own) & (Q() if rule.topic else of_types)
            for rule in rules
        ),
    )
    visible = concerns & is_visible_to(caller, code) | is_about_oneself(caller) & ~own & of_types
    return events.filter(visible, hidden_from="")


def unread(caller: Caller, code: Registry, *, after: int, limit: int) -> int:
    """Return how many of the `news` there are, counting to `limit`.

    Every page calls this.
    """
    return len(_keys(caller, code, after, limit))


def latest(caller: Caller, code: Registry, limit: int) -> list[Event]:
    """Return the first ones of the `news`, newest first."""
    keys = _keys(caller, code, 0, limit, "-position")
    return list(Event.objects.filter(pk__in=keys).order_by("-position")) if keys else []


def _keys(caller: Caller, code: Registry, after: int, limit: int, *order: str) -> list[Any]:
    """Return the primary keys of `news`; the statement is built only once for each caller."""

    def compile_query() -> _Compiled:
        try:
            rows = news(caller, code, after=_AFTER).values("pk").order_by(*order)
            return rows[:limit].query.sql_with_params()
        except EmptyResultSet:
            return None

    query_key = caller.user_id, caller.username, caller.rights, limit, order
    compiled = _queries.get(caller, code, query_key, compile_query)
    if compiled is None:
        return []
    sql, params = compiled
    with prepared_cursor() as cursor:
        cursor.execute(sql, [after if param == _AFTER else param for param in params])
        return [row[0] for row in cursor.fetchall()]


def register(rule: NotificationRule) -> None:
    """Add a rule."""
    require_instance(rule, NotificationRule, by="notifications")
    require_callable(rule.condition, by="NotificationRule(condition=…)")
    _rules.append(rule)


def register_topic(topic: NotificationTopic) -> None:
    """Add a topic; raises `ValueError` if its name is taken."""
    require_instance(topic, NotificationTopic, by="topics")
    if _topics.setdefault(topic.name, topic) is not topic:
        raise ValueError(f"there is another topic of the name {topic.name!r}")


def topics() -> Collection[NotificationTopic]:
    """Return the topics of all applications, in order."""
    return _topics.values()


def _kind_condition(kind: ResourceKind, caller: Caller) -> Q:
    """Return the condition that an event is about a resource of a kind that concerns the caller.

    They made it, saved its newest version, saved the version that the event is about or the one before, or
    have marked it. For a deleted resource, the log records whether they ever saved it.
    """
    number, then = OuterRef(OuterRef("version_number")), OuterRef("created_at")
    versions = find_model(kind).version_model._default_manager.filter(
        Q(number=number) | Q(number=number - 1), resource_id=OuterRef("pk"), author_id=caller.user_id
    )
    marks = Favorite.objects.of(caller.user_id, kind).filter(
        resource_id=OuterRef("pk"), created_at__lt=OuterRef(OuterRef("created_at"))
    )
    rows: Any = (
        find_model(kind)
        ._default_manager.filter(
            Q(author_id=caller.user_id)
            | Q(latest_version__author_id=caller.user_id, latest_version__created_at__lt=then)
            | Q(Exists(marks))
            | Q(Exists(versions.order_by()))
        )
        .order_by()
    )
    own = Q(Exists(rows.filter(uuid=OuterRef("resource_uuid"))))
    if kind.in_code:
        # Events about an override carry the identity that all code-defined agents share.
        own |= Q(resource_uuid=IN_CODE) & Q(Exists(rows.filter(pk=OuterRef("resource_id"))))
    saved = Event.objects.filter(
        resource_id=OuterRef("resource_id"),
        resource_uuid=OuterRef("resource_uuid"),
        actor=caller.username,
        type__in=[f"{kind.slug}.{event}" for event in _SAVES],
    )
    deleted = Q(type=f"{kind.slug}.deleted") & Q(Exists(saved.order_by()))
    return Q(type__in=[f"{kind.slug}.{event}" for event in _TOLD]) & own | deleted


_topics: Final[dict[str, NotificationTopic]] = {}
_rules: Final = [
    NotificationRule(condition=lambda caller: reduce(or_, (_kind_condition(kind, caller) for kind in KINDS))),
    NotificationRule(condition=lambda caller: Q(type="member.added", detail__invitedBy=caller.username)),
]
