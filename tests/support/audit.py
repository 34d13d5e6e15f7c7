"""What pip-audit found in the locked packages, and plainly if it could not look.

pip-audit counts a package about which it gets no report as skipped, and ends as if all were well.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any


def findings(report: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each vulnerability."""
    for package in report["dependencies"]:
        for found in package.get("vulns", ()):
            fixed = ", ".join(found["fix_versions"]) or "no version yet"
            yield f"{package['name']} {package['version']}: {found['id']}, mended in {fixed}"


def verdict(report: dict[str, Any]) -> tuple[str, int]:
    """Return what to say about a report of pip-audit, and the exit code."""
    packages = report["dependencies"]
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    lines = list(findings(report))
    if unknown:
        few = ", ".join(unknown[:5]) + (" …" if len(unknown) > 5 else "")
        lines.append(f"Not audited: no report about {len(unknown)} of {len(packages)} packages ({few}).")
    if not lines:
        return f"No known vulnerability in {len(packages)} packages.", 0
    return "\n".join(lines), 1


def main() -> int:
    """Read the report of pip-audit from standard input, and print what it says."""
    try:
        text, code = verdict(json.load(sys.stdin))
    except ValueError:
        text, code = "Not audited: pip-audit gave no report.", 1
    sys.stdout.write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
