"""Chat prompts: an agent has instructions and no messages.

Messages of the system or the developer become instructions. A single user message that consists of variables
is the application's input and is omitted. Every other message becomes a separate prompt block. All of this is
noted.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from editor_client.shared.instructions import PATH, placeholders
from editor_client.shared.text_keys import is_name, is_word
from editor_client.transfer.importing.collection import Collection, Members, excerpt, remove_credentials

Language = Literal["curly", "mustache", "f-string", "jinja2", "handlebars", "none"]
LOGIC: Final = "template_logic"
_PATH: Final = re.compile(PATH)
_BETWEEN: Final = " .-"
"""The characters in names of other systems that our names cannot have."""
_LITERAL: Final = re.compile(r"'[^'\\{}]*+'|\"[^\"\\{}]*+\"|'[{}]'")
"""A text that Jinja and Nunjucks print unchanged; exports for promptfoo write `{{ '{' }}` for a brace."""
_WORDS: Final = frozenset(
    {"else", "this", "loop", "self", "super", "caller", "true", "false", "none", "null", "undefined"}
    | {"True", "False", "None"}
)
"""Words of template languages, which are not variables."""
_CLOSERS: Final = {"{%": "%}", "{#": "#}", "{{{": "}}}", "{{!--": "--}}", "{{": "}}"}
_SPELLED: Final = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}


@dataclass(frozen=True)
class Piece:
    """A part of a template: text, a variable, or logic, as written in the source."""

    kind: Literal["text", "variable", "logic", "literal"]
    source: str
    line: int
    name: str = ""
    """The name of a variable in the source; the text of a literal."""


def pieces(text: str, language: Language) -> Iterator[Piece]:
    """Yield the parts of a template; their sources together are the text."""
    if language == "none":
        yield Piece("text", text, 1)
    elif language == "f-string":
        yield from _format_pieces(text)
    else:
        yield from _tagged_pieces(text, language)


def variables(text: str, language: Language) -> set[str]:
    """Return the names of the variables in a template, in the source's spelling."""
    return {piece.name for piece in pieces(text, language) if piece.kind == "variable"}


def rename_variables(names: Iterable[str]) -> dict[str, str]:
    """Return our name for each name that cannot be kept; names stay distinct."""
    sorted_names = sorted(set(names))
    used_names = {name for name in sorted_names if is_path(name)}
    changes: dict[str, str] = {}
    numbers: Counter[str] = Counter()
    for name in sorted_names:
        if name not in used_names:
            spelled = "".join(
                _SPELLED.get(character, character) for character in unicodedata.normalize("NFC", name)
            )
            plain = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()
            base = re.sub(r"[^A-Za-z0-9_]+", "_", plain).strip("_") or "variable"
            stem = base if base[0].isalpha() else f"_{base}"
            candidate = stem
            while candidate in used_names:
                numbers[stem] += 1
                candidate = f"{stem}_{numbers[stem] + 1}"
            used_names.add(candidate)
            changes[name] = candidate
    return changes


def is_path(name: str) -> bool:
    """Return whether a name is a valid path in a context."""
    return _PATH.fullmatch(name) is not None and all(name.split("."))


