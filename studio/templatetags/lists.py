"""Tags for the templates of the lists."""

from __future__ import annotations

from django import template

from studio.resources.filters import FilterForm, tag_chip

register = template.Library()


@register.simple_tag
def folder_address(form: FilterForm, folder: str) -> str:
    """Return the address of a folder, narrowed as the list is."""
    return form.address(folder=folder)


@register.simple_tag
def tag_address(form: FilterForm, tag: str) -> str:
    """Return the address of what has this tag, too; without the tag if the list is narrowed to it."""
    return tag_chip(form, tag).address
