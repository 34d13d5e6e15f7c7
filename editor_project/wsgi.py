"""The WSGI application, which `manage.py serve` runs."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")

application = get_wsgi_application()

from django.conf import settings  # noqa: E402  settings come first

from editor_project.database.postgresql.base import limit_statements  # noqa: E402
from versioning.api.middleware import ExactWSGIRequest  # noqa: E402

limit_statements(settings.EDITOR_STATEMENT_TIMEOUT)
application.request_class = ExactWSGIRequest
