"""The example of a deployment, as it is: nginx, two processes, one database."""

from __future__ import annotations

import shlex
import ssl
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest

from tests.runtime.model_server import FallsSilent, ModelServer, Request, Says, running_model_server
from tests.support import nginx as front
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.event_streams import open_stream
from tests.support.nginx import EXAMPLE, HOST, Nginx, running_nginx
from tests.support.pages import GUIDES, commands
from tests.support.ports import free_ports
from tests.support.remote import RemoteApi, connected
from tests.support.runs import OPENAI, agent
from tests.support.service import Service, running_service
from tests.support.streams import beside, listening

pytestmark = pytest.mark.skipif(front.program() is None, reason="nginx is not installed.")

TURNS = 5
SECONDS = 60
PASSWORD = "a long password"


def example_environment() -> dict[str, str]:
    """Return the settings of the example that are not specific to the machine."""
    lines = (EXAMPLE / "editor.env").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    return {name: value for name, value in values.items() if name not in {"SECRET_KEY", "DATABASE_URL"}}


@dataclass
class Deployment:
    """nginx, and the processes behind it."""

    nginx: Nginx
    processes: tuple[Service, Service]
    streams: Service
    model: ModelServer

    @contextmanager
    def entered(self) -> Iterator[RemoteApi]:
        """Open a connection of the admin to nginx."""
        api = RemoteApi(key=self.processes[0].key, address=self.nginx.address)
        try:
            yield api
        finally:
            api.connection.close()


