# a script, and no package
"""How long the pages of the studio take among 20 000 agents and 10 000 versions of one of them.

    SECRET_KEY=test python -m benchmarks.studio [REPETITIONS]

Every page is asked for by a publisher, in this process, on a SQLite file of its own. Next to the
time on the clock stands that of the processor, which other load does not
distort. The target is half a second.
"""

from __future__ import annotations

import os
import sys
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

AGENTS_IN_ALL, VERSIONS_OF_ONE = 20_000, 10_000
REPETITIONS = 5
LIST, ONE = "/studio/versioning/agent/", "/studio/versioning/agent/r0/"


def fill() -> dict[str, str]:
    """Make the agents, the versions and somebody to look at them; return the pages to measure."""
    from django.contrib.auth.models import User  # noqa: PLC0415  settings come first
    from django.core.management import call_command  # noqa: PLC0415
    from django.db import connection, transaction  # noqa: PLC0415

    from tests.support.api import AGENTS  # noqa: PLC0415
    from tests.test_query_counts import grow, insert_history, insert_resources, versions_to_read  # noqa: PLC0415
    from versioning.domain.access import Role  # noqa: PLC0415
    from versioning.models import Membership, Workspace  # noqa: PLC0415
    from versioning.models.text_search import following  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    acme = Workspace.objects.create(id="acme", name="Acme")
    for name, role in (("alice", Role.ADMIN), ("paula", Role.PUBLISHER)):
        Membership.objects.grant(User.objects.create_user(name), acme, role)
    with transaction.atomic():  # until whose end a pointer may name what is not there yet
        grow(0, 2)
        insert_history(AGENTS, "r0", range(3, VERSIONS_OF_ONE + 1))
        insert_resources(AGENTS, [f"r{number}" for number in range(2, AGENTS_IN_ALL)], agents={"r0": {}})
    following.follow()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    first, second = versions_to_read(AGENTS)
    return {
        "home": "/studio/",
        "search over everything": "/studio/search/?q=text",
        "list": LIST,
        "list, last page": f"{LIST}?order=id&page=400",
        "list, searched and filtered": f"{LIST}?q=writer&state=Published&author=alice&label=stable",
        "edit": f"{ONE}change/",
        "history": f"{ONE}history/",
        "compare": f"{ONE}compare/?from={first}&to={second}",
        "publish": f"{ONE}publish/",
        "used by": f"{ONE}usage/",
    }


def measure(client: Any, address: str, repetitions: int) -> tuple[float, float]:
    """Return the medians of the clock and of the processor, in milliseconds."""
    clock, processor = [], []
    for _ in range(repetitions + 1):
        started, worked = perf_counter(), process_time()
        answer = client.get(address)
        clock.append((perf_counter() - started) * 1000)
        processor.append((process_time() - worked) * 1000)
        if answer.status_code != 200:
            raise SystemExit(f"{address}: {answer.status_code}")
    return median(clock[1:]), median(processor[1:])  # the first one warms up


def main() -> None:
    """Fill a database, ask for every page, print the table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    with TemporaryDirectory() as folder:
        os.environ["DATABASE_URL"] = f"sqlite:///{folder}/studio.sqlite3"
        os.environ["DJANGO_SETTINGS_MODULE"] = "editor_project.settings"
        import django  # noqa: PLC0415  settings come first
        from django.test import Client  # noqa: PLC0415

        django.setup()
        from django.contrib.auth.models import User  # noqa: PLC0415

        pages = fill()
        client = Client(SERVER_NAME="127.0.0.1")
        client.force_login(User.objects.get(username="paula"))
        sys.stdout.write("| page | clock, ms | processor, ms |\n|---|---|---|\n")
        for name, address in pages.items():
            clock, processor = measure(client, address, repetitions)
            sys.stdout.write(f"| {name} | {clock:.0f} | {processor:.0f} |\n")


if __name__ == "__main__":
    main()
