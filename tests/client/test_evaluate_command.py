"""`editor evaluate` in front of a real server, with a real worker and a provider that does as it is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from editor_client.__main__ import main

from tests.runtime.model_server import (
    Fails,
    FallsSilent,
    Reply,
    Request,
    Says,
    running_model_server,
)
from tests.support.clients import Clients
from tests.support.programs import credentials
from tests.support.service import ROOT, Service, running_service

pytestmark = pytest.mark.processes

MODEL = {"provider": "openai", "name": "gpt-4o"}


def answers(request: Request) -> Reply:
    """Repeat the question, in capitals when asked to."""
    asked = [str(one["content"]) for one in request["messages"]]
    if "Fail." in asked[0]:
        return Fails(400, "no")
    if "Wait." in asked[0]:
        return FallsSilent()
    return Says(asked[-1].upper() if "Shout." in asked[0] else asked[-1])


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A server with a worker, and an agent whose live version shouts."""
    with running_model_server() as model:
        model.model = answers
        provider = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-test", "EDITOR_WORKER": "on"}
        with running_service(tmp_path, **provider) as service:
            yield service


def test_the_exit_code_says_what_came_of_a_draft(
    service: Service, connect: Clients, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client: Any = connect(service.url, service.key)
    dataset = client.get_dataset(client.create_dataset(name="Words", workspace_id="default").id)
    client.create_stored_scorer(id="exact", name="Exact", type="equals", workspace_id="default")
    client.create_stored_agent(
        id="writer", name="Writer", instructions="Shout.", model=MODEL, scorers={"exact": {}},
        workspace_id="default", auto_publish=True,
    )  # fmt: skip

    def evaluate(*more: str, dataset: str = "Words", agent: str = "writer") -> tuple[int, str, str]:
        server = ["--url", service.url, "--api-key", service.key]
        code = main([*server, "evaluate", agent, "--dataset", dataset, *more])
        return (code, *capsys.readouterr())

    assert evaluate()[0] == 3  # there are no items
    client.create_stored_agent(
        id="unscored", name="Unscored", instructions="Shout.", model=MODEL, workspace_id="default",
        auto_publish=True,
    )  # fmt: skip
    words = {"tags": ["must"]}
    dataset.add_items([{"input": f"a{n}", "ground_truth": f"A{n}"} for n in range(11)])
    dataset.add_item("b", ground_truth="B", metadata=words)
    code, _, err = evaluate("--version", "published", agent="unscored")
    assert code == 3 and "has a scorer" in err and "Nothing was run." in err
    assert client.list_experiments().total == 0
    files = [tmp_path / f"report.{ending}" for ending in ("xml", "json", "md")]
    options = [f"--{form}={path}" for form, path in zip(("junit", "json", "markdown"), files, strict=True)]

    def drafted(instructions: str) -> None:
        client.get_stored_agent("writer").update(instructions=instructions)

    drafted("Shout. Please.")
    code, out, err = evaluate(*options)
    assert (code, out) == (0, files[2].read_text()) and "12 of 12 answers, 0 errors" in err
    suite, content = ElementTree.parse(files[0]).getroot(), json.loads(files[1].read_text())
    assert (suite.get("tests"), suite.get("failures"), content["exitCode"]) == ("12", "0", 0)
    drafted("Whisper.")
    code, out, _ = evaluate("--attempts", "2")
    assert code == 1 and "It is worse: 0 won, 12 lost, -100.0 points." in out and "'must'" in out
    assert evaluate("--fail-on", "errors")[0] == 0
    drafted("Fail.")
    code, out, _ = evaluate("--fail-on", "worse,errors")
    assert code == 3 and "tooManyErrors" in out
    for other, unknown in ((3, ["--version", "published", "--max-tokens", "1"]), (4, ["--version", "x"])):
        assert evaluate(*unknown)[0] == other
    assert evaluate(agent="nobody")[0] == 4
    assert evaluate("--junit", str(tmp_path / "no" / "x"))[0] == 2
    drafted("Wait.")
    code, out, err = evaluate("--timeout", "1")
    assert code == 3 and "it still runs" in out and "/experiments/" in err
    _interrupted(service)
    service.kill()  # a stopped one would wait for the silent model
    assert evaluate()[0] == 4


def _interrupted(service: Service) -> None:
    """Interrupt it as Ctrl-C does, once it has said how far it is."""
    command = [sys.executable, "-m", "editor_client", "evaluate", "writer", "--dataset", "Words"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client"), **credentials(service)}
    program = subprocess.Popen(
        command,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        # What runs in the background of a shell ignores the signal, and so would this process.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    assert program.stderr is not None and "answers" in program.stderr.readline()
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=60)
    assert program.returncode == 130 and "follow it at GET http://127.0.0.1" in said
