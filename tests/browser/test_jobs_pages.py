"""The start page, jobs, events and recovery, in a browser."""

from __future__ import annotations

import pytest

from review.models import ReviewJob
from review.vocabulary import FailureCode
from tests.builders import NOW, write_gate, write_note
from tests.helpers.jobs import abandoned, queued, running, status_of, write_output
from tests.helpers.people import make_chief
from tests.helpers.planning import fail
from tests.helpers.reviewed import FAIL, WARN, ingest, review_pairs

LONG = "a-very-" * 20 + "long-name.md"


@pytest.fixture
def lived_in(transactional_db, root):
    """A base in which everything that these pages show has happened; the abandoned job's id."""
    for name in ("prose/y", "links/z"):
        write_gate(root, name)
    write_note(root, LONG)
    write_note(root, "broken.md", b"\xff")
    review_pairs(root, ("a.md", "prose/x"), (LONG, "prose/y"), review=WARN)
    review_pairs(root, ("a.md", "links/z"), review=FAIL)
    write_note(root, "a.md", "# Another\n\nEntirely other words.\n")
    lost = abandoned(root, (LONG, "prose/x"), (LONG, "prose/y"))
    write_output(root, running(root))
    partial = queued(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
    fail(partial, code=FailureCode.RUNNER_ERROR, reason="The CLI said no. " * 30, now=NOW)
    ReviewJob.objects.filter(pk=lost).update(telemetry={"model": "x" * 300})
    return lost


class TestLooks:
    @pytest.mark.parametrize(
        "address",
        ["/", "/jobs/", "/jobs/?status=failed&status=queued", "/events/", "/jobs/{job}"],
    )
    def test_pages_are_clean(self, visit, lived_in, address):
        page = visit.open(address.format(job=lived_in))
        for summary in page.locator("main details:not(.facets-fold) > summary").all():
            if summary.is_visible():
                summary.click()

        assert visit.problems() == []

    @pytest.mark.parametrize("address", ["/", "/jobs/", "/jobs/{job}", "/events/"])
    def test_pages_say_the_same_without_javascript(self, plain_visit, visit, lived_in, address):
        with_script = visit.open(address.format(job=lived_in)).inner_text("main")
        without = plain_visit.open(address.format(job=lived_in)).inner_text("main")

        assert without == with_script

    @pytest.mark.parametrize(
        "address",
        [
            "/admin/",
            "/admin/review/reviewjob/",
            "/admin/review/reviewjob/{job}/change/",
            "/admin/review/reviewjob/recover/replace/?ids={job},99",
            "/admin/review/reviewpair/",
            "/admin/review/filesnapshot/",
            "/admin/review/acceptance/",
            "/admin/auth/user/{person}/change/",
            "/admin/auth/group/add/",
        ],
    )
    def test_the_administration_is_clean(self, new_visit, lived_in, address):
        chief = make_chief()
        visit = new_visit(chief)

        visit.open(address.format(job=lived_in, person=chief.pk))

        assert visit.problems(best_practice=False) == []


class TestRecovering:
    def test_is_found_in_the_list_and_done_with_the_keyboard(self, visit, lived_in):
        page = visit.open("/jobs/?needs=abandoned")

        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/jobs/{lived_in}")
        page.get_by_role("link", name="Replace it").focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/recover/replace/**")
        page.focus("#reason")
        page.keyboard.type("the machine was switched off")
        page.keyboard.press("Enter")

        page.wait_for_url(f"**/jobs/{lived_in}")
        assert "takes its place" in page.inner_text(".messages")
        assert status_of(lived_in) == "failed"

    def test_an_action_of_the_list_shows_first_what_it_would_do(self, visit, root, lived_in):
        page = visit.open("/admin/review/reviewjob/?status__exact=running")

        for box in page.locator("input.action-select").all():
            box.check()
        page.select_option("select[name=action]", "ingest_now")
        page.click("button[name=index]")
        page.wait_for_url("**/recover/ingest/**")
        assert "Refused" in page.inner_text("#content-main")
        page.click("input[type=submit].default")

        page.wait_for_url("**/jobs/*")
        assert "ingested" in page.inner_text(".messages")

    def test_works_without_javascript(self, plain_visit, lived_in):
        page = plain_visit.open(f"/jobs/{lived_in}")

        page.click("text=Fail it")
        page.click("input[type=submit].default")

        assert status_of(lived_in) == "failed"
        assert f"job {lived_in} is failed" in page.inner_text(".messages")


class TestMotion:
    def test_a_running_job_is_read_again_until_it_is_done(self, visit, root, transactional_db):
        job_id = running(root)
        visit.page.clock.install()
        page = visit.open(f"/jobs/{job_id}")

        ingest(root, job_id)
        page.clock.fast_forward(6_000)

        page.locator("h1 + .is-completed").wait_for()
        assert page.locator("[data-live]").count() == 0

    def test_what_was_done_is_announced(self, visit, lived_in):
        page = visit.open(f"/jobs/{lived_in}")
        page.click("text=Fail it")
        page.click("input[type=submit].default")

        page.locator("#announce:not(:empty)").wait_for(state="attached")

        assert f"job {lived_in} is failed" in page.inner_text("#announce")
