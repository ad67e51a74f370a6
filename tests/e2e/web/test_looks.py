"""The page of reviews to look at."""

from __future__ import annotations

import pytest

from review.models import ReviewPair
from tests.builders import write_gate, write_note
from tests.helpers.pages import values_of
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
        assert f'href="/reviews/{pairs["decision-error"]}/?from=looks"' in page.content.decode()

    @pytest.mark.parametrize("why", ["decision-unknown", "decision-error", "findings-disagree"])
    def test_filters_by_why(self, web, pairs, why):
        assert shown(web.get(f"/looks/?why={why}")) == [pairs[why]]

    def test_filters_by_lens_and_partition(self, web, pairs):
        assert shown(web.get("/looks/?lens=links")) == [pairs["decision-error"]]
        assert shown(web.get("/looks/?partition=another")) == []

    def test_goes_on_after_the_last_of_a_page(self, web, pairs, monkeypatch):
        monkeypatch.setattr("review.web.pages.reviews.LOOKS_A_PAGE", 2)

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


class TestDecidingInTheList:
    def test_a_key_decides_and_leads_to_the_next_row(self, web, pairs):
        first, second = pairs["decision-unknown"], pairs["decision-error"]
        body = web.get("/looks/").content.decode()
        address = f"/reviews/{first}/decision?following={second}"
        assert f'formaction="{address}" data-key="1"' in body

        answer = web.post(address, {"decision": "pass", "reason": "I read it", "next": "/looks/"})

        assert answer.headers["Location"] == f"/looks/#look-{second}"
        page = web.get("/looks/")
        assert first not in shown(page)
        assert page.context["reason"] == "I read it"

    def test_the_keys_are_listed(self, web, pairs):
        assert "decision: pass, warn, fail" in web.get("/looks/").content.decode()

    def test_a_reader_decides_and_requests_nothing(self, reader, pairs):
        body = reader.get("/looks/").content.decode()

        assert 'name="decision"' not in body
        assert reader.post("/looks/request", {"one": pairs["decision-error"]}).status_code == 403


class TestRequestAgain:
    def queued(self) -> list[tuple[str, str]]:
        rows = ReviewPair.objects.filter(job__status="queued").order_by("pk")
        return list(rows.values_list("note__path", "job__model_partition__name"))

    def test_queues_the_pair_of_a_row_for_its_partition(self, web, root, pairs):
        review_pairs(root, ("b.md", "links/z"), review=CANNOT, model_partition="other-model")
        other = shown(web.get("/looks/?partition=other-model"))[0]

        web.post("/looks/request", {"one": other, "pair": pairs["findings-disagree"]})

        assert self.queued() == [("kb/notes/b.md", "other-model")]
        assert "in a job" in web.get("/looks/?partition=other-model").content.decode()

    def test_queues_all_that_are_ticked(self, web, pairs):
        web.post("/looks/request", {"pair": list(pairs.values())})

        assert len(self.queued()) == 3

    def test_refuses_what_is_not_in_the_list(self, web, pairs):
        assert web.post("/looks/request", {"one": 999}).status_code == 400
        assert web.post("/looks/request").status_code == 400
        assert self.queued() == []


class TestFromOneToTheNext:
    def beside(self, web, pair_id, query="from=looks"):
        return web.get(f"/reviews/{pair_id}/?{query}").context["beside"]

    def test_a_review_knows_its_place_in_the_list(self, web, pairs):
        order = shown(web.get("/looks/"))

        first, last = self.beside(web, order[0]), self.beside(web, order[-1])

        assert (first["rank"], first["total"], first["previous_url"]) == (1, 3, "")
        assert first["next_url"] == f"/reviews/{order[1]}/?from=looks"
        assert (last["rank"], last["next_url"]) == (3, "")

    def test_the_filters_of_the_list_go_along(self, web, pairs):
        place = self.beside(web, pairs["decision-error"], "from=looks&why=decision-error")

        assert (place["rank"], place["total"]) == (1, 1)
        assert place["list_url"] == "/looks/?why=decision-error"

    def test_a_review_that_was_opened_otherwise_has_no_list(self, web, pairs):
        assert web.get(f"/reviews/{pairs['decision-error']}/").context["beside"] is None

    def test_the_next_one_comes_after_a_decision(self, web, pairs):
        undecided, following = shown(web.get("/looks/"))[:2]
        page = web.get(f"/reviews/{undecided}/?from=looks")
        next_one = f"/reviews/{following}/?from=looks"
        assert next_one in values_of(page, "next")

        answer = web.post(
            f"/reviews/{undecided}/decision",
            {"decision": "warn", "reason": "it says so", "next": next_one},
            follow=True,
        )

        assert answer.redirect_chain == [(next_one, 303)]
        assert answer.context["beside"]["rank"] == 1

    def test_what_is_decided_still_knows_what_comes_next(self, web, pairs):
        undecided, following = shown(web.get("/looks/"))[:2]
        web.post(f"/reviews/{undecided}/decision", {"decision": "warn", "reason": "it says so"})

        place = self.beside(web, undecided)

        assert (place["rank"], place["total"]) == (0, 2)
        assert place["next_url"] == f"/reviews/{following}/?from=looks"
