"""Run what deploy/kubernetes describes without a cluster: `python -m tests.support.manifests ROOT CONFIG`.

ROOT is the root of the image, CONFIG what `buildah inspect` says of it. Each process runs as its manifest
says: with the image's entry point, its arguments and environment, as its user, without capabilities, on a
root that cannot be written but for its volumes, as process 1, in a network of its own. Its probes have to be
answered, and SIGTERM ends it. The database alone is reached by other means: a socket in /mnt. It needs root,
iproute2 and curl.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.support.postgres import throwaway_postgres

MANIFESTS = Path(__file__).parents[2] / "deploy" / "kubernetes"
SECONDS = 60
"""How long a command, a start or an end may take."""
HARDENED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
_CONTAIN = """
    root=$1 socket=$2 user=$3 folder=$4 volumes=$5; shift 5
    ip link set lo up
    mount --bind "$root" "$root"
    mount --options remount,bind,ro "$root"
    mount --types proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --bind "$socket" "$root/mnt"
    for volume in $volumes; do mount --types tmpfs --options mode=1777 tmpfs "$root$volume"; done
    exec chroot "$root" setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups --bounding-set=-all \
        --inh-caps=-all --no-new-privs env --ignore-environment --chdir="$folder" "$@"
"""


@dataclass(frozen=True)
class Container:
    """The only container of a job or a deployment."""

    manifest: Mapping[str, Any]
    user: str
    environment: Mapping[str, str]
    metrics: str | None
    """The port at which Prometheus asks."""

    def probes(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield what a cluster asks, as a URL and headers."""
        ports = {port["name"]: port["containerPort"] for port in self.manifest.get("ports", ())}
        for name in ("startupProbe", "readinessProbe", "livenessProbe"):
            if probe := self.manifest.get(name):
                asked = probe["httpGet"]
                headers = {header["name"]: header["value"] for header in asked["httpHeaders"]}
                yield f"http://127.0.0.1:{ports[asked['port']]}{asked['path']}", headers
        if self.metrics:
            yield f"http://127.0.0.1:{self.metrics}/metrics", {}


def containers() -> dict[str, Container]:
    """Return the containers of the manifests by their names."""
    files = sorted(MANIFESTS.glob("*.yaml"))
    documents = [one for file in files for one in yaml.safe_load_all(file.read_text())]
    [environment] = [one["data"] for one in documents if one["kind"] == "ConfigMap"]
    pods = [one["spec"]["template"] for one in documents if one["kind"] in {"Job", "Deployment"}]
    found = {}
    for pod in pods:
        [manifest] = pod["spec"]["containers"]
        user = "{runAsUser}:{runAsGroup}".format_map(pod["spec"]["securityContext"])
        metrics = pod.get("metadata", {}).get("annotations", {}).get("prometheus.io/port")
        assert manifest["securityContext"] == HARDENED
        found[manifest["name"]] = Container(manifest, user, environment, metrics)
    return found


@dataclass(frozen=True)
class Running:
    """A container that runs."""

    container: Container
    process: subprocess.Popen[bytes]

    def ask(self, url: str, headers: Mapping[str, str]) -> str:
        """Return the answer to a request, once there is one with status 200; raises if there is none."""
        network = Path(f"/proc/{self.process.pid}/ns/net")
        while network.readlink() == Path("/proc/self/ns/net").readlink():
            time.sleep(0.01)
        again = ["--fail", "--retry", str(SECONDS), "--retry-delay", "1", "--retry-all-errors"]
        given = [part for header in headers.items() for part in ("--header", ": ".join(header))]
        curl = ["curl", "--silent", *again, "--max-time", "5", *given, url]
        return subprocess.check_output(["nsenter", f"--net={network}", *curl], text=True)

    def end(self) -> None:
        """Send SIGTERM, as a cluster does; raises if the status is not 0."""
        [first] = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        os.kill(int(first), signal.SIGTERM)
        status = self.process.wait(SECONDS)
        assert status == 0, f"{self.container.manifest['name']} ended with {status}"


@dataclass(frozen=True)
class Image:
    """The image, and what its containers get from outside."""

    root: str
    config: Mapping[str, Any]
    socket: str
    secret: Mapping[str, str]

    def run(self, container: Container, *command: str, given: bytes = b"") -> bytes:
        """Run a command in a container, or its own; return what it prints. Raises if it fails."""
        contained = self._contained(container, command)
        done = subprocess.run(contained, stdout=subprocess.PIPE, input=given, timeout=SECONDS, check=False)
        assert not done.returncode, f"{command or container.manifest['args']} ended with {done.returncode}"
        return done.stdout

    def manage(self, container: Container, *arguments: str, given: bytes = b"") -> bytes:
        """Run a management command in a container; return what it prints. Raises if it fails."""
        return self.run(container, *self.config["Entrypoint"], *arguments, given=given)

    @contextmanager
    def running(self, container: Container) -> Iterator[Running]:
        """Start a container; what it has logged is shown if anything fails."""
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(self._contained(container), stdout=log, stderr=log)
            try:
                yield Running(container, process)
            except BaseException:
                log.seek(0)
                sys.stderr.write(f"{container.manifest['name']}:\n{log.read().decode()}")
                raise
            finally:
                process.kill()
                process.wait()

    def _contained(self, container: Container, command: Sequence[str] = ()) -> list[str]:
        assert container.user == self.config["User"]
        environment = {**container.environment, **self.secret}
        where = [self.root, self.socket, container.user, self.config["WorkingDir"]]
        volumes = " ".join(mount["mountPath"] for mount in container.manifest["volumeMounts"])
        return [
            *("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"),
            *("sh", "-euc", _CONTAIN, "sh", *where, volumes),
            *self.config["Env"],
            *(f"{name}={value}" for name, value in environment.items()),
            *(command or [*self.config["Entrypoint"], *container.manifest["args"]]),
        ]


def check(image: Image) -> None:
    """Migrate, serve, answer, back up, end, and restore; raises if anything fails."""
    found = containers()
    migrate = found.pop("migrate")
    writable = (
        "for folder in / /opt/editor /var/tmp /tmp; do ! touch $folder/here 2>/dev/null || echo $folder; done"
    )
    assert image.run(migrate, "sh", "-c", f"exec 2>/dev/null; {writable}") == b"/tmp\n"
    image.run(migrate)
    key = image.manage(migrate, "create_api_key", "ada").decode().strip()
    with ExitStack() as stack:
        running = {name: stack.enter_context(image.running(one)) for name, one in found.items()}
        for one in running.values():
            for url, headers in one.container.probes():
                one.ask(url, headers)
        caller = {"Host": "localhost", "X-Forwarded-Proto": "https", "Authorization": f"Bearer {key}"}
        assert '"ada"' in running["serve"].ask("http://127.0.0.1:8000/api/me", caller)
        backup = image.manage(migrate, "backup", "-")
        for one in running.values():
            one.end()
    image.manage(migrate, "restore", "-", given=backup)


def main(root: str, config: str) -> None:
    """Check an image with a database of its own."""
    with tempfile.TemporaryDirectory() as socket:
        Path(socket).chmod(0o1777)
        with throwaway_postgres(unix_socket_directories=socket) as address:
            url = urlsplit(address)
            reached = url._replace(
                netloc=f"{url.username}:{url.password}@:{url.port}", query="host=/mnt"
            ).geturl()
            secret = {"SECRET_KEY": "a secret of tests", "DATABASE_URL": reached}
            check(Image(root, json.loads(Path(config).read_text())["OCIv1"]["config"], socket, secret))


if __name__ == "__main__":
    main(*sys.argv[1:])
