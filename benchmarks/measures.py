"""The measurements: each function yields rows of the table."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from benchmarks.load import Load, any_of, in_contexts, in_turn, writes
from benchmarks.serving import Bench
from tests.support.remote import connected
from tests.support.service import Service

SERVED, RECORD = "/api/agents/{}0", "/api/stored/agents/{}0"
MANY = 20_000
AUTHOR = "-c user.name=bench -c user.email=bench@example.com"
TURNS = 3

CALL = """
import django, time, statistics; django.setup()
from editor_project.framework import framework
def once():
    start = time.perf_counter(); framework.get_agent_by_id("s0", status="published")
    return (time.perf_counter() - start) * 1e6
print(statistics.median(once() for _ in range(5000)))
"""


@dataclass(frozen=True)
class Row:
    """One figure, and its target."""

    database: str
    measure: str
    figure: str
    target: str = ""
    met: bool | None = None

    @property
    def line(self) -> str:
        """The row of the table."""
        mark = {True: "yes", False: "**no**", None: ""}[self.met]
        return f"| {self.database} | {self.measure} | {self.figure} | {self.target} | {mark} |"


def reads(bench: Bench) -> Iterator[Row]:
    """Reads, against a bare view on the same server."""
    bench.fill("s", 100, 5)
    least = 1.5 if bench.name == "SQLite" else 0.7
    loads = {
        "`GET /agents/:id`, published": (Load(SERVED.format("s")), least),
        "the same, one of 100 at random": (any_of("/api/agents/s{}", 100), least),
        "a stored record": (Load(RECORD.format("s")), 0.3),
        "a list of 20": (Load("/api/stored/agents?perPage=20"), 0.15),
        "a page of versions": (Load(RECORD.format("s") + "/versions"), 0.15),
    }
    with bench.serving(settings="benchmarks.bare") as bare, bench.serving() as service:
        for name, (load, target) in loads.items():
            limit, rate = bench.rate(bare, Load("/bare")), bench.rate(service, load)
            figure = f"{rate:,.0f}/s = {rate / limit:.2f} × {limit:,.0f}/s"
            yield Row(bench.name, name, figure, f"≥ {target} ×", rate / limit >= target)


def contexts(bench: Bench) -> Iterator[Row]:
    """Reads in request contexts against the same reads without one, with and without a rollout."""
    users = [
        {"userId": f"user{n}", "tier": ("gold", "free")[n % 2], "name": f"Name {n}"} for n in range(1_000)
    ]
    path = "/api/agents/in-contexts"
    loads = {
        "no context": Load(path),
        "one context": in_contexts(path, users[:1]),
        "1 000 contexts": in_contexts(path, users),
    }
    with bench.serving() as service, connected(service, bench.key) as api:
        rules = {"operator": "AND", "conditions": [{"field": "tier", "operator": "equals", "value": "gold"}]}
        text = "Write to {{ name || 'you' }}. " + "You answer the customers of our shop. " * 20
        blocks = [
            {"type": "text", "content": text},
            {"type": "prompt_block", "content": "Offer the extended warranty.", "rules": rules},
        ]
        about = {"workspaceId": "default", "instructions": blocks, "autoPublish": True}
        api.post("/stored/agents", {"id": "in-contexts", "name": "In contexts", **about})
        for is_split in (False, True):
            if is_split:
                draft = api.patch("/stored/agents/in-contexts", {"instructions": blocks[1:]}).body
                arm = {"name": "new", "versionId": draft["latestVersionId"], "weight": 5000}
                resource = {"kind": "agent", "id": "in-contexts"}
                api.post("/rollouts", {"resource": resource, "bucketBy": "userId", "arms": [arm]})
            base = 0.0
            for name, load in loads.items():
                load.rate(service.url, bench.key, 1)
                before = bench.processor_time(service)
                rate = load.rate(service.url, bench.key, bench.seconds)
                spent = (bench.processor_time(service) - before) / (rate * bench.seconds) * 1e6
                base = base or rate
                figure = f"{rate:,.0f}/s = {rate / base:.2f} ×, {spent:.0f} µs of processor time"
                measure = f"`GET /agents/:id`, {name}{', with a rollout' if is_split else ''}"
                yield Row(bench.name, measure, figure, "≥ 0.4 ×", rate / base >= 0.4)
        memory = bench.memory(service)
        yield Row(bench.name, "memory of the worker after that", f"{memory:.0f} MiB")


def writing(bench: Bench) -> Iterator[Row]:
    """Writes, by four writers at once."""
    draft = '{"id": "w%d", "name": "N", "instructions": "Be brief.", "workspaceId": "default"}'
    loads = {
        "create": writes("POST", "/api/stored/agents", draft),
        "save a draft": writes("PATCH", "/api/stored/agents/s{}", '{"instructions": "Be brief. %d"}'),
        "save and publish": writes(
            "PATCH", "/api/stored/agents/s{}", '{"instructions": "Be kind. %d", "autoPublish": true}'
        ),
    }
    target = 450
    with bench.serving() as one, bench.serving("--workers", "2") as two:
        for name, load in loads.items():
            for workers, service in (("one worker", one), ("two workers", two)):
                rate = bench.rate(service, load)
                measure = f"{name}, 4 writers, {workers}"
                yield Row(bench.name, measure, f"{rate:,.0f}/s", f"≥ {target}/s", rate >= target)


def python_call(bench: Bench) -> Iterator[Row]:
    """The call in Python, without HTTP."""
    if bench.name == "SQLite":
        took = float(bench.python(CALL))
        name = '`framework.get_agent_by_id(id, status="published")`'
        yield Row(bench.name, name, f"{took:.0f} µs", "≤ 100 µs", took <= 100)


def growth(bench: Bench) -> Iterator[Row]:
    """The cost of a large database."""
    served, first_page = SERVED.format, "/api/stored/agents/{}0/versions".format
    dependents = "/api/stored/agents/{}0/dependents".format
    bench.fill("d", 2_000, 1)
    with bench.serving() as service:
        rate = bench.rate(service, Load(dependents("d")))
        yield Row(bench.name, "dependents with 2 000 agents", f"{rate:,.0f}/s", "≥ 1 000/s", rate >= 1000)
        bench.fill("m", MANY, 5)
        bench.fill("v", 1, MANY)
        for count, prefix, most in ((2_000, "d", 1.5), (MANY, "m", 2)):
            lot = any_of(f"/api/agents/{prefix}{{}}", count)
            bench.rate(service, lot, warm_up=8)  # until all of them are cached
            times = slower(bench, service, Load(served("s")), lot)
            name = f"published reads of one of {count} agents at random against always the same one"
            yield Row(bench.name, name, f"{times:.2f} × the time", f"≤ {most} ×", times <= most)
        rows = [
            ("dependents among 20 000 agents against 100", dependents("s"), dependents("m"), 1.3),
            ("published read among 20 000 × 5 versions against 100 × 5", served("s"), served("m"), 1.2),
            ("published read with 20 000 versions of the agent", served("s"), served("v"), 1.2),
            ("page 0 of 20 000 versions against few", first_page("s"), first_page("v"), 1.3),
        ]
        for name, small, large, most in rows:
            times = slower(bench, service, Load(small), Load(large))
            yield Row(bench.name, name, f"{times:.2f} × the time", f"≤ {most} ×", times <= most)


def lists(bench: Bench) -> Iterator[Row]:
    """The cost of a list with many resources."""
    loads = []
    for workspace, agents in (("few", 100), ("many", MANY)):
        key = bench.manage("create_api_key", "bench", "--workspace", workspace, "--role", "admin")
        bench.fill(workspace, agents, 1, 1, workspace)
        loads.append(Load("/api/stored/agents?perPage=20", key=key))
    name = "a list of 20 among 20 000 agents against 100"
    with bench.serving() as service:
        times = slower(bench, service, *loads)
        yield Row(bench.name, name, f"{times:.2f} × the time", "≤ 1.3 ×", times <= 1.3)
    with bench.serving(EDITOR_CACHE_BYTES="0") as service:
        yield Row(bench.name, f"{name}, not cached", f"{slower(bench, service, *loads):.2f} × the time")


def first_reads(bench: Bench) -> Iterator[Row]:
    """Reads of agents in turn, of which the cache holds few, so that every answer is computed."""
    with bench.serving(EDITOR_CACHE_BYTES="100000") as service:
        rate = bench.rate(service, in_turn("/api/agents/d{}", 2_000))
        yield Row(bench.name, "first (uncached) published read", f"{rate:,.0f}/s", "≥ 2 500/s", rate >= 2500)


def override_files(bench: Bench) -> Iterator[Row]:
    """A published agent whose override is a file, against one in a row."""
    file = bench.folder / "overrides/agents/support.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"instructions": "Be brief."}')
    for command in ("init --quiet", "add .", f"{AUTHOR} commit --quiet --message override"):
        subprocess.run(["git", *command.split()], cwd=file.parent, check=True)
    source = {"EDITOR_SOURCE": "code", "EDITOR_CODE_PATH": str(file.parents[1])}
    with bench.serving(**source) as service:
        times = slower(bench, service, Load(SERVED.format("s")), Load(f"/api/agents/{file.stem}"))
        name = "published read of an override file against a row"
        yield Row(bench.name, name, f"{times:.2f} × the time", "≤ 1.2 ×", times <= 1.2)


def slower(bench: Bench, service: Service, one: Load, other: Load) -> float:
    """Return how many times as long the other load takes, as the median of some rounds."""
    turns = (bench.rate(service, one) / bench.rate(service, other) for _ in range(TURNS))
    return median(turns)


def memory(bench: Bench) -> Iterator[Row]:
    """The memory of a worker that reads 20 000 distinct agents, twice."""
    with bench.serving() as service:
        bench.rate(service, Load(SERVED.format("s")))
        start = bench.memory(service)
        after = []
        for _ in range(2):
            bench.read_each(service, (f"/api/agents/m{index}" for index in range(MANY)))
            after.append(bench.memory(service))
        figure = f"{start:.0f}, then {after[0]:.0f}, then {after[1]:.0f} MiB"
        met = after[0] <= 200 and after[1] <= after[0] * 1.02
        name = "memory of a worker, and after it has read 20 000 agents, twice"
        yield Row(bench.name, name, figure, "≤ 200, growth ≤ 2 %", met)


def workers(bench: Bench) -> Iterator[Row]:
    """Two workers against one, for cached reads and for reads without the cache."""
    load = any_of("/api/agents/s{}", 100)
    for reads, environment in (("cached reads", {}), ("ordinary reads", {"EDITOR_CACHE_BYTES": "0"})):
        with bench.serving(**environment) as one, bench.serving("--workers", "2", **environment) as two:
            times = median(bench.rate(two, load) / bench.rate(one, load) for _ in range(TURNS))
        name = f"two workers against one, {reads}"
        yield Row(bench.name, name, f"{times:.2f} ×", "≥ 1.7 ×", times >= 1.7)


ALL: tuple[Callable[[Bench], Iterator[Row]], ...] = (
    reads,
    contexts,
    override_files,
    writing,
    python_call,
    workers,
    growth,
    first_reads,
    memory,
    lists,
)
