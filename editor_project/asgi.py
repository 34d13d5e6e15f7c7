"""The ASGI application, for deployments that prefer an asynchronous server."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")

django_application = get_asgi_application()

from django.conf import settings  # noqa: E402  settings come first

from editor_project.database.postgresql.base import limit_statements  # noqa: E402
from editor_project.server.asgi import bodies_first  # noqa: E402

limit_statements(settings.EDITOR_STATEMENT_TIMEOUT)
application = bodies_first(django_application)
