"""Tags and filters for all templates of the studio."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studio.dates import current_zone, day_in_words, moment_in_words, time_element, time_in_words
from studio.field_words import place_of
from studio.limits import shorten
from studio.named import (
    Place,
    display_name,
    face,
    id_if_shared,
    people,
    person,
    person_name,
    resource_name,
    workspace_name,
)
from studio.panels import Panel
from studio.resources.rows import Star, StateWords
from studio.translation import changes_of, message_of, reference_to, title_of, translate, translate_at_field
from studio.workspaces.names import role_name
from versioning.domain.snapshots import Snapshot, message_subject

register = template.Library()
register.filter(shorten)
register.filter(title_of)
register.filter(reference_to)
register.filter(message_of)
register.filter(changes_of)
register.filter(message_subject)
register.filter(translate)
register.filter(translate_at_field)
register.filter(place_of)
register.filter(day_in_words)
register.simple_tag(current_zone)
register.simple_tag(person)
register.simple_tag(person_name)
register.simple_tag(people)
register.simple_tag(resource_name)
register.simple_tag(id_if_shared)
register.simple_tag(workspace_name)
register.filter(face)
register.filter(display_name)
register.filter(role_name)

MINUTE, HOUR, DAY = 60, 60 * 60, 24 * 60 * 60


@register.simple_tag(takes_context=True)
def version_link(
    context: template.Context, version: Snapshot | None, *, is_within: bool = False
) -> SafeString | str:
    """Return the name of a version of the page's resource, as a link to it.

    `is_within` is for use in a sentence: "version 3" instead of "Version 3".
    """
    if version is None:
        return ""
    address = context["kind"].address("version", context["summary"].entry.id, version.version_id)
    name = reference_to(version) if is_within else title_of(version)
    return format_html('<a class="link" href="{}">{}</a>', address, name)


@register.simple_tag
def saved_by(version: Snapshot, place: str = Place.ALONE) -> SafeString:
    """Return the author of a version. The author of a commit need not be the account with this name."""
    if version.commit is not None:
        return person(version.author_name, place, is_account=False)
    return person(getattr(version, "author", None) or version.author_name, place)


@register.filter
def named_in(key: str, names: Mapping[str, str]) -> str:
    """Return a name by its key; empty if it is not among the names."""
    return names.get(key, "")


# Lists have the two tags below in every row, and an included template takes several times as long.


@register.simple_tag
def state_chip(state: StateWords) -> SafeString:
    return format_html(
        '<span class="chip {}" title="{}">{}</span>', state.chip, str(state.meaning), str(state.word)
    )


@register.simple_tag
def star_button(star: Star, name: str) -> SafeString:
    """Return the star button of a resource.

    It submits the frame's form `post`, so it can be inside another form.
    """
    return format_html(
        '<button class="star" type="submit" form="post" formaction="{}" name="starred" value="{}"'
        ' aria-pressed="{}" aria-label="{}" title="{}">'
        '<span class="material-symbols-outlined" aria-hidden="true">star</span></button>',
        star.address,
        "no" if star.is_set else "yes",
        "true" if star.is_set else "false",
        _("Star %(name)s") % {"name": name},
        _("Star: keep it at hand on the home page"),
    )


@register.simple_tag(takes_context=True)
def panels(context: template.Context, slot: str, field: str = "") -> SafeString:
    """Return other applications' panels in a slot of the page; below a field, only that field's."""
    offered: Iterable[Panel] = context.get("panels") or ()
    panels = [panel for panel in offered if (panel.slot, panel.field) == (slot, field)]
    return format_html_join("", "{}", ((panel.html,) for panel in panels))


@register.simple_tag
def files_of(panels: Iterable[Panel], files: str) -> list[str]:
    """Return the `stylesheets` or the `scripts` of panels, without duplicates."""
    return list(dict.fromkeys(name for panel in panels for name in getattr(panel, files)))


@register.simple_tag
def when(moment: datetime.datetime) -> SafeString:
    """Return the time elapsed since a time, or the day and the time if that is a day or more."""
    return time_element(moment, spoken(moment, timezone.now()))


@register.simple_tag
def moment(at: datetime.datetime) -> SafeString:
    return time_element(at, moment_in_words(at))


@register.simple_tag
def clock(at: datetime.datetime) -> SafeString:
    """Return the time of day, for use below a heading with the day and `zone_note`."""
    return time_element(at, time_in_words(at))


def spoken(moment: datetime.datetime, now: datetime.datetime) -> str:
    seconds = int((now - moment).total_seconds())
    if not -MINUTE < seconds < DAY:
        return moment_in_words(moment)
    if seconds < MINUTE:
        return _("just now")
    if seconds < HOUR:
        number = seconds // MINUTE
        return ngettext("%(number)d minute ago", "%(number)d minutes ago", number) % {"number": number}
    number = seconds // HOUR
    return ngettext("%(number)d hour ago", "%(number)d hours ago", number) % {"number": number}
