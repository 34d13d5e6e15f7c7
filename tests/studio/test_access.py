"""What a person may do everywhere, on one page; the members of all workspaces; the end of an invitation."""

from __future__ import annotations

import datetime

import pytest
from django.contrib.auth.models import User

from tests.conftest import Cast
from tests.support.studio import Visitor, workspace_page
from versioning.domain.access import Role
from versioning.models import Invitation, Membership, Workspace

ACCESS = "/studio/access/"


@pytest.mark.database
def test_an_admin_sees_the_members_and_what_each_may_do(cast: Cast) -> None:
    alice = Visitor("alice")
    assert ACCESS in alice.get("/studio/").markup
    listed = alice.get(ACCESS).words
    for name, role in {"edgar": "editor", "paula": "publisher", "vera": "viewer"}.items():
        assert name in listed and role in listed
    assert "charlie" not in listed
    assert "edgar" not in alice.get(ACCESS, q="paul").words.split("Person")[1]
    User.objects.filter(username="edgar").update(first_name="Edgar", last_name="Brückner")
    found = alice.get(ACCESS, q="BRÜCK edg").words.split("Person")[1]
    assert "Edgar Brückner" in found and "paula" not in found
    User.objects.filter(username="edgar").update(first_name="", last_name="")
    page = alice.get(ACCESS, person="edgar").words
    assert "Access of edgar" in page and "Editor admins of the workspace" in page
    assert "ek_edgar" in page and "Only workspaces that you administer are shown." in page


def test_roles_and_keys_in_other_workspaces_are_not_told(cast: Cast) -> None:
    charlie = User.objects.get(username="charlie")
    other = Membership.objects.get(user=charlie).workspace
    Membership.objects.create(workspace=other, user=User.objects.get(username="edgar"), role=Role.VIEWER)
    assert other.name not in Visitor("alice").get(ACCESS, person="edgar").words.split("Roles")[1]
    assert other.name in Visitor("edgar").get(ACCESS, person="edgar").words.split("Roles")[1]
    assert other.name in Visitor("root").get(ACCESS, person="edgar").words.split("Roles")[1]
    assert Visitor("alice").get(ACCESS, person="charlie").status == 404
    assert Visitor("vera").get(ACCESS, person="edgar").status == 404
    assert Visitor("alice").get(ACCESS, person="no-one").status == 404


def test_everyone_sees_their_own_access(cast: Cast) -> None:
    page = Visitor("vera").get(ACCESS).words
    assert "Access of vera" in page and "Viewer" in page and "ek_vera" in page
    assert "All members" not in page
    root = Visitor("root").get(ACCESS, person="root").words
    assert "A superuser has the role admin in every workspace." in root


def test_the_end_of_an_invitation_is_shown(cast: Cast) -> None:
    alice = Visitor("alice")
    alice.submit(workspace_page("members"), username="newcomer", role="editor")
    until = datetime.datetime(2031, 3, 4, 5, 6, tzinfo=datetime.UTC)
    Invitation.objects.update(expires_at=until)
    page = alice.get(workspace_page("members")).words
    assert "Valid until" in page and "4 March 2031" in page
    assert Workspace.objects.filter(pk="acme").exists()
