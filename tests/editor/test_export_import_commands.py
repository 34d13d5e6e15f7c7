"""`export_overrides` and `import_overrides`: a team moves from one source to the other."""

from __future__ import annotations

import pytest
from django.core.management.base import CommandError

from tests.support.override_files import Folder
from tests.support.people import command
from versioning.conf import get_editor
from versioning.editor.collection import Agents, make_agents
from versioning.models import AgentVersion

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows(folder: Folder) -> Agents:
    """The overrides in the database, as the source `database` sees them."""
    return make_agents(get_editor().code)


@pytest.mark.database
def test_published_overrides_are_exported_as_files(rows: Agents, folder: Folder) -> None:
    rows.update("answers", instructions="one", name="Kept in the database")
    rows.update("answers", instructions="draft", publish=False)
    assert command("export_overrides") == "written     answers\n1 unchanged, 1 written\n"
    assert folder.text() == '{\n  "instructions": "one"\n}\n'
    assert command("export_overrides") == "2 unchanged\n"
    folder.put(b'{"instructions":"one"}')  # in another form
    assert command("export_overrides") == "written     answers\n1 unchanged, 1 written\n"
    assert folder.text() == '{\n  "instructions": "one"\n}\n'


def test_a_dry_run_writes_nothing(rows: Agents, folder: Folder) -> None:
    rows.update("answers", instructions="one")
    assert command("export_overrides", "--dry-run") == (
        "written     answers\n1 unchanged, 1 written; nothing was changed (dry run)\n"
    )
    assert not folder.path().exists()
    folder.put({"instructions": "by hand"})
    assert "published   answers" in command("import_overrides", "--dry-run")
    assert AgentVersion.objects.count() == 1


def test_a_file_with_other_content_is_not_overwritten(rows: Agents, folder: Folder) -> None:
    rows.update("answers", instructions="one")
    folder.put({"instructions": "by hand"})
    with pytest.raises(CommandError, match="refused"):
        command("export_overrides")
    assert folder.config() == {"instructions": "by hand"}
    command("export_overrides", "--force")
    assert folder.config() == {"instructions": "one"}


def test_a_file_without_a_published_override_is_removed_only_with_force(rows: Agents, folder: Folder) -> None:
    folder.put({"instructions": "by hand"})
    with pytest.raises(CommandError, match="refused"):
        command("export_overrides")
    assert command("export_overrides", "--force") == "removed     answers\n1 unchanged, 1 removed\n"
    assert not folder.path().exists()


def test_files_become_published_versions(rows: Agents, folder: Folder) -> None:
    rows.update("answers", instructions="one", tools={"a": {}}, name="Kept")
    folder.put({"instructions": "by hand"})
    assert command("import_overrides") == "published   answers\n1 unchanged, 1 published\n"
    active = rows.get("answers").version
    assert active.config == {"instructions": "by hand", "name": "Kept"}
    assert active.change_message == "Imported from answers.json"
    assert command("import_overrides") == "2 unchanged\n"
    assert AgentVersion.objects.count() == 2


def test_an_agent_without_a_file_is_unpublished(rows: Agents, folder: Folder) -> None:
    rows.update("answers", instructions="one")
    assert command("import_overrides") == "unpublished answers\n1 unchanged, 1 unpublished\n"
    assert rows.find("answers").active is None
    assert AgentVersion.objects.count() == 1


def test_an_invalid_file_is_refused_and_the_others_are_imported(rows: Agents, folder: Folder) -> None:
    folder.put(b"{")
    folder.put({"instructions": "by hand"}, "team/lead")
    with pytest.raises(CommandError, match="refused"):
        command("import_overrides")
    assert rows.get("team/lead").version.config == {"instructions": "by hand"}
    assert not rows.all.filter(pk="answers").exists()


def test_an_export_followed_by_an_import_changes_nothing(rows: Agents, folder: Folder) -> None:
    rows.update("answers", instructions="one", tools={"a": {"description": "1"}})
    command("export_overrides")
    assert command("import_overrides") == "2 unchanged\n"
    assert command("export_overrides") == "2 unchanged\n"
    assert get_editor().agent.serve("answers").instructions == "one"
    assert rows.serve("answers").instructions == "one"


def test_a_file_that_names_a_block_of_another_workspace_is_refused(rows: Agents, folder: Folder) -> None:
    elsewhere = get_editor().workspace.create("elsewhere", "Elsewhere")
    get_editor().prompt.create(id="tone", name="Tone", content="theirs", workspace=elsewhere.pk, publish=True)
    folder.put({"instructions": [{"type": "prompt_block_ref", "id": "tone"}]})
    with pytest.raises(CommandError, match="refused"):
        command("import_overrides")
    assert not rows.all.filter(pk="answers").exists()
