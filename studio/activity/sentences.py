"""Events as sentences: `ada published version 8 of agent writer in place of version 5`. Pure.

Each message is a whole sentence with placeholders, so that a translation can use any order. It becomes a list
of fragments, some of which are links. A type of event without a declared sentence is shown by its name: `ada:
pilot ended, agent writer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from studio.activity.fragments import Fragment, Sentence, as_fragments, people_in
from studio.activity.names import Names
from studio.activity.wording import name_of, noun_of
from studio.activity.workspace_sentences import OF_WORKSPACES
from studio.field_words import titles
from studio.kind_words import KindWords
from studio.kinds import KINDS_BY_SLUG
from studio.people import Place
from studio.resources.rows import VISIBILITIES
from versioning.domain.access import Via
from versioning.domain.events import declared
from versioning.models import Event

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def who_of(event: Event, place: Place) -> Fragment:
    """Return the actor of an event, at a place in a sentence."""
    if event.via == Via.FILE:
        return Fragment(_("Someone who changed the file"))
    return people_in([event.actor], place)


def sentence_of(event: Event, names: Names, who: str = "") -> list[Fragment]:
    """Return the sentence about an event; `who` replaces the name of the actor."""
    found = _sentence_for(event, names)
    place = Place.BEGINNING if found.sentence.startswith("{who}") else Place.WITHIN
    of = pgettext("before the name of an agent or prompt block", "of")
    return as_fragments(found.sentence, {"who": who or who_of(event, place), **found.values}, of)


def _sentence_for(event: Event, names: Names) -> Sentence:
    if event.hidden_from:
        # Readers of the agent must not learn of the prompt block itself, or who changed it.
        if names.of_one:
            return Sentence(_("The text of a prompt block changed in this agent"))
        sentence = _("The text of a prompt block changed in {resource}")
        return Sentence(sentence, {"resource": names.resource(event)})
    subject, _dot, what = event.type.rpartition(".")
    if subject == event.resource_kind and what in _OF_RESOURCES:
        return _OF_RESOURCES[what](event, names)
    if event.type in OF_WORKSPACES:
        return OF_WORKSPACES[event.type](event)
    own = declared(event.type)
    if own is not None and own.sentence is not None:
        said: Sentence = own.sentence(event, names)
        return said
    return _as_called(event, names)


# About resources. Each sentence has two forms: for a page about everything, and for one about this resource
# alone.


def _about(event: Event, names: Names, sentence: str, alone: Callable[[KindWords], StrOrPromise]) -> Sentence:
    """Return the sentence that names the resource, or the form for the resource's own page."""
    kind = KINDS_BY_SLUG.get(event.resource_kind)
    if names.of_one and kind is not None:
        return Sentence(str(alone(kind.words)), {})
    return Sentence(sentence, {"resource": names.resource(event)})


def _as_object(
    event: Event, names: Names, sentence: str, alone: Callable[[KindWords], StrOrPromise]
) -> Sentence:
    """Return the same, where the resource is the object of the sentence."""
    found = _about(event, names, sentence, alone)
    return replace(
        found,
        values={
            name: replace(value, text=value.as_object or value.text) if isinstance(value, Fragment) else value
            for name, value in found.values.items()
        },
    )


def _of(event: Event, names: Names, sentence: str, alone: str, **values: Fragment | str) -> Sentence:
    """Return the sentence that names the resource, or the form without it."""
    if names.of_one:
        return Sentence(alone, values)
    return Sentence(sentence, {"resource": names.resource(event), **values})


def _created(event: Event, names: Names) -> Sentence:
    return _as_object(event, names, _("{who} created {resource}"), attrgetter("created"))


def _saved(event: Event, names: Names) -> Sentence:
    source, draft = event.detail.get("restoredFrom"), names.draft(event.version_id)
    if source:
        return _of(
            event,
            names,
            _("{who} restored {version} as {draft} of {resource}"),
            _("{who} restored {version} as {draft}"),
            version=names.version(source),
            draft=draft,
        )
    changed = ", ".join(titles(event.detail.get("changedFields") or ()))
    if not changed:
        return _of(
            event, names, _("{who} saved {draft} of {resource}"), _("{who} saved {draft}"), draft=draft
        )
    return _of(
        event,
        names,
        _("{who} saved {draft} of {resource}: {fields}"),
        _("{who} saved {draft}: {fields}"),
        draft=draft,
        fields=changed,
    )