@pytest.fixture(scope="module")
def service_behind_nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The example; a test that stops a process starts it again."""
    folder = tmp_path_factory.mktemp("deployment")
    (folder / "second").mkdir()
    (folder / "nginx").mkdir()
    (folder / "streams").mkdir()
    with running_model_server() as model:
        environment = {
            **example_environment(),
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "sk-test-0123456789abcdef",
        }
        with running_service(folder, **environment) as first:
            second = beside(first, folder / "second")
            second.start()
            streams = replace(beside(first, folder / "streams"), command="serve_events")
            streams.start()
            ports = [int(process.url.rpartition(":")[2]) for process in (first, second)]
            streams_port = int(streams.url.rpartition(":")[2])
            try:
                with running_nginx(folder / "nginx", ports, streams_port) as nginx:
                    yield Deployment(nginx, (first, second), streams, model)
            finally:
                streams.stop()
                second.stop()


@pytest.fixture
def deployment(service_behind_nginx: Deployment) -> Deployment:
    """The example, under a short name."""
    return service_behind_nginx


@pytest.fixture
def api(service_behind_nginx: Deployment) -> Iterator[RemoteApi]:
    """The admin, through nginx."""
    with service_behind_nginx.entered() as api:
        yield api


def test_a_publication_by_one_process_is_served_by_the_next_read_of_any(
    deployment: Deployment, api: RemoteApi
) -> None:
    AGENTS.make(api, "shared", autoPublish=True)
    first, second = deployment.processes
    with connected(first) as here, connected(second) as there:
        for turn in range(TURNS):
            for writer in (here, there, api):
                text = f"text {turn} of {writer.address}"
                AGENTS.save(writer, "shared", text, autoPublish=True)
                readers = (here, there, api, api)
                assert {reader.get("/agents/shared").body["instructions"] for reader in readers} == {text}


def test_events_arrive_as_they_happen_from_a_separate_process(deployment: Deployment, api: RemoteApi) -> None:
    front_door = replace(deployment.processes[0], url=f"http://{deployment.nginx.address}")
    with open_stream(front_door) as stream:
        AGENTS.make(api, "told", autoPublish=True)
        assert stream.wait_for(2)[1]["type"] == "agent.published"
        assert "/api/events/stream" in deployment.streams.log
        for process in deployment.processes:
            assert "/api/events/stream" not in process.log


def test_an_id_arrives_as_it_was_sent(api: RemoteApi) -> None:
    for resource_id in ("team/support", "50%25", "été 日本"):
        for kind in (AGENTS, PROMPT_BLOCKS):
            kind.make(api, resource_id)
            assert api.get(kind.url(resource_id), status="draft").body["id"] == resource_id


def test_etags_work_through_the_proxy(api: RemoteApi) -> None:
    AGENTS.make(api, "tagged")
    read = api.request("GET", AGENTS.url("tagged"), accept_encoding="gzip", query={"status": "draft"})
    assert read.etag.startswith('"')
    assert api.patch(AGENTS.url("tagged"), {"name": "Once"}, if_match=read.etag).status == 200
    assert api.patch(AGENTS.url("tagged"), {"name": "Twice"}, if_match=read.etag).status == 412


@pytest.mark.parametrize("size", [1 << 20, 5 << 20], ids=["the service's limit", "nginx's limit"])
def test_the_refusal_of_a_too_large_body_has_the_usual_shape(api: RemoteApi, size: int) -> None:
    answer = api.post(AGENTS.path, AGENTS.body("x" * size))
    assert (answer.status, answer.code, set(answer.body)) == (413, "payload_too_large", {"error", "code"})


def test_a_stream_is_passed_on_while_the_model_works_and_stops_with_its_client(
    deployment: Deployment, api: RemoteApi
) -> None:
    deployment.model.model = lambda request: FallsSilent("The first words")
    agent(api, "slow", "slow", model=OPENAI)
    with listening(api, "slow") as stream:
        said = next(event for event in stream.events() if event["type"] == "text-delta")
        assert said["payload"]["text"].startswith("The")
        assert not deployment.model.client_left.is_set()
    assert deployment.model.client_left.wait(SECONDS)


def test_a_stopping_process_finishes_its_streams_first(deployment: Deployment) -> None:
    asked, told = threading.Event(), threading.Event()

    def thinks_until_told(request: Request) -> Says:
        asked.set()
        assert told.wait(SECONDS)
        return Says("The last words")

    deployment.model.model = thinks_until_told
    service = deployment.processes[0]
    assert service.process is not None
    with connected(service) as api:
        agent(api, "thinker", "think", model=OPENAI)
        with listening(api, "thinker") as stream:
            assert asked.wait(SECONDS)
            service.process.terminate()
            told.set()
            events = list(stream.events())
    service.process.wait(SECONDS)
    service.start()
    texts = [event["payload"]["text"] for event in events if event["type"] == "text-delta"]
    assert "".join(texts).strip() == "The last words"
    assert events[-1]["type"] == "finish"


def test_people_sign_in_over_https_and_stay_signed_in_with_every_process(
    deployment: Deployment,
) -> None:
    make = f"User.objects.create_superuser('ada', password='{PASSWORD}')"
    program = f"from django.contrib.auth.models import User; {make}"
    deployment.processes[0].manage("shell", "--no-imports", "-c", program)
    trusted = ssl.create_default_context(cafile=deployment.nginx.certificate)
    address = f"https://127.0.0.1:{deployment.nginx.tls_port}"
    origin = f"https://{HOST}:{deployment.nginx.tls_port}"
    headers = {
        "Host": origin.removeprefix("https://"),
        "Origin": origin,
        "Referer": f"{origin}/studio/login/",
    }
    with httpx2.Client(
        base_url=address, headers=headers, verify=trusted, trust_env=False, timeout=60
    ) as browser:
        known_as = {"sni_hostname": HOST}
        browser.get("/studio/login/", extensions=known_as)
        form = {
            "username": "ada",
            "password": PASSWORD,
            "csrfmiddlewaretoken": browser.cookies["__Host-csrftoken"],
        }
        forged = {"X-Real-IP": "10.9.9.9", "X-Forwarded-For": "10.9.9.9"}
        wrong = form | {"password": "wrong"}
        refused = browser.post("/studio/login/", data=wrong, headers=forged, extensions=known_as)
        assert refused.status_code == 200, refused.text
        entered = browser.post("/studio/login/", data=form, extensions=known_as)
        assert entered.status_code == 302, entered.text
        [cookie] = [
            text for text in entered.headers.get_list("Set-Cookie") if text.startswith("__Host-sessionid=")
        ]
        assert "Secure" in cookie.split("; ")
        pages = [browser.get("/studio/", extensions=known_as) for _ in range(2 * TURNS)]
    assert {page.status_code for page in pages} == {200}
    log = "".join(process.log for process in deployment.processes)
    assert '"address": "127.0.0.1"' in log and "10.9.9.9" not in log


def test_without_a_proxy_the_forwarded_protocol_is_ignored(live_service: Service) -> None:
    origin = live_service.url.replace("http:", "https:")
    with httpx2.Client(base_url=live_service.url, trust_env=False, timeout=60) as browser:
        browser.get("/studio/login/")
        form = {
            "username": "ada",
            "password": "no",
            "csrfmiddlewaretoken": browser.cookies["csrftoken"],
        }
        forged = {"X-Forwarded-Proto": "https", "Origin": origin}
        assert browser.post("/studio/login/", data=form, headers=forged).status_code == 403
        honest = {"Origin": live_service.url}
        assert browser.post("/studio/login/", data=form, headers=honest).status_code == 200


def test_reads_are_answered_when_a_process_is_killed(deployment: Deployment, api: RemoteApi) -> None:
    AGENTS.make(api, "steady", autoPublish=True)
    killed = threading.Event()
    statuses: list[int] = []

    def read_on() -> None:
        with deployment.entered() as reader:
            left = 50
            while left:
                statuses.append(reader.get("/agents/steady").status)
                left -= killed.is_set()

    with ThreadPoolExecutor(4) as threads:
        readers = [threads.submit(read_on) for _ in range(4)]
        try:
            deployment.processes[0].kill()
        finally:
            killed.set()
        for reader in readers:
            reader.result(SECONDS)
    # It remains so for writes that no process has accepted yet.
    AGENTS.save(api, "steady", "after the crash")
    deployment.processes[0].start()
    assert set(statuses) == {200}


def test_the_error_for_an_unreachable_service_has_the_usual_shape(tmp_path: Path) -> None:
    with running_nginx(tmp_path, free_ports(2)) as nginx:
        answer = httpx2.get(f"http://{nginx.address}/api/agents", trust_env=False)
    assert answer.status_code == 502
    assert answer.json() == {"error": "The service does not answer.", "code": "unavailable"}


@contextmanager
def restarter(processes: tuple[Service, Service]) -> Iterator[str]:
    """Stand in for systemd: a command with a port, which restarts the process on that port."""
    by_port = {process.url.rpartition(":")[2]: process for process in processes}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            process = by_port[self.path.removeprefix("/")]
            process.stop()
            process.start()
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"curl -fsS http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def test_a_rolling_restart_fails_no_request(deployment: Deployment, api: RemoteApi) -> None:
    AGENTS.make(api, "busy", autoPublish=True)
    before = [process.process for process in deployment.processes]
    over = threading.Event()
    statuses: list[int] = []

    def work(worker: int) -> None:
        turn = 0
        while not over.is_set():
            turn += 1
            # One connection per request: nginx may close an idle connection.
            with deployment.entered() as caller:
                if worker % 2:
                    statuses.append(caller.get("/agents/busy").status)
                else:
                    edit = {"instructions": f"{worker}/{turn}"}
                    statuses.append(caller.patch(AGENTS.url("busy"), edit).status)

    with ThreadPoolExecutor(4) as threads, restarter(deployment.processes) as restart:
        workers = [threads.submit(work, worker) for worker in range(4)]
        try:
            subprocess.run(
                ["bash", "-euc", *commands(GUIDES / "restart-without-downtime.md", "Restart")],
                cwd=EXAMPLE,
                env={
                    **deployment.processes[0].environment,
                    "PROCESSES": str(deployment.nginx.processes),
                    "NGINX_COMMAND": shlex.join(deployment.nginx.command),
                    "NGINX_PID": str(deployment.nginx.folder / "nginx.pid"),
                    "RESTART": restart,
                },
                check=True,
                timeout=2 * SECONDS,
            )
        finally:
            over.set()
        for worker in workers:
            worker.result(SECONDS)
    assert set(statuses) == {200}
    assert all(process.process not in before for process in deployment.processes)
    assert "down" not in deployment.nginx.processes.read_text()
