"""Chat prompts: an agent has instructions and no messages.

What is said by the system or the developer becomes instructions. One more message of a user that consists of
variables is what an application sends anyway, and is left out. Every other message becomes a prompt block of
its own. All of this is noted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from editor_client.shared.instructions import placeholders
from editor_client.transfer.importing import credentials
from editor_client.transfer.importing.collection import Collection, shown
from editor_client.transfer.importing.members import Members
from editor_client.transfer.importing.templates import Language, Translator, only_variables

INSTRUCTING: Final = frozenset({"system", "developer"})
Blocks = list[dict[str, Any]]


class Part(NamedTuple):
    """A part of a message in which references are resolved."""

    text: str
    """The text, or that to which it refers."""
    block_id: str | None = None
    """The prompt block to which it refers."""
    note: str = ""
    """What is lost, if a text was pasted in the place of a reference."""


class Input(NamedTuple):
    """The message that an application sends anyway: it consists of variables."""

    number: int
    variables: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message of a chat prompt; without a text for a placeholder, whose name is the text's stead."""

    role: str
    text: str | None
    line: int = 1
    """The line of the file on which the text begins."""
    placeholder: str = ""
    parts: Sequence[Part] = ()
    """The parts, if the text has references."""
    left: Mapping[str, Any] = field(default_factory=dict)
    """What the editor has no place for."""
    is_dropped: bool = False
    """Whether it is no message with a text, so that only what is left of it is kept."""


@dataclass(frozen=True, kw_only=True)
class ChatPrompt:
    """A chat prompt in the editor's terms."""

    instructions: str | Blocks
    blocks: Mapping[str, str] = field(default_factory=dict)
    """The contents of further prompt blocks, by the last part of their names, such as `2-user`."""
    input_variables: Sequence[str] = ()
    """The names, in the source, of the variables in the message that is left out."""


def messages_from(value: Any, collection: Collection, where: str) -> list[Message]:
    """Return the messages in a list of `{role, content}`; what is no message, or no text, is noted."""
    found = []
    for number, one in enumerate(value if isinstance(value, list) else [value], 1):
        members = Members(one, collection, f"{where}, message {number}")
        if members.peek("type") == "placeholder":
            name = members.text("name")
            members.skip("type")
            left = members.left(code="message")
            found.append(Message(role="placeholder", text=None, placeholder=name, left=left))
            continue
        found.append(_message(members))
    return found


def _message(members: Members) -> Message:
    role, kind = members.text("role").lower(), members.peek("type")
    if kind in ("message", "chatmessage"):
        members.skip("type")
    text, lost = _text_of(members.take("content", members.peek("text")), members.collection, members.where)
    if "text" in members and members.peek("text") == text:
        members.skip("text")
    members.skip("id", "status")
    left = members.left(code="message")
    if lost:
        left["content"] = credentials.without(lost, members.collection, members.where)
    if text is None or not role:
        members.collection.lose("message", members.where, "It has no role or no text, and is left out.")
        if text is not None:
            left["content"] = credentials.without(text, members.collection, members.where)
        return Message(role=role, text=None, left=left, is_dropped=True)
    return Message(role=role, text=text, left=left)


def left_of(messages: Sequence[Message]) -> dict[str, Any]:
    """Return what is left of messages, by their numbers."""
    return {str(number): dict(message.left) for number, message in enumerate(messages, 1) if message.left}


def texts_of(messages: Sequence[Message]) -> list[str]:
    """Return the texts of the messages, with those that they refer to."""
    texts = [message.text for message in messages if message.text is not None]
    return [*texts, *(part.text for message in messages for part in message.parts)]


