"""The modules that a worker process loads: those not needed for reads and saves would take memory in each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.support.service import Service, new_database, template_database

ROOT = Path(__file__).resolve().parents[2]

# All that `serve` loads, then a read and a save, then a run and a webhook.
PROGRAM = """
import json, sys
sys.modules.update(httpcore=None, httpx=None)  # as in an installation: what needs them cannot be loaded
import django
from django.core.management import load_command_class
from django.core.servers.basehttp import get_internal_wsgi_application
from django.test import Client

def loaded():
    optional = {"opentelemetry", "opentelemetry.sdk", "prometheus_client"}
    return sorted(({"cryptography", "httpcore2", "httpx2", "pydantic_ai"} | optional) & sys.modules.keys())

def ask(method, path, **body):
    answer = client.generic(method, "/api" + path, json.dumps(body), "application/json")
    assert answer.status_code < 300, (path, answer.content)

django.setup()
client = Client(headers={"authorization": "Bearer " + sys.argv[1], "host": "localhost"})
load_command_class("editor_project", "serve")
get_internal_wsgi_application()

model = {"provider": "echo", "name": "echo"}
ask("POST", "/stored/agents", id="a", name="A", instructions="text", model=model)
ask("PATCH", "/stored/agents/a", instructions="another text", autoPublish=True)
ask("GET", "/agents/a")
ask("GET", "/agents")
ask("GET", "/stored/agents")
steps = [loaded()]
ask("POST", "/agents/a/generate", messages="hello")
steps.append(loaded())
ask("POST", "/webhooks", workspaceId="default", url="https://93.184.215.14/", eventTypes=["agent.published"])
print(json.dumps([*steps, loaded()]))
"""

# A run after what `serve` loads in the background; the model refuses the connection.
RUN = """
import sys
from versioning.runtime import Agent, Framework, ProviderFailed, preload

def loaded():
    return {name for name in sys.modules if name.partition(".")[0] in {"openai", "pydantic_ai"}}

assert not loaded()
preload()
before = loaded()
agent = Agent(id="a", name="A", instructions="text", model={"provider": "openai", "name": "small"})
Framework(agents=[agent])
try:
    agent.generate("hello", model_settings={"maxRetries": 0})
except ProviderFailed as error:
    assert "could not be reached" in error.message, error
print(len(before), sorted(loaded() - before))
"""

# What the first request of a process starts under an ASGI server.
ASGI = """
import threading
from django.core.signals import request_started
from editor_project import asgi
from versioning.api import openapi
from versioning.runtime.runner import background_loop

def preloading():
    return [thread for thread in threading.enumerate() if thread.name == "preload"]
request_started.send(None)
[thread] = preloading()
thread.join()
openapi._generate_document = None  # it is made already
assert openapi.document()["openapi"]
assert [made for made, _ in background_loop().providers._made if "127.0.0.1:9" in str(made)]
request_started.send(None)
assert not preloading()
"""


def test_modules_for_runs_and_webhooks_are_loaded_on_first_use(tmp_path: Path) -> None:
    template = template_database()
    command = [sys.executable, "-c", PROGRAM, template.key]
    with new_database(tmp_path / "db.sqlite3", template.url) as url:
        settings = {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "editor_project.settings"}
        environment = os.environ | settings
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    after_saves, after_run, after_webhook = json.loads(done.stdout.splitlines()[-1])
    assert after_saves == []
    assert "pydantic_ai" in after_run and "cryptography" not in after_run
    assert "cryptography" in after_webhook
    # Metrics and traces are off. The agent library brings OpenTelemetry's interface, which does nothing.
    assert not {"opentelemetry.sdk", "prometheus_client"} & set(after_webhook)


def test_a_run_after_preloading_imports_nothing_more() -> None:
    provider = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "sk-test-0123456789abcdef"}
    command, environment = [sys.executable, "-c", RUN], os.environ | provider
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    number, left = done.stdout.strip().split(" ", 1)
    assert int(number) > 50 and left == "[]"


def test_an_asgi_server_loads_what_serve_loads() -> None:
    providers = {"in-house": {"kind": "openai", "baseUrl": "http://127.0.0.1:9/v1"}}
    settings = {"EDITOR_PROVIDERS": json.dumps(providers), "DATABASE_URL": "sqlite://:memory:"}
    command, environment = [sys.executable, "-c", ASGI], os.environ | settings
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_serve_loads_what_runs_need_after_it_has_started(live_service: Service) -> None:
    deadline = time.monotonic() + 60
    while "the agent library was loaded" not in live_service.log:
        assert time.monotonic() < deadline, live_service.log
        time.sleep(0.05)
