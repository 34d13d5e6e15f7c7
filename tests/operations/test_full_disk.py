"""`serve` on a disk that is full."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import AGENTS
from tests.support.event_streams import until
from tests.support.ports import free_port
from tests.support.remote import connected
from tests.support.service import Service, running_service
from tests.support.studio import visiting
from versioning.sources.files import OverrideFiles, OverrideNotWritten

SIZE = 16 * 1024 * 1024
PASSWORD = "a long password"
PAGES = ("", "versioning/agent/writer/change/", "versioning/agent/writer/history/", "notifications/")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, with little space."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("Only root mounts a small disk.")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def fill(folder: Path) -> Path:
    """Leave no byte free; return the file to remove."""
    path = folder / "other"
    with path.open("ab", buffering=0) as file, suppress(OSError):
        for size in (1 << 20, 1 << 12, 1):
            with suppress(OSError):
                while file.write(bytes(size)):
                    pass
    return path


def readiness(service: Service) -> set[Any]:
    """Ask several times, each time on a connection of its own: any worker may answer."""
    found = set()
    for _ in range(12):
        with connected(service) as api:
            api.prefix = ""
            answer = api.get("/readyz")
            found.add((answer.status, answer.body.get("code")))
    return found


def test_all_workers_say_that_the_disk_is_full_until_it_is_not(disk: Path) -> None:
    more = {"TMPDIR": str(disk), "EDITOR_METRICS_BIND": f"127.0.0.1:{free_port()}"}
    with running_service(disk, "--workers", "2", **more) as service, connected(service) as api:
        AGENTS.make(api, "writer", autoPublish=True, model={"provider": "echo", "name": "echo"})
        service.manage(
            "shell",
            "--no-imports",
            "-c",
            f"""
from django.contrib.auth.models import User
User.objects.create_superuser("ada", password={PASSWORD!r})
""",
        )
        with visiting(service.url) as ada:
            assert ada.sign_in("ada", PASSWORD)
            filled = fill(disk)
            refused = api.patch(AGENTS.url("writer"), {"name": "Another"})
            assert (refused.status, refused.code, refused.headers["Retry-After"]) == (
                503,
                "storage_full",
                "10",
            )
            assert readiness(service) == {(503, "storage_full")}
            assert [ada.get(f"/studio/{page}").status for page in PAGES] == [200] * len(PAGES)
            form = {"language": "en"}
            page = ada.post("/studio/preferences/", form)
            script = ada.post("/studio/preferences/", form, headers={"Accept": "application/json"})
            assert page.status == script.status == 503
            assert "the disk of the server is full" in page.markup and page.headers["Retry-After"] == "10"
            assert "the disk of the server is full" in script.json()["problems"][0]
            run = api.request("POST", "/agents/writer/generate", {"messages": "Hi"}, idempotency_key="run")
            assert (run.status, api.get(AGENTS.url("writer")).status) == (200, 200)
        filled.unlink()
        until(lambda: readiness(service) == {(200, None)})
        assert api.patch(AGENTS.url("writer"), {"name": "Another"}).status == 200


def test_an_override_file_on_a_full_disk_is_refused_and_stays_as_it_was(disk: Path) -> None:
    files = OverrideFiles(disk)
    files.write("support", b"before")
    fill(disk)
    with pytest.raises(OverrideNotWritten) as refused:
        files.write("support", b"after" * 10_000)
    assert refused.value.code == "storage_full"
    assert files.content("support") == b"before"
    assert [path.name for path in files.folder.iterdir()] == ["support.json"]
