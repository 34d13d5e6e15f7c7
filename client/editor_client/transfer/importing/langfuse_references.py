"""References between prompts of Langfuse: `@@@langfusePrompt:name=X|label=production@@@`.

What refers to the published version of a text becomes a reference to a prompt block. The text of any other
version is pasted, because references of the editor follow what is published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.transfer.importing.collection import Collection, Unreadable, shown
from editor_client.transfer.importing.messages import Message, Part

PRODUCTION: Final = "production"
MAX_PASTED: Final = 4 * 1024 * 1024
"""The maximum length of all pasted texts together: texts that paste each other grow exponentially."""
COST: Final = 200
"""What each reference counts besides its text."""
_REFERENCE: Final = re.compile(
    r"@@@langfusePrompt:name=(?P<name>[^|@]{1,255})\|(?P<by>version|label)=(?P<which>[^|@]{1,64})@@@"
)


@dataclass
class Prompts:
    """All prompts of an import, by name, with their versions in order."""

    versions: Mapping[str, Sequence[Mapping[str, Any]]]
    collection: Collection
    blocks: set[str] = field(init=False)
    """The names of the texts that others refer to by their published version: they become prompt blocks."""
    _pasted: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        found = {match["name"] for match in self._all_references() if match["which"] == PRODUCTION}
        self.blocks = {name for name in found if self._can_be_block(name)}

    def block_id(self, name: str) -> str:
        """Return the id of a prompt block."""
        return self.collection.id_for(name, "promptBlock")

    def expanded(self, message: Message, where: str) -> Message:
        """Return a message with the parts in which its references are resolved."""
        if message.text is None or not _REFERENCE.search(message.text):
            return message
        parts = self._parts(message.text, where)
        return Message(role=message.role, text=message.text, line=message.line, parts=parts)

    def _parts(self, text: str, where: str) -> list[Part]:
        parts: list[Part] = [Part("")]
        end = 0
        for match in _REFERENCE.finditer(text):
            self._append(parts, Part(text[end : match.start()]))
            self._append(parts, self._part(match, where))
            end = match.end()
        self._append(parts, Part(text[end:]))
        return [part for part in parts if part.text]

    @staticmethod
    def _append(parts: list[Part], part: Part) -> None:
        """Add a part; what stays as text stays in one piece."""
        if part.block_id is None and not part.note and parts[-1].block_id is None and not parts[-1].note:
            parts[-1] = Part(parts[-1].text + part.text)
        else:
            parts.append(part)

    def _part(self, match: re.Match[str], where: str) -> Part:
        name, which = match["name"], f"{match['by']} {match['which']}"
        target = self._text_of(match, (), where)
        if target is None:
            return Part(match[0])
        if name in self.blocks and match["which"] == PRODUCTION:
            return Part(target, block_id=self.block_id(name))
        why = "it has references itself" if match["which"] == PRODUCTION else "references follow what is live"
        return Part(target, note=f"The text of {shown(name)}, {shown(which)}, is pasted: {why}.")

    def _text_of(self, match: re.Match[str], above: tuple[str, ...], where: str) -> str | None:
        """Return the text that a reference stands for; None, which is noted, if there is none."""
        version = self._version(match)
        text = None if version is None else version["prompt"]
        if not isinstance(text, str) or match["name"] in above:
            reason = "it goes in a circle" if match["name"] in above else "no such text is in the source"
            message = f"{shown(match[0])} stays as text: {reason}."
            self.collection.lose("reference", where, message)
            return None
        inner = (*above, match["name"])

        def replaced(found: re.Match[str]) -> str:
            nested = self._text_of(found, inner, where)
            return found[0] if nested is None else nested

        full = _REFERENCE.sub(replaced, text)
        self._pasted += len(full) + COST
        if self._pasted > MAX_PASTED:
            raise Unreadable("The prompts refer to each other so often that their texts become too large.")
        return full

    def _version(self, match: re.Match[str]) -> Mapping[str, Any] | None:
        versions = self.versions.get(match["name"], ())
        if match["by"] == "version":
            return next(
                (version for version in versions if str(version.get("version")) == match["which"]), None
            )
        if match["which"] == "latest":
            return versions[-1] if versions else None
        return next((version for version in reversed(versions) if match["which"] in labels_of(version)), None)

    def _all_references(self) -> list[re.Match[str]]:
        texts = [
            text
            for found in self.versions.values()
            for version in found
            for text in _texts(version["prompt"])
        ]
        return [match for text in texts for match in _REFERENCE.finditer(text)]

    def _can_be_block(self, name: str) -> bool:
        """Return whether every version is a text without references, and one of them is published."""
        versions = self.versions.get(name, ())
        texts = [version["prompt"] for version in versions]
        plain = all(isinstance(text, str) and not _REFERENCE.search(text) for text in texts)
        return plain and any(PRODUCTION in labels_of(version) for version in versions)


def labels_of(version: Mapping[str, Any]) -> list[str]:
    """Return the labels of a version."""
    found = version.get("labels")
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def _texts(prompt: Any) -> list[str]:
    messages = prompt if isinstance(prompt, list) else [{"content": prompt}]
    contents = [message.get("content") for message in messages if isinstance(message, dict)]
    return [content for content in contents if isinstance(content, str)]
