"""The pages about workspaces, and their places below `/studio/versioning/workspace/`. One entry a page."""

from __future__ import annotations

from django.urls import path

from studio.audit import AuditPage, WorkspaceAuditPage
from studio.invited import InvitedPage
from studio.keys import KeysPage, RevokePage
from studio.pages import MountedPage
from studio.workspaces import (
    CreateWorkspacePage,
    InvitationPage,
    MembersPage,
    RemovePage,
    RenamePage,
    RolePage,
    WorkspacesPage,
)

_MEMBER = "<str:workspace>/members/<str:member>"

WORKSPACE_PAGES: tuple[MountedPage, ...] = (
    MountedPage(name="changelist", path="", view=WorkspacesPage),
    MountedPage(name="add", path="add/", view=CreateWorkspacePage),
    MountedPage(name="audit_of_all", path="audit/", view=AuditPage),
    MountedPage(name="change", path="<str:workspace>/change/", view=MembersPage),
    MountedPage(name="members", path="<str:workspace>/members/", view=MembersPage),
    MountedPage(name="rename", path="<str:workspace>/rename/", view=RenamePage),
    MountedPage(name="role", path=f"{_MEMBER}/role/", view=RolePage),
    MountedPage(name="remove", path=f"{_MEMBER}/remove/", view=RemovePage),
    MountedPage(name="invitation", path=f"{_MEMBER}/invitation/", view=InvitationPage),
    MountedPage(name="keys", path="<str:workspace>/keys/", view=KeysPage),
    MountedPage(name="revoke", path="<str:workspace>/keys/<str:prefix>/revoke/", view=RevokePage),
    MountedPage(name="audit", path="<str:workspace>/audit/", view=WorkspaceAuditPage),
)

OPEN_PAGES = [
    path("welcome/<str:uidb64>/<str:token>/", InvitedPage.as_view(), name="versioning_workspace_invited"),
]
"""Those for people who cannot sign in yet."""
