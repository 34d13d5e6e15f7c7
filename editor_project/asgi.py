"""The ASGI application, for deployments that prefer an asynchronous server."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")

application = get_asgi_application()
