"""How long our sentences are, and how often they have words that a technical writer would not use.

python docs/sentences.py            this checkout
python docs/sentences.py FOLDER     another one, made by: git archive COMMIT | tar -x -C FOLDER
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean, median

OURS = (
    *(
        "anew",
        "anybody",
        "beside",
        "everybody",
        "henceforth",
        "nobody",
        "of its own",
        "somebody",
        "that which",
    ),
    *("thereby", "whatever", "whoever", "by itself", "comes back", "what is", "who may"),
)
"""Words and phrases of which there should be few; some of them are right now and then."""
LONG = 25
"""More words than a sentence should have."""
NOT_OURS = {"benchmarks", "examples", "tests"}
"""Packages that users do not run."""
GENERATED = {"docs/api-reference.md", "docs/reference/api-reference.md"}
FENCED = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
NOT_PROSE = re.compile(r"<!--.*?-->|!\[[^\]]*\]\([^)]*\)|^#+ [^\n]*$|^\|[-| :]+\|$", re.MULTILINE | re.DOTALL)


def documents(root: Path) -> Iterator[tuple[str, str]]:
    """Yield a group and the prose of each document."""
    for path in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        name = path.relative_to(root).as_posix()
        if name in GENERATED:
            continue
        group = "docs/decisions" if "decisions/" in name else "docs" if "/" in name else name
        text = NOT_PROSE.sub("\n\n", FENCED.sub("\n\n", path.read_text("utf-8")))
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)|`([^`\n]*)`", lambda found: found[1] or "code", text)
        yield group, re.sub(r"^ *([-*]|\d+\.) |\|", "\n\n", text, flags=re.MULTILINE)


def code(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the docstrings, comments and messages of the code, each with its group."""
    packages = [found.parent for found in root.glob("*/__init__.py") if found.parent.name not in NOT_OURS]
    folders = [*packages, root / "capabilities", root / "client/editor_client"]
    for path in sorted({path for folder in folders for path in folder.rglob("*.py")}):
        if "migrations" in path.parts:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
        strings = [node.value for node in nodes if isinstance(node.value, ast.Constant)]
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                is_docstring = node in strings
                if is_docstring or (node.value[0].isupper() and node.value.rstrip().endswith((".", "?"))):
                    yield "docstrings" if is_docstring else "messages", node.value
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if (
                    token.type == tokenize.COMMENT
                    and "noqa" not in token.string
                    and "type:" not in token.string
                ):
                    yield "comments", token.string.lstrip("# ")


def sentences(text: str) -> Iterator[list[str]]:
    """Yield the words of each sentence."""
    for paragraph in re.split(r"\n\s*\n", text):
        for sentence in re.split(r"(?<=[.?!:;])\s+", " ".join(paragraph.split())):
            words = re.findall(r"[\w’'{}/-]+", sentence)
            if len(words) > 2:
                yield words


def report(texts: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the lines of a table of lengths, and one of words."""
    head = f"{'words':>8}{'sentences':>11}{'mean':>7}{'median':>8}{f'over {LONG}':>9}"
    yield f"{'':16}{head}{'words of ours in 1,000':>24}"
    counted: dict[str, Counter[str]] = {}
    for group, found in texts.items():
        lengths = [len(words) for text in found for words in sentences(text)] or [0]
        whole = " ".join(found).lower()
        counted[group] = Counter({word: len(re.findall(rf"\b{word}\b", whole)) for word in OURS})
        rate = 1000 * counted[group].total() / max(1, sum(lengths))
        long = sum(length > LONG for length in lengths) / len(lengths)
        numbers = f"{sum(lengths):>8}{len(lengths):>11}{mean(lengths):>7.1f}{median(lengths):>8.0f}"
        yield f"{group:16}{numbers}{long:>9.0%}{rate:>24.1f}"
    yield ""
    yield f"{'':16}" + "".join(f"{group[-12:]:>14}" for group in texts)
    for word in OURS:
        yield f"{word:16}" + "".join(f"{counted[group][word]:>14}" for group in texts)


def main(root: Path) -> None:
    """Print the report about a checkout."""
    texts: dict[str, list[str]] = {}
    for group, text in (*documents(root), *code(root)):
        texts.setdefault(group, []).append(text)
    print(*report(texts), sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
