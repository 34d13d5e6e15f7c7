"""A person's named filters of a list: only that person can save, rename and delete them."""

from __future__ import annotations

import re
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext as _

from studio.kinds import AGENT, StudioKind
from studio.models import SavedFilter
from studio.resources.filters import FilterForm
from studio.views import StudioPage
from versioning.domain.errors import NotFound

MAX_FILTERS: Final = 30
"""The maximum number of saved filters of a person for a list."""
MAX_NAME: Final = 80
MAX_QUERY: Final = 2_000
_KEY: Final = re.compile(r"[0-9]{1,15}")


class FiltersPage(StudioPage):
    """A person's own filters of a list."""

    kind: StudioKind = AGENT

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the filters, to rename and delete them."""
        return self._shown()

    def post(self, request: HttpRequest) -> HttpResponse:
        """Save, rename or delete a filter."""
        if "delete" in request.POST:
            one = self._one(request.POST["delete"])
            one.delete()
            message = _("The filter “%(name)s” is deleted.") % {"name": one.name}
            return self.go(request.path, message)
        name = " ".join(request.POST.get("name", "").split())
        if "rename" in request.POST:
            one = self._one(request.POST["rename"])
            problem = self._problem(name) or self._store(one, name=name)
            return self._shown(problem, one, name) if problem else self.go(request.path)
        return self._save(name, request.POST.get("query", ""))

    def _save(self, name: str, query: str) -> HttpResponse:
        """Save the current filter of the list, without empty values, and go back to the list."""
        form = FilterForm(QueryDict(query), kind=self.kind, caller=self.caller)
        form.is_valid()
        query = form.address()[1:]
        one = SavedFilter(user_id=self.caller.user_id, kind=self.kind.slug, query=query)
        problem = self._problem(name) or self._problem_of_query(query) or self._store(one, name=name)
        if problem:
            return self._shown(problem, None, name, query)
        message = _("The filter “%(name)s” is saved. Only you see it.") % {"name": name}
        return self.go(f"{self.kind.address('changelist')}?{query}", message)

    @property
    def _own(self) -> Any:
        return SavedFilter.objects.of(self.caller.user_id, self.kind.slug)

    def _one(self, pk: str) -> SavedFilter:
        found: SavedFilter | None = self._own.filter(pk=int(pk)).first() if _KEY.fullmatch(pk) else None
        if found is None:
            raise NotFound
        return found

    def _problem(self, name: str) -> str:
        if not name or not name.isprintable():
            return _("Give it a name.")
        if len(name) > MAX_NAME:
            return _("A name has %(most)s characters at most.") % {"most": MAX_NAME}
        return ""

    def _problem_of_query(self, query: str) -> str:
        if not query or len(query) > MAX_QUERY:
            return _("Narrow the list first: there is nothing to save.")
        if self._own.count() >= MAX_FILTERS:
            most = {"most": MAX_FILTERS}
            return _("You already have %(most)s filters for this list: delete one first.") % most
        return ""

    def _store(self, one: SavedFilter, *, name: str) -> str:
        """Store a filter under this name; return the error, or empty."""
        one.name = name
        try:
            with transaction.atomic():
                one.save()
        except IntegrityError:
            return _("You already have a filter with this name.")
        return ""

    def _shown(
        self, problem: str = "", about: SavedFilter | None = None, name: str = "", query: str = ""
    ) -> HttpResponse:
        return self.page(
            "studio/resources/saved_filters.html",
            title=_("Your filters: %(list)s") % {"list": self.kind.title},
            status=400 if problem else 200,
            kind=self.kind,
            list_address=self.kind.address("changelist"),
            saved_filters=list(self._own),
            problem=problem,
            about=about,
            name=name,
            query=query,
            max_name=MAX_NAME,
        )
