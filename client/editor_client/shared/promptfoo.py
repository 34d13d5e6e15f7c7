"""How test cases of promptfoo take over what their defaults say, and what their variables stand for. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any


def merged(base: Any, test: Any) -> Any:
    """Return a test case with what those before it say; one that is no object stays what it is."""
    if not isinstance(base, dict) or not isinstance(test, dict):
        return test if isinstance(base, dict) else base
    both = {**base, **test}
    for name in ("vars", "metadata", "options"):
        if isinstance(base.get(name), dict) and isinstance(test.get(name), dict):
            both[name] = {**base[name], **test[name]}
    if isinstance(base.get("assert"), list) and isinstance(test.get("assert"), list):
        both["assert"] = [*base["assert"], *test["assert"]]
    return both


def expanded(test: Any) -> Iterator[Any]:
    """Yield a test case for each combination of the values of variables that are lists."""
    given = test.get("vars") if isinstance(test, dict) else None
    lists = (
        {name: one for name, one in given.items() if isinstance(one, list)} if isinstance(given, dict) else {}
    )
    options = test.get("options") if lists else None
    if not lists or (isinstance(options, dict) and options.get("disableVarExpansion")):
        yield test
        return
    for values in product(*lists.values()):
        yield {**test, "vars": {**test["vars"], **dict(zip(lists, values, strict=True))}}
