"""An API in this process, without a server, for measurements per request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import StringIO
from itertools import count
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from django.test import Client


AGENTS: Final = "/api/stored/agents"


@dataclass(frozen=True)
class InProcess:
    """Sends requests with an admin's key; every write has new content."""

    client: Client
    number: Iterator[int] = field(default_factory=count)

    @classmethod
    def ready(cls) -> InProcess:
        """Migrate the database and create the key; the settings must be configured."""
        from django.core.management import call_command  # noqa: PLC0415  settings come first
        from django.test import Client  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        call_command("create_api_key", "bench", workspace="default", role="admin", stdout=(key := StringIO()))
        headers = {"authorization": f"Bearer {key.getvalue().strip()}"}
        return cls(Client(headers=headers, SERVER_NAME="127.0.0.1"))

    def create(self, **fields: Any) -> None:
        """Make another agent; its id is new unless it is given."""
        self.send("post", AGENTS, **{"id": f"w{next(self.number)}", "name": "N", **fields})

    def save(self, agent_id: str, **fields: Any) -> None:
        """Save another version of an agent."""
        self.send("patch", f"{AGENTS}/{agent_id}", **fields)

    def send(self, method: str, path: str, **fields: Any) -> None:
        """Write an agent, with new instructions."""
        body = {"instructions": f"Be brief. {next(self.number)}", **fields}
        answer = getattr(self.client, method)(path, body, content_type="application/json")
        assert answer.status_code < 300, answer.content

    def read(self, path: str) -> None:
        """Send a read."""
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.content
