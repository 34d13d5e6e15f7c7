"""Events as sentences: `ada published version 8 of agent writer in place of version 5`. Pure.

Each message is a whole sentence with placeholders, so that a translation can use any order. It becomes a list
of fragments, some of which are links. A type of event without a declared sentence is shown by its name: `ada:
pilot ended, agent writer`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from studio.field_words import titles
from studio.kind_words import KindWords
from studio.kinds import KINDS_BY_SLUG
from studio.named import Place, people, person_name, workspace_name
from studio.resources.rows import VISIBILITIES
from studio.translation import translate
from studio.workspaces.names import NAMES as ROLES
from versioning.domain.access import Via
from versioning.domain.events import EventSubject, find_subject, find_type
from versioning.domain.snapshots import reference_to_id
from versioning.models import Event

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, kw_only=True)
class SubjectWords:
    noun: Promise
    """For use in a sentence: `prompt block`."""
    title: Promise
    """The plural, as the head of a group: `Prompt blocks`."""
    anything: Promise
    """The choice for all events about the subject."""


def _words(noun: Promise, title: Promise, anything: Promise) -> SubjectWords:
    return SubjectWords(noun=noun, title=title, anything=anything)


NOUNS: Final[Mapping[str, SubjectWords]] = {
    "workspace": _words(_("workspace"), _("Workspaces"), _("Anything about workspaces")),
    "member": _words(_("member"), _("Members"), _("Anything about members")),
    "invitation": _words(_("invitation"), _("Invitations"), _("Anything about invitations")),
    "key": _words(_("API key"), _("API keys"), _("Anything about API keys")),
    "person": _words(_("person"), _("People"), _("Anything about people")),
}
"""The subjects of the core's types, besides the kinds; applications declare their own words."""
_NAMES: Final[Mapping[str, Promise]] = {
    "versionCreated": pgettext_lazy("event", "draft saved"),
    "labelMoved": pgettext_lazy("event", "label set, moved or released"),
    "labelRemoved": pgettext_lazy("event", "label removed"),
    "versionDeleted": pgettext_lazy("event", "version deleted"),
    "workspace.updated": pgettext_lazy("event", "name or policy changed"),
    "updated": pgettext_lazy("event", "metadata or visibility changed"),
    "created": pgettext_lazy("event", "created"),
    "published": pgettext_lazy("event", "published"),
    "unpublished": pgettext_lazy("event", "unpublished"),
    "deleted": pgettext_lazy("event", "deleted"),
    "added": pgettext_lazy("event", "added"),
    "roleChanged": pgettext_lazy("event", "role changed"),
    "removed": pgettext_lazy("event", "removed"),
    "withdrawn": pgettext_lazy("event", "withdrawn"),
    "revoked": pgettext_lazy("event", "revoked"),
    "erased": pgettext_lazy("event", "erased"),
    "changed": pgettext_lazy("event", "changed"),
    "started": pgettext_lazy("event", "started"),
    "stopped": pgettext_lazy("event", "stopped"),
    "completed": pgettext_lazy("event", "completed"),
}
"""A type of the core, or its second half."""


@dataclass(frozen=True, kw_only=True)
class TypeGroup:
    subject: str
    title: str
    anything: str
    types: list[tuple[str, str]]
    """Each type with its name, such as `("agent.versionCreated", "Draft saved")`."""

    @property
    def pattern(self) -> str:
        return f"{self.subject}.*"


def subject_noun(subject: str) -> str:
    """Return the name of a type's subject: `prompt block`, `API key`."""
    words = words_about(subject)
    return str(words.noun) if words else split_words_of_name(subject)


def words_about(subject: str) -> SubjectWords | KindWords | EventSubject | None:
    """Return the words for the subject of a type; None if there are none."""
    if kind := KINDS_BY_SLUG.get(subject):
        return kind.words
    declared = find_subject(subject)
    return NOUNS.get(subject) or (declared if declared and declared.noun else None)


def name_of(event_type: str) -> str:
    """Return the name of a type next to its subject: `draft saved`."""
    change = event_type.rpartition(".")[2]
    own = find_type(event_type)
    return str(
        (own and own.title) or _NAMES.get(event_type) or _NAMES.get(change) or split_words_of_name(change)
    )


