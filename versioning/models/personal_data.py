"""The columns with names and addresses of people, and their replacement by an erasure.

An application declares its own (`EditorApp.personal_data`). Records of people's actions stay under a neutral
name; data that only they used, such as sessions and favorites, is deleted. Texts that people wrote are not
searched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.apps import apps
from django.contrib.sessions.backends.db import SessionStore
from django.db.models import F, Model, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast
from django.utils import timezone

from versioning.capabilities import session_store
from versioning.domain.access import Caller
from versioning.domain.registering import require_callable, require_instance
from versioning.models.guarded import UnguardedQuerySet, unguard
from versioning.models.idempotency import IdempotentRequest
from versioning.models.invitations import Invitation
from versioning.models.keys import ApiKey
from versioning.models.log import Event
from versioning.models.text_keys import contains
from versioning.models.versioned import MODELS

_AT_ONCE: Final = 500

PEOPLE_MEMBERS: Final = frozenset({"createdBy", "invitedBy", "owner", "reviewers", "username"})
"""The members of an entry's detail that hold user names; a new one is added here."""

PEOPLE_IN_ANSWERS: Final = PEOPLE_MEMBERS | {
    *("author", "authorId", "by", "bypassedBy", "changesRequestedBy", "mail", "publishedBy"),
    *("requestedBy", "resolvedBy", "savedBy", "startedBy", "updatedBy"),
}
"""The members of answers of the API that hold user names or mail addresses; a new one is added here."""


@dataclass(frozen=True, kw_only=True)
class Erasure:
    """A person who is erased."""

    user: Any
    """The account, already renamed; None if only the name remains."""
    name: str
    """The user name until now."""
    address: str
    """The mail address until now; empty if there was none."""
    new_name: str
    by: Caller

    def replace_name(self, people: Any) -> Any:
        """Return a user name, or a list of them, with the new name for the name and the address."""
        if isinstance(people, list):
            return [self.replace_name(name) for name in people]
        is_person = isinstance(people, str) and people != "" and people in {self.name, self.address}
        return self.new_name if is_person else people

    def replace_in_detail(self, detail: Mapping[str, Any]) -> dict[str, Any]:
        """Return the detail of an event with the new name in its members with user names.

        A user name may be an ordinary word, such as `admin`, so other members are unchanged.
        """
        return {
            member: self.replace_name(value) if member in PEOPLE_MEMBERS else value
            for member, value in detail.items()
        }

    def is_about(self, answer: Any) -> bool:
        """Return whether an answer of the API names the person, in a member with user names or a sentence.

        A user name may be an ordinary word, so texts that people have written do not count.
        """
        if isinstance(answer, list):
            return any(map(self.is_about, answer))
        if not isinstance(answer, Mapping):
            return False
        for member, value in answer.items():
            people = value.get("id") if member == "actor" and isinstance(value, Mapping) else None
            if member in PEOPLE_IN_ANSWERS:
                people = value
            if self.replace_name(people) != people:
                return True
            if member == "message" and isinstance(value, str) and self.replace_quoted(value) != value:
                return True
            if member != "metadata" and self.is_about(value):
                return True
        return False

    def replace_quoted(self, sentence: str) -> str:
        """Return a sentence of the editor, or JSON, with the new name in place of each quoted name."""
        for quoted, new in self._quote_names():
            sentence = sentence.replace(quoted, new)
        return sentence

    def found_in(self, field: str) -> Q:
        """Return the condition that a text column has the name, or the address, in quotation marks."""
        condition = Q()
        for quoted, _new in self._quote_names():
            condition |= contains(F(field), Value(quoted))
        return condition

    def _quote_names(self) -> Iterable[tuple[str, str]]:
        for old in filter(None, (self.name, self.address)):
            for quote in (repr, json.dumps, partial(json.dumps, ensure_ascii=False)):
                yield quote(old), quote(self.new_name)


@dataclass(frozen=True, kw_only=True)
class PersonalData:
    """Stored data about people."""

    erase: Callable[[Erasure], int]
    """Replaces names or deletes rows, in the transaction of the erasure; returns how many rows it changed."""


_registered: Final[list[PersonalData]] = []


def register(data: PersonalData) -> None:
    """Register data to erase; raises `TypeError` for other objects."""
    require_instance(data, PersonalData, by="personal_data")
    require_callable(data.erase, by="PersonalData(erase=…)")
    _registered.append(data)


def erase(erasure: Erasure) -> int:
    """Erase a person everywhere, and return how many rows were changed or deleted."""
    return sum(data.erase(erasure) for data in _registered)


def names_in(model: str, *fields: str) -> PersonalData:
    """Declare columns that hold user names as texts; the model is given as `app_label.Model`."""

    def replace(erasure: Erasure) -> int:
        rows: Any = UnguardedQuerySet(apps.get_model(model))
        return sum(
            rows.filter(**{field: erasure.name}).update(**{field: erasure.new_name}) for field in fields
        )

    return PersonalData(erase=replace)


def sentences_in(model: str, *fields: str) -> PersonalData:
    """Declare text columns with sentences of the editor, or JSON, that quote user names."""

    def replace(erasure: Erasure) -> int:
        rows: Any = UnguardedQuerySet(apps.get_model(model))
        changed = 0
        for field in fields:
            texts = rows.annotate(stored_text=Cast(F(field), TextField()))
            matching_texts = texts.filter(erasure.found_in("stored_text")).values_list("pk", "stored_text")
            for pk, text in list(matching_texts):
                changed += rows.filter(pk=pk).update(**{field: erasure.replace_quoted(text)})
        return changed

    return PersonalData(erase=replace)


