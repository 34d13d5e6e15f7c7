"""The messages to an agent, in each of the accepted forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from versioning.domain.errors import Invalid, Issue

ROLES = ("user", "assistant", "system")


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One message of a conversation."""

    role: str
    text: str

    def as_dict(self) -> dict[str, str]:
        """Return the message in the form in which it can be sent again."""
        return {"role": self.role, "content": self.text}


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The previous messages, and the new one of the user."""

    history: tuple[Turn, ...]
    prompt: str

    @classmethod
    def parse(cls, messages: Any) -> Conversation:
        """Return the conversation from a text, a message or a list of messages.

        Content is text, or a list of `{"type": "text", "text"}` parts. Raises `Invalid` with every problem,
        named like `messages.2.role`; the last message has to be the user's.
        """
        if isinstance(messages, str):
            if not messages.strip():
                raise Invalid.field("messages", "must not be blank")
            return cls(history=(), prompt=messages)
        given = [messages] if isinstance(messages, Mapping) else messages
        if not isinstance(given, list | tuple) or not given:
            raise Invalid.field("messages", "must be a text, a message or a list of at least one message")
        issues: list[Issue] = []
        single = isinstance(messages, Mapping)
        places = ["messages" if single else f"messages.{position}" for position in range(len(given))]
        turns = [_turn(message, place, issues) for message, place in zip(given, places, strict=True)]
        if not issues and turns[-1].role != "user":
            issues.append(Issue(f"{places[-1]}.role", "must be 'user' in the last message"))
        if issues:
            raise Invalid(issues)
        return cls(history=tuple(turns[:-1]), prompt=turns[-1].text)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All messages, in order."""
        return (*self.history, Turn(role="user", text=self.prompt))


def _turn(message: Any, place: str, issues: list[Issue]) -> Turn:
    if not isinstance(message, Mapping):
        issues.append(Issue(place, 'must be a message: {"role", "content"}'))
        return Turn(role="user", text="")
    issues.extend(
        Issue(f"{place}.{name}", "is not a known member")
        for name in message
        if name not in {"role", "content"}
    )
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        issues.append(Issue(f"{place}.role", "must be 'user', 'assistant' or 'system'"))
        role = "user"
    text = _text(message.get("content"), f"{place}.content", issues)
    if role == "user" and text is not None and not text.strip():
        issues.append(Issue(f"{place}.content", "must not be blank"))
    return Turn(role=role, text=text or "")


def _text(content: Any, place: str, issues: list[Issue]) -> str | None:
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple) or not content:
        issues.append(Issue(place, 'must be a text or a list of {"type": "text", "text"}'))
        return None
    wrong = [position for position, part in enumerate(content) if not _is_text_part(part)]
    issues.extend(Issue(f"{place}.{position}", 'must be {"type": "text", "text"}') for position in wrong)
    return None if wrong else "".join(part["text"] for part in content)


def _is_text_part(part: Any) -> bool:
    return (
        isinstance(part, Mapping)
        and part.keys() == {"type", "text"}
        and part["type"] == "text"
        and isinstance(part["text"], str)
    )
