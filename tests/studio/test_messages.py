"""Messages of the domain in the language of the page; see `test_translations` for their catalogs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation
from editor_client.shared import canonical, ids

from capabilities.schedules.judging import blocks_in_words
from studio.translation import translate
from tests.support.translations import APPS, IGNORED, MESSAGE_AT, ROOT, SHARED
from versioning.domain.access import Right
from versioning.domain.errors import Invalid, Issue, Message, NotFound
from versioning.models.messages import MessageField


def templates() -> Iterator[tuple[Path, ast.expr]]:
    """Yield the expressions that are used as templates, wherever one is written."""
    for folder in (*APPS, *SHARED.values()):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not {*IGNORED, "migrations"} & set(path.parts):
                for call in ast.walk(ast.parse(path.read_text())):
                    if isinstance(call, ast.Call):
                        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
                        place = MESSAGE_AT.get(name, len(call.args) + 1)
                        yield from ((path, found) for found in call.args[place - 1 : place])


def test_no_template_is_filled_in_before_it_can_be_translated() -> None:
    """A text that is already formatted, such as an f-string, is not in the catalogs and stays English."""
    found = list(templates())
    assert len(found) > 200
    assert [(str(path), one.lineno) for path, one in found if isinstance(one, ast.JoinedStr)] == []


def refusals() -> Iterator[tuple[str, str, str]]:
    """Yield messages as they are raised, with how a page says them in English and in German."""
    yield from ((message, message, german) for message, german in unnamed())
    yield (
        Right.SAVE.describe_refusal("acme"),
        "You may not save drafts in the workspace “acme”.",
        "Im Arbeitsbereich „acme“ dürfen Sie nicht: Entwürfe speichern.",
    )
    yield ids.label_problem("latest") or "", "“latest” is reserved", "„latest“ ist reserviert"
    with pytest.raises(Invalid) as raised:
        canonical.parse('{"a\'b": 1, "a\'b": 2}')
    yield (
        raised.value.issues[0].message,
        "holds the key “a'b” twice in one object",
        "enthält den Schlüssel „a'b“ zweimal in einem Objekt",
    )
    yield (
        blocks_in_words(["tone", "rules"]),
        "The prompt blocks “tone”, “rules” are not published.",
        "Die Prompt-Bausteine „tone“, „rules“ sind nicht veröffentlicht.",
    )


def unnamed() -> Iterator[tuple[str, str]]:
    """Yield messages that quote nothing, which are the same in English."""
    yield NotFound().message, "Hier ist nichts, was Sie lesen dürfen."
    nested = Invalid([Issue("name", "is required"), Issue("id", "is required")])
    yield nested.message, "name: ist erforderlich (und 1 weitere)"


def test_messages_are_in_the_language_of_the_page() -> None:
    for message, english, german in refusals():
        with translation.override("en"):
            assert translate(message) == english
        with translation.override("de"):
            assert translate(message) == german


def test_other_text_is_not_translated() -> None:
    for message in ["What a person wrote", "", "{0} {x} %s %(a)s", "50 % {"]:
        with translation.override("de"):
            assert translate(message) == message
            assert translate(Message("{text}", text=message)) == message


def test_a_stored_message_can_still_be_translated() -> None:
    message = Message(
        "{problem} (and {count} more)", problem=Message("{name!r} is reserved", name="{}"), count=2
    )
    field = MessageField()
    for stored in (message, "is required", blocks_in_words(["tone", "rules"]), blocks_in_words(["a"] * 30)):
        read = field.from_db_value(field.get_prep_value(stored))
        with translation.override("de"):
            assert (read, translate(read or "")) == (stored, translate(stored))
