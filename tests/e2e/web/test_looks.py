"""The page of reviews to look at."""

from __future__ import annotations

import pytest

from tests.builders import write_gate, write_note
from tests.helpers.reviewed import UNDECIDED, review_pairs

DISAGREES = "### Findings\n- WARN: the claim has no source\n\n## Result: PASS"
CANNOT = "### Summary\nThe note is cut off.\n\n## Result: ERROR"


@pytest.fixture
def pairs(db, root) -> dict[str, int]:
    """A review of each kind, by why it wants a look; and one that wants none."""
    for name in ("b.md", "c.md", "d.md"):
        write_note(root, name)
    write_gate(root, "links/z")
    found = {
        "decision-unknown": review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED),
        "decision-error": review_pairs(root, ("b.md", "links/z"), review=CANNOT),
        "findings-disagree": review_pairs(root, ("c.md", "prose/x"), review=DISAGREES),
    }
    review_pairs(root, ("d.md", "prose/x"))
    return {why: pair for why, (pair,) in found.items()}


def shown(page) -> list[int]:
    return [look.review_pair_id for look in page.context["paged"].items]


class TestLooks:
    def test_shows_each_kind_and_why(self, web, pairs):
        page = web.get("/looks/")

        assert [look.why for look in page.context["paged"].items] == list(pairs)
        assert f'href="/reviews/{pairs["decision-error"]}/"' in page.content.decode()

    @pytest.mark.parametrize("why", ["decision-unknown", "decision-error", "findings-disagree"])
    def test_filters_by_why(self, web, pairs, why):
        assert shown(web.get(f"/looks/?why={why}")) == [pairs[why]]

    def test_filters_by_lens_and_partition(self, web, pairs):
        assert shown(web.get("/looks/?lens=links")) == [pairs["decision-error"]]
        assert shown(web.get("/looks/?partition=another")) == []

    def test_goes_on_after_the_last_of_a_page(self, web, pairs, monkeypatch):
        monkeypatch.setattr("review.web.looks.LOOKS_A_PAGE", 2)

        first = web.get("/looks/")
        second = web.get(first.context["paged"].next_url)

        assert shown(first) + shown(second) == list(pairs.values())

    def test_is_the_document_of_the_command(self, web, pairs):
        document = web.get("/looks/?format=json").json()

        assert document["schema"] == "warn-selector/1"
        assert len(document["needs_a_look"]) == 3

    def test_what_a_person_decided_is_no_longer_there(self, web, pairs):
        pair = pairs["decision-unknown"]

        web.post(f"/reviews/{pair}/decision", {"decision": "pass", "reason": "I read it"})

        assert pair not in shown(web.get("/looks/"))

    def test_the_start_page_counts_and_shows_them(self, web, pairs):
        page = web.get("/")

        assert page.context["look_count"] == 3
        assert "no decision could be read" in page.content.decode()

    def test_many_cost_as_many_questions_as_few(self, web, root, pairs, count_queries):
        web.get("/looks/")
        few = count_queries(lambda: web.get("/looks/"))
        for name in ("e.md", "f.md", "g.md"):
            write_note(root, name)
            review_pairs(root, (name, "prose/x"), review=DISAGREES)
        web.get("/looks/")

        assert count_queries(lambda: web.get("/looks/")) == few

    def test_two_models_at_odds_over_one_pair_are_both_there(self, web, root, pairs):
        review_pairs(root, ("c.md", "prose/x"), review=DISAGREES, model_partition="other-model")

        found = web.get("/looks/?why=findings-disagree").context["paged"].items

        assert [look.model_partition for look in found] == ["claude-opus-4-6", "other-model"]
        assert all(look.findings for look in found)
