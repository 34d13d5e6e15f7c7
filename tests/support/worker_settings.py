"""The settings of a server whose answers say which of its worker processes gave them."""

from __future__ import annotations

import os
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from editor_project.settings import *  # noqa: F403
from editor_project.settings import MIDDLEWARE as _MIDDLEWARE

HEADER = "X-Worker"
MIDDLEWARE = ["tests.support.worker_settings.name_the_worker", *_MIDDLEWARE]


def name_the_worker(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Add the process id to every answer."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response[HEADER] = str(os.getpid())
        return response

    return middleware
