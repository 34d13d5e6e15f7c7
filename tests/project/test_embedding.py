"""A Django team adds the editor to a project of theirs, as docs/guides/embed-in-django.md says.

Their project has its own account model, with e-mail addresses, and its own API, whose REST_FRAMEWORK settings
would change everything about ours if ours used them.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from django.apps import apps
from django.conf import settings
from editor_client import Client

from tests.support.pages import commands, section
from tests.support.projects import API_HEADING, PAGE, Project, asked, commands_of, fresh_project
from tests.support.service import ROOT, is_sqlite, new_database

pytestmark = pytest.mark.processes

PERSON = "ada@example.com"

OTHER_DATABASE = """
import os, environ
DATABASES = {"default": environ.Env.db_url_config(os.environ["SHOP_DATABASE"])}
"""

MODELS = """
import uuid
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models

class Person(AbstractBaseUser, PermissionsMixin):
    key = models.UUIDField(primary_key=True, default=uuid.uuid4)
    address = models.EmailField(unique=True)
    is_active = models.BooleanField(default=True)
    memberships = models.TextField(blank=True)  # a name that an application beside could want
    api_keys = models.TextField(blank=True)

    USERNAME_FIELD = EMAIL_FIELD = "address"
    objects = BaseUserManager()
"""

SETTINGS = """
AUTH_USER_MODEL = "people.Person"
INSTALLED_APPS += ["people"]
ROOT_URLCONF = "shop.own_urls"
ALLOWED_HOSTS = ["127.0.0.1", "testserver"]
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.FormParser"],
    "DEFAULT_RENDERER_CLASSES": ["people.api.Shouting"],
    "DEFAULT_THROTTLE_CLASSES": ["people.api.Never"],
    "DEFAULT_SCHEMA_CLASS": "rest_framework.schemas.openapi.AutoSchema",
    "DEFAULT_VERSIONING_CLASS": "rest_framework.versioning.AcceptHeaderVersioning",
    "EXCEPTION_HANDLER": "people.api.teapot",
    "URL_FORMAT_OVERRIDE": "format",
    "UNICODE_JSON": False,
    "COMPACT_JSON": False,
}
SPECTACULAR_SETTINGS = {"TITLE": "The shop", "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAdminUser"]}
"""

API = """
from rest_framework.renderers import BaseRenderer
from rest_framework.throttling import BaseThrottle

class Shouting(BaseRenderer):
    media_type, format, charset = "text/plain", "txt", "utf-8"

    def render(self, data, accepted_media_type=None, renderer_context=None):
        return str(data).upper()

class Never(BaseThrottle):
    def allow_request(self, request, view):
        return False

def teapot(problem, context):
    from rest_framework.response import Response
    return Response("short and stout", status=418)
"""

VIEWS = """
from rest_framework.response import Response
from rest_framework.views import APIView

class Own(APIView):
    throttle_classes = ()

    def get(self, request):
        return Response("of the shop")

class Broken(APIView):
    def get(self, request):
        return Response("throttled before")
"""

OWN_URLS = """
from people.views import Broken, Own
urlpatterns += [path('own', Own.as_view()), path('broken', Broken.as_view())]
"""

STUDIO = """
ROOT_URLCONF = "shop.studio_urls"
"""

PAGES = """
import json
import re
from django.contrib.auth import get_user_model
from django.test import Client
person = get_user_model().objects.get(address="ada@example.com")
person.set_password("a long one")
person.save()
browser = Client()
signed_in = browser.post("/studio/login/", {"username": person.address, "password": "a long one"})
pages = ["", "versioning/agent/", "versioning/agent/greeter/change/", "versioning/workspace/",
    "versioning/agent/greeter/history/", "versioning/workspace/default/members/"]
statuses = [signed_in.status_code] + [browser.get(f"/studio/{page}").status_code for page in pages]
language = browser.get("/studio/language/").content.decode()
languages = re.findall('name="language" value="(.*?)"', language)
catalogs = {}
for code in ("fr", "de-at"):
    home = browser.get("/studio/", headers={"Accept-Language": code})
    address = re.search('src="(/studio/translations/([a-z-]+)[.]js[^"]*)"', home.content.decode())
    catalogs[code] = [address[2], browser.get(address[1]).status_code]
