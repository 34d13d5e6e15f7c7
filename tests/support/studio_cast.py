"""The cast on a real server, with passwords for the studio."""

from __future__ import annotations

import json

from tests.support.service import Service

PASSWORD = "a long enough password"

_MAKE = "import json; from tests.support.people import make_cast; print(json.dumps(make_cast({})))"


def make_cast(service: Service) -> dict[str, str]:
    """Make alice, paula, edgar and vera of acme, charlie of elsewhere, root, and nora, who has no workspace.

    Returns an API key of each, by name.
    """
    program = _MAKE.format(f"'nora', password={PASSWORD!r}")
    printed = service.manage("shell", "--no-imports", "-c", program)
    keys: dict[str, str] = json.loads(printed)
    return keys
