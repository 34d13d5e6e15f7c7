"""Marks in a page, which are replaced by names when the page is complete.

Templates, sentences about events, messages of the domain and applications' panels know people by their user
names, and resources by their ids. They write a mark for each; `with_names` looks all of them up at once. So
pages need not declare the names in advance, and equal names can be distinguished.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, Protocol, Self

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe


class Shown(NamedTuple):
    text: str
    html: SafeString | None = None
    """Between tags; None for the text alone."""

    @property
    def escaped_text(self) -> SafeString:
        """The text as HTML."""
        return escape(self.text)


class Mention(Hashable, Protocol):
    @property
    def otherwise(self) -> str:
        """The text outside of pages, such as in a command."""

    @classmethod
    def resolve(cls, mentions: Sequence[Self], request: HttpRequest) -> Sequence[Shown]:
        """Return the replacement of each mark; the number of queries does not depend on their number."""


class _Page:
    def __init__(self) -> None:
        self.token: Final = str(secrets.randbits(64))
        """Part of every mark, so that no text that people write becomes a name."""
        self.mark: Final = re.compile(f"\ue000{self.token}:([0-9]+)\ue001")
        self.mentions: dict[Mention, int] = {}

    def mark_for(self, mention: Mention) -> str:
        """Return the mark for a mention. Text filters do not change it, and it needs no escaping."""
        return f"\ue000{self.token}:{self.mentions.setdefault(mention, len(self.mentions))}\ue001"

    def replace_marks(
        self, content: str, request: HttpRequest, write: Callable[[Shown, re.Match[str]], str]
    ) -> str:
        mentions = list(self.mentions)
        present = [mentions[int(number)] for number in dict.fromkeys(self.mark.findall(content))]
        replacements = _look_up(present, request)
        return self.mark.sub(lambda mark: write(replacements[mentions[int(mark[1])]], mark), content)


_page: ContextVar[_Page | None] = ContextVar("page", default=None)


@contextmanager
def writing() -> Iterator[_Page]:
    """Allow marks in texts written within the block, which `as_text` replaces by names."""
    page = _Page()
    active = _page.set(page)
    try:
        yield page
    finally:
        _page.reset(active)


def with_names(
    get_response: Callable[[HttpRequest], HttpResponseBase], request: HttpRequest
) -> HttpResponseBase:
    """Return the response to a request, with its marks replaced by the names of people and resources."""
    with writing() as page:
        response = get_response(request)
    if isinstance(response, HttpResponse) and page.token.encode() in response.content:
        content = response.content.decode(response.charset)
        response.content = page.replace_marks(content, request, _as_html).encode(response.charset)
    return response


def write_mark(mention: Mention) -> SafeString:
    page = _page.get()
    if page is None:
        return escape(mention.otherwise)
    return mark_safe(page.mark_for(mention))  # noqa: S308  the mark of this page


def as_text(message: str, request: HttpRequest) -> str:
    """Return a message with its names as text, because the marks of a page mean nothing to the next one."""
    page = _page.get()
    if page is None or page.token not in message:
        return message
    if isinstance(message, SafeString):
        return mark_safe(page.replace_marks(message, request, lambda name, _mark: name.escaped_text))  # noqa: S308
    return page.replace_marks(message, request, lambda name, _mark: name.text)


def _look_up(mentions: Iterable[Mention], request: HttpRequest) -> Mapping[Mention, Shown]:
    """Return the replacements of the mentions; those of a class are looked up together."""
    by_class: dict[type[Mention], list[Any]] = {}
    for mention in mentions:
        by_class.setdefault(type(mention), []).append(mention)
    replacements: dict[Mention, Shown] = {}
    for its_class, class_mentions in by_class.items():
        replacements |= zip(class_mentions, its_class.resolve(class_mentions, request), strict=True)
    return replacements


def _as_html(name: Shown, mark: re.Match[str]) -> str:
    """Return the HTML of a name; within a tag, such as in a title, its text."""
    is_in_tag = mark.string.rfind("<", 0, mark.start()) > mark.string.rfind(">", 0, mark.start())
    return name.escaped_text if name.html is None or is_in_tag else name.html
