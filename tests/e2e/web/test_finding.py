"""The page of one finding: what it shows, the way through the list, and deciding."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.messages import get_messages

from review.models import Disposition, Finding
from tests.builders import NOTE, NOW, PASS, make_gate, make_root, note_path, write_gate, write_note
from tests.helpers.reviewed import review_pairs
from tests.helpers.triage import decide, report, review_of

QUOTE = "A reader finds a note by its title"
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path, notes={"a.md": NOTE, "b.md": NOTE})


@pytest.fixture
def marks(db, root) -> list[str]:
    """Fingerprints of three findings of one note, the first with a quote, and one of another."""
    review = review_of(("fail", "vague", QUOTE), ("warn", "unclear", ""), ("warn", "too long", ""))
    (pair_id,) = review_pairs(root, ("a.md", "prose/x"), review=review)
    first = Finding.objects.filter(pair_id=pair_id).order_by("ordinal")
    return [*first.values_list("fingerprint", flat=True), *report(root, "b.md", "prose/x", "odd")]


def url_of(mark: str, query: str = "") -> str:
    return f"/findings/{mark}/?{query}" if query else f"/findings/{mark}/"


def text_of(response) -> str:
    return " ".join(response.content.decode().split())


class TestPage:
    def test_shows_the_quote_where_it_stands_in_todays_note(self, web, root, marks):
        write_note(root, "a.md", f"# New\n\nA line.\n\n{NOTE}")

        response = web.get(url_of(marks[0]))

        assert "<mark>A reader finds a note by its title</mark>, then by its links." in text_of(
            response
        )
        assert response.context["finding"].line_now == 7
        assert "changed since" in text_of(response)

    def test_shows_the_reviewed_text_where_the_quote_is_gone(self, web, root, marks):
        write_note(root, "a.md", "# Another note\n\nWith other words.\n")

        response = web.get(url_of(marks[0]))

        assert "In the note as it was reviewed" in text_of(response)
        assert "the finding may be fixed" in text_of(response)
        assert "<mark>A reader finds" in text_of(response)

    def test_shows_the_reviewed_text_where_the_note_is_gone(self, web, root, marks):
        (root / note_path("a.md")).unlink()

        page = text_of(web.get(url_of(marks[0])))

        assert "The note is gone." in page
        assert "Not in the queue: its note is gone" in page
        assert "<mark>A reader finds" in page

    def test_says_what_it_is_about_without_a_quote(self, web, marks):
        assert "quotes no passage" in text_of(web.get(url_of(marks[1])))

    def test_says_why_the_gate_asks(self, web, marks):
        page = text_of(web.get(url_of(marks[0])))

        assert "Asks one thing of a note, named x." in page
        assert "A finding is a line that fails prose/x." in page

    def test_shows_earlier_reports_and_decisions(self, web, root, marks):
        decide(marks[0], "fixed", at=LATER, reason="rewritten", actor="human:bo")
        again = review_of(("warn", "still vague", QUOTE))
        review_pairs(root, ("a.md", "prose/x"), review=again, now=LATER + timedelta(hours=1))

        response = web.get(url_of(marks[0]))

        page = text_of(response)
        assert "still vague" in page.partition("<h1")[2][:200]
        assert "regressed" in page
        assert "fixed</span> by human:bo" in page
        assert "rewritten" in page
        assert [one.text for one in response.context["shown"].occurrences] == ["vague"]

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            pytest.param("gate-changed", "its gate changed since", id="gate-changed"),
            pytest.param("gate-gone", "its gate is gone", id="gate-gone"),
            pytest.param("passed", "a later review passed the note", id="passed"),
            pytest.param("other", "the latest review does not report it", id="not-reported"),
            pytest.param("overridden", "human:ana accepted the note as it is", id="overridden"),
        ],
    )
    def test_says_why_it_is_not_in_the_queue(self, web, root, marks, change, why):
        from tests.builders import PARTITION, gate_path
        from tests.helpers.commands import run

        key = ("a.md", "prose/x")
        if change == "gate-changed":
            write_gate(root, "prose/x", make_gate("prose/x", body="Another thing.\n"))
        elif change == "gate-gone":
            (root / gate_path("prose/x")).unlink()
        elif change == "passed":
            review_pairs(root, key, review=PASS, now=LATER)
        elif change == "other":
            report(root, *key, "something else entirely", now=LATER)
        else:
            words = ("--model", PARTITION, note_path("a.md"), "prose/x", "--reason", "leave it")
            run("override_acceptance", *words, "--actor", "human:ana")

        response = web.get(url_of(marks[0]))

        assert f"Not in the queue: {why}" in text_of(response)
        assert web.get(url_of(marks[0]) + "?format=json").json()["in_queue"] is False

    def test_of_one_that_models_disagree_about_says_so(self, web, root, marks):
        review_pairs(root, ("a.md", "prose/x"), model_partition="gpt-5-1", now=LATER)

        assert "The models disagree: gpt-5-1 passed" in text_of(web.get(url_of(marks[0])))

    def test_that_its_own_model_passed_later_is_no_disagreement(self, web, root, marks):
        review_pairs(root, ("a.md", "prose/x"), now=LATER)

        shown = text_of(web.get(url_of(marks[0])))
        document = web.get(url_of(marks[0]) + "?format=json").json()

        assert "Not in the queue: a later review passed the note" in shown
        assert "disagree" not in shown
        assert document["later_pass_in"] == []

    def test_that_nobody_reported_is_not_there(self, web, marks):
        response = web.get(url_of("0123456789abcdef"))

        assert response.status_code == 404
        assert "no review reported" in text_of(response)

    def test_for_a_program_is_a_document(self, web, marks):
        decide(marks[0], "deferred", at=LATER, reason="next week")

        document = web.get(f"{url_of(marks[0])}?format=json").json()

        assert document["schema"] == "finding/1"
        assert document["note_path"] == "kb/notes/a.md"
        assert document["finding"]["quote"] == QUOTE
        assert [word["reason"] for word in document["dispositions"]] == ["next week"]

    def test_takes_the_same_number_of_statements_whatever_was_said(
        self, web, root, marks, count_queries
    ):
        decide(marks[0], "deferred", at=LATER)
        web.get(url_of(marks[0]))
        few = count_queries(lambda: web.get(url_of(marks[0])))
        for number in range(12):
            decide(marks[0], "deferred", at=LATER, reason=f"reason {number}")
            review_pairs(root, ("b.md", "prose/x"), review=PASS, now=LATER)
        web.get(url_of(marks[0]))

        assert count_queries(lambda: web.get(url_of(marks[0]))) == few <= 20


class TestWay:
    def test_leads_through_the_list_it_was_opened_from(self, web, marks):
        response = web.get(url_of(marks[1], "severity=warn"))

        assert (response.context["rank"], response.context["total"]) == (1, 3)
        assert response.context["previous_url"] == ""
        assert response.context["next_url"] == url_of(marks[2], "severity=warn")

    def test_leads_to_reviews_that_list_no_finding_too(self, web, root, marks):
        write_note(root, "aa.md")
        review_pairs(root, ("aa.md", "prose/x"), review="## Result: WARN")

        own = web.get(web.get(url_of(marks[2])).context["next_url"])

        assert own.context["finding"].of_whole_review
        assert own.context["next_url"] == url_of(marks[3])

    def test_leads_back_to_its_row_on_its_page(self, web, marks, monkeypatch):
        monkeypatch.setattr("review.web.pages.queue.LINES_A_PAGE", 2)
        monkeypatch.setattr("review.web.pages.queue.LINES_A_PAGE", 2)

        url = web.get(url_of(marks[3])).context["queue_url"]
        page = web.get(url)

        (group,) = [g for g in page.context["notes"] if g.note_path == "kb/notes/b.md"]
        assert url.endswith(f"#{group.rows[0].line.row_id}")

    def test_of_one_that_is_not_in_the_list_goes_on_behind_its_place(self, web, marks):
        decide(marks[1], "rejected")

        response = web.get(url_of(marks[1]))

        assert response.context["rank"] is None
        assert response.context["next_url"] == url_of(marks[2])
        assert "not in the list of 3" in text_of(response)

    def test_refuses_a_filter_that_the_queue_does_not_have(self, web, marks):
        assert web.get(url_of(marks[0], "colour=red")).status_code == 400


class TestDecision:
    def send(self, web, mark, query="", **fields):
        url = f"/findings/{mark}/decision"
        return web.post(f"{url}?{query}" if query else url, fields)

    def test_is_kept_with_its_reason_and_leads_to_the_next(self, web, marks):
        response = self.send(
            *(web, marks[0]), **{"as": "rejected", "seen": "0", "reason": "it is precise"}
        )

        assert (response.status_code, response["Location"]) == (303, url_of(marks[1]))
        word = Disposition.objects.get()
        assert (word.state, word.reason, word.actor) == ("rejected", "it is precise", "human:ana")

    def test_keeps_to_the_list(self, web, marks):
        response = self.send(web, marks[1], "severity=warn", **{"as": "fixed", "seen": "0"})

        assert response["Location"] == url_of(marks[2], "severity=warn")

    def test_about_the_last_leads_back_to_the_list(self, web, marks):
        response = self.send(web, marks[3], **{"as": "fixed", "seen": "0"})

        assert response["Location"] == "/queue/"

    def test_where_somebody_was_first_changes_nothing_and_stays(self, web, marks):
        decide(marks[0], "fixed", actor="human:bo")

        response = self.send(web, marks[0], **{"as": "rejected", "seen": "0"})

        assert response["Location"] == url_of(marks[0])
        (message,) = get_messages(response.wsgi_request)
        assert "human:bo set it to fixed" in str(message)
        assert Disposition.objects.count() == 1

    def test_about_one_that_left_the_queue_is_kept(self, web, root, marks):
        review_pairs(root, ("a.md", "prose/x"), review=PASS, now=LATER)

        response = self.send(web, marks[0], **{"as": "rejected", "seen": "0"})

        assert response.status_code == 303
        assert Disposition.objects.get().state == "rejected"

    def test_can_be_taken_back_from_the_page_it_led_to(self, web, marks):
        led_to = self.send(web, marks[0], **{"as": "fixed", "seen": "0"})["Location"]
        assert "/queue/undo" in web.get(led_to).content.decode()

        web.post("/queue/undo", {"next": led_to})

        assert [word.state for word in Disposition.objects.order_by("pk")] == ["fixed", "open"]

    @pytest.mark.parametrize(
        "fields",
        [
            pytest.param({"as": "burnt", "seen": "0"}, id="no-such-status"),
            pytest.param({"as": "fixed"}, id="without-what-was-seen"),
            pytest.param({"as": "fixed", "seen": "x"}, id="no-number"),
        ],
    )
    def test_that_cannot_be_read_changes_nothing(self, web, marks, fields):
        assert self.send(web, marks[0], **fields).status_code == 400
        assert not Disposition.objects.exists()

    def test_takes_the_permission(self, reader, marks):
        response = self.send(reader, marks[0], **{"as": "fixed", "seen": "0"})

        assert response.status_code == 403
        assert not Disposition.objects.exists()

    def test_is_not_offered_to_who_may_only_see(self, reader, marks):
        page = text_of(reader.get(url_of(marks[0])))

        assert "/decision" not in page
        assert "review.change_finding" in page

    def test_takes_a_login(self, client, marks):
        assert client.get(url_of(marks[0])).status_code == 302
        assert self.send(client, marks[0], **{"as": "fixed", "seen": "0"}).status_code == 302
        assert not Disposition.objects.exists()


class TestHostileText:
    EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>[x](javascript:alert(3))"

    @pytest.fixture
    def evil(self, db, root) -> str:
        note = f"# Note {self.EVIL}\n\nA line {self.EVIL} with it.\n"
        name = "kb/notes/<svg onload=alert(4)>&amp;.md"
        write_note(root, name, note)
        gate = make_gate("prose/x", body=f"{self.EVIL}\n\n<svg onload=alert(5)>\n")
        write_gate(root, "prose/x", gate)
        review = review_of(("warn", self.EVIL, f"A line {self.EVIL}"))
        review_pairs(root, (name, "prose/x"), review=review)
        return Finding.objects.latest("pk").fingerprint

    @pytest.mark.parametrize(
        "page", ["/queue/", "/queue/?q=<script>", "/findings/MARK/", "/queue/all"]
    )
    def test_stays_text_on_every_page(self, web, evil, page):
        decide(evil, "open", reason=self.EVIL)

        body = web.get(page.replace("MARK", evil)).content.decode()

        main = body.partition("<main")[2]
        assert "<img" not in main
        assert "<script" not in main
        assert "onload=alert(4)>" not in main.replace("&lt;svg onload=alert(4)&gt;", "")
        assert 'href="javascript' not in main

    def test_stays_text_in_what_is_said_about_it(self, web, evil):
        web.post("/queue/dispose", {"one": f"rejected {evil} 0"})

        main = web.get("/queue/").content.decode().partition("<main")[2]

        assert "&lt;img src=x" in main
        assert "<img" not in main

    def test_is_json_for_a_program(self, web, evil):
        response = web.get(f"/findings/{evil}/?format=json")

        assert response["Content-Type"] == "application/json"
        assert response.json()["finding"]["text"] == self.EVIL
