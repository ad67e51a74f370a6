"""The page of one job: what it asked, what came back, who moved it, what may be done."""

from __future__ import annotations

import json

import pytest

from review.models import ReviewJob
from review.vocabulary import FailureCode
from tests.builders import NOW, gate_path, note_path, write_gate, write_note
from tests.helpers.commands import run
from tests.helpers.jobs import abandoned, queued, running, status_of, write_output
from tests.helpers.planning import fail
from tests.helpers.reviewed import ingest

LIST = "/admin/review/reviewjob/"
SCRIPT = '<script>alert(1)</script><img src=x onerror="alert(2)">'


class TestWhatItShows:
    def test_the_moves_with_who_made_them(self, web, root):
        job_id = running(root, claimed_by="agent:bo")
        ingest(root, job_id)

        events = web.get(f"/jobs/{job_id}").context["details"].events

        assert [(event.to_status, event.actor) for event in events] == [
            ("queued", "human:test"),
            ("completed", "agent:test"),
        ]

    def test_a_trial_that_it_is_one_and_so_does_its_review(self, web, root):
        folder = root / "kb/instructions/review-gates/prose/x.cases"
        folder.mkdir()
        (folder / "one.md").write_text("---\nexpect: flag\n---\n\n# One\n\nA line.\n")
        (job_id,) = run("review_gate_test", "prose/x", "--model", "m", "--json").json[
            "open_job_ids"
        ]
        ingest(root, job_id)
        (pair,) = ReviewJob.objects.get(pk=job_id).pairs.all()

        job = web.get(f"/jobs/{job_id}").content.decode()
        review = web.get(f"/reviews/{pair.pk}/").content.decode()

        assert "a trial of the gate on its cases" in job
        assert "The text is a case of the gate" in review
        assert web.get("/jobs/").status_code == 200

    def test_pairs_lead_to_their_reviews(self, web, root):
        job_id = queued(root)
        ingest(root, job_id)

        page = web.get(f"/jobs/{job_id}").content.decode()

        (pair,) = ReviewJob.objects.get(pk=job_id).pairs.all()
        assert f'href="/reviews/{pair.pk}/"' in page

    def test_why_it_failed(self, web, root):
        job_id = queued(root)
        fail(job_id, code=FailureCode.RUNNER_ERROR, reason="the CLI said no", now=NOW)

        page = web.get(f"/jobs/{job_id}").content.decode()

        assert "runner error" in page
        assert "the CLI said no" in page

    def test_its_document(self, web, root):
        job_id = abandoned(root)

        document = web.get(f"/jobs/{job_id}?format=json").json()

        assert document["schema"] == "review-job/1"
        assert document["job"]["review_job_id"] == job_id
        assert list(document["recovery"]) == ["abandoned"]

    def test_one_that_is_not_there(self, web, root):
        response = web.get("/jobs/99")

        assert response.status_code == 404
        assert "no review job 99" in response.content.decode()

    def test_a_number_beyond_every_database(self, web, root):
        assert web.get(f"/jobs/{10**30}").status_code == 404

    def test_only_a_running_one_is_fetched_again(self, web, root):
        waiting, job_id = queued(root), running(root)

        before = web.get(f"/jobs/{job_id}").content.decode()
        ingest(root, job_id)

        assert "data-live" in before
        assert "data-live" not in web.get(f"/jobs/{job_id}").content.decode()
        assert "data-live" not in web.get(f"/jobs/{waiting}").content.decode()


