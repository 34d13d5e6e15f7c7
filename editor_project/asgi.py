"""The ASGI application, for deployments that prefer an asynchronous server."""

import os
from threading import Thread
from typing import Any

from django.core.asgi import get_asgi_application
from django.core.signals import request_started

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")

django_application = get_asgi_application()

from django.conf import settings  # noqa: E402  settings come first

from editor_project.database.postgresql.base import limit_statements  # noqa: E402
from editor_project.server.asgi import bodies_first  # noqa: E402
from editor_project.server.preloading import preload_process  # noqa: E402


def preload_in_background(**_signal: Any) -> None:
    """Preload like `serve` after its start; called by the first request of a process, after any fork."""
    request_started.disconnect(preload_in_background)
    Thread(target=preload_process, name="preload", daemon=True).start()


request_started.connect(preload_in_background)
limit_statements(settings.EDITOR_STATEMENT_TIMEOUT)
application = bodies_first(django_application)
