"""The administration of people."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission, User

from tests.helpers.people import make_operator


@pytest.fixture
def ana(db) -> User:
    return make_operator()


def form_of(response) -> dict[str, object]:
    """What the browser would send if nothing on the page was touched."""
    form = response.context["adminform"].form
    return {name: value for name in form.fields if (value := form[name].value()) not in (None, "")}


class TestPeople:
    def test_to_save_the_form_as_it_is_takes_no_permission_away(self, admin_client, ana):
        address = f"/admin/auth/user/{ana.pk}/change/"
        rare = Permission.objects.get(codename="delete_contenttype")
        ana.user_permissions.add(rare)
        before = sorted(ana.get_user_permissions())

        answer = admin_client.post(address, form_of(admin_client.get(address)))

        assert answer.status_code == 302
        assert sorted(User.objects.get(pk=ana.pk).get_user_permissions()) == before

    def test_permissions_are_told_by_what_they_let_a_person_do(self, admin_client, ana):
        page = admin_client.get(f"/admin/auth/user/{ana.pk}/change/").content.decode()

        assert "dispose of findings (review.change_finding)" in page
        assert "contenttypes.delete_contenttype" not in page

    def test_a_group_takes_permissions(self, admin_client):
        wanted = Permission.objects.get(codename="change_finding")

        admin_client.post("/admin/auth/group/add/", {"name": "triage", "permissions": [wanted.pk]})

        assert list(Group.objects.get(name="triage").permissions.all()) == [wanted]

    def test_moments_are_told_and_not_set(self, admin_client, ana):
        joined = ana.date_joined
        address = f"/admin/auth/user/{ana.pk}/change/"
        form = form_of(admin_client.get(address)) | {"date_joined_0": "2001-01-01"}

        admin_client.post(address, form)

        assert User.objects.get(pk=ana.pk).date_joined == joined
