"""All verbs of schedules, as a table of contents: each is a function in the module named here."""

from __future__ import annotations

from dataclasses import dataclass

from schedules import changing, finding, judging, making
from versioning.editor import Editor


@dataclass(frozen=True)
class Schedules:
    """What is to go live later.

        noon = Times(local_time="2026-12-24T12:00", time_zone="Europe/Berlin")
        editor.schedules.create("agent", "writer", noon, version_id=version_id, by=user)

    `by` is who acts, with their rights; the default is the application.
    """

    editor: Editor

    create = making.create
    create_for_release = making.create_for_release
    find = finding.find
    list = finding.list_readable
    problems = judging.problems_of
    change = changing.change
    cancel = changing.cancel
