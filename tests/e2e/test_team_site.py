"""The settings of a team's server, as its commands and its server read them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.commands import REPOSITORY, process_environment, run_process
from tests.helpers.deploy_page import blocks

TEAM = {
    "DJANGO_SETTINGS_MODULE": "commonplace_site.settings.team",
    "COMMONPLACE_HOSTS": "reviews.example.org, other.example.org",
    "COMMONPLACE_SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz-0123456789abcdefghi",
}
# What a visitor of the server meets, without a server: the application is called as gunicorn does.
VISIT = """
import json
from commonplace_site.wsgi import application
from django.test import Client
answers = {}
for name, scheme, host in (("plain", "http", "reviews.example.org"),
                           ("secure", "https", "reviews.example.org"),
                           ("stranger", "https", "evil.example")):
    client = Client(headers={"X-Forwarded-Proto": scheme, "Host": host})
    answer = client.get("/login/")
    answers[name] = [answer.status_code, answer.headers.get("Location"), dict(answer.headers)]
    answers[name].append({n: dict(c) for n, c in answer.cookies.items()})
    answers[name].append(answer.content.decode())
# Sending a form on port 8443: the proxy passes the port on, as deploy.md has it, or leaves it out.
for name, host in (("with-port", "reviews.example.org:8443"), ("without-port", "reviews.example.org")):
    client = Client(enforce_csrf_checks=True, headers={"X-Forwarded-Proto": "https", "Host": host})
    token = client.get("/login/").cookies["csrftoken"].value
    sent = {"username": "ana", "password": "x", "csrfmiddlewaretoken": token}
    answer = client.post("/login/", sent, headers={"Origin": "https://reviews.example.org:8443"})
    answers[name] = [answer.status_code, answer.content.decode()]
print(json.dumps(answers))
"""

# The same below a path, which the proxy takes off: a page of the program and one that failed.
BELOW = """
from wsgiref.util import setup_testing_defaults
from commonplace_site.wsgi import application
from django.template.loader import render_to_string
for path in ("/login/", "/queue/", "/favicon.ico"):
    request = {"PATH_INFO": path, "HTTP_HOST": "reviews.example.org", "HTTP_X_FORWARDED_PROTO": "https"}
    setup_testing_defaults(request)
    answer = application(request, lambda status, headers: print(status, *headers))
    print(b"".join(answer).decode())
print(render_to_string("review/failed.html"))
"""


@pytest.fixture(scope="module")
def deployed(tmp_path_factory) -> Path:
    """A root with a store and collected static files."""
    root = tmp_path_factory.mktemp("team")
    (root / "kb").mkdir()
    for command in (("migrate",), ("collectstatic", "--noinput")):
        done = run_process(*command, root=root, env=TEAM)
        assert done.exit == 0, done.err
    return root


def visit(root: Path, script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, check=False,
        timeout=60, env=process_environment(root) | TEAM | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="module")
def answers(deployed):
    return json.loads(visit(deployed, VISIT))


class TestStart:
    def start(self, root, static):
        return subprocess.run(
            [sys.executable, "-c", "import commonplace_site.wsgi"], cwd=REPOSITORY, text=True,
            capture_output=True, check=False, timeout=60,
            env=process_environment(root) | TEAM | {"COMMONPLACE_STATIC": str(static)},
        )  # fmt: skip

    def test_without_the_static_files_is_refused_with_the_command_that_collects_them(
        self, deployed, tmp_path
    ):
        done = self.start(deployed, tmp_path / "nothing")

        assert done.returncode != 0
        assert "run commonplace collectstatic --noinput" in done.stderr.splitlines()[-1]
        assert str(tmp_path / "nothing") in done.stderr

    def test_after_an_upgrade_that_brought_a_file_likewise(self, deployed, tmp_path):
        static = tmp_path / "static"
        shutil.copytree(deployed / "kb/reports/static", static)
        manifest = json.loads((static / "staticfiles.json").read_text())
        del manifest["paths"]["review/review.css"]
        (static / "staticfiles.json").write_text(json.dumps(manifest))

        done = self.start(deployed, static)

        assert "review/review.css is not in" in done.stderr

    def test_with_them_is_none(self, deployed):
        assert self.start(deployed, deployed / "kb/reports/static").returncode == 0


class TestTeam:
    def test_passes_the_checks_of_a_deployment(self, deployed):
        done = run_process("check", "--deploy", "--fail-level", "ERROR", root=deployed, env=TEAM)

        assert done.exit == 0
        # Both are decisions about other names of the same domain, which are not ours to make.
        assert set(warnings_of(done.err + done.out)) <= {"security.W005", "security.W021"}

    def test_http_leads_to_https(self, answers):
        status, location, *_rest = answers["plain"]

        assert (status, location) == (301, "https://reviews.example.org/login/")

    def test_cookies_travel_over_https_only(self, answers):
        cookies = answers["secure"][3]

        assert cookies
        assert all(cookie["secure"] for cookie in cookies.values())

    def test_another_name_is_refused(self, answers):
        assert answers["stranger"][0] == 400
        assert "COMMONPLACE_HOSTS lists its names" in answers["stranger"][4]

    def test_forms_work_on_any_port_behind_the_documented_proxy(self, answers):
        proxy, _below_a_path = blocks("nginx", under="6. HTTPS")

        assert "proxy_set_header Host $http_host;" in proxy
        (taken, _page), (refused, page) = answers["with-port"], answers["without-port"]
        assert (taken, refused) == (200, 403)
        assert (
            "https://reviews.example.org:8443 does not match any trusted origins. A proxy" in page
        )

    def test_below_a_path_every_address_is_below_it(self, deployed):
        told = visit(deployed, BELOW, COMMONPLACE_PATH_PREFIX="/reviews")

        places = re.findall(r"""(?:href="|src="|action="|Location', '|Path=)(/[^"'; ]*)""", told)
        outside = {place for place in places if not place.startswith("/reviews/")}
        assert len(places) > 10
        assert outside == set()
        assert "/reviews/static/review/review." in told

    def test_static_files_carry_their_digest(self, answers):
        page = answers["secure"][4]

        assert "/static/review/review." in page
        assert "/static/review/review.css" not in page

    def test_agents_commands_stay_lean(self, deployed):
        done = run_process("review_job_list", "--json", root=deployed, env=TEAM)

        assert done.exit == 0


def warnings_of(text: str) -> list[str]:
    """The identifiers of the checks that had something to say."""
    return [part.split(")")[0] for part in text.split("(") if part.startswith("security.")]
