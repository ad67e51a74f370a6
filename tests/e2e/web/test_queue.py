"""The queue as people see it: what is listed, counted, filtered and paged, and why it is empty."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.web.pages import queue as queue_page
from tests.builders import NOTE, NOW, PASS, make_gate, make_root, note_path, write_note
from tests.helpers.eventful import eventful_root, history
from tests.helpers.reviewed import review_pairs
from tests.helpers.triage import decide, report, review_of

QUOTE = "A reader finds a note by its title"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(
        tmp_path,
        notes={"a.md": NOTE, "b.md": NOTE, "kb/notes/deep/c.md": NOTE},
        gates={gate: make_gate(gate) for gate in ("prose/x", "links/z")},
    )


@pytest.fixture
def filled(root):
    """Five findings in three notes, by two gates, and a review that lists none."""
    report(root, "a.md", "prose/x", "vague", "unclear")
    fail = review_of(("fail", "it contradicts itself", QUOTE), result="FAIL")
    review_pairs(root, ("a.md", "links/z"), review=fail)
    report(root, "b.md", "prose/x", "too long")
    report(root, "kb/notes/deep/c.md", "prose/x", "no source")
    review_pairs(root, ("b.md", "links/z"), review="## Result: WARN")
    return root


def rows(response) -> list[str]:
    """The texts of the rows, with the decision in place of one that stands for a whole review."""
    shown = [row for group in response.context["notes"] for row in group.rows]
    return [row.line.decision if row.finding.of_whole_review else row.finding.text for row in shown]


def counts(response, name: str) -> dict[str, int]:
    """The options of a facet."""
    facet = next((f for f in response.context["facets"] if f.name == name), None)
    return {o.value: o.count for o in (*facet.options, *facet.more)} if facet else {}


class TestList:
    def test_groups_findings_by_note_in_the_order_of_paths_and_gates(self, web, filled):
        response = web.get("/queue/")

        notes = [group.note_path for group in response.context["notes"]]
        assert notes == ["kb/notes/a.md", "kb/notes/b.md", "kb/notes/deep/c.md"]
        assert rows(response) == [
            *("it contradicts itself", "vague", "unclear"),
            *("warn", "too long"),
            "no source",
        ]

    def test_shows_where_the_quote_stands_today(self, web, filled):
        write_note(filled, "a.md", f"# New\n\nA line.\n\n{NOTE}")

        page = web.get("/queue/").content.decode()

        assert "line 7" in page
        assert "note changed since the review" in page

    def test_a_review_that_lists_nothing_leads_to_the_review(self, web, filled):
        page = web.get("/queue/?note=kb/notes/b.md").content.decode()

        assert "lists no finding" in page

    def test_counts_what_is_decided_under_its_own_tab(self, web, filled):
        (mark,) = report(filled, "b.md", "prose/x", "too long")
        decide(mark, "rejected", reason="it is short enough")

        response = web.get("/queue/")
        rejected = web.get("/queue/?state=rejected")

        assert response.context["states"] == {"open": 5, "fixed": 0, "rejected": 1, "deferred": 0}
        assert rows(rejected) == ["too long"]
        assert "it is short enough" in rejected.content.decode()

    def test_what_is_new_persisting_and_regressed_is_told_apart(self, web, root):
        report(root, "a.md", "prose/x", "vague", "unclear")
        fixed = report(root, "b.md", "prose/x", "too long")
        decide(fixed[0], "fixed", at=NOW + timedelta(hours=1))
        later = NOW + timedelta(hours=2)
        report(root, "a.md", "prose/x", "vague", "without a source", now=later)
        report(root, "b.md", "prose/x", "too long", now=later)

        assert counts(web.get("/queue/"), "seen") == {"new": 1, "persisting": 1, "regressed": 1}
        assert rows(web.get("/queue/?seen=regressed")) == ["too long"]
        assert rows(web.get("/queue/?seen=new")) == ["without a source"]

    def test_notes_that_are_gone_are_apart(self, web, filled):
        (filled / note_path("a.md")).unlink()

        response = web.get("/queue/")
        gone = web.get("/queue/?since=gone")

        assert "it contradicts itself" not in rows(response)
        assert "3 findings of notes that are gone" in response.content.decode()
        assert rows(gone) == ["it contradicts itself", "vague", "unclear"]


class TestFilters:
    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            pytest.param("severity=fail", ["it contradicts itself"], id="severity"),
            pytest.param("gate=links/z", ["it contradicts itself", "warn"], id="gate"),
            pytest.param("lens=links&severity=fail", ["it contradicts itself"], id="lens"),
            pytest.param("folder=kb/notes/deep", ["no source"], id="folder"),
            pytest.param("folder=kb/notes/dee", [], id="folder-by-its-beginning"),
            pytest.param("note=kb/notes/b.md", ["warn", "too long"], id="note"),
            pytest.param("q=LONG", ["too long"], id="words-of-the-finding"),
            pytest.param("q=reader+finds", ["it contradicts itself"], id="words-of-the-quote"),
            pytest.param("q=deep/c", ["no source"], id="words-of-the-path"),
            pytest.param("q=links/", ["it contradicts itself", "warn"], id="words-of-the-gate"),
            pytest.param("q=100%25", [], id="words-that-are-no-pattern"),
            pytest.param("decision=fail", ["it contradicts itself"], id="decision"),
            pytest.param("partition=nobody", [], id="a-partition-that-is-not"),
            pytest.param("gate=no/such", [], id="a-gate-that-is-not"),
        ],
    )
    def test_keep_what_they_say(self, web, filled, query, expected):
        assert rows(web.get(f"/queue/?{query}")) == expected

    def test_each_facet_is_counted_under_the_others(self, web, filled):
        response = web.get("/queue/?severity=fail")

        assert counts(response, "severity") == {"fail": 1, "warn": 5}
        assert counts(web.get("/queue/?severity=fail&gate=links/z"), "gate") == {"links/z": 1}

    def test_a_folder_opens_the_folders_below_it(self, web, tmp_path, monkeypatch):
        monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
        names = ("kb/notes/a/1.md", "kb/notes/a/x/2.md", "kb/notes/b/3.md")
        root = make_root(tmp_path, notes=dict.fromkeys(names, NOTE))
        for name in names:
            report(root, name, "prose/x", "vague")

        top = counts(web.get("/queue/"), "folder")
        inside = counts(web.get("/queue/?folder=kb/notes/a"), "folder")

        assert top == {"kb/notes/a": 2, "kb/notes/b": 1}
        assert inside == {"kb/notes/a": 2, "kb/notes/a/x": 1}

    def test_age_is_that_of_the_first_report(self, web, root, monkeypatch):
        report(root, "a.md", "prose/x", "vague")
        report(root, "a.md", "prose/x", "vague", now=NOW + timedelta(days=5))
        monkeypatch.setattr(
            "review.web.pages.queue.timezone.now", lambda: NOW + timedelta(days=8, hours=2)
        )

        assert rows(web.get("/queue/?age=week")) == []
        assert rows(web.get("/queue/?age=month")) == ["vague"]

    @pytest.mark.parametrize(
        ("query", "named"),
        [
            pytest.param("colour=red", "severity", id="unknown-filter"),
            pytest.param("state=gone", "rejected", id="unknown-value"),
            pytest.param("after=x", "first page", id="no-place"),
            pytest.param('after=["a","b"]', "first page", id="half-a-place"),
            pytest.param("q=%00", "NUL", id="nul"),
        ],
    )
    def test_refuse_what_they_do_not_know(self, web, root, query, named):
        response = web.get(f"/queue/?{query}")

        assert response.status_code == 400
        assert named in response.content.decode()


class TestPages:
    def test_follow_one_another_without_a_gap_or_a_repeat(self, web, filled, monkeypatch):
        monkeypatch.setattr(queue_page, "LINES_A_PAGE", 2)
        seen, url = [], "/queue/"
        while url:
            response = web.get(url)
            seen += rows(response)
            url = response.context["paged"].next_url

        assert seen == rows_of_one_page(web, monkeypatch)

    def test_go_on_where_they_were_though_what_was_before_is_decided(
        self, web, filled, monkeypatch
    ):
        monkeypatch.setattr(queue_page, "LINES_A_PAGE", 2)
        first = web.get("/queue/")
        for group in first.context["notes"]:
            for row in group.rows:
                decide(row.finding.fingerprint, "fixed")

        assert rows(web.get(first.context["paged"].next_url)) == ["unclear", "warn"]

    def test_say_which_part_of_all_they_are(self, web, filled, monkeypatch):
        monkeypatch.setattr(queue_page, "LINES_A_PAGE", 4)

        second = web.get(web.get("/queue/").context["paged"].next_url)

        assert "5–6 of 6" in second.content.decode()
        assert second.context["notes"][0].total == 2


def rows_of_one_page(web, monkeypatch) -> list[str]:
    monkeypatch.setattr(queue_page, "LINES_A_PAGE", 50)
    return rows(web.get("/queue/"))


class TestEmptiness:
    def test_of_a_store_without_reviews_names_the_command_that_makes_some(self, web, root):
        page = web.get("/queue/").content.decode()

        assert "No current review warns or fails" in page
        assert "commonplace review_sweep" in page

    def test_of_what_was_all_decided_says_so(self, web, root):
        (mark,) = report(root, "a.md", "prose/x", "vague")
        decide(mark, "fixed")

        page = web.get("/queue/").content.decode()

        assert "every finding has a disposition" in page
        assert "review_target_selector" in page

    def test_of_a_filter_leads_out_of_it(self, web, filled):
        page = web.get("/queue/?gate=no/such").content.decode()

        assert "No finding matches these filters" in page
        assert 'href="/queue/"' in page

    def test_of_a_tab_says_what_would_be_there(self, web, filled):
        assert "No finding is rejected" in web.get("/queue/?state=rejected").content.decode()

    def test_behind_the_last_page_leads_to_the_first(self, web, filled):
        page = web.get('/queue/?after=[0,"zzz","zzz",1]')

        assert "end of the list" in page.content.decode()
        assert page.context["paged"].first_url == "/queue/"


class TestCost:
    def test_the_statements_do_not_grow_with_the_findings(self, web, root, count_queries):
        numbers = []
        for size in (1, 20):
            for name in ("a.md", "b.md", "kb/notes/deep/c.md"):
                report(root, name, "prose/x", *(f"point {n} of {name}" for n in range(size)))
            web.get("/queue/")
            numbers.append(count_queries(lambda: web.get("/queue/")))

        assert numbers[0] == numbers[1] <= 15

    def test_nor_with_what_was_decided(self, web, root, count_queries):
        marks = report(root, "a.md", "prose/x", *(f"point {n}" for n in range(20)))
        decide(marks[0], "rejected")
        web.get("/queue/?state=rejected")
        few = count_queries(lambda: web.get("/queue/?state=rejected"))
        for mark in marks[1:]:
            decide(mark, "rejected")
        web.get("/queue/?state=rejected")

        assert count_queries(lambda: web.get("/queue/?state=rejected")) == few

    def test_a_page_of_the_longest_texts_stays_below_500_kb(self, web, root):
        long = "word " * 20_000
        report(root, "a.md", "prose/x", *(f"point {n}: {long}" for n in range(60)))

        assert len(web.get("/queue/").content) < 500_000


class TestWho:
    def test_nobody_sees_it_without_a_login(self, client, db, filled):
        response = client.get("/queue/")

        assert response.status_code == 302
        assert response["Location"] == "/login/?next=/queue/"

    def test_who_may_only_see_gets_no_button_that_would_refuse(self, reader, filled):
        page = reader.get("/queue/").content.decode()

        assert "it contradicts itself" in page
        assert "/queue/dispose" not in page
        assert 'name="finding"' not in page

    def test_reading_changes_nothing(self, web, filled):
        from review.models import Disposition, ReviewStore

        before = ReviewStore.objects.values().get()
        for query in ("", "?state=rejected", "?format=json"):
            web.get(f"/queue/{query}")

        assert not Disposition.objects.exists()
        assert ReviewStore.objects.values().get() == before


class TestHistory:
    def test_is_shown_as_a_page_at_every_step(self, web, tmp_path, monkeypatch):
        monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
        for step in history(eventful_root(tmp_path)):
            assert web.get("/queue/").status_code == 200, step
            assert web.get("/queue/?state=rejected&since=gone").status_code == 200, step


def test_a_pass_is_not_in_the_queue(web, root):
    review_pairs(root, ("a.md", "prose/x"), review=PASS)

    assert rows(web.get("/queue/")) == []
