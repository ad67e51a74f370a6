"""The list of jobs."""

from __future__ import annotations

import pytest

from tests.builders import make_jobs
from tests.helpers.planning import fail


class TestList:
    def test_shows_the_newest_first_with_what_they_are_about(self, web, root):
        first, second = (make_jobs(root, ("a.md", "prose/x"), force=True)[0] for _ in range(2))

        page = web.get("/jobs/").content.decode()

        newer, older = (f"Job {job.review_job_id}<" for job in (second, first))
        assert page.index(newer) < page.index(older)
        assert "kb/notes/a.md" in page

    def test_is_the_document_of_the_command(self, web, root):
        make_jobs(root, ("a.md", "prose/x"))

        document = web.get("/jobs/?format=json").json()

        assert document["schema"] == "review-job-list/1"
        assert [job["status"] for job in document["jobs"]] == ["queued"]

    def test_a_browser_that_prefers_html_gets_html(self, web, root):
        accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

        assert web.get("/jobs/", HTTP_ACCEPT=accept)["Content-Type"].startswith("text/html")
        assert web.get("/jobs/", HTTP_ACCEPT="application/json")["Content-Type"] == (
            "application/json"
        )

    def test_filters_by_status_and_says_how_many_there_are_of_each(self, web, root):
        make_jobs(root, ("a.md", "prose/x"))
        failed = make_jobs(root, ("a.md", "prose/x"), force=True)[0]
        fail(failed.review_job_id)

        response = web.get("/jobs/?status=failed")

        assert [job.review_job_id for job, *_ in response.context["rows"]] == [failed.review_job_id]
        counts = {o.value: o.count for o in response.context["facets"][0].options}
        assert counts == {"queued": 1, "running": 0, "completed": 0, "failed": 1}

    @pytest.mark.parametrize(
        ("query", "named"),
        [
            pytest.param("colour=red", "status", id="unknown-filter"),
            pytest.param("status=lost", "queued", id="unknown-value"),
            pytest.param("after=x", "first page", id="no-place"),
            pytest.param("after=[9223372036854775808]", "first page", id="a-number-too-large"),
            pytest.param('after=["1"]', "first page", id="a-place-of-another-list"),
        ],
    )
    def test_refuses_what_it_does_not_know_and_names_what_it_does(self, web, root, query, named):
        response = web.get(f"/jobs/?{query}")

        assert response.status_code == 400
        assert named in response.content.decode()

    def test_goes_on_after_the_last_of_a_page(self, web, root, monkeypatch):
        monkeypatch.setattr("review.web.pages.jobs.JOBS_A_PAGE", 2)
        ids = [make_jobs(root, ("a.md", "prose/x"), force=True)[0].review_job_id for _ in range(3)]

        first = web.get("/jobs/?status=queued")
        second = web.get(first.context["paged"].next_url)

        assert [job.review_job_id for job, *_ in first.context["rows"]] == ids[:0:-1]
        assert [job.review_job_id for job, *_ in second.context["rows"]] == ids[:1]
        assert second.context["paged"].next_url == ""
        assert second.context["paged"].first_url == "/jobs/?status=queued"

    def test_an_empty_list_says_how_jobs_are_made(self, web, root):
        assert "create_review_jobs" in web.get("/jobs/").content.decode()
