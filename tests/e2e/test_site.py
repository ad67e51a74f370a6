"""The site: what answers, under which headers, and that serving prepares the store."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.helpers.commands import REPOSITORY, process_environment, run_process

LOCAL = "127.0.0.1"


class TestPages:
    def test_liveness_asks_no_store(self, client):
        response = client.get("/healthz")

        assert (response.status_code, response.content) == (200, b"ok\n")

    def test_the_front_door_wants_a_login(self, client):
        assert client.get("/")["Location"] == "/login/?next=/"

    def test_the_admin_wants_a_login(self, client):
        response = client.get("/admin/")

        assert response.status_code == 302
        assert response["Location"] == "/login/?next=/admin/"

    @pytest.mark.django_db
    def test_staff_get_in(self, admin_client):
        assert admin_client.get("/admin/").status_code == 200

    def test_no_page_runs_what_it_did_not_bring(self, client):
        policy = client.get("/login/")["Content-Security-Policy"]

        assert "default-src 'self'" in policy
        assert "unsafe" not in policy

    def test_a_page_sits_in_no_frame(self, client):
        response = client.get("/login/")

        assert response["X-Frame-Options"] == "DENY"
        assert response["X-Content-Type-Options"] == "nosniff"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "kb").mkdir()
    return tmp_path


class TestExtensions:
    """What django-extensions brings is there under the settings of the pages."""

    def test_lists_every_address(self, root):
        listed = run_process("show_urls", root=root)

        assert listed.exit == 0
        assert "/jobs/<int:job_id>\treview.web.pages.jobs.job\tjob" in listed.out

    def test_draws_the_models(self, root):
        drawn = run_process("graph_models", "review", "--dot", root=root)

        assert drawn.exit == 0
        assert "review_models_jobs_ReviewJob" in drawn.out


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOCAL, 0))
        return int(probe.getsockname()[1])


def fetch(url: str) -> tuple[int, bytes]:
    """Status and body, tried until the server answers."""
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as response:  # noqa: S310
                return response.status, response.read()
        except urllib.error.URLError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def follow(link: str) -> tuple[int, bytes]:
    """Status and body of where a link leads a browser that has never been here."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    try:
        with browser.open(link, timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


class TestServe:
    def test_prepares_a_store_that_agents_made_and_answers(self, root):
        run_process("review_job_list", root=root)
        port = free_port()
        server = subprocess.Popen(
            [sys.executable, str(REPOSITORY / "manage.py"), "serve", "--port", str(port)],
            cwd=root, env=process_environment(root),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

        try:
            alive = fetch(f"http://{LOCAL}:{port}/healthz")
            link = server.stdout.readline().decode().strip()
            inside, start = follow(link)
            spent, _refusal = follow(link)
            login, page = fetch(f"http://{LOCAL}:{port}/admin/")
            style, _css = fetch(f"http://{LOCAL}:{port}/static/admin/css/base.css")
        finally:
            server.send_signal(2)
            _out, err = server.communicate(timeout=60)

        assert alive == (200, b"ok\n")
        assert (inside, spent) == (200, 403)
        assert b"Getting started" in start
        assert (login, style) == (200, 200)
        assert b"csrfmiddlewaretoken" in page
        assert server.returncode == 0
        assert b"error:" not in err
        assert b"Traceback" not in err

    def test_prints_a_link_for_a_server_that_runs_already(self, root):
        first, second = (run_process("serve", "--link", root=root) for _ in range(2))

        assert first.out.startswith("http://127.0.0.1:8000/enter/1/")
        assert first.exit == second.exit == 0
        assert "once" in first.err

    def test_says_where_no_server_is_there_to_follow_the_link_to(self, root):
        with socket.socket() as listening:
            listening.bind((LOCAL, 0))
            port = listening.getsockname()[1]
            silent = run_process("serve", "--link", "--port", port, root=root)
            listening.listen()
            heard = run_process("serve", "--link", "--port", port, root=root)

        assert silent.exit == heard.exit == 0
        assert f"no server answers at http://{LOCAL}:{port} yet" in silent.err
        assert f"commonplace serve --port {port}" in silent.err
        assert "no server" not in heard.err

    def test_says_that_an_address_is_not_this_machine_s(self, root):
        result = run_process("serve", "--host", "192.0.2.1", root=root)

        assert result.exit == 2
        assert "no address of this machine" in result.err

    def test_lets_in_nobody_whom_it_does_not_know(self, root):
        run_process("serve", "--link", root=root)
        rename = (
            "from django.contrib.auth.models import User; User.objects.update(username='other')"
        )
        run_process("shell", "-c", rename, root=root)

        result = run_process("serve", "--link", root=root)

        assert result.exit == 4
        assert "createsuperuser" in result.err

    def test_wants_a_name_where_it_would_listen_everywhere(self, root):
        result = run_process("serve", "--host", "0.0.0.0", root=root)  # noqa: S104

        assert result.exit == 2
        assert "COMMONPLACE_HOSTS" in result.err

    def test_says_that_the_port_is_taken(self, root):
        with socket.socket() as taken:
            taken.bind((LOCAL, 0))
            taken.listen()
            port = taken.getsockname()[1]

            result = run_process("serve", "--port", port, root=root)

        assert result.exit == 1
        assert f"port {port} of {LOCAL} is in use" in result.err
        assert "--port" in result.err
        assert f"commonplace serve --port {port} --link" in result.err
        assert "Traceback" not in result.err
