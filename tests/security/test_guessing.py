"""How often a password can be guessed at a team's server, from where, and at what price for others."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.builders import make_root
from tests.helpers.commands import REPOSITORY, process_environment, run_process

TEAM = {
    "DJANGO_SETTINGS_MODULE": "commonplace_site.settings.team",
    "COMMONPLACE_HOSTS": "reviews.example.org",
    "COMMONPLACE_SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz-0123456789abcdefghi",
}
# The application is called as gunicorn does. Passwords are hashed quickly: the count is what counts.
GUESSES = """
import json
from commonplace_site.wsgi import application
from django.conf import settings
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
from django.contrib.auth.models import User
from django.test import Client
User.objects.create_user("ana", password="right", is_staff=True)
User.objects.create_user("bob", password="right", is_staff=True)

def guess(name, password, forwarded):
    client = Client(headers={"X-Forwarded-Proto": "https", "Host": "reviews.example.org",
                             "X-Forwarded-For": forwarded})
    return client.post("/login/", {"username": name, "password": password}).status_code

told = {"guesses": [guess("ana", f"wrong {n}", "203.0.113.9") for n in range(12)]}
told["right, too late"] = guess("ana", "right", "203.0.113.9")
told["made up places before it"] = guess("ana", "right", "198.51.100.1, 203.0.113.9")
told["another person there"] = guess("bob", "right", "203.0.113.9")
told["the person elsewhere"] = guess("ana", "right", "198.51.100.7")
told["by the admin's door"] = [guess("ana", "wrong", "203.0.113.9")]
told["long"] = guess("x" * 5000, "wrong", "203.0.113.9")
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    root = make_root(tmp_path_factory.mktemp("team"))
    for command in (("migrate",), ("collectstatic", "--noinput")):
        assert run_process(*command, root=root, env=TEAM).exit == 0
    done = subprocess.run(
        [sys.executable, "-c", GUESSES], cwd=REPOSITORY, capture_output=True, check=False, timeout=120,
        env=process_environment(root) | TEAM,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


class TestGuesses:
    def test_are_counted_to_ten(self, told):
        assert told["guesses"] == [200] * 9 + [429] * 3

    def test_that_are_right_come_too_late(self, told):
        assert told["right, too late"] == 429

    def test_cannot_pretend_to_come_from_elsewhere(self, told):
        assert told["made up places before it"] == 429

    def test_lock_out_neither_others_nor_the_person_elsewhere(self, told):
        assert (told["another person there"], told["the person elsewhere"]) == (302, 302)

    def test_at_names_that_nobody_has_are_answered_alike(self, told):
        assert told["long"] == 200