def group_types(types: Iterable[str]) -> Iterator[TypeGroup]:
    for subject, members in groupby(types, key=lambda event_type: event_type.rpartition(".")[0]):
        words = words_about(subject)
        yield TypeGroup(
            subject=subject,
            title=str(words.title) if words else f"{capfirst(split_words_of_name(subject))}s",
            anything=str(words.anything) if words else gettext("Anything about this"),
            types=[(member, capfirst(name_of(member))) for member in members],
        )


def split_words_of_name(name: str) -> str:
    """Return a camelCase name as words: `changes requested`."""
    return re.sub("([A-Z])", lambda letter: f" {letter[0].lower()}", name)


_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Fragment:
    text: str
    address: str = ""
    """The address that it links to; empty for plain words."""
    html: SafeString | None = None
    """Its HTML, if not its text: people with their avatars."""
    number: int | None = None
    """The number of the version that it names, if that has a number."""
    of: str = ""
    """The name of a resource as an attribute, `of agent Writer`, because languages decline it."""
    as_object: str = ""
    """The name of a resource as the object of a sentence; empty for its text."""


def people_in(usernames: Sequence[str], place: Place = Place.WITHIN) -> Fragment:
    return Fragment(
        ", ".join(person_name(username, place) for username in usernames), html=people(usernames, place)
    )


@dataclass(frozen=True)
class Sentence:
    """A sentence with placeholders (`{who} published {version}`), and their values."""

    sentence: str
    values: Mapping[str, Fragment | str] = field(default_factory=dict)


def as_fragments(sentence: str, values: Mapping[str, Fragment | str], of: str = "of") -> list[Fragment]:
    """Return a sentence as fragments; a placeholder without a value stays unchanged.

    After the word `of`, a fragment with its own words for that place has them.
    """
    fragments: list[Fragment] = []
    for place, text in enumerate(_PLACEHOLDER.split(sentence)):
        value = values.get(text, f"{{{text}}}") if place % 2 else text
        if isinstance(value, Fragment) and value.of and fragments and fragments[-1].text.endswith(f" {of} "):
            before, (article, _space, name) = fragments.pop().text, value.of.partition(" ")
            fragments.append(Fragment(f"{before.removesuffix(f'{of} ')}{article} "))
            value = replace(value, text=name)
        if value:
            fragments.append(value if isinstance(value, Fragment) else Fragment(value))
    return fragments


@dataclass(frozen=True, kw_only=True)
class Names:
    versions: Mapping[str, Fragment] = field(default_factory=dict)
    """By id."""
    resources: Mapping[tuple[str, str, Any], Fragment] = field(default_factory=dict)
    """By kind, id and identity."""
    subjects: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """The address of an event's further subject, such as a review; by position and ordinal."""
    named: Mapping[tuple[int, int], Fragment] = field(default_factory=dict)
    """Objects of other applications that events name, such as a release, by position and ordinal."""
    of_one: bool = False
    """Whether the page is about one resource, which its sentences do not name."""

    def version(self, version_id: str) -> Fragment:
        """Return the name of a version: `version 3`, `Git 2f7341a`."""
        return self.versions.get(version_id) or Fragment(translate(reference_to_id(version_id)))

    def draft(self, version_id: str) -> Fragment:
        """Return the name of a version that was a draft when it was saved: `draft 3`."""
        version = self.version(version_id)
        if version.number is None:
            return version
        return Fragment(gettext("draft {number}").format(number=version.number), version.address)

    def subject(self, event: Event) -> str:
        """Return the address of an event's further subject; empty without a page."""
        return self.subjects.get((event.position, event.ordinal), "")

    def resource(self, event: Event) -> Fragment:
        """Return the name of the resource that an event is about: `agent Writer`."""
        key = event.resource_kind, event.resource_id, event.resource_uuid
        return self.resources.get(key) or resource_fragment(event, event.resource_id)


def resource_fragment(event: Event, name: str, address: str = "") -> Fragment:
    """Return the name of an event's resource after the word for its kind: `agent Writer`."""
    kind = KINDS_BY_SLUG.get(event.resource_kind)
    template = str(kind.words.named) if kind else f"{subject_noun(event.resource_kind)} {{name}}"
    of = str(kind.words.of_named) if kind else ""
    as_object = str(kind.words.object_named) if kind else ""
    return Fragment(
        template.format(name=name), address, of=of.format(name=name), as_object=as_object.format(name=name)
    )


def version_name(number: int) -> str:
    """Return the name of a version with this number for use in a sentence: `version 3`."""
    return gettext("version {number}").format(number=number)


