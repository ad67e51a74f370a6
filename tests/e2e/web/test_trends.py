"""Numbers a week: findings on the start page, and what reviews cost."""

from __future__ import annotations

from datetime import timedelta

from review.models import ReviewJob
from review.overview.trends import WEEKS, read_trends
from tests.builders import NOW, PASS, make_gate, write_gate, write_note
from tests.helpers.commands import run
from tests.helpers.pages import text_of, twin
from tests.helpers.reviewed import WARN, review_pairs

WEEK = timedelta(days=7)
END = NOW + WEEKS * WEEK


def dispose_all(state: str, *gates: str, week: int) -> None:
    entries = run("warn_selector", "--gate", *gates, "--json").json["entries"]
    for finding in (finding for entry in entries for finding in entry["findings"]):
        run(
            "dispose_finding", finding["fingerprint"], "--as", state, "--actor", "human:ana",
            now=NOW + week * WEEK,
        )  # fmt: skip


class TestFindings:
    def test_are_counted_for_each_week(self, web, root):
        """Five findings of week 1: fixed, rejected, gone with a later review, regressed, and one left."""
        gates = [f"prose/{name}" for name in ("fixed", "rejected", "gone", "regressed", "left")]
        for gate in gates:
            write_gate(root, gate, make_gate(gate))
        review_pairs(root, *(("a.md", gate) for gate in gates), review=WARN, now=NOW + WEEK / 2)
        dispose_all("fixed", "prose/fixed", week=3)
        dispose_all("rejected", "prose/rejected", week=4)
        write_note(root, "a.md", "# Changed\n\nA reader finds a note by its title, and more.\n")
        review_pairs(root, ("a.md", "prose/gone"), review=PASS, now=NOW + 5 * WEEK)
        dispose_all("fixed", "prose/regressed", week=6)
        review_pairs(root, ("a.md", "prose/regressed"), review=WARN, now=NOW + 8 * WEEK)

        found = read_trends(now=END).findings

        assert found["new"] == [5, *[0] * 11]
        assert found["open"] == [5, 5, 4, 3, 2, 1, 1, 2, 2, 2, 2, 2]
        assert sum(found["fixed"]) == 2
        assert found["rejected"] == [0, 0, 0, 1, *[0] * 8]

    def test_stand_on_the_start_page_with_a_table(self, web, root):
        from django.utils import timezone

        review_pairs(root, ("a.md", "prose/x"), review=WARN, now=timezone.now())

        page = web.get("/")

        assert "Findings open 1 new 1 fixed 0 rejected 0" in text_of(page)
        assert page.content.decode().count("<polyline") == 4
        assert page.context["trend"]["rows"][-1][1] == [1, 1, 0, 0]


class TestCosts:
    def test_are_summed_for_each_week_and_partition(self, web, root):
        review_pairs(root, ("a.md", "prose/x"), now=END - WEEK / 2)
        review_pairs(root, ("a.md", "prose/x"), now=END - WEEK, model_partition="other")
        review_pairs(root, ("a.md", "prose/x"), now=END - 30 * WEEK, model_partition="other")
        ReviewJob.objects.update(telemetry={"cost_usd": 0.25})

        assert read_trends(now=END).costs == {
            "claude-opus-4-6": [*[0.0] * 11, 0.25],
            "other": [*[0.0] * 10, 0.25, 0.0],
        }

    def test_have_a_page_that_gives_the_document_of_the_command(self, web, root):
        review_pairs(root, ("a.md", "prose/x"))
        ReviewJob.objects.update(telemetry={"cost_usd": 0.25}, started_at=NOW)

        shown = text_of(web.get("/costs/"))

        assert "1 job, US$ 0.25" in shown
        assert twin(web, "/costs/") == run("review_status", "--costs", "--json").json
        assert web.get("/costs/?partition=none").context["costs"].total.jobs == 0
