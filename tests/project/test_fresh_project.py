"""The code in docs/guides/embed-in-django.md is pasted into a project that `startproject` has just made."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile

import pytest

from tests.support.pages import GUIDES, commands
from tests.support.projects import API_HEADING, PAGE, asked, commands_of, fresh_project
from tests.support.service import migrated_database
from tests.support.studio import visiting

pytestmark = pytest.mark.processes


def test_the_code_of_the_page_works_in_a_fresh_project(tmp_path: Path) -> None:
    project = fresh_project(tmp_path)
    settings_file, urls_file = (project.folder / f"shop/{name}.py" for name in ("settings", "urls"))
    apps, api_urls = commands(PAGE, API_HEADING, "python")
    on_sqlite, _on_postgresql = commands(PAGE, "The database", "python")
    studio, studio_urls = commands(PAGE, "The studio", "python")
    heading = "Add your models to the studio"
    [registered] = commands(GUIDES / "add-your-models-to-the-studio.md", heading, "python")
    own = "INSTALLED_APPS += ['shop']\n"
    settings_file.write_text(settings_file.read_text() + apps + on_sqlite + studio + own)
    urls_file.write_text(urls_file.read_text() + api_urls + studio_urls)
    project.write("shop.admin", registered)
    project.environment["DJANGO_SUPERUSER_PASSWORD"] = "a long one"
    # Its accounts are Django's, as those of the service: the tables have been made already.
    copyfile(migrated_database().removeprefix("sqlite:///"), project.folder / "db.sqlite3")
    checked, *_, key, _ = project.manage(
        "check",
        *commands_of(API_HEADING),
        "createsuperuser --noinput --username root --email ''",
    )
    assert "no issues" in checked
    with project.served() as url:
        for path in ("agents", "releases", "reviews", "rollouts", "schedules", "webhooks"):
            assert asked(f"{url}/api/{path}", Authorization=f"Bearer {key.strip()}")[0] == 200
        the_studio_and_the_admin_are_two_places(url)


def the_studio_and_the_admin_are_two_places(url: str) -> None:
    with visiting(url) as root:
        assert "<title>Sign in · The editor</title>" in root.get("/studio/login/").markup
        assert root.sign_in("root", "a long one")
        assert "<title>Home · The editor</title>" in root.get("/studio/").markup
        for page in ("/admin/", "/admin/auth/user/", "/admin/auth/user/add/", "/admin/password_change/"):
            seen = root.get(page)
            assert seen.status == 200, page
            assert "| Django site admin</title>" in seen.markup, page
            assert "/studio/" not in seen.markup, page
        for page in ("", "add/"):
            seen = root.get(f"/studio/auth/group/{page}")
            assert (seen.status, "Sign out" in seen.markup) == (200, True)
            assert "/admin/auth/" not in seen.markup and "Django site admin" not in seen.markup
        with visiting(url) as stranger:
            assert "Django administration" in stranger.get("/admin/", follow=True).markup