def chat_prompt(messages: Sequence[Message], translator: Translator, where: str) -> ChatPrompt | None:
    """Return a chat prompt as instructions and blocks; None, which is noted, if there is no text."""
    collection, language = translator.collection, translator.language
    numbered = [(number, message) for number, message in enumerate(messages, 1) if message.text is not None]
    for one in messages:
        if one.text is None and not one.is_dropped:
            name = shown(one.placeholder)
            collection.lose("placeholder", where, f"The place for messages {name!r} is left out.")
    system = [entry for entry in numbered if entry[1].role in INSTRUCTING and str(entry[1].text).strip()]
    rest = [entry for entry in numbered if entry[1].role not in INSTRUCTING and str(entry[1].text).strip()]
    if not system and rest:
        system, rest = rest[:1], rest[1:]
        message = "There is no system message: the first message became the instructions."
        collection.lose("no_system_message", where, message)
    if not system:
        collection.lose("empty", where, "There is no text in it; it is left out.")
        return None
    asked = _input_of(rest, language)
    blocks = {}
    for number, one in rest:
        place = f"{where}, message {number}"
        if asked and number == asked.number:
            names = ", ".join(map(shown, asked.variables))
            left = f"A message that consists of variables is left out, as the input of the agent: {names}."
            collection.lose("input_message", place, left)
            continue
        name = f"{number}-{one.role}"
        blocks[name] = _inline(one, translator, place)
        became = f"An agent has no messages: this one of the {shown(one.role)} became a prompt block."
        collection.lose("message_as_block", place, became)
    instructions = [
        block
        for number, message in system
        for block in _blocks(message, translator, f"{where}, message {number}")
    ]
    if not instructions:
        collection.lose("empty", where, "There is no text in it; it is left out.")
        return None
    return ChatPrompt(
        instructions=_as_text(instructions), blocks=blocks, input_variables=asked.variables if asked else []
    )


def _as_text(blocks: Blocks) -> str | Blocks:
    """Return a single text in which nothing is filled in as such, otherwise the blocks."""
    [first, *others] = blocks
    if others or first["type"] != "text" or any(True for _ in placeholders(first["content"])):
        return blocks
    return str(first["content"])


def _blocks(message: Message, translator: Translator, where: str) -> Blocks:
    """Return a message as blocks of instructions: its texts, and its references."""
    parts = message.parts or [Part(str(message.text))]
    blocks: Blocks = []
    for number, part in enumerate(parts):
        if part.note:
            translator.collection.lose("reference", where, part.note)
        if part.block_id is not None:
            blocks.append({"type": "prompt_block_ref", "id": part.block_id})
            continue
        text, is_exact = part.text, True
        if number > 0:
            is_exact = text.startswith("\n\n") or not text.strip()
            text = text.lstrip("\n")
        if number < len(parts) - 1:
            is_exact = is_exact and (text.endswith("\n\n") or not text.strip())
            text = text.rstrip("\n")
        if not is_exact:
            lost = "A reference within a paragraph becomes its own paragraph."
            translator.collection.lose("reference_joined", where, lost)
        if text.strip():
            content = _translated(text, translator, where, message.line)
            blocks.append({"type": "prompt_block" if part.note else "text", "content": content})
    return blocks


def _inline(message: Message, translator: Translator, where: str) -> str:
    """Return a message as one text: what it refers to is pasted."""
    for part in message.parts:
        if part.note or part.block_id is not None:
            lost = part.note or f"The text of {shown(part.block_id)} is pasted: a block has no references."
            translator.collection.lose("reference", where, lost)
    text = "".join(part.text for part in message.parts) or str(message.text)
    return _translated(text, translator, where, message.line)


def _input_of(rest: Sequence[tuple[int, Message]], language: Language) -> Input | None:
    """Return the one message of a user that consists of variables; None if there are several, or none."""
    users = [(number, str(message.text)) for number, message in rest if message.role == "user"]
    found = [Input(number, names) for number, text in users if (names := only_variables(text, language))]
    return found[0] if len(found) == 1 else None


def _translated(text: str, translator: Translator, where: str, line: int) -> str:
    return translator.text(credentials.without(text, translator.collection, where), where, line)


def _text_of(content: Any, collection: Collection, where: str) -> tuple[str | None, list[Any]]:
    """Return the text of a message, and the parts of it that are no texts, which are noted."""
    if isinstance(content, str) or content is None:
        return content, []
    parts = content if isinstance(content, list) else [content]
    texts, lost = [], []
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        more = sorted(set(part) - {"text", "type"}) if isinstance(part, dict) else []
        if isinstance(text, str):
            texts.append(text)
        if not isinstance(text, str) or more:
            kind = part.get("type") if isinstance(part, dict) else type(part).__name__
            what = f": {', '.join(map(shown, more))}" if isinstance(text, str) else ""
            message = f"Of a part of the type {shown(kind)!r} the editor takes the text alone{what}."
            if not isinstance(text, str):
                message = f"A part of the type {shown(kind)!r} is left out."
            collection.lose("content", where, f"{message} metadata.import has it.")
            lost.append(part)
    if len(texts) > 1:
        collection.lose("content", where, "Its parts are joined by line breaks.")
    return "\n".join(texts) if texts else None, lost
