"""`make audit`: what could not be audited is not taken for safe."""

from __future__ import annotations

from typing import Any

from tests.support.audit import verdict

SAFE: dict[str, Any] = {"name": "django", "version": "5.2.19", "vulns": []}
OLD: dict[str, Any] = {
    "name": "idna",
    "version": "3.0",
    "vulns": [{"id": "PYSEC-2024-60", "fix_versions": ["3.7"]}],
}
UNKNOWN: dict[str, Any] = {"name": "regex", "skip_reason": "not found"}


def test_packages_without_a_report_fail_the_audit() -> None:
    assert verdict({"dependencies": [SAFE]}) == ("No known vulnerability in 1 packages.", 0)
    text, code = verdict({"dependencies": [SAFE, OLD, UNKNOWN]})
    assert code == 1
    assert text.splitlines() == [
        "idna 3.0: PYSEC-2024-60, mended in 3.7",
        "Not audited: no report about 1 of 3 packages (regex).",
    ]
