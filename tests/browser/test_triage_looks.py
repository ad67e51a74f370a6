"""The pages of triage in every look, and with text that would act if it could."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.models import DecisionEvent
from tests.browser.triaging import TEN, settle, wait_for_states
from tests.builders import NOTE, NOW, make_gate, make_root, write_gate, write_note
from tests.helpers.people import make_reader
from tests.helpers.reviewed import review_pairs
from tests.helpers.triage import decide, report, review_of

QUOTE = "A reader finds a note by its title"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(
        tmp_path,
        notes={"a.md": NOTE, "b.md": NOTE},
        gates={gate: make_gate(gate) for gate in ("prose/x", "links/z")},
    )


class TestLooks:
    @pytest.fixture
    def full(self, transactional_db, root) -> list[str]:
        """A queue with one of everything that a row can show."""
        quoted = review_of(
            ("fail", f"it contradicts itself {'at length ' * 30}", QUOTE),
            ("info", "a small thing", "then by its links"),
        )
        review_pairs(root, ("a.md", "prose/x"), review=quoted)
        marks = report(root, "a.md", "links/z", *TEN[:4])
        decide(marks[0], "fixed", at=NOW + timedelta(hours=1))
        report(root, "a.md", "links/z", *TEN[:5], now=NOW + timedelta(hours=2))
        review_pairs(
            *(root, ("a.md", "prose/x")), model_partition="gpt-5-1", now=NOW + timedelta(hours=3)
        )
        review_pairs(root, ("b.md", "prose/x"), review="## Result: FAIL")
        decide(marks[3], "rejected", reason="it is so")
        (root / "kb/notes/a.md").write_text(f"# Changed\n\n{NOTE}")
        return marks

    @pytest.mark.parametrize("query", ["", "?state=rejected", "?severity=fail", "?q=nothing"])
    def test_the_queue_is_clean_in_every_look(self, visit, full, query):
        visit.open(f"/queue/{query}")

        assert visit.problems() == []

    def test_the_queue_with_a_selection_is_clean_in_every_look(self, visit, full):
        page = visit.open("/queue/")
        page.keyboard.press("j")
        page.keyboard.press("x")

        assert visit.problems() == []

    def test_an_empty_queue_is_clean_in_every_look(self, visit, root):
        visit.open("/queue/")

        assert visit.problems() == []

    def test_a_finding_is_clean_in_every_look(self, visit, full):
        page = visit.open("/queue/?severity=fail")
        page.locator(".says").first.click()
        page.locator("summary").nth(0).click()

        assert visit.problems() == []

    def test_a_finding_that_was_decided_is_clean_in_every_look(self, visit, full):
        visit.open(f"/findings/{full[3]}/?state=rejected")

        assert visit.problems() == []

    def test_who_may_only_see_sees_a_clean_page(self, new_visit, full):
        visit = new_visit(make_reader())
        visit.open("/queue/")

        assert visit.problems() == []
        assert visit.page.get_by_role("button", name="Fixed").count() == 0


class TestReviewsToCheck:
    @pytest.fixture
    def full(self, transactional_db, root) -> None:
        review_pairs(root, ("a.md", "prose/x"), review="no decision")
        review_pairs(root, ("a.md", "links/z"), review="## Result: WARN")
        review_pairs(root, ("b.md", "links/z"), review="### Summary\nCut off.\n\n## Result: ERROR")

    def test_is_clean_in_every_look(self, visit, full):
        visit.open("/looks/")

        assert visit.problems() == []

    def test_a_key_decides_with_the_reason_and_goes_on_to_the_next_row(self, visit, full):
        page = visit.open("/looks/")
        page.locator("#reason").fill("I read it")
        page.keyboard.press("Escape")
        page.locator("[data-row]").first.focus()

        page.keyboard.press("2")
        page.wait_for_url("**/looks/#look-*")
        page.keyboard.press("1")
        page.get_by_text("1 review to check").wait_for()

        decided = DecisionEvent.objects.order_by("pk").values_list("decision", "reason")
        assert list(decided) == [("warn", "I read it"), ("pass", "I read it")]

    def test_a_key_without_a_reason_asks_for_one(self, visit, full):
        page = visit.open("/looks/")
        page.keyboard.press("j")
        page.keyboard.press("1")

        assert page.evaluate("document.activeElement.id") == "reason"
        assert not DecisionEvent.objects.exists()


class TestHostileText:
    EVIL = (
        "<img src=x onerror=document.title='hit'></script><script>document.title='hit'</script>"
        "[x](javascript:document.title='hit')<svg onload=document.title='hit'>"
    )

    def test_acts_nowhere_on_the_way_through_the_queue(self, visit, root, transactional_db):
        write_note(root, "a.md", f"# {self.EVIL}\n\nA line {self.EVIL}\n")
        write_gate(root, "prose/x", make_gate("prose/x", body=f"{self.EVIL}\n"))
        review = review_of(
            ("warn", f"one {self.EVIL}", ""), ("warn", f"two {self.EVIL}", f"A line {self.EVIL}")
        )
        review_pairs(root, ("a.md", "prose/x"), review=review)
        page = visit.open("/queue/")
        titles = [page.title()]

        page.keyboard.press("j")
        page.keyboard.press("d")
        settle(visit)
        titles.append(page.title())
        page.keyboard.press("Enter")
        page.wait_for_url("**/findings/**")
        for summary in page.locator("summary").all():
            summary.click()
        titles.append(page.title())
        page.keyboard.press("f")
        page.wait_for_url("**/queue/")

        assert "hit" not in [*titles, page.title()]
        assert len(wait_for_states(visit, 2)) == 2