@dataclass(frozen=True, kw_only=True)
class Translator:
    """Translates the templates of one source, with the same names in all of them."""

    collection: Collection
    language: Language
    names: Mapping[str, str]

    @classmethod
    def of(
        cls,
        collection: Collection,
        language: Language,
        texts: Iterable[str],
        more: Iterable[str] = (),
        where: str = "",
    ) -> Translator:
        """Return the translator for these texts; `more` are names in data for them."""
        variable_names = {name for text in texts for name in variables(text, language)}
        names = rename_variables([*variable_names, *more])
        for name, ours in names.items():
            collection.lose("variable_renamed", where, f"The variable {excerpt(name)!r} is now {ours!r}.")
        return cls(collection=collection, language=language, names=names)

    def name(self, name: str) -> str:
        """Return our name of a variable."""
        return self.names.get(name, name)

    def text(self, text: str, where: str, first_line: int = 1) -> str:
        """Return the template in our language, and note unchanged parts.

        Placeholders of the result that are plain text in the source are also noted.
        """
        result: list[str] = []
        meant: list[str] = []
        for piece in pieces(text, self.language):
            line = piece.line + first_line - 1
            if piece.kind == "variable":
                ours = self.name(piece.name)
                meant.append(ours)
                is_ours = piece.name == ours and not piece.source.startswith("{{{")
                is_ours = is_ours and [path for path, _ in placeholders(piece.source)] == [ours]
                result.append(piece.source if is_ours else f"{{{{ {ours} }}}}")
            elif piece.kind == "literal":
                result.append(piece.name)
            else:
                is_escaped = self.language == "f-string" and piece.kind == "text"
                source = piece.source
                result.append(source.replace("{{", "{").replace("}}", "}") if is_escaped else source)
            if piece.kind == "logic":
                message = f"{excerpt(piece.source)} stays as text: the editor does not run it."
                self.collection.lose(LOGIC, where, message, line)
        translated = "".join(result)
        expected = Counter(meant)
        for path, count in Counter(path for path, _ in placeholders(translated)).items():
            if count != expected[path]:
                message = f"{{{{ {path} }}}} is text in the source, and filled in by the editor."
                self.collection.lose("literal_placeholder", where, message)
        return translated


def only_variables(text: str, language: Language) -> list[str] | None:
    """Return the names of the variables if a text consists of them, otherwise None."""
    text_pieces = list(pieces(text, language))
    if any(piece.kind != "variable" and piece.source.strip() for piece in text_pieces):
        return None
    return [piece.name for piece in text_pieces if piece.kind == "variable"] or None


def _format_pieces(text: str) -> Iterator[Piece]:
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError:
        yield Piece("logic", text, 1)
        return
    line = 1
    for literal, name, spec, conversion in parsed:
        if literal:
            yield Piece("text", literal.replace("{", "{{").replace("}", "}}"), line)
            line += literal.count("\n")
        if name is None:
            continue
        source = "{" + name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"
        exact = not spec and not conversion and is_name(name, " -")
        yield Piece("variable" if exact else "logic", source, line, name if exact else "")


def _tagged_pieces(text: str, language: Language) -> Iterator[Piece]:
    """Yield the parts of a template with `{{ }}`, and of Jinja with `{% %}`; each text is searched once."""
    openers = ("{{", "{%", "{#") if language == "jinja2" else ("{{",)
    exhausted: set[str] = set()
    opener = re.compile("|".join(map(re.escape, openers)))
    place, line, searched = 0, 1, 0
    while match := opener.search(text, searched):
        opened = match[0]
        if language in {"mustache", "handlebars"}:
            longer = (opening for opening in ("{{!--", "{{{") if text.startswith(opening, match.start()))
            opened = next(longer, opened)
        closer = _CLOSERS[opened]
        end = -1 if closer in exhausted else text.find(closer, match.start() + len(opened))
        if end < 0:
            exhausted.add(closer)
            searched = match.end()
            continue
        start = match.start()
        if language == "curly":  # of `{{{ x }}` and `{{ a {{ x }}` the innermost braces count
            start = max(start, text.rfind("{{", start, end))
        if start > place:
            yield Piece("text", text[place:start], line)
            line += text.count("\n", place, start)
        place = searched = end + len(closer)
        source = text[start:place]
        yield _tag(source, opened, line, language)
        line += source.count("\n")
    if place < len(text):
        yield Piece("text", text[place:], line)


