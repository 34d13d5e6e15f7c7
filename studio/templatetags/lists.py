"""Tags for the templates of the lists."""

from __future__ import annotations

import re
from typing import Final

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from studio.kinds import PROMPT_BLOCK
from studio.named import resource_name
from studio.resources.filters import FilterForm, tag_chip

register = template.Library()

_REFERENCE: Final = re.compile(r"\[([^\[\]]+)\]")
"""A reference to a prompt block in an excerpt: its id in square brackets."""


@register.filter
def with_block_names(excerpt: str) -> SafeString:
    """Return the excerpt of instructions with the names of prompt blocks instead of their ids."""
    parts = _REFERENCE.split(excerpt)  # texts, and between them ids
    return format_html_join(
        "",
        "{}",
        (
            (format_html("[{}]", resource_name(PROMPT_BLOCK.slug, part)) if place % 2 else part,)
            for place, part in enumerate(parts)
        ),
    )


@register.simple_tag
def folder_address(form: FilterForm, folder: str) -> str:
    return form.address(folder=folder)


@register.simple_tag
def folder_link(form: FilterForm, folder: str) -> SafeString:
    words = _("Folder %(folder)s") % {"folder": folder}
    return format_html(
        '<a class="folder" href="{}" aria-label="{}">{}</a>', folder_address(form, folder), words, folder
    )


@register.simple_tag
def choose_words(name: str) -> str:
    return _("Choose %(name)s") % {"name": name}


@register.simple_tag
def tag_address(form: FilterForm, tag: str) -> str:
    """Return the address that adds a tag to the filters, or removes it if it is already there."""
    address: str = tag_chip(form, tag)["address"]
    return address
