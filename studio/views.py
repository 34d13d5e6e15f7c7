"""The base class of the studio's pages: for signed-in members only, with one frame and error pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import isabstract
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views import View

from studio import sign_in, site, unsaved
from studio.error_pages import error_page, own_address, render_in_frame
from studio.marks import as_text
from studio.permissions import caller_of
from versioning.conf import get_editor
from versioning.domain.errors import EditConflict, Forbidden, NotFound, Unauthorized, VersioningError
from versioning.editor import Editor
from versioning.models import events


def with_undo(message: str, address: str, value: str) -> SafeString:
    """Return a message about an action, with a button that undoes it.

    The button posts `undo` with the value to the address, with the frame's form.
    """
    button = '<button class="link" form="post" formaction="{}" name="undo" value="{}">{}</button>'
    return format_html(
        "{} " + button,
        message,
        address,
        value,
        _("Undo"),
    )


def safe_next_url(request: HttpRequest, otherwise: str) -> str:
    """Return the studio page that a form names as `next`; other addresses are ignored."""
    return own_address(request.POST.get("next", ""), otherwise)


class StudioPage(View):
    """A page of the studio; `as_view` admits only members of a workspace."""

    asks_password_again = False
    """Whether its forms ask for the password, unless it was entered recently."""
    position = 0
    """The position of the log before the page read anything, if the page polls for later events."""
    _is_refused = False
    """Whether the page redirects with an error, so that the typed text may be needed again."""
    news_address = ""
    """The address that the open page polls for later events; empty if it does not."""

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., HttpResponseBase]:
        """Return the view; people who are not signed in are redirected to the sign-in page.

        Raises `TypeError` for an abstract page when its address is declared, not when it is opened.
        """
        if isabstract(cls):
            raise TypeError(f"{cls.__name__} is abstract: it lacks a method or attribute of its bases")
        return site.admin_view(super().as_view(**initkwargs))

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Set the caller."""
        super().setup(request, *args, **kwargs)
        self.caller = caller_of(request)

    @cached_property
    def editor(self) -> Editor:
        """The editor of this installation."""
        return get_editor()

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer the request; editor errors that the page does not handle become error pages."""
        try:
            again = self.asks_password_again and request.method == "POST" and sign_in.ask_again(request)
            response = again or super().dispatch(request, *args, **kwargs)
        except Unauthorized:  # the account was deactivated during the request
            return redirect_to_login(request.get_full_path())
        except NotFound as error:
            return error_page(request, 404, _("Page not found"), error.message)
        except Forbidden as error:
            return error_page(request, 403, _("No access"), error.message, **self.instead())
        except EditConflict as error:
            return error_page(request, 409, _("Someone was here in the meantime"), error.message)
        except VersioningError as error:
            return self.handle_error(error)
        is_done = request.method == "POST" and isinstance(response, HttpResponseRedirect)
        if is_done and not again and not self._is_refused and isinstance(response, HttpResponse):
            return unsaved.mark_copy_obsolete(request, response)  # the copy of the typed text is obsolete
        return response

    def instead(self) -> dict[str, str]:
        """Return the `instead_address` and `instead_name` for people who cannot open the page, if any."""
        return {}

    def handle_error(self, error: VersioningError) -> HttpResponse:
        """Return the page for an error without its own page."""
        return error_page(self.request, 400, _("This cannot be done"), error.message)

    def page(self, template: str, *, title: str, status: int = 200, **context: Any) -> TemplateResponse:
        """Return a page in the frame of the studio."""
        frame = {"caller": self.caller, "news_address": self.news_address}
        return render_in_frame(self.request, template, title=title, status=status, **{**frame, **context})

    def address(self, page: str, *rest: str) -> str:
        """Return the address of another page."""
        return reverse(f"studio:{page}", args=rest)

    def listen(self, scope: Mapping[str, Any]) -> None:
        """Let the page poll for events in a scope from now on. Call it before reading anything.

        After an event, the open page reloads its parts marked with `data-live` (`live.js`), from the address
        `live_source` in its context, or from itself.
        """
        self.position = events.position()
        self.news_address = f"{reverse('studio:live')}?{urlencode({'after': self.position, **scope})}"

    @property
    def etags(self) -> set[str]:
        """The entity tags for a verb: that of the resource when the page with the form was opened."""
        return {self.request.POST.get("tag", "")}

    def paginate(self, rows: Any, per_page: int) -> Page[Any]:
        """Return the page of rows that the address names, or the nearest one."""
        return Paginator(rows, per_page).get_page(self.request.GET.get("page"))

    def tell(self, message: str, *, level: int = messages.WARNING) -> None:
        """Show a message on the next page."""
        messages.add_message(self.request, level, as_text(message, self.request))

    def go(self, address: str, message: str = "", *, level: int = messages.SUCCESS) -> HttpResponseRedirect:
        """Redirect to another page, which shows the message."""
        self._is_refused = level >= messages.ERROR
        if message:
            self.tell(message, level=level)
        return HttpResponseRedirect(address)
