"""The content and the name of an override file, for every configuration and every id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from editor_client.shared import canonical, ids
from editor_client.shared.instructions import referenced_blocks
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from tests.domain.test_ids import ALLOWED, REFUSED
from tests.support.api import AGENTS, Api
from tests.support.configurations import FULL_AGENT, agent_configs, reordered
from tests.support.override_files import Folder, define
from versioning.domain.errors import Invalid
from versioning.domain.overrides import APPLIED_FIELDS
from versioning.runtime import Agent
from versioning.sources.files import FOLDER, OverrideFiles, OverrideUnreadable
from versioning.sources.overrides import OverrideSource, file_content

ANSWERS = Agent(id="answers", name="Answers", instructions="code")
# Each example makes a whole configuration, writes files, or goes over HTTP; that takes a while.
few = settings(max_examples=30)
fewer = settings(
    few,
    max_examples=10,
    suppress_health_check=list(HealthCheck),
)


def override_in(config: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a configuration that an override may hold."""
    return {field: config[field] for field in APPLIED_FIELDS if field in config}


overrides = st.builds(
    lambda config, without: {key: value for key, value in override_in(config).items() if key not in without},
    agent_configs,
    st.sets(st.sampled_from(APPLIED_FIELDS), max_size=2),
)
orders = st.randoms(use_true_random=False)
valid_ids = st.sampled_from(ALLOWED) | st.text(st.characters(exclude_categories=["Cs", "Cc"])).filter(
    lambda text: ids.problem(text) is None
)


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    source = OverrideSource(tmp_path, 10)
    (tmp_path / FOLDER).mkdir()
    path = tmp_path / FOLDER / "answers.json"
    content = file_content(ANSWERS, {"instructions": "override"})
    versions = []
    for mark in (b"", "\ufeff".encode()):
        path.write_bytes(mark + content)
        versions.append(source.current(ANSWERS))
    assert None not in versions
    assert [(one.config, one.digest) for one in versions if one] == [
        ({"instructions": "override"}, canonical.digest({"instructions": "override"}))
    ] * 2


@given(agent_configs, orders)
@example(FULL_AGENT, Random(1))
@example({}, Random(1))
@few
def test_a_file_is_read_back_equal_and_has_the_same_bytes_for_any_order_of_keys(
    config: dict[str, Any], order: Random
) -> None:
    content = file_content(ANSWERS, config)
    assert file_content(ANSWERS, reordered(config, order)) == content
    assert content.endswith(b"\n") and b"\r" not in content
    assert canonical.parse(content) == override_in(config)  # and nothing else
    with TemporaryDirectory() as root:
        source = OverrideSource(Path(root), depth=1)
        source.write(ANSWERS, reordered(config, order))
        read = source.current(ANSWERS)
        assert read is not None
        assert canonical.same(read.config, override_in(config))
        assert read.digest == canonical.digest(override_in(config))


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Folder:
    """The folder of the overrides."""
    define(settings, tmp_path)
    return Folder(tmp_path)


@given(overrides.filter(lambda config: not list(referenced_blocks(config))), orders)
@example(override_in(FULL_AGENT), Random(1))
@example({}, Random(1))
@fewer
def test_the_export_of_a_configuration_is_the_file_that_publishing_it_writes(
    admin: Api, folder: Folder, config: dict[str, Any], order: Random
) -> None:
    address = AGENTS.url("answers")
    made = admin.post(AGENTS.path, {**reordered(config, order), "id": "answers", "autoPublish": True})
    assert made.status == 201, made.body
    content = folder.path().read_bytes().decode()
    of_what_is_published = admin.post(f"{address}/export").body
    assert of_what_is_published["fileName"] == f"{FOLDER}/answers.json"
    assert of_what_is_published["content"] == content
    assert admin.post(f"{address}/export", reordered(config, order)).body["content"] == content
    assert admin.delete(address).status == 200
    assert not folder.path().exists()


@given(valid_ids)
def test_a_valid_id_names_a_file_directly_in_the_folder(resource_id: str) -> None:
    with TemporaryDirectory() as root:
        files = OverrideFiles(Path(root))
        assert files.path(resource_id).parent == Path(root).resolve() / FOLDER
        files.write(resource_id, b"{}")
        assert [str(path.relative_to(root)) for path in Path(root).rglob("*.*") if path.is_file()] == [
            f"{FOLDER}/{ids.encode(resource_id)}.json"
        ]
        stored = files.read(resource_id)
        assert stored is not None and stored.content == b"{}"


@given(valid_ids, valid_ids)
@example("a/b", "a%2Fb")
@example("a", "A")
@example(".", "%2E")
def test_distinct_ids_have_distinct_files(one: str, other: str) -> None:
    assume(one != other and ids.problem(one) is None)
    files = OverrideFiles(Path("/nowhere"))
    assert files.path(one) != files.path(other)


INVALID = {
    **REFUSED,
    "an absolute path": "/etc/passwd",
    "a path out of the folder": "../../outside",
    "a path out of the folder and back": "../agents/answers",
    "a NUL": "answers\0.txt",
    "a NUL alone": "\0",
    "a line": "answers\n",
    "half of a pair": "\ud800",
}


def refused_everywhere(root: Path, resource_id: str) -> None:
    """Check that reading, writing and removing the file of an id is refused without effect."""
    files = OverrideFiles(root)
    attempts: list[Callable[[], object]] = [
        lambda: files.path(resource_id),
        lambda: files.write(resource_id, b"{}"),
        lambda: files.remove(resource_id),
    ]
    for attempt in attempts:
        with pytest.raises(Invalid) as refusal:
            attempt()
        assert [issue.field for issue in refusal.value.issues] == ["id"]
    with pytest.raises(OverrideUnreadable):
        files.read(resource_id)


def test_an_invalid_id_is_refused_for_reading_and_writing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / FOLDER).mkdir(parents=True)
    (tmp_path / "outside.json").write_text("{}")
    for resource_id in INVALID.values():
        refused_everywhere(root, resource_id)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [FOLDER, "outside.json", "root"]


@given(st.text())
def test_any_text_names_a_file_in_the_folder_or_is_refused(resource_id: str) -> None:
    with TemporaryDirectory() as top:
        root = Path(top) / "root"
        if ids.problem(resource_id) is None:
            OverrideFiles(root).write(resource_id, b"{}")
            assert [path.parent for path in Path(top).rglob("*.json")] == [root / FOLDER]
        else:
            refused_everywhere(root, resource_id)
            assert list(Path(top).iterdir()) == []
