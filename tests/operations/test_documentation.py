"""The service has its documentation: from a checkout and from the wheel, and nothing else of the disk."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urljoin

import pytest

from tests.support import fork_server
from tests.support.service import ROOT, Service, running_service
from tests.support.wheels import installed

PAGES = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
OUTSIDE = [
    "../README.md",
    "..%2FREADME.md",
    "%2e%2e/README.md",
    "tutorials/../../README.md",
    "/etc/passwd",
    "%2Fetc%2Fpasswd",
    "tutorials",
    "README.md/",
    "sentences.py",
    "screenshots/home-1280-light.png",
    "README.md%00",
]
ASK = """
import django
django.setup()
from django.test import Client
for path in ("/docs/", "/docs/tutorials/chatbot.md", "/llms.txt"):
    print(Client().get(path, headers={"host": "127.0.0.1"}).content.decode().splitlines()[0])
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_service(tmp_path_factory.mktemp("documentation")) as running:
        yield running


def ask(service: Service, path: str, method: str = "GET") -> tuple[HTTPResponse, str]:
    """Send a request with exactly this path, without a key."""
    with closing(HTTPConnection(service.url.removeprefix("http://"), timeout=60)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer, answer.read().decode()


def test_every_page_is_served_as_markdown(service: Service) -> None:
    for name in PAGES:
        answer, text = ask(service, f"/docs/{name}")
        assert answer.status == 200 and text == (ROOT / "docs" / name).read_text()
        assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
        assert "Set-Cookie" not in answer.headers


def test_the_list_of_pages_is_at_the_top(service: Service) -> None:
    answer, text = ask(service, "/docs/")
    assert answer.status == 200 and text == (ROOT / "docs/README.md").read_text()
    answer, _ = ask(service, "/docs")
    assert answer.headers["Location"] == "/docs/"


def test_models_find_every_page_on_a_shelf(service: Service) -> None:
    answer, text = ask(service, "/llms.txt")
    assert answer.status == 200 and text.startswith("# The editor\n\n> ")
    addresses = re.findall(r"^- \[.+\]\((.+)\)$", text, re.MULTILINE)
    assert {urljoin(service.url, address) for address in addresses} == {
        f"{service.url}/docs/{name}" for name in PAGES if "/" in name
    }


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_else_can_be_read(service: Service, path: str) -> None:
    answer, text = ask(service, f"/docs/{path}")
    assert answer.status in {301, 302, 404}
    assert "root:" not in text and "# The editor" not in text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_it_is_read_only(service: Service, method: str) -> None:
    for path in ("/docs/", "/docs/README.md", "/llms.txt"):
        assert ask(service, path, method)[0].status in {403, 405}


def test_the_wheel_has_it(tmp_path: Path) -> None:
    packages = installed("editor-client", "editor-server")
    folder = packages / "editor_project/docs"
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*")} >= PAGES
    assert not [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md"]
    environment = {**os.environ, "PYTHONPATH": str(packages), "DATABASE_URL": "sqlite://:memory:"}
    done = fork_server.run("-c", ASK, env=environment, cwd=tmp_path)
    assert done.stdout.splitlines() == ["# Documentation", "# A chatbot in twenty minutes", "# The editor"], (
        done
    )
