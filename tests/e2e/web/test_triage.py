"""Deciding about findings on the pages: one, several, all that match; what is refused; taking back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.models import Disposition
from tests.builders import NOTE, NOW, make_gate, make_root, write_note
from tests.helpers.queueing import dispose as dispose_by_command
from tests.helpers.triage import decide, report, rows, send, states, told


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(
        tmp_path,
        notes={"a.md": NOTE, "b.md": NOTE},
        gates={gate: make_gate(gate) for gate in ("prose/x", "links/z")},
    )


@pytest.fixture
def marks(db, root) -> list[str]:
    """Fingerprints of three findings of one note, and of one of another."""
    first = report(root, "a.md", "prose/x", "vague", "unclear", "too long")
    return first + report(root, "b.md", "links/z", "no source")


class TestOne:
    @pytest.mark.parametrize("state", ["fixed", "rejected", "deferred"])
    def test_is_decided_in_the_persons_name_with_the_reason(self, web, marks, state):
        response = send(web, "/queue/dispose", one=f"{state} {marks[0]} 0", reason="because")

        assert response.status_code == 303
        word = Disposition.objects.get()
        assert (word.fingerprint, word.state, word.reason) == (marks[0], state, "because")
        assert (word.actor, len(word.note_sha256)) == ("human:ana", 64)
        assert rows(web) == ["unclear", "too long", "no source"]

    def test_leads_to_the_next_row_of_the_same_list(self, web, marks):
        query = "lens=prose"
        response = send(web, "/queue/dispose", query, one=f"fixed {marks[1]} 0")
        page = web.get(f"/queue/?{query}")

        last = page.context["notes"][0].rows[1]
        assert last.finding.text == "too long"
        assert response["Location"] == f"/queue/?{query}#{last.line.row_id}"

    def test_that_was_the_last_leads_to_the_one_before(self, web, marks):
        response = send(web, "/queue/dispose", one=f"fixed {marks[3]} 0")

        row = web.get("/queue/").context["notes"][0].rows[2]
        assert response["Location"].endswith(f"#{row.line.row_id}")

    def test_says_what_was_done(self, web, marks):
        response = send(web, "/queue/dispose", one=f"rejected {marks[0]} 0")

        assert told(response) == ["Rejected: “vague” (prose/x in kb/notes/a.md)."]

    def test_does_not_take_the_ticked_ones_along(self, web, marks):
        send(web, "/queue/dispose", one=f"fixed {marks[0]} 0", finding=[f"{marks[1]} 0"])

        assert states() == {marks[0]: ["fixed"]}

    def test_can_be_opened_again(self, web, marks):
        key = decide(marks[0], "rejected")

        send(web, "/queue/dispose", "state=rejected", one=f"open {marks[0]} {key}")

        assert states()[marks[0]] == ["rejected", "open"]
        assert "vague" in rows(web)

    def test_that_was_deferred_comes_back_when_the_note_changes(self, web, root, marks):
        send(web, "/queue/dispose", one=f"deferred {marks[3]} 0")
        assert "no source" not in rows(web)

        write_note(root, "b.md", NOTE + "\nOne more line.\n")

        assert "no source" in rows(web)

    def test_that_was_carried_to_another_path_is_known_there(self, web, root, marks):
        from review.acceptance.carry_over import CarryRequest, carry_over_acceptances
        from tests.helpers.reviewed import open_corpus

        (root / "kb/notes/b.md").rename(root / "kb/notes/c.md")
        move = CarryRequest("kb/notes/b.md", "kb/notes/c.md", actor="human:ana")
        carry_over_acceptances(move, corpus=open_corpus(root), now=NOW + timedelta(hours=1))
        (row,) = web.get("/queue/?note=kb/notes/c.md").context["notes"][0].rows

        send(web, "/queue/dispose", one=f"rejected {row.finding.fingerprint} 0")

        assert row.finding.fingerprint != marks[3]
        assert rows(web, "state=rejected") == ["no source"]


class TestSeveral:
    def test_are_decided_at_once(self, web, marks):
        ticked = [f"{mark} 0" for mark in marks[:3]]

        response = send(web, "/queue/dispose", act="rejected", finding=ticked, reason="noise")

        assert told(response) == ["3 findings rejected."]
        assert states() == {mark: ["rejected"] for mark in marks[:3]}
        assert set(Disposition.objects.values_list("reason", flat=True)) == {"noise"}

    def test_the_legal_ones_move_and_the_others_are_named(self, web, marks):
        fixed = decide(marks[0], "fixed", actor="human:bo")
        decide(marks[1], "deferred", actor="human:cy")
        ticked = [f"{mark} 0" for mark in marks]

        response = send(web, "/queue/dispose", act="rejected", finding=ticked)

        assert told(response) == [
            "2 findings rejected.",
            "Not changed: “vague” (prose/x in kb/notes/a.md). human:bo set it to fixed after this"
            " page was shown.",
            "Not changed: “unclear” (prose/x in kb/notes/a.md). human:cy set it to deferred after"
            " this page was shown.",
        ]
        assert states() == {
            marks[0]: ["fixed"],
            marks[1]: ["deferred"],
            marks[2]: ["rejected"],
            marks[3]: ["rejected"],
        }
        assert Disposition.objects.filter(fingerprint=marks[0]).get().pk == fixed

    def test_what_was_decided_and_opened_again_meanwhile_is_left_alone_too(self, web, marks):
        decide(marks[0], "rejected")
        decide(marks[0], "open")

        send(web, "/queue/dispose", one=f"fixed {marks[0]} 0")

        assert states()[marks[0]] == ["rejected", "open"]

    def test_what_was_decided_by_a_command_meanwhile_is_left_alone(self, web, marks):
        dispose_by_command(marks[0], "rejected")

        response = send(web, "/queue/dispose", one=f"fixed {marks[0]} 0")

        assert "human:ana set it to rejected" in told(response)[0]
        assert states()[marks[0]] == ["rejected"]

    def test_pressed_twice_it_counts_once(self, web, marks):
        for _ in range(2):
            send(web, "/queue/dispose", one=f"fixed {marks[0]} 0")

        assert states() == {marks[0]: ["fixed"]}

    def test_of_a_finding_that_moved_on_in_a_later_review_holds(self, web, root, marks):
        report(root, "a.md", "prose/x", "vague", now=NOW + timedelta(hours=1))

        response = send(web, "/queue/dispose", act="fixed", finding=[f"{m} 0" for m in marks])

        assert told(response) == ["4 findings fixed."]

    def test_an_unknown_one_stops_them_all(self, web, marks):
        ticked = [f"{marks[0]} 0", "0123456789abcdef 0"]

        response = send(web, "/queue/dispose", act="fixed", finding=ticked)

        assert response.status_code == 422
        assert states() == {}

    @pytest.mark.parametrize(
        "fields",
        [
            pytest.param({"act": "fixed"}, id="none-ticked"),
            pytest.param({}, id="nothing"),
            pytest.param({"act": "burnt", "finding": ["MARK 0"]}, id="no-such-status"),
            pytest.param({"act": "fixed", "finding": ["MARK"]}, id="without-what-was-seen"),
            pytest.param({"act": "fixed", "finding": ["MARK -1"]}, id="a-number-that-is-none"),
            pytest.param({"act": "fixed", "finding": ["MARK ²"]}, id="a-digit-that-is-none"),
            pytest.param({"one": "fixed '; drop 0"}, id="no-fingerprint"),
            pytest.param({"one": "fixed MARK 0", "reason": "x" * 1001}, id="a-long-reason"),
            pytest.param({"one": "fixed MARK 0", "reason": "a\0b"}, id="nul"),
        ],
    )
    def test_a_form_that_is_not_ours_changes_nothing(self, web, marks, fields):
        text = {
            name: [one.replace("MARK", marks[0]) for one in value]
            if isinstance(value, list)
            else value.replace("MARK", marks[0])
            for name, value in fields.items()
        }

        assert send(web, "/queue/dispose", **text).status_code == 400
        assert states() == {}

    def test_more_than_a_page_holds_is_refused(self, web, marks):
        ticked = [f"{marks[0]} 0"] * 501

        assert send(web, "/queue/dispose", act="fixed", finding=ticked).status_code == 400

    def test_leads_to_no_other_site(self, web, marks):
        response = send(
            web, "/queue/dispose", one=f"fixed {marks[0]} 0", next="https://example.org/"
        )

        assert response["Location"].startswith("/queue/")


class TestAllThatMatch:
    def test_a_program_is_led_to_the_document_of_what_matches(self, web, root):
        report(root, "a.md", "prose/x", "vague")

        answer = web.get(
            "/queue/all?severity=warn", headers={"accept": "application/json"}, follow=True
        )

        assert answer.redirect_chain == [("/queue/?severity=warn&format=json", 303)]
        assert answer.json()["schema"] == "warn-selector/1"

    def test_are_shown_before_they_are_decided(self, web, marks):
        page = web.get("/queue/all?lens=prose").content.decode()

        assert "Dispose of 3 findings" in page
        assert "3 findings in 1 note" in page

    def test_are_decided_once_confirmed(self, web, marks):
        response = send(
            *(web, "/queue/all", "lens=prose"), **{"as": "rejected", "expected": 3, "reason": "no"}
        )

        assert response.status_code == 303
        assert told(response) == ["3 findings rejected."]
        assert states() == {mark: ["rejected"] for mark in marks[:3]}

    def test_more_than_a_page_holds_are_decided(self, web, root):
        report(root, "a.md", "prose/x", *(f"point {number} of many" for number in range(120)))

        send(web, "/queue/all", **{"as": "fixed", "expected": 120})

        assert Disposition.objects.filter(state="fixed").count() == 120
        assert rows(web) == []

    def test_when_the_number_changed_nothing_is_and_the_new_one_is_shown(self, web, marks):
        decide(marks[0], "fixed")

        response = send(web, "/queue/all", "lens=prose", **{"as": "rejected", "expected": 3})

        page = response.content.decode()
        assert response.status_code == 409
        assert "2 findings match now, not 3" in page
        assert 'name="expected" value="2"' in page
        assert states() == {marks[0]: ["fixed"]}

    def test_for_a_program_the_refusal_is_a_document(self, web, marks):
        response = web.post("/queue/all?format=json", {"as": "fixed", "expected": "7"})

        assert response.status_code == 409
        assert response.json()["code"] == "queue-moved"

    def test_a_review_that_lists_nothing_is_counted_as_one(self, web, root, marks):
        from tests.helpers.reviewed import review_pairs

        review_pairs(root, ("b.md", "prose/x"), review="## Result: WARN")

        assert "Dispose of 5 findings" in web.get("/queue/all").content.decode()
        assert send(web, "/queue/all", **{"as": "fixed", "expected": 5}).status_code == 303
        assert rows(web) == []

    def test_only_what_will_be_changed_is_listed(self, web, root, marks):
        page = web.get("/queue/all?gate=prose/x").content.decode()
        gates = web.get("/queue/").context["facets"]

        others = [
            o.value for f in gates if f.name == "gate" for o in f.options if o.value != "prose/x"
        ]
        assert others
        assert not [gate for gate in others if f"{gate} (" in page]

    def test_none_leaves_nothing_to_confirm(self, web, root):
        page = web.get("/queue/all").content.decode()

        assert "<button" not in page.partition("<main")[2].partition("</main")[0]

    @pytest.mark.parametrize(
        "fields",
        [
            pytest.param({"as": "fixed"}, id="without-a-number"),
            pytest.param({"as": "fixed", "expected": "many"}, id="no-number"),
            pytest.param({"expected": 4}, id="without-a-status"),
        ],
    )
    def test_a_form_that_is_not_ours_changes_nothing(self, web, marks, fields):
        assert send(web, "/queue/all", **fields).status_code == 400
        assert states() == {}


class TestWho:
    @pytest.mark.parametrize("url", ["/queue/dispose", "/queue/all", "/queue/undo"])
    def test_who_may_only_see_changes_nothing(self, reader, marks, url):
        response = send(reader, url, one=f"fixed {marks[0]} 0", **{"as": "fixed", "expected": 4})

        assert response.status_code == 403
        assert "review.change_finding" in response.content.decode()
        assert states() == {}

    def test_who_may_only_see_is_not_shown_what_to_confirm(self, reader, marks):
        assert reader.get("/queue/all").status_code == 403

    @pytest.mark.parametrize("url", ["/queue/dispose", "/queue/all", "/queue/undo"])
    def test_nobody_changes_anything_without_a_login(self, client, marks, url):
        response = send(client, url, one=f"fixed {marks[0]} 0")

        assert response.status_code == 302
        assert response["Location"].startswith("/login/")
        assert states() == {}

    @pytest.mark.parametrize("url", ["/queue/dispose", "/queue/all", "/queue/undo"])
    def test_a_form_of_another_site_changes_nothing(self, operator, marks, url):
        from django.test import Client

        web = Client(enforce_csrf_checks=True)
        web.force_login(operator)

        assert send(web, url, one=f"fixed {marks[0]} 0").status_code == 403
        assert states() == {}

    @pytest.mark.parametrize("url", ["/queue/dispose", "/queue/undo"])
    def test_looking_at_the_address_changes_nothing(self, web, marks, url):
        assert web.get(url).status_code == 405


class TestCookies:
    def test_hold_what_is_said_however_long_names_and_texts_are(self, web, root):
        name = f"kb/notes/{'長い' * 30}/{'名前' * 30}/{'ノート' * 25}.md"
        write_note(root, name, NOTE)
        marks = report(root, name, "prose/x", *(f"{number} {'文章' * 900}" for number in range(8)))
        for mark in marks[:6]:
            decide(mark, "fixed", actor=f"human:{'長' * 150}")

        response = send(
            web, "/queue/dispose", act="rejected", finding=[f"{mark} 0" for mark in marks]
        )

        cookies = {name: len(morsel.OutputString()) for name, morsel in response.cookies.items()}
        assert max(cookies.values()) < 4000
        page = web.get("/queue/").content.decode()
        assert "2 findings rejected." in page
        assert "Also not changed: 3 findings." in page
