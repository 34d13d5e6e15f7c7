"""Variables of other template languages, translated where that is exact; logic stays as text."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from editor_client.shared.instructions import PATH, placeholders
from editor_client.shared.words import is_name, is_word
from editor_client.transfer.importing.collection import Collection, shown

Language = Literal["curly", "mustache", "f-string", "jinja2", "handlebars", "none"]
LOGIC: Final = "template_logic"
_PATH: Final = re.compile(PATH)
_BETWEEN: Final = " .-"
"""What a name in another system can have besides letters that ours cannot have."""
_LITERAL: Final = re.compile(r"'[^'\\{}]*+'|\"[^\"\\{}]*+\"|'[{}]'")
"""A text that Jinja and Nunjucks print as it is; exports for promptfoo write `{{ '{' }}` for a brace."""
_WORDS: Final = frozenset(
    {"else", "this", "loop", "self", "super", "caller", "true", "false", "none", "null", "undefined"}
    | {"True", "False", "None"}
)
"""Words of template languages, which are no variables."""
_CLOSERS: Final = {"{%": "%}", "{#": "#}", "{{{": "}}}", "{{!--": "--}}", "{{": "}}"}
_SPELLED: Final = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}


@dataclass(frozen=True)
class Piece:
    """A part of a template: text, a variable, or logic, as it stands in the source."""

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
    """Return the names of the variables in a template, as the source spells them."""
    return {piece.name for piece in pieces(text, language) if piece.kind == "variable"}


def renamed(names: Iterable[str]) -> dict[str, str]:
    """Return our name for each name that cannot stay as it is; no two names become one."""
    found = sorted(set(names))
    taken = {name for name in found if is_path(name)}
    changes: dict[str, str] = {}
    numbers: Counter[str] = Counter()
    for name in found:
        if name not in taken:
            spelled = "".join(
                _SPELLED.get(character, character) for character in unicodedata.normalize("NFC", name)
            )
            plain = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode()
            base = re.sub(r"[^A-Za-z0-9_]+", "_", plain).strip("_") or "variable"
            wanted = base if base[0].isalpha() else f"_{base}"
            candidate = wanted
            while candidate in taken:
                numbers[wanted] += 1
                candidate = f"{wanted}_{numbers[wanted] + 1}"
            taken.add(candidate)
            changes[name] = candidate
    return changes


def is_path(name: str) -> bool:
    """Return whether a name is a path in a context as it stands."""
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
        """Return the translator for these texts; `more` are names in data that fills them in."""
        found = {name for text in texts for name in variables(text, language)}
        names = renamed([*found, *more])
        for name, ours in names.items():
            collection.lose("variable_renamed", where, f"The variable {shown(name)!r} is now {ours!r}.")
        return cls(collection=collection, language=language, names=names)

    def name(self, name: str) -> str:
        """Return our name of a variable."""
        return self.names.get(name, name)

    def text(self, text: str, where: str, first_line: int = 1) -> str:
        """Return the template in our language, and note what is left as it was.

        Where the result has a placeholder that is none in the source, that is noted, too.
        """
        result: list[str] = []
        meant: list[str] = []
        for piece in pieces(text, self.language):
            line = piece.line + first_line - 1
            if piece.kind == "variable":
                ours = self.name(piece.name)
                meant.append(ours)
                result.append(_placeholder(piece, ours))
            elif piece.kind == "literal":
                result.append(piece.name)
            else:
                result.append(piece.source if self.language != "f-string" else _unescaped(piece))
            if piece.kind == "logic":
                message = f"{shown(piece.source)} stays as text: the editor does not run it."
                self.collection.lose(LOGIC, where, message, line)
        translated = "".join(result)
        self._note_unmeant(translated, meant, where)
        return translated

    def _note_unmeant(self, translated: str, meant: list[str], where: str) -> None:
        found, wanted = Counter(path for path, _ in placeholders(translated)), Counter(meant)
        for path, count in found.items():
            if count != wanted[path]:
                message = f"{{{{ {path} }}}} is text in the source, and filled in by the editor."
                self.collection.lose("literal_placeholder", where, message)


def only_variables(text: str, language: Language) -> list[str] | None:
    """Return the names of the variables if there is nothing else in a text, otherwise None."""
    found = list(pieces(text, language))
    if any(piece.kind != "variable" and piece.source.strip() for piece in found):
        return None
    return [piece.name for piece in found if piece.kind == "variable"] or None


def _placeholder(piece: Piece, ours: str) -> str:
    """Return a variable as our placeholder; one that is ours already stays as it is written."""
    if piece.name == ours and [path for path, _ in placeholders(piece.source)] == [ours]:
        return piece.source if not piece.source.startswith("{{{") else f"{{{{ {ours} }}}}"
    return f"{{{{ {ours} }}}}"


def _unescaped(piece: Piece) -> str:
    return piece.source.replace("{{", "{").replace("}}", "}") if piece.kind == "text" else piece.source


def _format_pieces(text: str) -> Iterator[Piece]:
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError:
        yield Piece("logic", text, 1)
        return
    line = 1
    for literal, field, spec, conversion in parsed:
        if literal:
            yield Piece("text", literal.replace("{", "{{").replace("}", "}}"), line)
            line += literal.count("\n")
        if field is None:
            continue
        source = "{" + field + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"
        exact = not spec and not conversion and is_name(field, " -")
        yield Piece("variable" if exact else "logic", source, line, field if exact else "")


def _tagged_pieces(text: str, language: Language) -> Iterator[Piece]:
    """Yield the parts of a template with `{{ }}`, and of Jinja with `{% %}`; each text is searched once."""
    openers = ("{{", "{%", "{#") if language == "jinja2" else ("{{",)
    exhausted: set[str] = set()
    opener = re.compile("|".join(map(re.escape, openers)))
    place, line, searched = 0, 1, 0
    while match := opener.search(text, searched):
        opened = _opened(text, match.start(), match[0], language)
        closer = _CLOSERS[opened]
        end = -1 if closer in exhausted else text.find(closer, match.start() + len(opened))
        if end < 0:
            exhausted.add(closer)
            searched = match.end()
            continue
        start, end = _tightest(text, match.start(), opened, end, language)
        if start > place:
            yield Piece("text", text[place:start], line)
            line += text.count("\n", place, start)
        place = searched = end + len(closer)
        source = text[start:place]
        yield _tag(source, opened, line, language)
        line += source.count("\n")
    if place < len(text):
        yield Piece("text", text[place:], line)


def _opened(text: str, start: int, found: str, language: Language) -> str:
    """Return the whole opening of a tag."""
    if language in {"mustache", "handlebars"}:
        return next((opening for opening in ("{{!--", "{{{") if text.startswith(opening, start)), found)
    return found


def _tightest(text: str, start: int, opened: str, end: int, language: Language) -> tuple[int, int]:
    """Return where a tag begins: in curly, of `{{{ x }}` and `{{ a {{ x }}` the innermost braces count."""
    if language == "curly":
        inner = text.rfind("{{", start, end)
        return (inner if inner >= 0 else start), end
    return start, end


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
    first, *others = inside.split(".")
    is_path_there = is_name(first) and all(other and all(map(is_word, other)) for other in others)
    if is_path_there and first not in _WORDS:
        return Piece("variable", source, line, inside)
    return Piece("logic", source, line)