from versioning.testing import ApiKeyFactory, UserFactory
made = ApiKeyFactory(owner=UserFactory(roles={"default": "viewer"}))
me = browser.get("/api/me", headers={"Authorization": f"Bearer {made.text}"}).json()
print(json.dumps([statuses, languages, catalogs, [me["username"], me["workspaces"]]]))
"""


@pytest.fixture
def project_with_service(tmp_path: Path) -> Iterator[Project]:
    """Make a project with its own account model, install the wheels, and follow the page up to the API."""
    made = fresh_project(tmp_path)
    folder = made.folder
    with new_database(folder / "db.sqlite3") as url:
        made.environment.update(SHOP_DATABASE=url, DJANGO_SETTINGS_MODULE="shop.own_settings")
        (folder / "people/migrations").mkdir(parents=True)
        people = {"__init__": "", "migrations.__init__": "", "models": MODELS, "api": API, "views": VIEWS}
        for module, text in people.items():
            made.write(f"people.{module}", text)
        apps, urls = commands(PAGE, API_HEADING, "python")
        databases = commands(PAGE, "The database", "python")[0] if is_sqlite() else OTHER_DATABASE
        made.write("shop.own_settings", f"from shop.settings import *\n{apps}{databases}{SETTINGS}")
        made.write("shop.own_urls", f"urlpatterns = []\n{urls}{OWN_URLS}")
        yield made


@contextmanager
def connected(url: str, key: str) -> Iterator[Client]:
    """Make an agent, and hand out a client."""
    with Client(url, api_key=key) as client:
        client.create_stored_agent(
            id="greeter",
            name="Greeter",
            instructions=[{"type": "prompt_block", "content": "Greet {{ name }}."}],
            model={"provider": "echo", "name": "echo"},
        )
        yield client


def an_agent_is_published_and_run_with_no_setting_of_the_editor(client: Client) -> None:
    stored, agent = client.get_stored_agent("greeter"), client.get_agent("greeter")
    record = stored.details()
    assert (record.status, record.author_id) == ("published", PERSON)
    draft = stored.update(
        instructions=[{"type": "prompt_block", "content": "Welcome {{ name }}."}], base=record
    )
    assert agent.details(request_context={"name": "Ada"}).instructions == "Greet Ada."
    stored.activate_version(draft.latest_version_id or "")
    assert agent.details(request_context={"name": "Ada"}).instructions == "Welcome Ada."
    assert "Hello" in agent.generate("Hello").text
    assert [one.id for one in client.iter_stored_agents(author_id=PERSON)] == ["greeter"]
    assert stored.favorite().favorited


def settings_of_the_projects_api_do_not_affect_ours(url: str, key: str) -> None:
    bearer = {"Authorization": f"Bearer {key}"}
    assert asked(f"{url}/own") == (200, "text/plain; charset=utf-8", "OF THE SHOP")
    assert asked(f"{url}/broken")[0] == 418
    status, media_type, text = asked(f"{url}/api/stored/agents?format=txt", **bearer)
    assert (status, media_type, json.loads(text)["code"]) == (400, "application/json", "validation_failed")
    assert asked(f"{url}/api/stored/agents")[0] == 401
    for missing, code in (("stored/agents/missing", "not_found"), ("nothing/like/this", "no_such_address")):
        status, media_type, text = asked(f"{url}/api/{missing}", **bearer)
        assert (status, media_type) == (404, "application/json")
        assert json.loads(text)["code"] == code


def the_document_describes_only_our_api(url: str) -> None:
    status, _, text = asked(f"{url}/api/schema")
    document = json.loads(text)
    assert (status, document["info"]["title"]) == (200, "The editor")
    assert "/agents/{id}" in document["paths"] and "/own" not in document["paths"]
    assert "swagger-ui" in asked(f"{url}/api/docs")[2]


def a_body_has_its_limit_without_our_middleware(url: str, key: str) -> None:
    body = json.dumps({"id": "large", "instructions": "x" * 2**20}).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with pytest.raises(HTTPError, match="413"):
        urlopen(Request(f"{url}/api/stored/agents", data=body, headers=headers))


def django_checks_report_the_problems(project: Project) -> None:
    different = "EDITOR_API_PREFIX = 'elsewhere'\nDATABASES['default']['OPTIONS'] = {}\n"
    project.write("shop.elsewhere", f"from shop.own_settings import *\n{different}")
    with pytest.raises(AssertionError, match=r"versioning\.E001") as complaint:
        project.manage("check --settings shop.elsewhere")
    assert ("versioning.W001" in str(complaint.value)) == is_sqlite()


def test_the_page_lists_every_application_of_the_editor() -> None:
    found = re.finditer(r'^    "([\w.]+)",|INSTALLED_APPS.*"([\w.]+)"', PAGE.read_text(), re.MULTILINE)
    named = {match[1] or match[2] for match in found}
    own = {
        app.name
        for app in apps.get_app_configs()
        if ROOT in (Path(app.path).parent, Path(app.path).parents[1])
    }
    assert own - named == {"editor_project"}  # the service as a project of its own


def test_the_page_lists_every_middleware_of_the_api() -> None:
    listed = section(ROOT / "docs/reference/embedding.md", "Middleware")
    named = re.findall(r"^\| `([\w.]+)`", listed, re.MULTILINE)
    own = [name.removeprefix("versioning.api.") for name in settings.MIDDLEWARE if "versioning" in name]
    assert set(named) == {*own} - {"middleware.Utf8PathMiddleware"}  # which needs our own wsgi.py


def the_studio_opens_for_an_account_of_the_project(project: Project) -> None:
    added, urls = commands(PAGE, "The studio", "python")
    project.write("shop.studio_urls", f"from shop.own_urls import *\n{urls}")
    project.write("shop.studio_settings", f"from shop.own_settings import *\n{added}{STUDIO}")
    project.environment["DJANGO_SETTINGS_MODULE"] = "shop.studio_settings"
    checked, *_, printed = project.manage(
        "check",
        *commands_of("The studio"),
        "work --once",
        shlex.join(["shell", "--no-imports", "-c", PAGES]),
    )
    assert "no issues" in checked
    statuses, languages, catalogs, of_factory = json.loads(printed)
    assert of_factory == ["person-0@example.com", [{"id": "default", "role": "viewer"}]]
    assert statuses == [302, *[200] * 6]
    assert languages == ["", "en", "de"]
    assert catalogs == {"fr": ["en", 200], "de-at": ["de", 200]}


def test_a_django_team_adds_the_editor_to_a_project_of_theirs(project_with_service: Project) -> None:
    # One test, because making the project takes longer than all its checks.
    project = project_with_service
    *_, key, checked = project.manage("makemigrations people", *commands_of(API_HEADING), "check")
    assert "no issues" in checked
    with project.served() as url, connected(url, key := key.strip()) as client:
        an_agent_is_published_and_run_with_no_setting_of_the_editor(client)
        settings_of_the_projects_api_do_not_affect_ours(url, key)
        the_document_describes_only_our_api(url)
        a_body_has_its_limit_without_our_middleware(url, key)
    django_checks_report_the_problems(project)
    the_studio_opens_for_an_account_of_the_project(project)
