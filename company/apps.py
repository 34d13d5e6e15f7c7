"""The application's configuration."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class CompanyConfig(EditorApp):
    """What a company asks for before it runs the editor; all of it is off until it is configured."""

    name = "company"
    verbose_name = "Company"
    api = "company.api_urls"