def _member(event: Event) -> Sentence:
    detail = event.detail
    values: dict[str, Fragment | str] = {
        "name": people_in([str(detail.get("username"))]),
        "before": _role(detail.get("from")),
        "now": _role(detail.get("to")),
    }
    if event.type == "member.roleChanged":
        values["name"] = people_in([str(detail.get("username"))], Place.NAMED)
        return Sentence(gettext("{who} changed the role of {name} from {before} to {now}"), values)
    if event.type == "member.removed":
        return Sentence(gettext("{who} removed {name}, who was {before}"), values)
    if detail.get("invitedBy"):
        return Sentence(
            gettext("{who} joined as {now}, invited by {inviter}"),
            {**values, "inviter": people_in([str(detail["invitedBy"])])},
        )
    return Sentence(gettext("{who} added {name} as {now}"), values)


def _workspace(event: Event) -> Sentence:
    detail = event.detail
    name = {"name": str(detail.get("name") or event.workspace_id)}
    if event.type == "workspace.created":
        return Sentence(gettext("{who} created the workspace {name}"), name)
    if event.type == "workspace.deleted":
        return Sentence(gettext("{who} deleted the workspace {name}"), name)
    if "from" in detail:
        values = {"before": str(detail["from"]), "now": str(detail.get("to"))}
        return Sentence(gettext("{who} renamed the workspace from {before} to {now}"), values)
    if detail.get("fields") == ["reviewPolicy"]:
        return _review_policy(event)
    values = {"name": workspace_name(event.workspace_id), "fields": ", ".join(detail.get("fields", []))}
    return Sentence(gettext("{who} changed the workspace {name}: {fields}"), values)


def _review_policy(event: Event) -> Sentence:
    """Return the sentence about a policy; entries of earlier releases have no values before the change."""
    detail, before = event.detail, event.detail.get("before") or {}
    values: dict[str, Fragment | str] = {
        "name": workspace_name(event.workspace_id),
        "before": str(before.get("required", "?")),
        "now": str(detail.get("required", "?")),
    }
    if before.get("bypass", detail.get("bypass")) == detail.get("bypass"):
        return Sentence(
            gettext("{who} changed the review policy of {name}: {before} → {now} approvals"), values
        )
    if detail.get("bypass") == "nobody":
        sentence = gettext(
            "{who} changed the review policy of {name}: {before} → {now} approvals, admins no longer exempt"
        )
    else:
        sentence = gettext(
            "{who} changed the review policy of {name}: {before} → {now} approvals, admins exempt"
        )
    return Sentence(sentence, values)


def _key(event: Event) -> Sentence:
    detail = event.detail
    about = ", ".join(filter(None, (f"{detail.get('prefix')}…", _role(detail.get("role")))))
    values: dict[str, Fragment | str] = {
        "name": str(detail.get("name")),
        "owner": people_in([str(detail.get("owner"))], Place.NAMED),
        "about": about,
    }
    if event.type == "key.created":
        if detail.get("name"):
            return Sentence(gettext("{who} created the API key “{name}” of {owner} ({about})"), values)
        return Sentence(gettext("{who} created the API key of {owner} ({about})"), values)
    if detail.get("name"):
        return Sentence(gettext("{who} revoked the API key “{name}” of {owner} ({about})"), values)
    return Sentence(gettext("{who} revoked the API key of {owner} ({about})"), values)


def _invitation(event: Event) -> Sentence:
    values: dict[str, Fragment | str] = {
        "name": people_in([str(event.detail.get("username"))]),
        "role": _role(event.detail.get("role")),
    }
    if event.type == "invitation.created":
        return Sentence(gettext("{who} invited {name} as {role}"), values)
    return Sentence(gettext("{who} withdrew the invitation of {name} as {role}"), values)


def _person(event: Event) -> Sentence:
    name = people_in([str(event.detail.get("username"))])
    return Sentence(gettext("{who} erased a person, who is {name} now"), {"name": name})


def _role(role: Any) -> str:
    """Return a role in the language of the page; empty without a role."""
    return str(ROLES.get(role, role or ""))


OF_WORKSPACES: Final[Mapping[str, Callable[[Event], Sentence]]] = {
    f"{subject}.{name}": tell
    for subject, tell, names in (
        ("workspace", _workspace, ("created", "updated", "deleted")),
        ("member", _member, ("added", "roleChanged", "removed")),
        ("invitation", _invitation, ("created", "withdrawn")),
        ("key", _key, ("created", "revoked")),
        ("person", _person, ("erased",)),
    )
    for name in names
}


