"""Ask the newsroom in somebody's name; a share of the people gets the canary of its writer.

EDITOR_URL and EDITOR_API_KEY say where the service is, and who asks.
"""

from __future__ import annotations

import hashlib
import os
from argparse import ArgumentParser

from editor_client import Client

CANARY = {"agents": {"writer": {"label": "canary"}}}
"""For `versions`: the version of the writer that carries the label; the others run as published."""


def is_chosen(person: str, share: float) -> bool:
    """Say whether a person is among a share of all, from 0 to 1: the same for a person each time.

    With a greater share everybody who was chosen before stays chosen.
    """
    number = int.from_bytes(hashlib.sha256(f"writer {person}".encode()).digest()[:8])
    return number < share * 2**64


def main() -> None:
    """Print what the newsroom answers, and which version of the writer took part."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("person")
    parser.add_argument("message")
    parser.add_argument("--share", type=float, default=0.1, help="of the people, from 0 to 1")
    given = parser.parse_args()
    with Client(os.environ["EDITOR_URL"], api_key=os.environ["EDITOR_API_KEY"]) as client:
        versions = CANARY if is_chosen(given.person, given.share) else None
        result = client.get_agent("newsroom").generate(given.message, versions=versions)
    print(f"{given.person}: writer {result.resolved_versions['writer'] or 'as published'}")
    print(result.tool_results[0]["result"])
    for warning in result.warnings:
        print(f"warning: {warning.message}")


if __name__ == "__main__":
    main()
