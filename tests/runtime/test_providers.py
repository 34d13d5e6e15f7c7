"""Which providers of models run: those of the table, each with its variables, and nothing else."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pydantic_ai.providers
import pytest
from pydantic_ai.models import KnownModelName

from tests.runtime.memory import MemoryStore
from tests.runtime.model_server import ModelServer, Says
from tests.support.service import ROOT
from versioning.domain.provider_catalog import KNOWN_PROVIDERS
from versioning.runtime import Agent, Framework, NoModel, ProviderUnavailable
from versioning.runtime.providers import Providers

# Names that mean a model or a way to it, and no provider that a module is called after.
OTHERS = {
    "test",
    "function",
    "mcp-sampling",
    "outlines",
    "gateway/openai",
    "acme",
    "openai-decisions",
    "Openai",
}
LIBRARY = {
    *(path.stem.replace("_", "-") for path in Path(pydantic_ai.providers.__path__[0]).glob("[a-z]*.py")),
    *(str(name).partition(":")[0] for name in KnownModelName.__value__.__args__),
    *OTHERS,
}
ALTERNATIVES = [
    (name, variables) for name, known in KNOWN_PROVIDERS.items() for variables in known.alternatives
]


@pytest.fixture(autouse=True)
def nothing_is_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No provider's variable is set, and no file of a home directory has credentials."""
    for name in os.environ:
        if re.search(r"KEY|TOKEN|CREDENTIAL|BASE_URL|ENDPOINT|^AWS_|^GOOGLE_|^SNOWFLAKE_", name):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolving a host or connecting to it fails the test, even if the code would ignore the error."""

    def refused(*arguments: Any) -> Any:
        raise BaseException(f"the network was asked: {arguments}")  # noqa: TRY002  no code handles this one

    monkeypatch.setattr("socket.getaddrinfo", refused)
    monkeypatch.setattr("socket.socket.connect", refused)


def refusal(provider: str) -> str:
    """Return why an agent of this provider does not run."""
    agent = Agent(id="a", name="A", instructions="text", model={"provider": provider, "name": "m"})
    Framework(agents=[agent])
    with pytest.raises(ProviderUnavailable) as refused:
        agent.generate("hello")
    return str(refused.value)


def configure(monkeypatch: pytest.MonkeyPatch, variables: tuple[str, ...]) -> None:
    for name in variables:
        is_address = name.endswith(("_URL", "_ENDPOINT"))
        monkeypatch.setenv(name, "http://127.0.0.1:9/v1" if is_address else "some-value")


@pytest.mark.usefixtures("offline")
def test_no_provider_runs_without_configuration() -> None:
    for provider in sorted({*LIBRARY, *KNOWN_PROVIDERS}):
        reason, known = refusal(provider), KNOWN_PROVIDERS.get(provider)
        if known is None:
            assert f"The provider '{provider}' is unknown" in reason and "OPENAI_BASE_URL" in reason
        else:
            assert all(name in reason for variables in known.alternatives for name in variables)


@pytest.mark.usefixtures("offline")
def test_a_fully_configured_provider_is_available_or_names_the_missing_package() -> None:
    for provider, variables in ALTERNATIVES:
        for missing in variables:  # one of them is not set, or empty
            for value in (None, " "):
                with pytest.MonkeyPatch.context() as patched:
                    configure(patched, variables)
                    patched.delenv(missing) if value is None else patched.setenv(missing, value)
                    assert missing in refusal(provider)
        with pytest.MonkeyPatch.context() as patched:
            configure(patched, variables)
            if KNOWN_PROVIDERS[provider].is_installed:
                model = Providers().model("a", {"provider": provider, "name": "openai/m"})
                assert model.model_name == "openai/m"
            else:
                assert f"pydantic-ai-slim[{KNOWN_PROVIDERS[provider].extra}]" in refusal(provider)


@pytest.mark.usefixtures("offline")
def test_a_url_stored_as_the_name_of_a_model_is_never_requested(
    store: MemoryStore, framework: Framework
) -> None:
    for provider, name in (("huggingface", "http://10.0.0.1/v1"), ("openai", "a b"), ("echo", "a\n")):
        store.put("saved-long-ago", "text", active=1, model={"provider": provider, "name": name})
        with pytest.raises(NoModel, match=r"'saved-long-ago'.*model\.name must"):
            framework.get_agent_by_id("saved-long-ago", status="published").generate("hello")


def test_developers_may_name_a_model_as_they_like(model_server: ModelServer) -> None:
    model_server.model = lambda request: Says(request["model"])
    agent = Agent(id="a", name="A", instructions="x", model={"provider": "openai", "name": "file://my model"})
    Framework(agents=[agent])
    assert agent.generate("hello").text == "file://my model"


def test_the_documentation_contains_the_table() -> None:
    page = (ROOT / "docs/reference/providers.md").read_text()
    rows = re.findall(r"^\| (`[a-z].*?) \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    documented = {
        name: (re.findall(r"`([A-Z_]+)`", needs), extra.strip("`"))
        for names, needs, extra in rows
        for name in re.findall(r"`([a-z-]+)`", names)
        if name in KNOWN_PROVIDERS
    }
    assert documented == {
        name: ([one for variables in known.alternatives for one in variables], known.extra)
        for name, known in KNOWN_PROVIDERS.items()
    }