def name_actor(event: Event, place: Place) -> Fragment:
    if event.via == Via.FILE:
        return Fragment(gettext("Someone who changed the file"))
    return people_in([event.actor], place)


def describe_event(event: Event, names: Names, who: str = "") -> list[Fragment]:
    """Return the sentence about an event; `who` replaces the name of the actor."""
    sentence = _sentence_for(event, names)
    place = Place.BEGINNING if sentence.sentence.startswith("{who}") else Place.WITHIN
    of = pgettext("before the name of an agent or prompt block", "of")
    return as_fragments(sentence.sentence, {"who": who or name_actor(event, place), **sentence.values}, of)


def _sentence_for(event: Event, names: Names) -> Sentence:
    if event.hidden_from:
        # Readers of the agent must not see the prompt block itself, or who changed it.
        if names.of_one:
            return Sentence(gettext("The text of a prompt block changed in this agent"))
        sentence = gettext("The text of a prompt block changed in {resource}")
        return Sentence(sentence, {"resource": names.resource(event)})
    subject, _dot, change = event.type.rpartition(".")
    if subject == event.resource_kind and change in _OF_RESOURCES:
        return _OF_RESOURCES[change](event, names)
    if event.type in OF_WORKSPACES:
        return OF_WORKSPACES[event.type](event)
    own = find_type(event.type)
    if own is not None and own.sentence is not None:
        own_sentence: Sentence = own.sentence(event, names)
        return own_sentence
    return _as_called(event, names)


# About resources. Each sentence has two forms: for a general page, and for one about this resource only.


def _about(event: Event, names: Names, sentence: str, alone: Callable[[KindWords], StrOrPromise]) -> Sentence:
    kind = KINDS_BY_SLUG.get(event.resource_kind)
    if names.of_one and kind is not None:
        return Sentence(str(alone(kind.words)), {})
    return Sentence(sentence, {"resource": names.resource(event)})


def _as_object(
    event: Event, names: Names, sentence: str, alone: Callable[[KindWords], StrOrPromise]
) -> Sentence:
    about = _about(event, names, sentence, alone)
    return replace(
        about,
        values={
            name: replace(value, text=value.as_object or value.text) if isinstance(value, Fragment) else value
            for name, value in about.values.items()
        },
    )


def _of(event: Event, names: Names, forms: tuple[str, str], **values: Fragment | str) -> Sentence:
    """Return the sentence that names the resource, or the form without it."""
    sentence, alone = forms
    if names.of_one:
        return Sentence(gettext(alone), values)
    return Sentence(gettext(sentence), {"resource": names.resource(event), **values})


_RESTORED: Final = (
    gettext_noop("{who} restored {version} as {draft} of {resource}"),
    gettext_noop("{who} restored {version} as {draft}"),
)
_SAVED: Final = gettext_noop("{who} saved {draft} of {resource}"), gettext_noop("{who} saved {draft}")
_SAVED_FIELDS: Final = (
    gettext_noop("{who} saved {draft} of {resource}: {fields}"),
    gettext_noop("{who} saved {draft}: {fields}"),
)
_PUBLISHED: Final = (
    gettext_noop("{who} published {version} of {resource}"),
    gettext_noop("{who} published {version}"),
)
_REPLACED: Final = (
    gettext_noop("{who} published {version} of {resource} in place of {previous}"),
    gettext_noop("{who} published {version} in place of {previous}"),
)
_UNPUBLISHED: Final = (
    gettext_noop("{who} unpublished {version} of {resource}"),
    gettext_noop("{who} unpublished {version}"),
)
_LABEL_MOVED: Final = {
    ("released", True): (
        gettext_noop("{who} released label {label} of {resource} on {version}"),
        gettext_noop("{who} released label {label} on {version}"),
    ),
    ("moved", True): (
        gettext_noop("{who} moved the released label {label} of {resource} from {previous} to {version}"),
        gettext_noop("{who} moved the released label {label} from {previous} to {version}"),
    ),
    ("set", True): (
        gettext_noop("{who} set label {label} of {resource} on {version} and released it"),
        gettext_noop("{who} set label {label} on {version} and released it"),
    ),
    ("released", False): (
        gettext_noop("{who} withdrew the release of label {label} of {resource} on {version}"),
        gettext_noop("{who} withdrew the release of label {label} on {version}"),
    ),
    ("moved", False): (
        gettext_noop("{who} moved label {label} of {resource} from {previous} to {version}"),
        gettext_noop("{who} moved label {label} from {previous} to {version}"),
    ),
    ("set", False): (
        gettext_noop("{who} set label {label} of {resource} on {version}"),
        gettext_noop("{who} set label {label} on {version}"),
    ),
}
"""By the kind of move, and whether the label is released now."""
_LABEL_REMOVED: Final = (
    gettext_noop("{who} removed label {label} of {resource} from {version}"),
    gettext_noop("{who} removed label {label} from {version}"),
)
_PRUNED: Final = gettext_noop("{who} pruned {version} of {resource}"), gettext_noop("{who} pruned {version}")
_VERSION_DELETED: Final = (
    gettext_noop("{who} deleted {version} of {resource}"),
    gettext_noop("{who} deleted {version}"),
)
_VISIBILITY_CHANGED: Final = (
    gettext_noop("{who} made {resource} {visibility}"),
    gettext_noop("{who} made this agent {visibility}"),
)
_BOTH_CHANGED: Final = (
    gettext_noop("{who} changed the metadata of {resource} and made it {visibility}"),
    gettext_noop("{who} changed the metadata of this agent and made it {visibility}"),
)


