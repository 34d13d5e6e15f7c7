"""nginx with the configuration of the example, as a process on loopback ports."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.ports import free_port, free_ports, wait_for
from tests.support.service import ROOT

EXAMPLE = ROOT / "examples/deployment"
HOST = "editor.example.org"
SECONDS = 30
# The surroundings of ours in a distribution's nginx.conf, with the temporary files in a writable folder, and
# with compression, which ours has to switch off.
MAIN = """
{user}
daemon off;
pid nginx.pid;
worker_processes 2;
events {{}}
http {{
    access_log off;
    gzip on;
    gzip_types *;
    gzip_min_length 1;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    include conf.d/*.conf;
}}
"""
SITE = """
listen 127.0.0.1:{plain};
listen 127.0.0.1:{tls} ssl;
server_name {host};
ssl_certificate certificate.pem;
ssl_certificate_key key.pem;
"""


def program() -> str | None:
    """Return the path of nginx; Debian installs it outside of the normal PATH."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


@dataclass(frozen=True)
class Nginx:
    """A running nginx."""

    folder: Path
    plain_port: int
    tls_port: int
    command: tuple[str, ...]

    @property
    def address(self) -> str:
        """Where it listens without https."""
        return f"127.0.0.1:{self.plain_port}"

    @property
    def processes(self) -> Path:
        """The file that lists the processes behind it."""
        return self.folder / "editor/processes.conf"

    @property
    def certificate(self) -> Path:
        """The certificate, which is its own authority."""
        return self.folder / "certificate.pem"


@contextmanager
def running_nginx(folder: Path, ports: Sequence[int], streams_port: int | None = None) -> Iterator[Nginx]:
    """Run the example's configuration in front of the processes on these ports; two, as in the example.

    Streams of events come from `streams_port`; without it they are not served.
    """
    plain, tls = free_ports(2)
    shutil.copytree(EXAMPLE / "nginx", folder / "example")
    (folder / "conf.d").mkdir()
    shutil.move(folder / "example/editor.conf", folder / "conf.d/editor.conf")
    shutil.move(folder / "example/editor", folder / "editor")
    _replace_ports(folder / "editor/processes.conf", dict(zip((8001, 8002), ports, strict=True)))
    _replace_ports(folder / "editor/streams.conf", {8010: streams_port or free_port()})
    (folder / "editor/site.conf").write_text(SITE.format(plain=plain, tls=tls, host=HOST))
    _make_certificate(folder)
    # As root its workers would run as a user who may not read a test's folder.
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(MAIN.format(user=user))

    binary = program()
    assert binary
    command = (binary, "-p", str(folder), "-e", "error.log", "-c", "nginx.conf")
    process = subprocess.Popen(command)
    try:
        wait_for(plain, process, folder / "error.log")
        yield Nginx(folder, plain, tls, command)
    finally:
        process.terminate()
        process.wait(timeout=SECONDS)


def _replace_ports(file: Path, ports: Mapping[int, int]) -> None:
    """Replace the ports of the example by those of this machine."""
    text = file.read_text()
    for example, port in ports.items():
        assert f"127.0.0.1:{example} " in text
        text = text.replace(f":{example} ", f":{port} ")
    file.write_text(text)


def _make_certificate(folder: Path) -> None:
    request = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    subject = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}", "-days", "2"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run([*request, *subject, *files], check=True, capture_output=True)
