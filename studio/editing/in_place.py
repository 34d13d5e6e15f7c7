"""Answers in JSON to a form that a script sends without leaving the page; browsers get pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect, JsonResponse
from django.utils.html import conditional_escape
from django.utils.text import capfirst

from studio.field_words import place_of
from studio.forms.inputs import Input
from studio.marks import as_text
from studio.translation import translated, translated_at_field
from versioning.domain.errors import Issue


def saved(
    request: HttpRequest, redirect: HttpResponseRedirect, here: str, saves_on: Mapping[str, str]
) -> JsonResponse:
    """Answer a save with what its page would say: `{"messages": […], …}`, or the `next` page.

    `redirect` is the answer to browsers. If it leads back `here`, the answer has the messages with their
    levels, as HTML, and `saves_on`, with which the open page goes on.
    """
    if redirect.url != here:
        return JsonResponse({"next": redirect.url})
    said = [
        {"level": message.level_tag, "html": conditional_escape(message.message)}
        for message in messages.get_messages(request)
    ]
    return JsonResponse({"messages": said, **saves_on})


def refused(request: HttpRequest, controls: Input, unplaced: Sequence[Issue]) -> JsonResponse:
    """Answer an invalid form: the `errors` of its controls by their names, and the other `problems`."""
    problems = [
        as_text(f"{place_of(issue.field)}: {translated(issue.message)}", request) for issue in unplaced
    ]
    return JsonResponse({"errors": dict(_errors(controls, request)), "problems": problems}, status=400)


def conflict() -> JsonResponse:
    """Answer a form after another person's save: the browser loads the page that shows both."""
    return JsonResponse({"conflict": True}, status=409)


def _errors(controls: Input, request: HttpRequest) -> Iterator[tuple[str, list[Any]]]:
    if controls.errors:
        yield (
            controls.path,
            [as_text(capfirst(translated_at_field(error)), request) for error in controls.errors],
        )
    for child in controls.children.values():
        yield from _errors(child, request)
