"""What stands in the place of `python` in an installation: a program begins as a fork of the fork server.

It takes a twentieth of the time of an interpreter that imports everything. `fork_server.virtual_environment`
writes it into a folder. It imports as little as it can: it is started by every command.
"""

import json
import os
import resource
import signal
import socket
import sys

REAL = "python"  # the path that `virtual_environment` fills in


def fork_server() -> socket.socket | None:
    """Return the connection to the server, if it has set up Django as this program needs it."""
    if "FORK_SERVER" not in os.environ or sys.argv[1:2] not in (["-c"], ["-m"], ["manage.py"]):
        return None
    number, same = json.loads(os.environ["FORK_SERVER"])
    if any(os.environ.get(name) != value for name, value in same.items() if name != "DATABASE_URL"):
        return None
    is_same = os.environ.get("DATABASE_URL", "").startswith(same["DATABASE_URL"])
    return socket.socket(fileno=number) if is_same else None


def main() -> None:
    """Run the program to its end, and end as it did."""
    server = fork_server()
    if server is None:
        os.execv(REAL, [REAL, *sys.argv[1:]])
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    request = {"args": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "limits": limits}  # noqa: PTH109  pathlib takes long to import
    socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2, its.fileno()])
    its.close()
    program = int(mine.recv(64))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(program, number))
    status = int(mine.recv(64) or b"-9")
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
