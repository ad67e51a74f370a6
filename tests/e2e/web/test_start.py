"""The start page: what needs a person, and where everything stands."""

from __future__ import annotations

import re

import pytest

from tests.builders import PARTITION, make_gate, write_gate, write_note
from tests.helpers.commands import run
from tests.helpers.jobs import abandoned, queued, running, write_output
from tests.helpers.pages import text_of
from tests.helpers.reviewed import FAIL, UNDECIDED, WARN, ingest, review_pairs


class TestNumbers:
    def test_counts_open_findings_by_how_grave_they_are(self, web, root):
        write_gate(root, "prose/y")
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        review_pairs(root, ("a.md", "prose/y"), review=FAIL)

        page = web.get("/")

        assert page.context["findings"] == {"fail": 1, "warn": 1, "info": 0}
        assert 'href="/queue/?severity=fail"' in page.content.decode()

    def test_its_document_counts_the_queue_as_the_command_does(self, web, root):
        for name in ("prose/y", "prose/z"):
            write_gate(root, name)
        review_pairs(root, ("a.md", "prose/x"), ("a.md", "prose/z"), review=WARN)
        review_pairs(root, ("a.md", "prose/y"), review=FAIL)
        review_pairs(root, ("a.md", "prose/y"), review=WARN, model_partition="other-model")
        write_gate(root, "prose/z", make_gate("prose/z", body="Another question.\n"))

        shown = web.get("/?format=json").json()["queue"]

        assert shown == run("review_status", "--json").json["queue"]
        assert shown == {"warn": 2, "fail": 0}

    def test_findings_come_before_jobs_and_a_number_of_zero_alarms_nobody(self, web, root):
        review_pairs(root, ("a.md", "prose/x"), review=WARN)
        abandoned(root)

        response = web.get("/")

        page, shown = response.content.decode(), text_of(response)
        assert shown.index("Open findings by gate") < shown.index("Jobs that need attention")
        assert "0 open fail findings 1 ▲ open warn findings 0 needs a look 1 " in shown
        assert re.findall(r'class="tile( is-\w+)?"', page) == ["", " is-warn", "", " is-abandoned"]

    def test_counts_reviews_that_want_a_look(self, web, root):
        review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)

        assert web.get("/").context["look_count"] == 1

    def test_is_the_document_of_review_status(self, web, root):
        assert web.get("/?format=json").json()["schema"] == "review-status/1"


class TestRecovery:
    def test_names_jobs_that_were_given_up_or_wait(self, web, root):
        lost = abandoned(root)
        ready = queued(root)
        write_output(root, ready)
        write_gate(root, "prose/y")
        partial = queued(root, ("a.md", "prose/x"), ("a.md", "prose/y"))
        write_output(root, partial, only=(1,))
        web.post("/admin/review/reviewjob/recover/ingest/", {"id": [partial]})

        found = web.get("/").context["recover"]

        assert [entry.review_job_id for entry in found.abandoned] == [lost]
        assert [entry.review_job_id for entry in found.ready] == [ready]
        assert [entry.review_job_id for entry in found.failed] == [partial]

    def test_a_job_that_is_abandoned_and_ready_counts_once_and_is_not_replaced_with_the_others(
        self, web, root
    ):
        lost, other, complete = (abandoned(root) for _ in range(3))
        write_output(root, complete)

        context = web.get("/").context

        assert context["to_recover"] == len(context["recover"].abandoned) == 3
        assert context["replace_url"].endswith(f"?ids={lost},{other}")

    def test_leads_to_the_preview_for_all_of_a_kind(self, web, root):
        ids = [abandoned(root), abandoned(root)]

        page = web.get("/").content.decode()

        assert f'/recover/replace/?ids={ids[0]},{ids[1]}">Replace all' in page

    def test_offers_nothing_to_who_may_not(self, reader, root):
        abandoned(root)
        abandoned(root)

        assert "Replace all" not in reader.get("/").content.decode()

    def test_says_that_nothing_waits(self, web, root):
        review_pairs(root, ("a.md", "prose/x"))

        assert "No job is abandoned" in web.get("/").content.decode()

    def test_the_list_of_jobs_shows_the_same_ones(self, web, root):
        lost = abandoned(root)
        running(root)

        rows = web.get("/jobs/?needs=abandoned").context["rows"]

        assert [(job.review_job_id, needs) for job, needs, _tally in rows] == [
            (lost, ["abandoned"])
        ]


class TestCoverage:
    def test_folds_gates_into_lenses_and_these_into_partitions(self, web, root):
        write_gate(root, "prose/y")
        write_gate(root, "links/z")
        write_note(root, "b.md")
        review_pairs(root, ("a.md", "prose/x"), ("b.md", "links/z"))
        review_pairs(root, ("a.md", "prose/y"))
        write_gate(root, "prose/y", make_gate("prose/y", body="Another question.\n"))

        (cover,) = web.get("/").context["covers"]

        assert [cover["share"][name] for name in ("fresh", "stale", "missing")] == [2, 1, 3]
        assert [(lens[0]["name"], lens[0]["percent"]) for lens in cover["lenses"]] == [
            ("links", 50),
            ("prose", 25),
        ]

    def test_partitions_owe_what_they_judged_and_those_of_rules_and_settings_all(self, web, root):
        write_gate(root, "prose/new")
        write_gate(root, "prose/rule", make_gate("prose/rule", rule="bare-urls"))
        (root / "kb" / "review.toml").write_text('[partitions.careful]\naliases = ["m"]\n')
        review_pairs(root, ("a.md", "prose/x"))

        covers = web.get("/").context["covers"]
        partitions = run("review_status", "--json").json["partitions"]
        listed = web.get("/notes/?format=json").json()["notes"][0]["counts"]
        matrix = web.get("/matrix/?model=careful&format=json").json()["counts"]

        owed = {"careful": (0, 2), PARTITION: (1, 1), "rules": (0, 1)}
        assert {it["model_partition"]: (it["fresh"], it["applicable"]) for it in partitions} == owed
        shares = [cover["share"] for cover in covers]
        assert {share["name"]: (share["fresh"], share["total"]) for share in shares} == owed
        assert {name: (it.get("fresh", 0), sum(it.values())) for name, it in listed.items()} == owed
        assert sum(matrix.values()) == 2

    def test_a_store_without_reviews_says_what_to_type(self, web, root):
        page = web.get("/").content.decode()

        assert "Getting started" in page
        assert "commonplace review_sweep --all-gates --rules-only" in page
        assert "open fail findings" not in page

    def test_files_that_cannot_be_looked_at_are_named(self, web, root):
        write_note(root, "broken.md", b"\xff\xfe")

        page = web.get("/").content.decode()

        assert "kb/notes/broken.md" in page
        assert "not utf8" in page


class TestQuickness:
    def test_asks_the_store_as_often_for_many_jobs_as_for_few(self, web, root, count_queries):
        ingest(root, queued(root))
        write_output(root, queued(root))
        web.get("/")
        few = count_queries(lambda: web.get("/"))
        for _ in range(5):
            ingest(root, queued(root))
            write_output(root, queued(root))
        web.get("/")

        assert count_queries(lambda: web.get("/")) == few

    @pytest.mark.parametrize("query", ["colour=red", "status=failed"])
    def test_knows_no_filter(self, web, root, query):
        assert web.get(f"/?{query}").status_code == 400
