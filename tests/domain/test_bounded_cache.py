"""The cache of bounded size."""

from __future__ import annotations

from versioning.domain.bounded_cache import BoundedCache


def test_a_stored_value_is_returned_and_its_size_counted() -> None:
    kept: BoundedCache[str, str] = BoundedCache(100)
    kept.put("a", "one", 10)
    assert (kept.get("a"), kept.get("b"), len(kept), kept.bytes_used) == ("one", None, 1, 10)


def test_a_value_replaces_the_previous_one_and_its_size() -> None:
    kept: BoundedCache[str, str] = BoundedCache(100)
    kept.put("a", "one", 90)
    kept.put("a", "two", 20)
    assert (kept.get("a"), len(kept), kept.bytes_used) == ("two", 1, 20)


def test_the_least_recently_used_value_is_evicted_first() -> None:
    kept: BoundedCache[str, str] = BoundedCache(30)
    for name in "abc":
        kept.put(name, name, 10)
    assert kept.get("a") == "a"
    kept.put("d", "d", 10)
    assert [kept.get(name) for name in "abcd"] == ["a", None, "c", "d"]
    assert kept.bytes_used == 30


def test_a_value_larger_than_the_cache_is_not_stored_and_removes_the_previous_one() -> None:
    kept: BoundedCache[str, str] = BoundedCache(30)
    for before in (None, "small"):
        if before:
            kept.put("a", before, 10)
        kept.put("a", "large", 31)
        assert (kept.get("a"), len(kept), kept.bytes_used) == (None, 0, 0)
