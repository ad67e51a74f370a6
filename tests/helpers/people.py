"""People for tests of the pages: who may act, and who may only see."""

from __future__ import annotations

from django.contrib.auth.models import Permission, User


def make_operator(name: str = "ana") -> User:
    """A person on the staff who holds every permission on the review system."""
    user = User.objects.create_user(name, password="a long password", is_staff=True)
    user.user_permissions.set(
        Permission.objects.filter(content_type__app_label="review").filter(
            codename__regex="^(view|change)_"
        )
    )
    return user


def make_reader(name: str = "rita") -> User:
    """A person on the staff who holds no permission."""
    return User.objects.create_user(name, is_staff=True)


def make_chief(name: str = "cleo") -> User:
    """A superuser, who manages people, too."""
    return User.objects.create_superuser(name, password="a long password")
