"""The WSGI application, which `manage.py serve` runs."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "editor_project.settings")

application = get_wsgi_application()

from versioning.api.middleware import ExactWSGIRequest  # noqa: E402  settings come first

application.request_class = ExactWSGIRequest