def _published(event: Event, names: Names) -> Sentence:
    version = names.version(event.version_id)
    if event.previous_version_id in {"", event.version_id}:
        return _of(
            event,
            names,
            _("{who} published {version} of {resource}"),
            _("{who} published {version}"),
            version=version,
        )
    return _of(
        event,
        names,
        _("{who} published {version} of {resource} in place of {previous}"),
        _("{who} published {version} in place of {previous}"),
        version=version,
        previous=names.version(event.previous_version_id),
    )


def _unpublished(event: Event, names: Names) -> Sentence:
    return _of(
        event,
        names,
        _("{who} unpublished {version} of {resource}"),
        _("{who} unpublished {version}"),
        version=names.version(event.previous_version_id),
    )


def _label_moved(event: Event, names: Names) -> Sentence:
    before, now = event.previous_version_id, event.version_id
    sentences = _label_sentences(released=bool(event.detail.get("released")))
    how = "released" if before == now else "moved" if before else "set"
    values: dict[str, Fragment | str] = {"label": event.label, "version": names.version(now)}
    if how == "moved":
        values["previous"] = names.version(before)
    sentence, alone = sentences[how]
    return _of(event, names, sentence, alone, **values)


def _label_sentences(*, released: bool) -> Mapping[str, tuple[str, str]]:
    if released:
        return {
            "released": (
                _("{who} released label {label} of {resource} on {version}"),
                _("{who} released label {label} on {version}"),
            ),
            "moved": (
                _("{who} moved the released label {label} of {resource} from {previous} to {version}"),
                _("{who} moved the released label {label} from {previous} to {version}"),
            ),
            "set": (
                _("{who} set label {label} of {resource} on {version} and released it"),
                _("{who} set label {label} on {version} and released it"),
            ),
        }
    return {
        "released": (
            _("{who} withdrew the release of label {label} of {resource} on {version}"),
            _("{who} withdrew the release of label {label} on {version}"),
        ),
        "moved": (
            _("{who} moved label {label} of {resource} from {previous} to {version}"),
            _("{who} moved label {label} from {previous} to {version}"),
        ),
        "set": (
            _("{who} set label {label} of {resource} on {version}"),
            _("{who} set label {label} on {version}"),
        ),
    }


def _label_removed(event: Event, names: Names) -> Sentence:
    return _of(
        event,
        names,
        _("{who} removed label {label} of {resource} from {version}"),
        _("{who} removed label {label} from {version}"),
        label=event.label,
        version=names.version(event.previous_version_id),
    )


def _version_deleted(event: Event, names: Names) -> Sentence:
    version = names.version(event.version_id)
    if event.detail.get("pruned"):
        sentences = _("{who} pruned {version} of {resource}"), _("{who} pruned {version}")
    else:
        sentences = _("{who} deleted {version} of {resource}"), _("{who} deleted {version}")
    return _of(event, names, *sentences, version=version)


def _updated(event: Event, names: Names) -> Sentence:
    fields, to = event.detail.get("fields") or [], str(event.detail.get("to", ""))
    visibility = str(VISIBILITIES.get(to, to))
    if "visibility" not in fields:
        sentence = _("{who} changed the metadata of {resource}")
        return _about(event, names, sentence, attrgetter("metadata_changed"))
    # Only agents have a visibility.
    if "metadata" not in fields:
        return _of(
            event,
            names,
            _("{who} made {resource} {visibility}"),
            _("{who} made this agent {visibility}"),
            visibility=visibility,
        )
    return _of(
        event,
        names,
        _("{who} changed the metadata of {resource} and made it {visibility}"),
        _("{who} changed the metadata of this agent and made it {visibility}"),
        visibility=visibility,
    )


def _deleted(event: Event, names: Names) -> Sentence:
    return _as_object(event, names, _("{who} deleted {resource}"), attrgetter("deleted"))


_OF_RESOURCES: Final[Mapping[str, Callable[[Event, Names], Sentence]]] = {
    "created": _created,
    "versionCreated": _saved,
    "published": _published,
    "unpublished": _unpublished,
    "labelMoved": _label_moved,
    "labelRemoved": _label_removed,
    "versionDeleted": _version_deleted,
    "updated": _updated,
    "deleted": _deleted,
}


def _as_called(event: Event, names: Names) -> Sentence:
    """Return an event described by its type: `review requested, agent writer, version 3`."""
    subject = event.type.rpartition(".")[0]
    called = name_of(event.type)
    if subject != event.resource_kind:
        called = f"{noun_of(subject)} {called}"
    about: dict[str, Fragment | str] = {"what": called}
    if event.resource_id:
        about["resource"] = names.resource(event)
    if event.version_id:
        about["version"] = names.version(event.version_id)
    return Sentence("{who}: " + ", ".join(f"{{{name}}}" for name in about), about)
