"""What tools answer in an experiment: the mocks of the item, each once, and no real tool unless allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Final

from editor_client.shared import canonical

from versioning.domain.errors import VersioningError
from versioning.runtime.calls import LIVE

DENY: Final = "deny"


class ToolNotMocked(VersioningError):
    """A tool was called that no mock of the item answers."""

    code = "tool_not_mocked"


class Mocks:
    """The mocks of one item, and which of them were served."""

    def __init__(self, mocks: Sequence[Mapping[str, Any]], policy: str) -> None:
        self._mocks, self._policy = mocks, policy
        self._served: list[dict[str, Any]] = []
        self._live: list[dict[str, Any]] = []
        self._failure: dict[str, Any] | None = None
        self._lock = Lock()

    def answer(self, tool: str, args: Mapping[str, Any]) -> Any:
        """Return the output of the first unused mock that fits, or `LIVE`; raises `ToolNotMocked`."""
        with self._lock:
            called = {"toolName": tool, "args": dict(args)}
            own = [index for index, mock in enumerate(self._mocks) if mock["toolName"] == tool]
            fitting = [index for index in own if _fits(self._mocks[index], args)]
            used = {one["mockIndex"] for one in self._served}
            index = next((one for one in fitting if one not in used), None)
            if index is not None:
                self._served.append({"mockIndex": index, **called})
                return self._mocks[index]["output"]
            if not own and self._policy != DENY:
                self._live.append(called)
                return LIVE
            reason = "EXHAUSTED" if fitting else "MISMATCH" if own else "NOT_DECLARED"
            self._failure = self._failure or {"code": f"TOOL_MOCK_{reason}", **called}
            raise ToolNotMocked(f"The tool {tool!r} was called, and no mock of the item answers it.")

    def report(self) -> dict[str, Any] | None:
        """Return which mocks were served; None without mocks and without calls."""
        if not (self._mocks or self._live or self._failure):
            return None
        used = {one["mockIndex"] for one in self._served}
        unconsumed = [
            {"mockIndex": index, "toolName": mock["toolName"], "args": mock["args"]}
            for index, mock in enumerate(self._mocks)
            if index not in used
        ]
        found = {"served": self._served, "unconsumed": unconsumed, "liveCalls": self._live}
        return found if self._failure is None else {**found, "failure": self._failure}


def _fits(mock: Mapping[str, Any], args: Mapping[str, Any]) -> bool:
    return mock.get("matchArgs") == "ignore" or canonical.same(mock["args"], dict(args))
