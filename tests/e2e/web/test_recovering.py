"""Recovering jobs in the administration: previewed, permitted, done, and told by name."""

from __future__ import annotations

import os

import pytest
from django.contrib.messages import get_messages

from review.jobs.leases import Processes
from review.models import JobEvent, ReviewJob
from tests.builders import make_output, write_gate
from tests.helpers.jobs import abandoned, queued, running, status_of, write_output
from tests.helpers.pages import text_of
from tests.helpers.reviewed import UNDECIDED, ingest

LIST = "/admin/review/reviewjob/"


def place(action: str, *job_ids: int) -> str:
    return f"{LIST}recover/{action}/?ids={','.join(map(str, job_ids))}"


def told(response) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]


class TestActions:
    @pytest.mark.parametrize(
        ("action", "page"),
        [("ingest_now", "ingest"), ("fail", "fail"), ("replace", "replace")],
    )
    def test_lead_to_the_page_that_previews(self, web, root, action, page):
        first, second = abandoned(root), abandoned(root)

        response = web.post(LIST, {"action": action, "_selected_action": [first, second]})

        assert (response.status_code, response["Location"]) == (303, place(page, first, second))
        assert status_of(first) == "running"

    def test_are_not_offered_to_who_may_not(self, reader, root):
        job_id = abandoned(root)

        page = reader.get(LIST)
        response = reader.post(LIST, {"action": "fail", "_selected_action": [job_id]})

        assert b"Replace: fail" not in page.content
        assert response.status_code in (200, 302)
        assert status_of(job_id) == "running"

    def test_too_many_at_once_are_refused(self, web, root, monkeypatch):
        monkeypatch.setattr("review.web.admin_site.admin.MAX_AT_ONCE", 1)
        ids = [abandoned(root), abandoned(root)]

        response = web.post(LIST, {"action": "fail", "_selected_action": ids})

        assert told(response) == ["at most 1 job at once"]