class TestMissingPairs:
    @pytest.fixture
    def failed(self, root) -> int:
        """A job of two pairs, one of which has no review."""
        write_gate(root, "prose/y")
        job_id = queued(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
        write_output(root, job_id, only=(1,))
        run("ingest_bundle_output", "--review-job-id", job_id)
        return job_id

    def test_are_queued_again_once(self, web, failed):
        before = web.get(f"/jobs/{failed}").content.decode()
        answer = web.post(f"/jobs/{failed}/request-missing", follow=True)

        job = ReviewJob.objects.latest("pk")
        assert "Queue 1 missing pair again" in before
        assert [pair.gate.path.rpartition("/")[2] for pair in job.pairs.all()] == ["y.md"]
        assert answer.redirect_chain == [(f"/jobs/{failed}", 303)]
        assert "Queue 1 missing pair again" not in answer.content.decode()

    def test_of_all_failed_jobs_are_queued_from_the_start_page(self, web, failed):
        page = web.get("/").content.decode()
        web.post("/jobs/request-missing", {"next": "/"})

        assert 'action="/jobs/request-missing"' in page
        assert [job.pair_count for job in ReviewJob.objects.filter(status="queued")] == [1]

    def test_are_queued_by_an_action_of_the_administration(self, web, failed):
        web.post(LIST, {"action": "queue_again", "_selected_action": [failed]})

        assert ReviewJob.objects.filter(status="queued").count() == 1

    @pytest.mark.parametrize(
        "seen_to",
        [
            pytest.param(lambda root: queued(root, ("a.md", "prose/y")), id="in-a-later-job"),
            pytest.param(lambda root: (root / note_path("a.md")).unlink(), id="of-no-note"),
            pytest.param(lambda root: (root / gate_path("prose/y")).unlink(), id="of-no-gate"),
        ],
    )
    def test_that_cannot_be_queued_or_are_need_nobody(self, web, root, failed, seen_to):
        seen_to(root)

        assert "Action needed" not in web.get(f"/jobs/{failed}").content.decode()
        assert web.get("/?format=json").status_code == 200
        assert web.get("/jobs/?needs=missing&format=json").json()["jobs"] == []

    def test_are_not_queued_by_who_may_not(self, reader, failed):
        assert "missing pair again" not in reader.get(f"/jobs/{failed}").content.decode()
        assert reader.post(f"/jobs/{failed}/request-missing").status_code == 403


class TestAddress:
    def test_with_a_slash_leads_to_the_page(self, web, root):
        assert web.get(f"/jobs/{queued(root)}/", follow=True).status_code == 200

    @pytest.mark.parametrize("place", ["/search/?q=a", "/jobs/{}/prompt/", "/healthz/"])
    def test_of_any_page_with_a_slash_behind_leads_there(self, web, root, place):
        address = place.format(queued(root))

        answer = web.get(address)

        assert answer["Location"] == address.replace("/?", "?").rstrip("/")

    def test_of_its_history_leads_to_its_events(self, web, root):
        job_id = queued(root)

        answer = web.get(f"/admin/review/reviewjob/{job_id}/history/")

        assert answer["Location"] == f"/jobs/{job_id}#events"

    def test_of_the_administration_leads_to_what_can_work(self, web, root):
        job_id = queued(root)
        page = web.get(f"/admin/review/reviewjob/{job_id}/change/").content.decode()
        before = web.get(f"/jobs/{job_id}").context["actions"]
        ingest(root, job_id)

        assert f'href="/jobs/{job_id}"' in page
        assert before == ["fail", "replace"]
        assert web.get(f"/jobs/{job_id}").context["actions"] == []


class TestCommands:
    def test_the_one_that_makes_the_same_job_again(self, web, root):
        write_note(root, "it's here.md")
        job_id = queued(root, ("it's here.md", "prose/x"))

        commands = web.get(f"/jobs/{job_id}").context["details"].commands

        assert commands[-1].command == (
            "commonplace review_target_selector prose/x --note 'kb/notes/it'\"'\"'s here.md' "
            "--model claude-opus-4-6 --mode requested --json | "
            "commonplace create_review_jobs --input - --grouping note"
        )

    @pytest.mark.parametrize(
        ("partition", "wanted"),
        [
            ("rules", "run_review_jobs {} --runner rules"),
            ("m", "claim_review_job --review-job-id {}"),
        ],
    )
    def test_the_one_that_starts_a_queued_job(self, web, root, partition, wanted):
        job_id = queued(root, model_partition=partition)

        commands = web.get(f"/jobs/{job_id}").context["details"].commands

        assert commands[0].command.startswith(f"commonplace {wanted.format(job_id)}")

    def test_the_one_that_takes_a_waiting_output_in(self, web, root):
        job_id = running(root)
        write_output(root, job_id)

        commands = web.get(f"/jobs/{job_id}").context["details"].commands

        assert commands[0].command == f"commonplace ingest_bundle_output --review-job-id {job_id}"


class TestFiles:
    def test_the_prompt_byte_for_byte_and_as_text(self, web, root):
        job_id = queued(root)

        response = web.get(f"/jobs/{job_id}/prompt")

        path = root / ReviewJob.objects.get(pk=job_id).prompt_path
        assert response.content == path.read_bytes()
        assert response["Content-Type"] == "text/plain; charset=utf-8"
        assert response["X-Content-Type-Options"] == "nosniff"

    def test_an_output_that_is_no_text_is_shown_all_the_same(self, web, root):
        job_id = running(root)
        write_output(root, job_id, data=b"caf\xe9 \x00 \xff")

        assert web.get(f"/jobs/{job_id}").status_code == 200
        assert web.get(f"/jobs/{job_id}/output").content == b"caf\xe9 \x00 \xff"

    @pytest.mark.parametrize("name", ["result", "..", "prompt.md", "%2e%2e%2fstore"])
    def test_there_are_no_others(self, web, root, name):
        assert web.get(f"/jobs/{queued(root)}/{name}").status_code == 404

    def test_a_link_that_a_worker_left_shows_no_other_file(self, web, root):
        secret = root / "secret.txt"
        secret.write_text("the secret", encoding="utf-8")
        job_id = running(root)
        output = root / ReviewJob.objects.get(pk=job_id).bundle_output_path
        output.symlink_to(secret)

        page = web.get(f"/jobs/{job_id}")
        file = web.get(f"/jobs/{job_id}/output")

        assert "cannot be shown" in page.content.decode()
        assert file.status_code == 404
        assert b"the secret" not in page.content + file.content

    def test_a_folder_that_is_a_link_shows_no_other_file(self, web, root, tmp_path_factory):
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        (elsewhere / "bundle-output.md").write_text("the secret", encoding="utf-8")
        job_id = running(root)
        folder = (root / ReviewJob.objects.get(pk=job_id).prompt_path).parent
        folder.rename(folder.with_name("moved"))
        folder.symlink_to(elsewhere)

        assert web.get(f"/jobs/{job_id}/output").status_code == 404


class TestTelemetry:
    def test_shows_notices_of_the_runner_and_who_wrote_the_output(self, web, root):
        job_id = running(root)
        usage = {"model-a": {"output_tokens": 930}, "model-b": {"output_tokens": 70}}
        ReviewJob.objects.filter(pk=job_id).update(
            telemetry={"notices": ["Reconnecting... 1/5"], "models_usage": usage}
        )

        page = web.get(f"/jobs/{job_id}").content.decode()

        assert "Reconnecting... 1/5</li>" in page
        assert "model-a 93%, model-b 7%" in page


class TestHostileContent:
    def test_is_inert_wherever_it_comes_from(self, web, root):
        write_note(root, f"{SCRIPT.replace('/', '')}.md", SCRIPT)
        write_gate(root, "prose/x", f"---\ndescription: {json.dumps(SCRIPT)}\n---\n{SCRIPT}\n")
        job_id = running(
            root, (f"{SCRIPT.replace('/', '')}.md", "prose/x"), claimed_by=f"agent:{SCRIPT}"
        )
        write_output(root, job_id, data=SCRIPT.encode())
        ReviewJob.objects.filter(pk=job_id).update(
            telemetry={SCRIPT: SCRIPT}, self_reported_model=SCRIPT, runner=SCRIPT
        )
        fail(job_id, code=FailureCode.RUNNER_ERROR, reason=f"said {SCRIPT}", now=NOW)
        assert status_of(job_id) == "failed"

        addresses = (
            *("/", "/jobs/", f"/jobs/{job_id}", "/events/"),
            *("/admin/review/reviewjob/", f"/admin/review/reviewjob/{job_id}/change/"),
            *(
                "/admin/review/reviewpair/",
                "/admin/review/filesnapshot/",
                "/admin/review/acceptance/",
            ),
            f"/admin/review/reviewjob/recover/replace/?ids={job_id}",
        )
        for address in addresses:
            page = web.get(address)
            assert page.status_code == 200, address
            assert b"<script>alert" not in page.content, address
            assert b"<img src=x" not in page.content, address
        assert b"&lt;script&gt;alert(1)" in web.get(f"/jobs/{job_id}").content

    def test_a_document_is_no_page(self, web, root):
        response = web.get(f"/jobs/{queued(root)}?format=json")

        assert response["Content-Type"] == "application/json"
        assert response["X-Content-Type-Options"] == "nosniff"


class TestOneThatNobodyCallsAbandonedYet:
    def test_says_when_it_will_be_and_can_be_given_up_now(self, web, root):
        job_id = running(root, claimed_by="agent:bo")

        page = web.get(f"/jobs/{job_id}").content.decode()

        assert "2 h 00 min" in page
        assert f"/admin/review/reviewjob/recover/replace/?ids={job_id}" in page
        assert f"/admin/review/reviewjob/recover/fail/?ids={job_id}" in page

    def test_a_queued_one_can_be_withdrawn(self, web, root):
        job_id = queued(root)

        assert f"recover/fail/?ids={job_id}" in web.get(f"/jobs/{job_id}").content.decode()

    def test_a_reader_is_shown_no_button(self, reader, root):
        job_id = queued(root)

        assert "recover/fail" not in reader.get(f"/jobs/{job_id}").content.decode()