def _describe_saved(event: Event, names: Names) -> Sentence:
    source, draft = event.detail.get("restoredFrom"), names.draft(event.version_id)
    if source:
        return _of(event, names, _RESTORED, version=names.version(source), draft=draft)
    changed = ", ".join(titles(event.detail.get("changedFields") or ()))
    if not changed:
        return _of(event, names, _SAVED, draft=draft)
    return _of(event, names, _SAVED_FIELDS, draft=draft, fields=changed)


def _describe_published(event: Event, names: Names) -> Sentence:
    version = names.version(event.version_id)
    if event.previous_version_id in {"", event.version_id}:
        return _of(event, names, _PUBLISHED, version=version)
    return _of(event, names, _REPLACED, version=version, previous=names.version(event.previous_version_id))


def _describe_label(event: Event, names: Names) -> Sentence:
    before, now = event.previous_version_id, event.version_id
    change = "released" if before == now else "moved" if before else "set"
    values: dict[str, Fragment | str] = {"label": event.label, "version": names.version(now)}
    if change == "moved":
        values["previous"] = names.version(before)
    return _of(event, names, _LABEL_MOVED[change, bool(event.detail.get("released"))], **values)


def _describe_updated(event: Event, names: Names) -> Sentence:
    fields, to = event.detail.get("fields") or [], str(event.detail.get("to", ""))
    if "visibility" not in fields:
        sentence = gettext("{who} changed the metadata of {resource}")
        return _about(event, names, sentence, attrgetter("metadata_changed"))
    # Only agents have a visibility.
    forms = _BOTH_CHANGED if "metadata" in fields else _VISIBILITY_CHANGED
    return _of(event, names, forms, visibility=str(VISIBILITIES.get(to, to)))


_OF_RESOURCES: Final[Mapping[str, Callable[[Event, Names], Sentence]]] = {
    "created": lambda event, names: _as_object(
        event, names, gettext("{who} created {resource}"), attrgetter("created")
    ),
    "versionCreated": _describe_saved,
    "published": _describe_published,
    "unpublished": lambda event, names: _of(
        event, names, _UNPUBLISHED, version=names.version(event.previous_version_id)
    ),
    "labelMoved": _describe_label,
    "labelRemoved": lambda event, names: _of(
        event, names, _LABEL_REMOVED, label=event.label, version=names.version(event.previous_version_id)
    ),
    "versionDeleted": lambda event, names: _of(
        event,
        names,
        _PRUNED if event.detail.get("pruned") else _VERSION_DELETED,
        version=names.version(event.version_id),
    ),
    "updated": _describe_updated,
    "deleted": lambda event, names: _as_object(
        event, names, gettext("{who} deleted {resource}"), attrgetter("deleted")
    ),
}


def _as_called(event: Event, names: Names) -> Sentence:
    """Return an event described by its type: `review requested, agent writer, version 3`."""
    subject = event.type.rpartition(".")[0]
    called = name_of(event.type)
    if subject != event.resource_kind:
        called = f"{subject_noun(subject)} {called}"
    about: dict[str, Fragment | str] = {"what": called}
    if event.resource_id:
        about["resource"] = names.resource(event)
    if event.version_id:
        about["version"] = names.version(event.version_id)
    return Sentence("{who}: " + ", ".join(f"{{{name}}}" for name in about), about)
