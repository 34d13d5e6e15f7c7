"""A real mail server on loopback, which keeps what it takes in a folder."""

from __future__ import annotations

import mailbox
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path

from tests.support.ports import wait_for


@contextmanager
def mail_server(port: int, folder: Path) -> Iterator[Callable[[], list[Message]]]:
    """Run a mail server, and yield a function that returns the mail that it has taken."""
    log = folder / "smtp.log"
    command = [sys.executable, "-m", "aiosmtpd", "-n", "-l", f"127.0.0.1:{port}"]
    command += ["-c", "aiosmtpd.handlers.Mailbox", str(folder / "mail")]
    with log.open("ab") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            wait_for(port, process, log)
            yield lambda: list(mailbox.Maildir(folder / "mail"))
        finally:
            process.terminate()


def until(count: int, taken: Callable[[], list[Message]], seconds: float = 30) -> list[Message]:
    """Wait until a mail server has taken so much mail, and return it."""
    deadline = time.monotonic() + seconds
    while len(taken()) < count:
        assert time.monotonic() < deadline, f"there is no mail after {seconds} seconds"
        time.sleep(0.1)
    return taken()
