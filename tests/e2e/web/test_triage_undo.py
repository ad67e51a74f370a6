"""Taking back what was decided on the pages: what was before holds again, and others' words stay."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.models import Disposition
from tests.builders import NOTE, NOW, make_gate, make_root
from tests.helpers.triage import LATE, decide, report, rows, send, states, told


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


class TestUndo:
    def test_appends_what_was_before(self, web, marks):
        send(web, "/queue/dispose", act="rejected", finding=[f"{mark} 0" for mark in marks[:2]])

        response = send(web, "/queue/undo")

        assert told(response)[-1] == "Undone: 2 findings rejected."
        assert states() == {mark: ["rejected", "open"] for mark in marks[:2]}
        assert rows(web) == ["vague", "unclear", "too long", "no source"]

    def test_leads_to_the_row_that_is_back(self, web, marks):
        send(web, "/queue/dispose", one=f"fixed {marks[2]} 0")

        response = send(web, "/queue/undo")

        row = web.get("/queue/").context["notes"][0].rows[2]
        assert response["Location"] == f"/queue/#{row.line.row_id}"

    def test_brings_the_earlier_word_back_with_its_reason(self, web, marks):
        key = decide(marks[0], "rejected", reason="it is not vague")
        send(web, "/queue/dispose", "state=rejected", one=f"fixed {marks[0]} {key}")

        send(web, "/queue/undo")

        last = Disposition.objects.latest("pk")
        assert (last.state, last.reason, last.actor) == (
            "rejected",
            "it is not vague",
            "human:ana",
        )

    def test_of_a_decision_about_a_regressed_finding_leaves_it_open(self, web, root, marks):
        key = decide(marks[3], "fixed", at=NOW + timedelta(hours=1))
        report(root, "b.md", "links/z", "no source", now=NOW + timedelta(hours=2))
        send(web, "/queue/dispose", one=f"rejected {marks[3]} {key}")

        send(web, "/queue/undo")

        assert "no source" in rows(web)

    def test_of_a_decision_about_a_fixed_finding_makes_it_fixed_again(self, web, marks):
        key = decide(marks[3], "fixed", at=NOW + timedelta(hours=1))
        send(web, "/queue/dispose", "state=fixed", one=f"rejected {marks[3]} {key}")

        send(web, "/queue/undo")

        assert rows(web, "state=fixed") == ["no source"]

    def test_of_deferring_it_twice_is_still_deferred(self, web, marks):
        send(web, "/queue/dispose", one=f"deferred {marks[0]} 0")
        key = Disposition.objects.get().pk
        send(web, "/queue/dispose", "state=deferred", one=f"rejected {marks[0]} {key}")

        send(web, "/queue/undo")

        assert rows(web, "state=deferred") == ["vague"]

    def test_leaves_alone_what_others_decided_since_and_names_it(self, web, marks):
        send(web, "/queue/dispose", act="rejected", finding=[f"{mark} 0" for mark in marks[:2]])
        decide(marks[0], "fixed", at=LATE, actor="human:bo")

        response = send(web, "/queue/undo")

        assert states() == {marks[0]: ["rejected", "fixed"], marks[1]: ["rejected", "open"]}
        assert "human:bo set it to fixed" in told(response)[-1]

    def test_takes_back_all_that_matched(self, web, marks):
        send(web, "/queue/all", **{"as": "fixed", "expected": 4})

        send(web, "/queue/undo")

        assert len(rows(web)) == 4

    def test_is_there_once(self, web, marks):
        send(web, "/queue/dispose", one=f"fixed {marks[0]} 0")
        assert "/queue/undo" in web.get("/queue/").content.decode()
        send(web, "/queue/undo")

        assert "/queue/undo" not in web.get("/queue/").content.decode()
        assert send(web, "/queue/undo").status_code == 409
        assert states() == {marks[0]: ["fixed", "open"]}
