"""Ask the newsroom on behalf of a person, and send feedback on its writer.

EDITOR_URL and EDITOR_API_KEY name the service and the caller's key.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser

from editor_client import Client


def main() -> None:
    """Print the newsroom's answer, and the arm of its writer's rollout."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("person")
    parser.add_argument("message")
    parser.add_argument("--helpful", choices=["yes", "no"], help="say of the writer whether it was")
    given = parser.parse_args()
    with Client(os.environ["EDITOR_URL"], api_key=os.environ["EDITOR_API_KEY"]) as client:
        newsroom = client.get_agent("newsroom")
        result = newsroom.generate(given.message, request_context={"person": given.person})
        if given.helpful is not None and result.run_id is not None:
            client.send_feedback(
                "helpful",
                given.helpful == "yes",
                run_id=result.run_id,
                kind="agent",
                resource_id="writer",
            )
    rollout = result.rollouts["agents"].get("writer") or {}
    print(f"{given.person}: writer {rollout.get('arm') or 'as published'}")
    print(result.tool_results[0]["result"])


if __name__ == "__main__":
    main()