class TestPreview:
    def test_changes_nothing(self, web, root):
        job_id = abandoned(root)

        web.get(place("replace", job_id))

        assert status_of(job_id) == "running"
        assert ReviewJob.objects.count() == 1

    def test_shows_the_outcome_and_what_is_refused_by_name(self, web, root):
        lost = abandoned(root)
        done = queued(root)
        ingest(root, done)

        page = web.get(place("fail", lost, done)).context

        assert [job.review_job_id for job, *_ in page["plans"]] == [lost]
        assert [outcome.status for _job, outcome, _lost in page["plans"]] == ["failed"]
        assert [item.message for item in page["refused"]] == [f"job {done} is completed already"]

    def test_warns_of_an_output_that_would_be_lost(self, web, root):
        job_id = abandoned(root)
        write_output(root, job_id)

        page = web.get(place("replace", job_id)).content.decode()

        assert "Its output is complete" in page

    def test_says_how_much_of_a_partial_output_is_kept_and_why(self, web, root):
        write_gate(root, "prose/y")
        job_id = queued(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
        write_output(root, job_id, only=(1,))

        ((_job, outcome, _lost),) = web.get(place("ingest", job_id)).context["plans"]

        assert outcome.problems[0].startswith("1 kept, 1 missing: ")

    def test_says_what_of_a_whole_output_is_not_accepted(self, web, root):
        job_id = queued(root)
        write_output(root, job_id, UNDECIDED)

        ((_job, outcome, _lost),) = web.get(place("ingest", job_id)).context["plans"]

        assert outcome.problems == ["1 kept but not accepted: pair 1: decision unknown"]

    def test_is_offered_for_a_failed_job_whose_output_has_a_review_more(self, web, root):
        write_gate(root, "prose/y")
        job_id = abandoned(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
        write_output(root, job_id, only=(1,))
        web.post(f"{LIST}recover/fail/", {"id": [job_id]})

        before = web.get(f"/jobs/{job_id}").context["actions"]
        web.post(f"{LIST}recover/ingest/", {"id": [job_id]})

        assert before == ["ingest"]
        assert web.get(f"/jobs/{job_id}").context["actions"] == []

    @pytest.mark.parametrize(
        ("data", "why"),
        [
            pytest.param(
                b"I have written the review.", "no block with this job's token", id="prose"
            ),
            pytest.param(b"", "is empty", id="empty"),
            pytest.param(None, "it holds blocks with token deadbeef", id="of-another-job"),
        ],
    )
    def test_says_why_an_output_cannot_be_taken(self, web, root, data, why):
        job_id = queued(root)
        token = ReviewJob.objects.get().sentinel_token.encode()
        foreign = make_output(job_id).replace(token, b"deadbeef")
        write_output(root, job_id, data=foreign if data is None else data)

        response = web.get(place("ingest", job_id))

        (refused,) = response.context["refused"]
        assert why in refused.message
        assert f"Job {job_id}: " in text_of(response)

    def test_says_what_of_a_partial_output_would_be_lost(self, web, root):
        write_gate(root, "prose/y")
        job_id = queued(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
        write_output(root, job_id, only=(1,))

        shown = text_of(web.get(place("fail", job_id)))

        assert "Its output is partial (1 kept, 1 missing: pair 2: no block for this pair)" in shown

    def test_names_pairs_that_the_new_job_leaves_out(self, web, root):
        write_gate(root, "prose/y")
        job_id = abandoned(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
        (root / "kb/instructions/review-gates/prose/y.md").unlink()

        page = web.get(place("replace", job_id)).content.decode()

        assert (
            "not in the new job: kb/notes/a.md by kb/instructions/review-gates/prose/y.md" in page
        )

    def test_of_nothing_offers_nothing(self, web, root):
        page = web.get(place("ingest", queued(root))).content.decode()

        assert "Nothing would happen." in page
        assert 'type="submit" class="default"' not in page

    @pytest.mark.parametrize("ids", ["", "x", "1,,2", "-1", "²", ",".join(map(str, range(201)))])
    def test_wants_jobs_named_by_number(self, web, root, ids):
        assert web.get(f"{LIST}recover/fail/?ids={ids}").status_code == 400

    def test_knows_three_actions(self, web, root):
        assert web.get(place("delete", 1)).status_code == 404


class TestDeed:
    def test_fails_a_job_and_says_so(self, web, root):
        job_id = abandoned(root)

        response = web.post(place("fail", job_id), {"id": [job_id], "reason": "the laptop died"})

        assert (response.status_code, response["Location"]) == (303, f"/jobs/{job_id}")
        assert told(response) == [f"failed: job {job_id} is failed"]
        assert ReviewJob.objects.get(pk=job_id).failure_reason == "the laptop died"

    @pytest.mark.parametrize("action", ["fail", "replace"])
    def test_needs_no_output_that_can_be_read(self, web, root, action):
        job_id = abandoned(root)
        (root / ReviewJob.objects.get(pk=job_id).bundle_output_path).mkdir()

        web.post(f"{LIST}recover/{action}/", {"id": [job_id]})

        assert status_of(job_id) == "failed"

    def test_is_in_the_log_with_the_name_of_the_person(self, web, root):
        job_id = abandoned(root)

        web.post(place("replace", job_id), {"id": [job_id]})

        (new,) = ReviewJob.objects.filter(replaces=job_id)
        events = JobEvent.objects.filter(actor="human:ana").order_by("pk")
        assert {(event.job_id, event.to_status) for event in events} == {
            (job_id, "failed"),
            (new.pk, "queued"),
        }

    def test_takes_in_what_is_there(self, web, root):
        job_id = running(root)
        write_output(root, job_id)

        web.post(place("ingest", job_id), {"id": [job_id]})

        assert status_of(job_id) == "completed"

    def test_one_that_moved_since_the_preview_holds_up_no_other(self, web, root):
        first, second = abandoned(root), abandoned(root)
        web.get(place("fail", first, second))
        ingest(root, first)

        response = web.post(place("fail", first, second), {"id": [first, second]})

        assert told(response) == [
            f"failed: job {second} is failed",
            f"refused: job {first} is completed already",
        ]
        assert (status_of(first), status_of(second)) == ("completed", "failed")

    def test_a_worker_that_is_alive_is_left_alone(self, web, root):
        job_id = abandoned(root)
        me = Processes().me()
        ReviewJob.objects.filter(pk=job_id).update(
            parent_host=me.host, parent_pid=os.getpid(), parent_started_at=me.started_at
        )

        response = web.post(place("replace", job_id), {"id": [job_id]})

        assert "is alive" in told(response)[0]
        assert status_of(job_id) == "running"

    def test_takes_the_permission(self, reader, root):
        job_id = abandoned(root)

        seen = reader.get(place("fail", job_id))
        done = reader.post(place("fail", job_id), {"id": [job_id]})

        assert (seen.status_code, done.status_code) == (403, 403)
        assert b"review.change_reviewjob" in done.content
        assert status_of(job_id) == "running"

    def test_takes_a_token_of_ours(self, operator, root):
        from django.test import Client

        job_id = abandoned(root)
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(operator)

        response = strict.post(place("fail", job_id), {"id": [job_id]})

        assert response.status_code == 403
        assert status_of(job_id) == "running"
