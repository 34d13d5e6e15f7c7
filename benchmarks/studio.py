"""How long the pages of the studio take among 20 000 agents, 5 000 prompt blocks, and their history.

Those of evaluation are about a dataset of 10 000 items, and experiments of 50 000 answers each.

    SECRET_KEY=test python -m benchmarks.studio [REPETITIONS] [--database URL] [--only WORDS]

A publisher requests every page, in this process, on a separate SQLite file, or on the given database: an
empty one, or one that this program has filled before. The processor time is shown next to the clock time,
because other load distorts it less; on PostgreSQL, it does not include the database server. Both are the
shortest of the repetitions, which is what an idle machine needs. The target is 100 ms.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any
from urllib.parse import quote

from benchmarks.writes import statements_of

REPETITIONS = 7
TARGET = 100
AGENTS, BLOCKS = "/studio/versioning/agent/", "/studio/versioning/promptblock/"

Ask = Callable[[Any], Any]
"""A request, sent with a client."""


def main() -> None:
    """Fill a database, request every page, print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("repetitions", nargs="?", type=int, default=REPETITIONS)
    parser.add_argument("--database", default="")
    parser.add_argument("--only", default="", help="words that the names of the pages contain")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        os.environ["DATABASE_URL"] = given.database or f"sqlite:///{folder}/studio.sqlite3"
        os.environ["DJANGO_SETTINGS_MODULE"] = "editor_project.settings"
        import django  # noqa: PLC0415  settings come first

        django.setup()
        report(given.repetitions, given.only)


def report(repetitions: int, only: str) -> None:
    """Request every page and print its time."""
    from django.contrib.auth.models import User  # noqa: PLC0415  settings come first
    from django.core.management import call_command  # noqa: PLC0415

    from benchmarks import evaluation_data, studio_data  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    if not User.objects.filter(username="paula").exists():
        studio_data.fill()
    evaluation_data.fill()
    logging.disable(logging.WARNING)
    client = client_of("paula")
    sys.stdout.write("| page | queries | clock, ms | processor, ms |\n|---|---|---|---|\n")
    over = []
    for name, ask in pages().items():
        if only not in name:
            continue
        queries, clock, processor = measure(client, ask, repetitions, name)
        over += [name] if processor > TARGET else []
        sys.stdout.write(f"| {name} | {queries} | {clock:.0f} | {processor:.0f} |\n")
        sys.stdout.flush()
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    sys.stdout.write(f"\nOver {TARGET} ms of processor: {', '.join(over) or 'none'}. Load: {load}.\n")


def measure(client: Any, ask: Ask, repetitions: int, name: str) -> tuple[int, float, float]:
    """Return the number of queries, and the least of the clock and of the processor in milliseconds."""
    clock, processor = [], []
    ask(client)  # warms up
    queries = statements_of(lambda: ask(client))
    for _ in range(repetitions):
        if name.endswith(FRESH):
            forget()
        started, worked = perf_counter(), process_time()
        answer = ask(client)
        clock.append((perf_counter() - started) * 1000)
        processor.append((process_time() - worked) * 1000)
        if answer.status_code != 200:
            raise SystemExit(f"{name}: {answer.status_code}")
    return queries, min(clock), min(processor)


FRESH = ", after a change"
"""The suffix of page names for requests after a change, when cached values are invalid."""


def forget() -> None:
    """Change a resource, as another person would in the meantime."""
    from versioning.conf import get_editor  # noqa: PLC0415  settings come first

    for verbs in (get_editor().agent, get_editor().prompt):
        name = "instructions" if verbs is get_editor().agent else "content"
        row = verbs.list().order_by("pk").first()
        verbs.edit(row.pk, {name: f"Changed at {perf_counter()}."})


