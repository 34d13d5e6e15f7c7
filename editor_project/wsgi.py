"""The WSGI application, which `manage.py serve` runs."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")

django_application = get_wsgi_application()

from django.conf import settings  # noqa: E402  settings come first

from editor_project.database.base import limit_statements  # noqa: E402
from versioning.api.cached_answers import cached_answers_first  # noqa: E402  settings come first
from versioning.api.middleware.encoding import ExactWSGIRequest  # noqa: E402

limit_statements(settings.EDITOR_STATEMENT_TIMEOUT)
django_application.request_class = ExactWSGIRequest
application = cached_answers_first(django_application)