def _tag(source: str, opened: str, line: int, language: Language) -> Piece:
    inside = source[len(opened) : len(source) - len(_CLOSERS[opened])].strip()
    if opened in {"{%", "{#", "{{!--"}:
        return Piece("logic", source, line)
    if language == "curly":
        is_variable = is_name(inside, _BETWEEN)
        return Piece("variable" if is_variable else "logic", source, line, inside if is_variable else "")
    if language == "jinja2" and opened == "{{" and _LITERAL.fullmatch(inside):
        return Piece("literal", source, line, inside[1:-1])
    if language == "mustache" and inside.startswith("&"):
        inside = inside[1:].strip()
    first, *rest = inside.split(".")
    is_path_there = is_name(first) and all(other and all(map(is_word, other)) for other in rest)
    if is_path_there and first not in _WORDS:
        return Piece("variable", source, line, inside)
    return Piece("logic", source, line)


INSTRUCTING: Final = frozenset({"system", "developer"})
Blocks = list[dict[str, Any]]


class Part(NamedTuple):
    """A part of a message in which references are resolved."""

    text: str
    """The text, or the text to which it refers."""
    block_id: str | None = None
    """The prompt block to which it refers."""
    note: str = ""
    """The loss, if a text was pasted in place of a reference."""


class Input(NamedTuple):
    """The message that is the application's input: it consists of variables."""

    number: int
    variables: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message of a chat prompt; for a placeholder its name replaces the text."""

    role: str
    text: str | None
    line: int = 1
    """The line of the file on which the text begins."""
    placeholder: str = ""
    parts: Sequence[Part] = ()
    """The parts, if the text has references."""
    leftover: Mapping[str, Any] = field(default_factory=dict)
    """Data that the editor has no place for."""
    is_dropped: bool = False
    """Whether it is not a message with a text, so that only its other data is kept."""


@dataclass(frozen=True, kw_only=True)
class ChatPrompt:
    """A chat prompt in the editor's terms."""

    instructions: str | Blocks
    blocks: Mapping[str, str] = field(default_factory=dict)
    """The contents of further prompt blocks, by the last part of their names, such as `2-user`."""
    input_variables: Sequence[str] = ()
    """The names, in the source, of the variables in the omitted message."""


def messages_from(value: Any, collection: Collection, where: str) -> list[Message]:
    """Return the messages in a list of `{role, content}`; other entries and contents are noted."""
    messages = []
    for number, entry in enumerate(value if isinstance(value, list) else [value], 1):
        members = Members(entry, collection, f"{where}, message {number}")
        if members.peek("type") == "placeholder":
            name = members.text("name")
            members.skip("type")
            leftover = members.take_rest(code="message")
            messages.append(Message(role="placeholder", text=None, placeholder=name, leftover=leftover))
            continue
        messages.append(_message(members))
    return messages


def _message(members: Members) -> Message:
    role, kind = members.text("role").lower(), members.peek("type")
    if kind in ("message", "chatmessage"):
        members.skip("type")
    text, lost = _read_text(members.take("content", members.peek("text")), members.collection, members.where)
    if "text" in members and members.peek("text") == text:
        members.skip("text")
    members.skip("id", "status")
    leftover = members.take_rest(code="message")
    if lost:
        leftover["content"] = remove_credentials(lost, members.collection, members.where)
    if text is None or not role:
        members.collection.lose("message", members.where, "It has no role or no text, and is left out.")
        if text is not None:
            leftover["content"] = remove_credentials(text, members.collection, members.where)
        return Message(role=role, text=None, leftover=leftover, is_dropped=True)
    return Message(role=role, text=text, leftover=leftover)


def collect_leftovers(messages: Sequence[Message]) -> dict[str, Any]:
    """Return the remaining data of messages, by their numbers."""
    return {
        str(number): dict(message.leftover) for number, message in enumerate(messages, 1) if message.leftover
    }


def list_texts(messages: Sequence[Message]) -> list[str]:
    """Return the texts of the messages, including referenced ones."""
    texts = [message.text for message in messages if message.text is not None]
    return [*texts, *(part.text for message in messages for part in message.parts)]


