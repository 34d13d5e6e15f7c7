"""Settings, all read from the environment; docs/reference/settings.md explains each."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from editor_project import conf
from editor_project.database.configured import configure_database
from editor_project.environment import Environment
from editor_project.log_config import logging_config
from versioning.conf import SETTINGS

env = Environment()
ROOT = Path(__file__).resolve().parent.parent
VAR = ROOT / "var"

DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="only-for-debugging" if DEBUG else "")
if not SECRET_KEY:
    raise ImproperlyConfigured(
        "SECRET_KEY is not set: put a long random text into the environment variable SECRET_KEY, "
        "the same for every process of this installation (or set DEBUG=on to try the editor out)."
    )
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])

# The editor's own settings, explained in docs/reference/settings.md. The settings of other applications are
# read when these are loaded.
_read = {setting.name: env.setting(setting) for setting in (*SETTINGS, *conf.SETTINGS)}
EDITOR_READ_SETTING = env.setting
globals().update(_read)
EDITOR_API_PREFIX = _read["EDITOR_API_PREFIX"].strip("/")
EDITOR_FRAMEWORK = env.str("EDITOR_FRAMEWORK", default="editor_project.framework.framework")
EDITOR_HTTPS = _read["EDITOR_HTTPS"]

# Without a proxy that sets it, any client could send the header, so it is not trusted without one.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if EDITOR_HTTPS else None
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = EDITOR_HTTPS
# Browsers take a cookie of such a name only over https, for this very host and all of it.
SESSION_COOKIE_NAME = "__Host-sessionid" if EDITOR_HTTPS else "sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken" if EDITOR_HTTPS else "csrftoken"
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if EDITOR_HTTPS else 0

INSTALLED_APPS = [
    "editor_project",
    "studio",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "versioning",
    "capabilities.delivery",
    "capabilities.releases",
    "capabilities.review",
    "capabilities.schedules",
    "capabilities.rollouts",
    "capabilities.accounts",
    "capabilities.evaluation",
    "capabilities.mail",
]

MIDDLEWARE = [
    "versioning.api.cached_answers.cached_answers",
    "versioning.api.request_log.RequestLogMiddleware",
    "versioning.api.middleware.CacheControlMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "versioning.api.middleware.NoTraceMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "versioning.api.middleware.Utf8PathMiddleware",
    "versioning.api.middleware.BodyLimitMiddleware",
    "versioning.api.middleware.Utf8FormMiddleware",
    "editor_project.middleware.Sessions",
    "django.middleware.common.CommonMiddleware",
    "editor_project.middleware.Csrf",
    "editor_project.middleware.Authentication",
    "capabilities.accounts.sign_in.sessions.keep_open",
    "studio.middleware.studio_pages",
    "editor_project.middleware.Messages",
]

ROOT_URLCONF = "editor_project.urls"
WSGI_APPLICATION = "editor_project.wsgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]


def _replica() -> dict[str, Any]:
    url = env.str("DATABASE_REPLICA_URL", default="")
    if not url:
        return {}
    database = env.replica_of(DATABASES["default"], "DATABASE_REPLICA_URL", url)
    replica = configure_database(database, is_pooled=_read["EDITOR_TRANSACTION_POOLING"])
    return {"editor_replica": {**replica, "TEST": {"MIRROR": "default"}}}


if "DATABASE_URL" not in os.environ:
    with suppress(OSError):  # SQLite reports the error when it opens the file
        VAR.mkdir(mode=0o700, exist_ok=True)
DATABASES = {
    "default": configure_database(
        env.database("DATABASE_URL", default=f"sqlite:///{VAR / 'editor.sqlite3'}"),
        is_pooled=_read["EDITOR_TRANSACTION_POOLING"],
    )
}
DATABASES.update(_replica())
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The body limit is the editor's own; Django's would answer 400 where the contract says 413. It bounds
# the controls of a form too: an agent of many conditions has thousands.
DATA_UPLOAD_MAX_MEMORY_SIZE = None
DATA_UPLOAD_MAX_NUMBER_FIELDS = None

AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

PASSWORD_RESET_TIMEOUT = 3600

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
# Only the studio is translated: `studio.preferences`.
USE_I18N = True
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
USE_TZ = True

STATIC_URL = "/static/"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "editor_project.static_files.MountedStaticFilesStorage"},
}
# Static files are served straight from the installed packages: no collect step is needed.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

CSRF_FAILURE_VIEW = "studio.error_pages.expired"
LOGIN_URL = "studio:login"
LOGIN_REDIRECT_URL = "studio:index"

LOGGING_CONFIG = None
logging_config(debug=DEBUG)