def pages() -> dict[str, Ask]:
    """Return the requests by the name of the page."""
    from versioning.models import Agent, PromptBlock  # noqa: PLC0415  settings come first

    common, usual, many = f"{BLOCKS}common/", f"{AGENTS}agent-1/", f"{AGENTS}of-many-versions/"
    versions = Agent.objects.get(pk="of-many-versions").versions
    first, second = versions.order_by("number").values_list("pk", flat=True)[:2]
    chosen = [f"agent:{row.pk}:{row.latest_version_id}" for row in Agent.objects.order_by("pk")[:100]]
    chosen += [
        f"promptBlock:{row.pk}:{row.latest_version_id}" for row in PromptBlock.objects.order_by("pk")[:100]
    ]
    addresses = {
        "home": "/studio/",
        "waiting": "/studio/waiting/",
        "waiting, last page": "/studio/waiting/?page=1000",
        "waiting, mine": "/studio/waiting/?whose=mine",
        "notifications": "/studio/notifications/",
        "search": "/studio/search/?q=refund",
        "search, two words": "/studio/search/?q=invoice%20order",
        "search, nothing": "/studio/search/?q=qqxyz",
        "suggestions": "/studio/search/suggestions/?q=refu",
        "list": AGENTS,
        f"list{FRESH}": AGENTS,
        "list of blocks": BLOCKS,
        "list, last page": f"{AGENTS}?page=400",
        "list, by name": f"{AGENTS}?order=name",
        "list, by name, last page": f"{AGENTS}?order=name&page=400",
        "list, by id, last page": f"{AGENTS}?order=id&page=400",
        "list, chip waiting": f"{AGENTS}?waiting=1",
        "list, chip mine": f"{AGENTS}?author=paula",
        "list, chip starred": f"{AGENTS}?starred=1",
        "list, chip labelled": f"{AGENTS}?labelled=1",
        "list, chip never published": f"{AGENTS}?state=never_published",
        "list, published": f"{AGENTS}?state=published",
        "list, unpublished changes": f"{AGENTS}?state=changed",
        "list, tag": f"{AGENTS}?tag=customer",
        "list, two tags": f"{AGENTS}?tag=customer,legal",
        "list, label": f"{AGENTS}?label=stable",
        "list, folder": f"{AGENTS}?folder=support/",
        "list, q=": f"{AGENTS}?q=refund",
        "list, q= of nothing": f"{AGENTS}?q=qqxyz",
        "list, q= and more": f"{AGENTS}?q=order&state=published&author=alice&label=stable",
        "new agent": f"{AGENTS}add/",
        "edit": f"{usual}change/",
        "edit, block used by thousands": f"{common}change/",
        "edit, prompt of 200 KB": f"{AGENTS}large/change/",
        "edit, 60 references": f"{AGENTS}of-many-blocks/change/",
        "edit, 10 000 versions": f"{many}change/",
        "names": f"{usual}names/",
        "names, 60 references": f"{AGENTS}of-many-blocks/names/",
        "names, block used by thousands": f"{common}names/",
        "choices": f"{usual}choices/?of=prompt&q=refu",
        "reference": f"{usual}reference/?id=common",
        "duplicate": f"{usual}duplicate/",
        "preview": f"{usual}preview/",
        "preview, 60 references": f"{AGENTS}of-many-blocks/preview/",
        "preview, prompt of 200 KB": f"{AGENTS}large/preview/",
        "try": f"{usual}try/",
        "try, 60 references": f"{AGENTS}of-many-blocks/try/",
        "try, block used by thousands": f"{common}try/",
        "try, several examples": f"{usual}try/?mode=several",
        "history": f"{usual}history/",
        "history, 10 000 versions": f"{many}history/",
        "history, 10 000 versions, last page": f"{many}history/?page=400",
        "history, 10 000 versions, published": f"{many}history/?published=1",
        "history, 10 000 versions, by author": f"{many}history/?author=paula",
        "version": f"{many}versions/{first}/",
        "version, prompt of 200 KB": f"{AGENTS}large/versions/{newest('large')}/",
        "compare inline": f"{many}compare/?from={first}&to={second}&view=inline",
        "compare side by side": f"{many}compare/?from={first}&to={second}&view=beside",
        "compare, prompt of 200 KB": f"{AGENTS}large/compare/?from=previous&to={newest('large')}",
        "publish": f"{AGENTS}{quote(drafted().replace('/', '_2F'))}/publish/",
        "publish, block used by thousands": f"{common}publish/",
        "unpublish, block used by thousands": f"{common}unpublish/",
        "delete, block used by thousands": f"{common}delete/",
        "used by thousands": f"{common}usage/",
        "activity": "/studio/activity/",
        "activity of a workspace": "/studio/versioning/workspace/acme/activity/",
        "activity of a resource": f"{many}activity/",
        "workspaces": "/studio/versioning/workspace/",
        **evaluation_pages(),
    }
    asked: dict[str, Ask] = {name: _get(address) for name, address in addresses.items()}
    admin = client_of("alice")
    for name in ("members", "keys"):
        asked[name] = _by(admin, f"/studio/versioning/workspace/acme/{name}/")
    asked["bulk publish, 200 chosen"] = _post("/studio/publish/", {"chosen": chosen})
    asked["bulk tag, 200 chosen"] = _post("/studio/tag/", {"chosen": chosen})
    asked["bulk label, everything that matches"] = _post(
        "/studio/label/", {"matching": "agent?state=changed"}
    )
    return asked


