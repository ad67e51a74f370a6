"""Every command on PostgreSQL, with no more rights than `docs/deploy.md` gives, and a team's move to it."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import sys
from urllib.parse import urlsplit

import psycopg
import pytest

from commonplace_site.catalogue import review_commands
from review.store.opening import known_migrations
from tests.builders import PASS
from tests.helpers.commands import REPOSITORY, process_environment
from tests.helpers.deploy_page import blocks
from tests.helpers.forked import run_forked
from tests.helpers.servers import as_role, new_database, url_of
from tests.helpers.story import Story, story_root
from tests.stores.make import STORE, answers, doing, unpack

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db]
TEAM = {
    "DJANGO_SETTINGS_MODULE": "commonplace_site.settings.team",
    "COMMONPLACE_HOSTS": "reviews.example.org",
    "COMMONPLACE_SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz-0123456789abcdefghi",
}
ROLES = ("reviews_owner", "reviews_pages", "reviews_agents", "ana")


class Deployed:
    """A database made as the page says, under names of its own."""

    def __init__(self, name: str) -> None:
        self.name = name

    def sql(self, text: str) -> bytes:
        """Statements of the page with our names in place of its."""
        roles = "|".join(ROLES)
        text = re.sub(rf"\b({roles})\b", lambda match: self.role(match[1]), text)
        return text.replace("DATABASE reviews ", f"DATABASE {self.name} ").encode()

    def role(self, role: str) -> str:
        return f"{role}_{self.name}"

    def url(self, role: str) -> str:
        return as_role(url_of(self.name), self.role(role))


@pytest.fixture(scope="module")
def deployed():
    made = Deployed(f"d{secrets.token_hex(4)}")
    statements, in_database = blocks("sql", under="1. The database")
    with psycopg.connect(url_of("postgres"), autocommit=True) as server:
        for statement in statements.split(";\n"):
            server.execute(made.sql(f"{statement};\n"))
        with psycopg.connect(url_of(made.name)) as inside:
            inside.execute(made.sql(in_database))
        try:
            yield made
        finally:
            database = urlsplit(made.url("ana")).path[1:]
            server.execute(f"DROP DATABASE {database} WITH (FORCE)".encode())
            for role in reversed(ROLES):
                server.execute(f"DROP ROLE {made.role(role)}".encode())


@pytest.fixture(scope="module")
def team(deployed, tmp_path_factory):
    """A root, and the database with its tables and rights."""
    root = story_root(tmp_path_factory.mktemp("team"))
    env = TEAM | {"COMMONPLACE_REVIEW_DB": deployed.url("reviews_owner")}
    done = run_forked("migrate", root=root, env=env)
    assert done.exit == 0, done.err
    (statements,) = blocks("sql", under="3. The tables")
    with psycopg.connect(deployed.url("reviews_owner")) as owner:
        owner.execute(deployed.sql(statements))
    return root


def as_agent(deployed):
    return {"COMMONPLACE_REVIEW_DB": deployed.url("ana")}


class TestRoles:
    def test_an_agent_can_call_every_command(self, team, deployed):
        done = subprocess.run(
            [sys.executable, "-m", "tests.helpers.one_process", str(team)],
            cwd=team, capture_output=True, text=True, check=False, timeout=300,
            env=process_environment(team) | as_agent(deployed) | {"PYTHONPATH": str(REPOSITORY)},
        )  # fmt: skip

        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == review_commands()

    @pytest.mark.parametrize(
        "statement",
        [
            pytest.param("UPDATE review_texts SET text = 'x'", id="text"),
            pytest.param("UPDATE acceptance_events SET decision = 'pass'", id="acceptance"),
            pytest.param("DELETE FROM review_decision_events", id="decision"),
            pytest.param("DELETE FROM review_jobs", id="job"),
            pytest.param("SELECT * FROM auth_user", id="people"),
            pytest.param("INSERT INTO django_migrations (app, name, applied) VALUES ('review', 'x', now())", id="schema"),
            pytest.param("CREATE TABLE mine (a int)", id="table"),
        ],
    )  # fmt: skip
    def test_an_agent_cannot_change_what_was_recorded(self, team, deployed, statement):
        with (
            psycopg.connect(deployed.url("ana")) as agent,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            agent.execute(statement.encode())

    def test_what_a_role_may_not_do_is_said_in_words(self, team, deployed):
        done = run_forked("migrate", root=team, env=TEAM | as_agent(deployed))

        assert "Traceback" not in done.err
        assert done.exit == 1

    def test_the_pages_answer_and_take_people_in(self, team, deployed):
        env = TEAM | {"COMMONPLACE_REVIEW_DB": deployed.url("reviews_pages")}
        made = run_forked(
            "createsuperuser", "--username", "ana", "--email", "", "--noinput",
            root=team, env=env | {"DJANGO_SUPERUSER_PASSWORD": "a-long-password-of-hers"},
        )  # fmt: skip
        assert made.exit == 0, made.err
        collected = run_forked("collectstatic", "--noinput", root=team, env=env)
        assert collected.exit == 0, collected.err

        visit = subprocess.run(
            [sys.executable, "-c", VISIT], cwd=team, capture_output=True, text=True, check=False, timeout=120,
            env=process_environment(team) | env | {"PYTHONPATH": str(REPOSITORY)},
        )  # fmt: skip

        assert visit.returncode == 0, visit.stderr
        said = json.loads(visit.stdout)
        assert said["login"] == [302, "/"]
        assert said["wrong"] == 200
        assert set(said["pages"].values()) == {200}, said


VISIT = """
import json
from commonplace_site.wsgi import application
from django.test import Client
client = Client(headers={"X-Forwarded-Proto": "https", "Host": "reviews.example.org"})
wrong = client.post("/login/", {"username": "ana", "password": "not-hers"})
answer = client.post("/login/", {"username": "ana", "password": "a-long-password-of-hers"})
pages = {path: client.get(path).status_code for path in ("/", "/notes/", "/queue/", "/jobs/", "/looks/", "/matrix/", "/events/", "/search?q=note", "/gates/", "/admin/auth/user/", "/admin/review/reviewjob/")}
print(json.dumps({"wrong": wrong.status_code, "login": [answer.status_code, answer.headers.get("Location")], "pages": pages}))
"""


@pytest.fixture
def postgres_database():
    with new_database() as url:
        yield url


class TestMove:
    def test_a_team_moves_and_goes_on(self, tmp_path, postgres_database):
        told = unpack(max(known_migrations()), tmp_path)
        here = {"COMMONPLACE_REVIEW_DB": postgres_database}

        moved = run_forked("review_store_copy", "--to", postgres_database, root=tmp_path)

        assert moved.exit == 0, moved.err
        (tmp_path / STORE).rename(tmp_path / "moved.sqlite")

        def do(*argv, stdin=None):
            return run_forked(*argv, root=tmp_path, stdin=stdin, env=here)

        assert answers(tmp_path, do) == told
        assert do("review_doctor", "--repair").exit == 0
        story = Story(tmp_path, do)
        (job,) = do("review_job_list", "--status", "running", "--json").json["jobs"]
        story.ingest(job, PASS)
        story.review("h", PASS)
        assert do("review_doctor", "--check").exit == 0

        back = run_forked(
            "review_store_copy",
            "--from",
            postgres_database,
            "--to",
            tmp_path / STORE,
            root=tmp_path,
        )

        assert back.exit == 0, back.err
        assert answers(tmp_path, do) == answers(tmp_path, doing(tmp_path))
