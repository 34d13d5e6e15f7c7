"""The studio's admin site, open to the members of any workspace; `is_staff` is irrelevant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, update_wrapper
from typing import Any, Final, cast

from django.contrib.admin import AdminSite
from django.contrib.admin.exceptions import NotRegistered
from django.contrib.auth.views import PasswordChangeView
from django.contrib.contenttypes.models import ContentType
from django.contrib.contenttypes.views import shortcut
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template import engines
from django.template.backends.django import DjangoTemplates, Template
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, URLPattern, URLResolver, include, path, reverse
from django.utils.decorators import method_decorator
from django.utils.functional import SimpleLazyObject
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from studio import additions
from studio.accounts.forms import ChangePasswordForm, with_retry_after
from studio.accounts.views import LoginPage
from studio.activity.live import MOST, unread
from studio.error_pages import error_page
from studio.navigation import MAX_MAIN, Link, MainPage, NavigationRow
from studio.permissions import EditorAdmin, caller_of, may_enter
from studio.preferences import catalog_address, preferences_of
from studio.views import StudioPage
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.kinds import KINDS
from versioning.models import VersionedResource
from versioning.models.accounts import name_fields
from versioning.serving.followed_log import RIGHTS, Dependency

_CHANGES: Final[tuple[Dependency, ...]] = tuple((kind.slug, None) for kind in KINDS)


class StudioSite(AdminSite):
    """The studio. The editor controls access to it; each `ModelAdmin` controls access to its own pages.

    Its templates have different names, so that a project's other admin sites keep Django's.
    """

    site_title = site_header = "The editor"
    enable_nav_sidebar = False
    logout_template = "studio/accounts/logged_out.html"
    password_change_template = "studio/accounts/password_change_form.html"  # noqa: S105
    password_change_done_template = "studio/accounts/password_change_done.html"  # noqa: S105

    def get_urls(self) -> list[URLPattern | URLResolver]:
        viewed = self.admin_view(self.view_on_site)
        return [
            path("", include("studio.urls")),
            path("r/<path:content_type_id>/<path:object_id>/", viewed, name="view_on_site"),
            *super().get_urls(),
        ]

    def admin_view(  # type: ignore[override]  # for Django's type it returns exactly what it gets
        self,
        view: Callable[..., HttpResponseBase],
        cacheable: bool = False,  # noqa: FBT001, FBT002  as Django's
    ) -> Callable[..., HttpResponseBase]:
        """Return a view that only users of the studio can open; Django's own pages get the studio's frame."""

        def storable(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            """Answer 404 if a part of the address contains NUL, which PostgreSQL cannot search for."""
            if any("\x00" in str(part) for part in (*args, *kwargs.values())):
                return error_page(
                    request, 404, _("Page not found"), _("This page does not exist, or you may not read it.")
                )
            return view(request, *args, **kwargs)

        guarded = super().admin_view(update_wrapper(storable, view), cacheable)
        if issubclass(getattr(view, "view_class", object), StudioPage):
            return guarded

        def view_in_frame(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                response = guarded(request, *args, **kwargs)
            except PermissionDenied:
                return error_page(
                    request,
                    403,
                    _("No access"),
                    _("Your account has no right to this page. Ask an administrator."),
                )
            except Http404:
                return error_page(
                    request, 404, _("Page not found"), _("This page does not exist, or you may not read it.")
                )
            if isinstance(response, TemplateResponse) and isinstance(
                response.template_name, str | list | tuple
            ):
                names, backend = response.template_name, _templates()
                names = [names] if isinstance(names, str) else [*names]
                response.template_name = Template(backend.engine.select_template(names), backend)
            return response

        return update_wrapper(view_in_frame, guarded)

    @method_decorator(never_cache)
    def login(  # type: ignore[override]  # what a view returns may be streamed
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        return LoginPage.respond(request, title=_("Sign in"), **(extra_context or {}))

    def logout(  # type: ignore[override]  # Django redirects, too
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Sign out on POST; a GET redirects to the home page."""
        if request.method != "POST":
            return HttpResponseRedirect(reverse("studio:index"))
        response: HttpResponse = super().logout(request, extra_context)
        return response

    def password_change(  # type: ignore[override]  # Django redirects, too
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        context = {**self.each_context(request), **(extra_context or {})}
        response = PasswordChangeView.as_view(
            form_class=ChangePasswordForm,
            success_url=reverse("studio:password_change_done"),
            template_name=self.password_change_template,
            extra_context=context,
        )(request)
        if isinstance(response, TemplateResponse):
            return with_retry_after((response.context_data or {}).get("form"), response)
        return response

    def has_permission(self, request: HttpRequest) -> bool:
        return may_enter(caller_of(request))

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        caller = caller_of(request)
        return {
            **super().each_context(request),
            "navigation": self._navigation(request, caller),
            "bell": {"unread": SimpleLazyObject(lambda: unread(request)), "most": MOST},
            "preferences": preferences_of(request),
            "has_names": bool(name_fields()),
            "administers": caller.scope(Right.ADMINISTER) != frozenset(),
            "account_pages": additions.account_pages(),
            "script_catalog": catalog_address(),
        }

    def view_on_site(self, request: HttpRequest, content_type_id: str, object_id: str) -> HttpResponseBase:
        """Redirect to an object's page on the project's site, for people who can view it in the studio."""
        try:
            model = ContentType.objects.get_for_id(int(content_type_id)).model_class()
            model_admin = self.get_model_admin(cast("type[Model]", model))  # None is not registered
        except (ValueError, ContentType.DoesNotExist, NotRegistered):
            raise Http404 from None
        instance = model_admin.get_object(request, object_id)
        if instance is None or not model_admin.has_view_permission(request, instance):
            raise Http404
        return shortcut(request, content_type_id, object_id)

    def app_index(  # type: ignore[override]
        self, request: HttpRequest, app_label: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the home page: the navigation lists registered models of all applications."""
        return HttpResponseRedirect(reverse("studio:index"))

    def catch_all_view(self, request: HttpRequest, url: str) -> HttpResponse:
        """Answer for an address without a page."""
        return error_page(request, 404, _("Page not found"), _("No page has this address."))

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Return Django's list of the models, once a template uses it: the studio's pages have their own."""
        return SimpleLazyObject(lambda: super(StudioSite, self).get_app_list(request, app_label))

    def _navigation(self, request: HttpRequest, caller: Caller) -> NavigationRow:
        """Return the links at the top: home, the kinds, the applications' pages, then all other lists."""
        home, here, match = reverse("studio:index"), request.path, request.resolver_match
        # The route of a page below a workspace, such as `datasets/<str:dataset>/`.
        route = match.route.partition("<str:workspace>/")[2] if match is not None else ""
        pages = [page for page in additions.main_pages() if caller.scope(page.right) != frozenset()]
        sections = [section for page in pages for section in page.sections if route.startswith(section)]
        section = max(sections, key=len, default="")
        counts = count_waiting(pages, caller)
        kinds = [Link(title=_("Home"), address=home, is_current=here == home)]
        added: list[Link] = []
        other_links: list[Link] = []
        untitled: list[Link] = []
        for page in pages:
            address, count = reverse(f"studio:{page.page}"), counts[page.page]
            query = f"?{page.waiting_query}" if count and page.waiting_query else ""
            is_current = here.startswith(address) or section in page.sections
            added.append(Link(title=page.title, address=address + query, is_current=is_current, count=count))
        for model, model_admin in self._registry.items():
            if not isinstance(model_admin, EditorAdmin) and not (
                model_admin.has_module_permission(request)
                and model_admin.has_view_or_change_permission(request)
            ):  # every user of the studio sees the lists of the editor
                continue
            meta, title = model._meta, getattr(model_admin, "title", "")
            try:
                address = reverse(f"studio:{meta.app_label}_{meta.model_name}_changelist")
            except NoReverseMatch:
                continue
            link = Link(
                title=title or str(capfirst(meta.verbose_name_plural)),
                address=address,
                is_current=not section and here.startswith(address),
            )
            group = kinds if issubclass(model, VersionedResource) else other_links if title else untitled
            group.append(link)
        return NavigationRow.of([*kinds, *added, *other_links, *untitled], MAX_MAIN)


def count_waiting(pages: Sequence[MainPage], caller: Caller) -> dict[str, int]:
    """Return the number of items that wait for the caller, by page, cached until a resource or rights change.

    Every page shows it. Changes without a resource, such as of a policy, invalidate all cached answers.
    """
    counts: dict[str, int] = get_editor().cache.get_or_make(
        ("waiting", caller.user_id, caller.username, caller.rights),
        RIGHTS,
        lambda: {page.page: page.waiting(caller) for page in pages},
        *_CHANGES,
    )
    return counts


@lru_cache
def _templates() -> DjangoTemplates:
    """Return the project's templates with another `admin/base_site.html`, which all admin pages extend.

    The project's own admin sites are not affected.
    """
    alias, backend = next(
        (engine.name, engine) for engine in engines.all() if isinstance(engine, DjangoTemplates)
    )
    settings = engines.templates[alias]
    frame = {"admin/base_site.html": '{% extends "studio/frame/admin.html" %}'}
    loaders = [("django.template.loaders.locmem.Loader", frame), *backend.engine.loaders]
    options = {**settings["OPTIONS"], "loaders": loaders}
    return DjangoTemplates(
        {"NAME": "studio", "DIRS": settings["DIRS"], "APP_DIRS": False, "OPTIONS": options}
    )