def evaluation_pages() -> dict[str, str]:
    """Return the addresses of the pages about the dataset and its experiments."""
    from benchmarks.evaluation_data import CHANGED_ITEM, found  # noqa: PLC0415  settings come first

    datasets = "/studio/versioning/workspace/acme/datasets/"
    filled = found()
    dataset = f"{datasets}{filled.dataset.pk}/"
    item = f"{dataset}items/{CHANGED_ITEM}/"
    experiments = f"{dataset}experiments/"
    here, running = f"{experiments}{filled.here.pk}/", f"{experiments}{filled.running.pk}/"
    return {
        "datasets": datasets,
        "dataset": dataset,
        "dataset, last page": f"{dataset}?page=200",
        "dataset, q=": f"{dataset}?q=warranty",
        "dataset, an earlier version": f"{dataset}?version=500",
        "dataset, versions": f"{dataset}versions/",
        "item, 1 000 revisions": item,
        "item, 1 000 revisions, last page": f"{item}?page=20",
        "experiments": experiments,
        "experiment, compared": here,
        "experiment, compared, last page": f"{here}?page=500",
        "experiment, results": f"{here}?show=results",
        "experiment, results, last page": f"{here}?show=results&page=2500",
        "experiment, running": running,
        "experiment, running, last page": f"{running}?page=1250",
        "gates": "/studio/versioning/workspace/acme/gates/",
    }


def newest(agent: str) -> Any:
    """Return the id of the newest version of an agent."""
    from versioning.models import Agent  # noqa: PLC0415  settings come first

    return Agent.objects.values_list("latest_version_id", flat=True).get(pk=agent)


def drafted() -> str:
    """Return an agent with a draft."""
    from django.db.models import F  # noqa: PLC0415  settings come first

    from versioning.models import Agent  # noqa: PLC0415

    found: str = Agent.objects.exclude(active_version=F("latest_version")).order_by("pk")[0].pk
    return found


def _get(address: str) -> Ask:
    return lambda client: client.get(address)


def _by(client: Any, address: str) -> Ask:
    return lambda _client: client.get(address)


def client_of(name: str) -> Any:
    """Return a client with the session of a user."""
    from django.contrib.auth.models import User  # noqa: PLC0415  settings come first
    from django.test import Client  # noqa: PLC0415

    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(username=name))
    return client


def _post(address: str, fields: dict[str, Any]) -> Ask:
    return lambda client: client.post(address, fields)


if __name__ == "__main__":
    main()