def chat_prompt(messages: Sequence[Message], translator: Translator, where: str) -> ChatPrompt | None:
    """Return a chat prompt as instructions and blocks; None, with a note, if there is no text."""
    collection, language = translator.collection, translator.language
    numbered = [(number, message) for number, message in enumerate(messages, 1) if message.text is not None]
    for message in messages:
        if message.text is None and not message.is_dropped:
            name = excerpt(message.placeholder)
            collection.lose("placeholder", where, f"The place for messages {name!r} is left out.")
    system = [entry for entry in numbered if entry[1].role in INSTRUCTING and str(entry[1].text).strip()]
    rest = [entry for entry in numbered if entry[1].role not in INSTRUCTING and str(entry[1].text).strip()]
    if not system and rest:
        system, rest = rest[:1], rest[1:]
        lost = "There is no system message: the first message became the instructions."
        collection.lose("no_system_message", where, lost)
    if not system:
        collection.lose("empty", where, "There is no text in it; it is left out.")
        return None
    users = [(number, str(message.text)) for number, message in rest if message.role == "user"]
    inputs = [
        Input(number, variable_names)
        for number, text in users
        if (variable_names := only_variables(text, language))
    ]
    input_message = inputs[0] if len(inputs) == 1 else None
    blocks = {}
    for number, message in rest:
        place = f"{where}, message {number}"
        if input_message and number == input_message.number:
            names = ", ".join(map(excerpt, input_message.variables))
            note = f"A message that consists of variables is left out, as the input of the agent: {names}."
            collection.lose("input_message", place, note)
            continue
        name = f"{number}-{message.role}"
        blocks[name] = _inline(message, translator, place)
        note = f"An agent has no messages: this one of the {excerpt(message.role)} became a prompt block."
        collection.lose("message_as_block", place, note)
    instructions = [
        block
        for number, message in system
        for block in _blocks(message, translator, f"{where}, message {number}")
    ]
    if not instructions:
        collection.lose("empty", where, "There is no text in it; it is left out.")
        return None
    [first, *other_blocks] = instructions
    # A single text in which nothing is filled in stays a text.
    is_blocks = other_blocks or first["type"] != "text" or any(True for _ in placeholders(first["content"]))
    return ChatPrompt(
        instructions=instructions if is_blocks else str(first["content"]),
        blocks=blocks,
        input_variables=input_message.variables if input_message else [],
    )


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
            content = _translate(text, translator, where, message.line)
            blocks.append({"type": "prompt_block" if part.note else "text", "content": content})
    return blocks


def _inline(message: Message, translator: Translator, where: str) -> str:
    """Return a message as one text, with references pasted."""
    for part in message.parts:
        if part.note or part.block_id is not None:
            lost = part.note or f"The text of {excerpt(part.block_id)} is pasted: a block has no references."
            translator.collection.lose("reference", where, lost)
    text = "".join(part.text for part in message.parts) or str(message.text)
    return _translate(text, translator, where, message.line)


def _translate(text: str, translator: Translator, where: str, line: int) -> str:
    return translator.text(remove_credentials(text, translator.collection, where), where, line)


def _read_text(content: Any, collection: Collection, where: str) -> tuple[str | None, list[Any]]:
    """Return the text of a message, and its other parts, which are noted."""
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
            suffix = f": {', '.join(map(excerpt, more))}" if isinstance(text, str) else ""
            message = f"Of a part of the type {excerpt(kind)!r} the editor takes the text alone{suffix}."
            if not isinstance(text, str):
                message = f"A part of the type {excerpt(kind)!r} is left out."
            collection.lose("content", where, f"{message} metadata.import has it.")
            lost.append(part)
    if len(texts) > 1:
        collection.lose("content", where, "Its parts are joined by line breaks.")
    return "\n".join(texts) if texts else None, lost