def rows_of_person(model: str, field: str = "user") -> PersonalData:
    """Declare a model whose rows belong to a person and are deleted."""

    def delete(erasure: Erasure) -> int:
        rows: Any = apps.get_model(model)
        return (
            0 if erasure.user is None else _delete_rows(rows._default_manager.filter(**{field: erasure.user}))
        )

    return PersonalData(erase=delete)


def _delete_rows(rows: QuerySet[Any]) -> int:
    """Delete rows; return their number, without cascaded deletions."""
    return rows.delete()[1].get(rows.model._meta.label, 0)


def _delete_by_pk(rows: QuerySet[Any], pks: Sequence[Any]) -> int:
    """Delete rows by their keys, a few at a time, and return their number."""
    return sum(
        _delete_rows(rows.filter(pk__in=pks[at : at + _AT_ONCE])) for at in range(0, len(pks), _AT_ONCE)
    )


def _erase_in_log(erasure: Erasure) -> int:
    """Replace the actor and the people in details; nothing else in an entry changes."""
    entries = unguard(Event.objects.order_by())
    changed = entries.filter(actor=erasure.name).update(actor=erasure.new_name)
    in_detail = entries.annotate(stored_text=Cast("detail", TextField())).filter(
        erasure.found_in("stored_text")
    )
    for entry in in_detail.only("pk", "type", "detail").iterator(_AT_ONCE):
        detail = erasure.replace_in_detail(entry.detail)
        if entry.type.startswith("key.") and entry.detail.get("owner") == erasure.name:
            detail["name"] = ""  # which the person has chosen, such as "Ada's laptop"
        if detail != entry.detail:
            changed += entries.filter(pk=entry.pk).update(detail=detail)
    return changed


def _erase_in_versions(erasure: Erasure) -> int:
    """Replace the user who bypassed reviews, and count a change of each resource that shows the person."""
    changed = 0
    for model in MODELS:
        versions = unguard(model.version_model.objects.order_by())
        changed += versions.filter(bypassed_by=erasure.name).update(bypassed_by=erasure.new_name)
        if erasure.user is not None:
            condition = Q(author=erasure.user) | Q(published_by=erasure.user)
            condition |= Q(pk__in=versions.filter(author=erasure.user).values("resource_id"))
            unguard(model._default_manager.filter(condition)).update(
                revision=F("revision") + 1, published_revision=F("published_revision") + 1
            )
    return changed


def _erase_keys(erasure: Erasure) -> int:
    """Revoke the person's keys, and delete the names that they have chosen for them."""
    if erasure.user is None:
        return 0
    keys = ApiKey.objects.filter(owner=erasure.user)
    changed = keys.update(name="")
    for key in keys.filter(revoked_at=None).select_related("owner"):
        key.revoke(by=erasure.by)
    return changed


def _erase_invitations(erasure: Erasure) -> int:
    """Withdraw pending invitations of the person; replace the name in accepted ones."""
    condition = Q(username=erasure.name)
    if erasure.address:
        condition |= Q(mail=erasure.address) | Q(username=erasure.address)
    invitations = list(Invitation.objects.filter(condition))
    for invitation in invitations:
        invitation.username, invitation.mail = erasure.new_name, ""
        if invitation.accepted_at is None:
            invitation.record("withdrawn", erasure.by)
            invitation.delete()
        else:
            invitation.save(update_fields=["username", "mail"])
    return len(invitations)


def _erase_repeated_answers(erasure: Erasure) -> int:
    """Delete stored answers that name the person; repeated requests then get a new answer."""
    quoting = IdempotentRequest.objects.filter(erasure.found_in("body")).only("pk", "body")
    about = []
    for row in quoting.iterator(_AT_ONCE):
        with suppress(ValueError):  # an answer of another type
            if erasure.is_about(json.loads(row.body)):
                about.append(row.pk)
    return _delete_by_pk(IdempotentRequest.objects.all(), about)


def _end_sessions(erasure: Erasure) -> int:
    store = session_store()
    if erasure.user is None or not issubclass(store, SessionStore):
        return 0
    rows: Any = store.get_model_class()._default_manager.filter(expire_date__gte=timezone.now())
    own = [
        row.pk
        for row in rows.order_by("pk").iterator(_AT_ONCE)
        if store().decode(row.session_data).get("_auth_user_id") == str(erasure.user.pk)
    ]
    return _delete_by_pk(rows, own)


def _erase_in_history_of_account(erasure: Erasure) -> int:
    """Replace the name in the entries of Django's admin about the account."""
    if erasure.user is None or not apps.is_installed("django.contrib.admin"):
        return 0
    entries: type[Model] = apps.get_model("admin.LogEntry")
    lookups = {"content_type__model": erasure.user._meta.model_name, "object_id": str(erasure.user.pk)}
    rows: Any = entries._default_manager.filter(**lookups)
    return int(rows.update(object_repr=erasure.new_name))


OF_THE_CORE: Final = (
    *(
        PersonalData(erase=function)
        for function in (
            _erase_in_log,
            _erase_in_versions,
            _erase_keys,
            _erase_invitations,
            _erase_repeated_answers,
            _end_sessions,
            _erase_in_history_of_account,
        )
    ),
    rows_of_person("versioning.Favorite"),
)
