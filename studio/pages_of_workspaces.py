"""The pages about workspaces, and their places below `/studio/versioning/workspace/`. One entry a page."""

from __future__ import annotations

from django.urls import path

from studio.audit import AuditPage, WorkspaceAuditPage
from studio.invited import AcceptPage, open_link
from studio.keys import KeysPage, RevokePage
from studio.pages import MountedPage
from studio.workspaces import (
    CreateWorkspacePage,
    InvitationLinkPage,
    MembersPage,
    RemovePage,
    RenamePage,
    RolePage,
    WithdrawPage,
    WorkspacesPage,
)

_MEMBER = "<str:workspace>/members/<str:member>"
_INVITATION = "<str:workspace>/invitations/<str:member>"

WORKSPACE_PAGES: tuple[MountedPage, ...] = (
    MountedPage(name="changelist", path="", view=WorkspacesPage),
    MountedPage(name="add", path="add/", view=CreateWorkspacePage),
    MountedPage(name="audit_of_all", path="audit/", view=AuditPage),
    MountedPage(name="change", path="<str:workspace>/change/", view=MembersPage),
    MountedPage(name="members", path="<str:workspace>/members/", view=MembersPage),
    MountedPage(name="rename", path="<str:workspace>/rename/", view=RenamePage),
    MountedPage(name="role", path=f"{_MEMBER}/role/", view=RolePage),
    MountedPage(name="remove", path=f"{_MEMBER}/remove/", view=RemovePage),
    MountedPage(name="invitation_link", path=f"{_INVITATION}/link/", view=InvitationLinkPage),
    MountedPage(name="withdraw", path=f"{_INVITATION}/withdraw/", view=WithdrawPage),
    MountedPage(name="keys", path="<str:workspace>/keys/", view=KeysPage),
    MountedPage(name="revoke", path="<str:workspace>/keys/<str:prefix>/revoke/", view=RevokePage),
    MountedPage(name="audit", path="<str:workspace>/audit/", view=WorkspaceAuditPage),
)

OPEN_PAGES = [
    path("welcome/", AcceptPage.as_view(), name="versioning_workspace_accept"),
    # Whatever stands behind it: a link that somebody has cut short is not to be taken for another page.
    path("welcome/<path:token>", open_link, name="versioning_workspace_invited"),
]
"""Those for people who cannot sign in yet."""
