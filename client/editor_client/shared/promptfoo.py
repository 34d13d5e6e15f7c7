"""Reading test cases of promptfoo, and writing data so that promptfoo executes none of it. Pure.

promptfoo fills in templates in nearly every text, and those of the environment already when it reads a file.
A text that begins with `file://` or `package:` is read or run, and the member `$ref` of an object is
followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final

from editor_client.shared import canonical


def merge_tests(base: Any, test: Any) -> Any:
    """Return a test case merged with its defaults; one that is not an object is unchanged."""
    if not isinstance(base, dict) or not isinstance(test, dict):
        return test if isinstance(base, dict) else base
    merged = {**base, **test}
    for name in ("vars", "metadata", "options"):
        if isinstance(base.get(name), dict) and isinstance(test.get(name), dict):
            merged[name] = {**base[name], **test[name]}
    if isinstance(base.get("assert"), list) and isinstance(test.get("assert"), list):
        merged["assert"] = [*base["assert"], *test["assert"]]
    return merged


def expand_variables(test: Any) -> Iterator[Any]:
    """Yield a test case for each combination of the values of variables that are lists of texts.

    The first value determines whether a list is one; other lists, and empty ones, are values themselves.
    """
    variables = test.get("vars") if isinstance(test, dict) else None
    lists = (
        {
            name: value
            for name, value in variables.items()
            if isinstance(value, list) and value and isinstance(value[0], str)
        }
        if isinstance(variables, dict)
        else {}
    )
    options = test.get("options") if lists else None
    if not lists or (isinstance(options, dict) and options.get("disableVarExpansion")):
        yield test
        return
    for values in product(*lists.values()):
        yield {**test, "vars": {**test["vars"], **dict(zip(lists, values, strict=True))}}


def parse_assertion(cell: str) -> dict[str, Any]:
    """Return the assertion in a cell, such as `contains: x`, `similar(0.8): x`, or a text that is equal."""
    for prefix in ("javascript:", "fn:", "eval:"):
        if cell.startswith(prefix):
            return {"type": "javascript", "value": cell.removeprefix(prefix).strip()}
    if cell.startswith(("grade:", "llm-rubric:")):
        return {"type": "llm-rubric", "value": cell.partition(":")[2]}
    if cell.startswith("python:"):
        return {"type": "python", "value": cell.removeprefix("python:").strip()}
    if cell.startswith("file://") and _SCRIPT.search(cell):
        script = _SCRIPT.search(cell)
        is_python = script is not None and script[1] == "py"
        return {"type": "python", "value": cell[7:]} if is_python else {"type": "javascript", "value": cell}
    match = _EXPECTED.fullmatch(cell)
    if match is None:
        return {"type": "equals", "value": cell}
    kind, value = match["type"], match["value"]
    assertion: dict[str, Any] = {"type": f"{match['not'] or ''}{kind}"}
    if value is not None:
        assertion["value"] = value if kind in {"contains-json", "is-json"} else value.strip()
    if kind in WITH_THRESHOLD:
        default = 0.8 if kind == "similar" else 0.75
        assertion["threshold"] = float(match["threshold"]) if match["threshold"] else default
    elif match["threshold"]:
        assertion["threshold"] = float(match["threshold"])
    return assertion


WITH_THRESHOLD: Final = frozenset(
    {
        *("answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance"),
        *("cost", "latency", "levenshtein", "perplexity-score", "perplexity", "rouge-n", "similar"),
        "starts-with",
    }
)
"""The types of assertions that get a default threshold in a cell."""
TYPES: Final = WITH_THRESHOLD | {
    *("agent-rubric", "bleu", "contains", "contains-all", "contains-any", "contains-html", "contains-json"),
    *("contains-sql", "contains-xml", "conversation-relevance", "equals", "factuality", "finish-reason"),
    *("g-eval", "gleu", "guardrails", "icontains", "icontains-all", "icontains-any", "is-html", "is-json"),
    *("is-refusal", "is-sql", "is-valid-function-call", "is-valid-openai-function-call"),
    *("is-valid-openai-tools-call", "is-xml", "javascript", "llm-rubric", "meteor", "model-graded-closedqa"),
    *("model-graded-factuality", "moderation", "pi", "python", "regex", "ruby", "search-rubric"),
    *("skill-used", "tool-call-f1", "trace-error-spans", "trace-span-count", "trace-span-duration"),
    *("trajectory:goal-success", "trajectory:step-count", "trajectory:tool-args-match"),
    *("trajectory:tool-sequence", "trajectory:tool-used", "webhook", "word-count"),
}
"""The types of assertions that a cell can name; any other text before a colon is part of the expected value.
"""
CODE_TYPES: Final = frozenset({"javascript", "python", "ruby", "webhook"})
"""The types of assertions whose values are run, or called."""
_SCRIPT: Final = re.compile(r"\.(js|cjs|mjs|ts|cts|mts|py)(?::[\w.]+)?\Z", re.ASCII)
_EXPECTED: Final = re.compile(
    rf"(?P<not>not-)?(?P<type>{'|'.join(map(re.escape, sorted(TYPES, reverse=True)))})"
    r"(?:\((?P<threshold>[0-9]{1,20}(?:\.[0-9]{1,20})?)\))?(?::(?P<value>.*))?",
    re.DOTALL,
)


# Data in files that promptfoo reads

REFERENCES: Final = ("file://", "package:")
"""The prefixes of texts that promptfoo reads or executes."""
_TAG: Final = re.compile(r"\{(?=[{%#])|(?<=#)\}")
"""The braces that make a tag of a template, or an end of one, which is an error without a beginning."""
_TAG_OR_END: Final = re.compile(r"\{(?=[{%#]|\Z)|(?<=#)\}")
_ESCAPE: Final = re.compile(r"\{\{ '([{}]|file://|package:)' \}\}")


def is_plain(text: str) -> bool:
    """Return whether promptfoo leaves a text unchanged, in any place."""
    return not text.startswith(REFERENCES) and _TAG.search(text) is None


def is_plain_within(value: Any) -> bool:
    """Return whether promptfoo leaves all texts in a value unchanged, and follows no reference in it."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str) and not is_plain(item):
            return False
        if isinstance(item, Mapping):
            if "$ref" in item or not all(map(is_plain, item)):
                return False
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
    return True


def escape(text: str) -> str:
    """Return a template that renders as this text, even if a placeholder follows."""
    template = _TAG_OR_END.sub(lambda match: f"{{{{ '{match[0]}' }}}}", text)
    for reference in REFERENCES:
        if text.startswith(reference):
            return f"{{{{ '{reference}' }}}}{template.removeprefix(reference)}"
    return template


def unescape(template: str) -> str:
    """Return the text of a template that `escape` returned; anything else in a template is unchanged."""
    return _ESCAPE.sub(lambda match: match[1], template)


def pieces(text: str) -> list[str]:
    """Return a text in pieces that are plain, which the filter `join` puts together."""
    parts = [piece for piece in re.split(r"(?<=\{)(?=[{%#])|(?<=#)(?=\})", text) if piece]
    for reference in REFERENCES:
        if text.startswith(reference):
            place = reference.index(":")
            parts[:1] = [parts[0][:place], parts[0][place:]]
    return parts


def data_text(value: Any) -> str:
    """Return JSON that promptfoo treats as plain text; `canonical.parse` reads it."""
    return _TAG.sub(lambda match: f"\\u{ord(match[0]):04x}", canonical.dump(value))
