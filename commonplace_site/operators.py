"""The person who works on this machine: made on first run, and let in by a link."""

from __future__ import annotations

import getpass
import re

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from review.errors import Conflict

_NOT_IN_NAMES = re.compile(r"[^\w.@+-]")


class NoLocalOperator(Conflict):
    """People log in with passwords here, and none of them is the user of this machine."""


def local_operator() -> User:
    """Return the user with this machine's user name; created, without a password, if none exist.

    :raises NoLocalOperator: there are users, and no active one on the staff has this name.
    """
    users = get_user_model().objects
    name = _machine_user()
    found = users.filter(username=name, is_active=True, is_staff=True).first()
    if found is not None:
        return found
    if users.exists():
        raise NoLocalOperator(
            f"no user {name!r} on the staff; log in with a password",
            hint=f"make one: commonplace createsuperuser --username {name}",
        )
    return users.create_superuser(name)


def _machine_user() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = ""
    return _NOT_IN_NAMES.sub("-", name)[:150] or "operator"
