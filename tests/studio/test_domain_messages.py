"""Messages of the domain in the language of the page: none is forgotten, and what people wrote stays."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation

from studio.domain_messages.sentences import SENTENCES
from studio.domain_messages.translated import translated

ROOT = Path(__file__).resolve().parents[2]
SPEAKERS = (
    "client/editor_client/shared",
    "delivery/webhooks",
    "releases",
    "review",
    "versioning/domain",
    "versioning/editor",
    "versioning/models",
    "versioning/serving",
    "versioning/sources",
)
ONLY_FOR_PROGRAMS = {
    "has agents of more than {} characters together: lock fewer at once",
    "is a lock, beside which nothing else can select versions",
    "is not a lock as this installation has made it",
    "leads to more than {} agents and prompt blocks: lock fewer at once",
    "versions.agents.{}: You may not read drafts of this agent.",
    "cannot be combined with after",
    "give only one of {}",
    "must be a whole number from 0 to {}",
    "must be an object of selectors by id",
    "must begin with a letter or _, then letters, digits, _",
    "must not ask for more than {} keys",
    "the file does not hold an override; the log says why",
    "the file says something else than the database publishes",
    "Events after this position were pruned; go on from {}, the oldest position.",
}
"""What only the API and commands say."""
PUT_TOGETHER = {"block {} {}", "the prompt block {} {}"}
"""What is there for translators as several whole sentences."""
MESSAGE_AT = {
    "field": 1,
    "Issue": 1,
    "Notice": 1,
    "Conflict": 0,
    "Forbidden": 0,
    "IdTaken": 0,
    "NotFound": 0,
    "Refused": 0,
}


def said() -> Iterator[tuple[str, str]]:
    """Yield (module, sentence) for every message that is written where it is raised."""
    for folder in SPEAKERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for call in ast.walk(ast.parse(path.read_text())):
                if not isinstance(call, ast.Call):
                    continue
                name = getattr(call.func, "attr", getattr(call.func, "id", ""))
                place = MESSAGE_AT.get(name)
                if place is None or len(call.args) <= place:
                    continue
                sentence = written(call.args[place])
                if sentence and " " in sentence:
                    yield path.name, sentence


def written(message: ast.expr) -> str | None:
    if isinstance(message, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in message.values)
    return message.value if isinstance(message, ast.Constant) and isinstance(message.value, str) else None


def test_every_message_of_the_domain_is_there_for_translators() -> None:
    known = {re.sub(r"\{\w+\}", "{}", sentence) for sentence in SENTENCES} | ONLY_FOR_PROGRAMS | PUT_TOGETHER
    known |= {sentence.replace("{}", "{:g}") for sentence in known}
    found = list(said())
    assert len(found) > 60
    assert [(module, sentence) for module, sentence in found if sentence not in known] == []


def test_no_sentence_is_there_twice() -> None:
    assert len(set(SENTENCES)) == len(SENTENCES)


@pytest.mark.parametrize(
    "message",
    [
        "must not be longer than 200 characters",
        "You may not save drafts in the workspace 'acme'.",
        "is required",
    ],
)
def test_english_is_as_the_domain_says_it(message: str) -> None:
    with translation.override("en"):
        assert translated(message) == message


@pytest.mark.parametrize("message", ["What a person wrote", "", "{0} {x} %s %(a)s", "is required " * 500])
def test_what_is_no_sentence_of_the_domain_stays(message: str) -> None:
    with translation.override("de"):
        assert translated(message) == message
