"""A cache of bounded size, for values that are expensive to make. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """A least-recently-used cache, shared by the threads of a process; holds at most `size` bytes."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._used = 0
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    @property
    def bytes_used(self) -> int:
        """The total weight of the cached values, in bytes."""
        return self._used

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        with self._lock:
            entry = self._values.get(key)
            if entry is None:
                return None
            self._values.move_to_end(key)
            return entry[0]

    def put(self, key: K, value: V, weight: int) -> None:
        """Store a value of `weight` bytes, replacing a previous one, unless it exceeds the cache."""
        with self._lock:
            self._remove(key)
            if weight > self.size:
                return
            self._values[key] = (value, weight)
            self._used += weight
            while self._used > self.size:
                _, (_, freed) = self._values.popitem(last=False)
                self._used -= freed

    def pop(self, key: K) -> None:
        with self._lock:
            self._remove(key)

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._used = 0

    def _remove(self, key: K) -> None:
        before = self._values.pop(key, None)
        self._used -= before[1] if before else 0
