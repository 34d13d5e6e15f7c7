"""The editor of an installation is found by a setting, and handed to its framework."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from versioning.conf import get_editor, get_framework
from versioning.editor import Editor
from versioning.runtime import Framework

editor = Editor()
framework = Framework(editor=editor)
stranger = Framework(editor=Editor())
alone = Framework()


def choose(settings: Any, *, instance: str = "", framework: str = "") -> None:
    """Name an editor and a framework of this module."""
    settings.EDITOR_INSTANCE = instance and f"{__name__}.{instance}"
    settings.EDITOR_FRAMEWORK = framework and f"{__name__}.{framework}"


@pytest.mark.parametrize("instance", ["", "editor"])
def test_a_framework_brings_the_editor_that_it_was_handed(settings: Any, instance: str) -> None:
    choose(settings, instance=instance, framework="framework")
    assert (get_editor(), get_framework()) == (editor, framework)


def test_an_editor_without_a_framework_gets_one_without_agents(settings: Any) -> None:
    choose(settings, instance="editor")
    assert get_editor() is editor is get_framework().editor
    choose(settings)
    assert get_editor() is get_framework().editor is not editor
    assert not get_framework().agents


@pytest.mark.parametrize(
    ("instance", "name", "said"),
    [("", "alone", "alone has no editor"), ("editor", "stranger", "another editor than .*editor")],
)
def test_a_framework_that_does_not_fit_is_refused(settings: Any, instance: str, name: str, said: str) -> None:
    choose(settings, instance=instance, framework=name)
    with pytest.raises(ImproperlyConfigured, match=said):
        get_editor()
