"""405 to TRACE at every address."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from versioning.api import errors
from versioning.api.methods import allowed_methods
from versioning.api.middleware.base import Middleware


class NoTraceMiddleware(Middleware):
    """Refuses TRACE, so that no request is sent back with the credentials in it."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request unless its method is TRACE."""
        if request.method != "TRACE":
            return self.get_response(request)
        return errors.method_not_allowed(request, allowed_methods(request.path_info))
