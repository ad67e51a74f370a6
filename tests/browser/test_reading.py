"""Reviews, notes, changes, gates and the matrix in a browser: clean in every look, usable by keys."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from review.models import ReviewJob, ReviewPair
from review.vocabulary import AcceptanceKind
from tests.builders import NOW, PARTITION, make_gate, make_jobs, note_path, write_gate, write_note
from tests.helpers.reviewed import FAIL, UNDECIDED, WARN, current, review_pairs

OTHER = "gpt-5-1-codex"
A = f"/notes/{note_path('a.md')}"
DIFF = f"/diff/{note_path('a.md')}?gate=prose/x&model={PARTITION}"
RICH = """---
title: Retrieval basics
status: current
---
# Retrieval basics

A reader finds a note by its title, then by [its links](b.md), [[b]] and https://example.org/x.

## A table

| what | how much |
|------|---------:|
| a rather long cell that does not wrap anywhere | 1 |

- [ ] to do
- [x] done[^1]

```python
a_line_of_code_that_is_far_too_long_for_a_phone = "and scrolls in its own box, which keys can reach"
```

![a chart](https://x.example/chart.png) <img src=x onerror=alert(1)>

[^1]: A footnote.
"""


@pytest.fixture
def base(root):
    """A note with everything in it that a page has to show, and three gates."""
    write_note(root, "a.md", RICH)
    write_note(root, "b.md")
    write_gate(root, "links/y", make_gate("links/y", watches="[title]"))
    write_gate(root, "prose/z")
    review_pairs(root, ("a.md", "prose/x"), review=WARN)
    review_pairs(root, ("a.md", "links/y"))
    review_pairs(root, ("a.md", "prose/x"), model_partition=OTHER)
    review_pairs(root, ("b.md", "prose/x"), review=FAIL)
    return root


def warned() -> int:
    """The review that warns about the note."""
    return ReviewPair.objects.order_by("pk").values_list("pk", flat=True)[0]


@pytest.fixture
def changed(base):
    """The same after an edit of note and gate."""
    write_note(base, "a.md", RICH.replace("its title", "the words of its title"))
    write_gate(base, "prose/x", make_gate("prose/x", body="Quote what has no source.\n"))
    return base


class TestLooks:
    @pytest.mark.parametrize("view", ["", "?show=note", "?show=gate", "?show=note&as=lines"])
    def test_a_review_is_clean(self, visit, base, view):
        visit.open(f"/reviews/{warned()}/{view}")

        assert visit.problems() == []

    def test_a_review_that_wants_a_decision_is_clean(self, visit, root):
        (pair,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)

        visit.open(f"/reviews/{pair}/?from=looks")

        assert visit.problems() == []

    @pytest.mark.parametrize("view", ["", "?as=lines", f"?model={PARTITION}&model=new-model"])
    def test_a_note_is_clean(self, visit, changed, view):
        visit.open(f"{A}{view}")

        assert visit.problems() == []

    def test_a_note_that_is_gone_is_clean(self, visit, base):
        (base / note_path("a.md")).unlink()

        visit.open(A)

        assert visit.problems() == []

    def test_a_note_nobody_reviewed_is_clean(self, visit, root):
        visit.open(A)

        assert visit.problems() == []

    @pytest.mark.parametrize("view", ["", "&lines=all"])
    def test_a_change_is_clean(self, visit, changed, view):
        visit.open(f"{DIFF}{view}")

        assert visit.problems() == []

    def test_the_choice_of_a_change_is_clean(self, visit, changed):
        visit.open(f"/diff/{note_path('a.md')}")

        assert visit.problems() == []

    @pytest.mark.parametrize("query", ["", "?mode=disagree", "?mode=failing&lens=prose"])
    def test_the_matrix_is_clean(self, visit, base, query):
        make_jobs(base, ("b.md", "links/y"))

        visit.open(f"/matrix/{query}")

        assert visit.problems() == []

    def test_a_folded_matrix_is_clean(self, visit, base):
        for number in range(105):
            write_note(base, f"kb/notes/many/{number:03}.md")

        visit.open("/matrix/?folder=kb/notes")

        assert visit.problems() == []

    @pytest.mark.parametrize(
        "address",
        ["/notes/", "/gates/", "/notes/?q=nothing", "/search?q=reader", "/search", "/search?q=no"],
    )
    def test_a_list_is_clean(self, visit, base, address):
        visit.open(address)

        assert visit.problems() == []

    def test_a_gate_is_clean(self, visit, base):
        write_gate(base, "prose/x", make_gate("prose/x", body="Another text.\n"))
        review_pairs(base, ("a.md", "prose/x"), now=NOW + timedelta(hours=1))
        page = visit.open("/gates/prose/x")
        page.get_by_role("link", name="compare with the current text").first.click()

        assert visit.problems() == []


class TestActing:
    def test_a_change_is_acked_without_javascript(self, plain_visit, base):
        write_note(base, "a.md", RICH.replace("A footnote", "A short footnote"))
        page = plain_visit.open(DIFF)
        expect(page.locator(".diff-row.changed ins")).to_have_text("short ")

        page.get_by_label("Why the change does not matter").fill("wording")
        page.get_by_role("button", name="Ack exactly this text").click()

        expect(page.locator(".messages").get_by_text("Acked: prose/x.")).to_be_visible()
        assert current().event.kind == AcceptanceKind.ACK

    def test_after_an_ack_the_focus_is_where_it_was_and_the_page_says_what_was_done(
        self, visit, base
    ):
        write_note(base, "a.md", RICH.replace("A footnote", "A short footnote"))
        page = visit.open(A)

        page.locator("#changed details[open] >> text=Ack this change").click()
        page.wait_for_url("**#changed")

        assert visit.focused() == "changed"
        expect(page.locator("#announce")).to_have_text("Acked 3 pairs: links/y, prose/x.")

    def test_a_review_is_requested_by_keys_alone(self, visit, changed):
        page = visit.open(A)

        page.keyboard.press("j")
        page.keyboard.press("x")
        expect(page.locator("[data-row]:focus-within input[type=checkbox]")).to_be_checked()
        page.get_by_role("button", name="Request reviews of the selected pairs").press("Enter")

        expect(
            page.locator(".messages").get_by_text("Requested: 1 pair in 1 queued job.")
        ).to_be_visible()

    def test_a_decision_is_set_without_javascript(self, plain_visit, root):
        (pair,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)
        page = plain_visit.open(f"/reviews/{pair}/")

        page.get_by_role("radio", name="pass").check()
        page.get_by_label("Reason").first.fill("it finds nothing")
        page.get_by_role("button", name="Set decision").click()

        expect(page.locator(".messages").get_by_text("Decided: prose/x is pass")).to_be_visible()
        assert current().decision == "pass"

    def test_an_override_is_made_without_javascript(self, plain_visit, root):
        (pair,) = review_pairs(root, ("a.md", "prose/x"), review=FAIL)
        page = plain_visit.open(f"/reviews/{pair}/")

        page.get_by_text("Override: accept without a review").click()
        page.get_by_label("Reason").last.fill("a quotation")
        page.get_by_role("button", name="Override").click()

        expect(page.locator(".messages").get_by_text("Overridden: prose/x passes")).to_be_visible()
        assert current().event.kind == AcceptanceKind.OVERRIDE

    def test_cells_of_the_matrix_become_jobs_without_javascript(self, plain_visit, base):
        page = plain_visit.open("/matrix/?mode=not-fresh")

        page.locator('tr:has-text("b.md") td.m input').first.check(force=True)
        page.locator("#model").fill(PARTITION)
        page.get_by_role("button", name="Request reviews of the selected cells").click()

        expect(
            page.locator(".messages").get_by_text("Requested: 1 pair in 1 queued job.")
        ).to_be_visible()
        assert ReviewJob.objects.filter(status="queued").count() == 1

    def test_rows_of_the_matrix_open_by_keys(self, visit, base):
        page = visit.open("/matrix/")

        page.keyboard.press("j")
        page.keyboard.press("Enter")

        page.wait_for_url(f"**{A}")

    def test_u_leads_back_from_a_review_to_its_note(self, visit, base):
        page = visit.open(f"/reviews/{warned()}/")

        page.keyboard.press("u")

        page.wait_for_url(f"**{A}")


class TestFindingsInPlace:
    def test_a_findings_line_leads_to_it_in_the_text(self, visit, base):
        page = visit.open(A)

        page.get_by_role("link", name="line 7").first.click()

        expect(page.locator(".finding-note:target")).to_be_in_viewport()

    def test_a_wide_page_has_them_in_the_margin(self, new_visit, operator, base):
        page = new_visit(operator, width=1600).open(A)

        note = page.locator(".prose .finding-note").bounding_box()
        text = page.locator(".prose .quoted").first.bounding_box()
        assert note["x"] >= text["x"] + text["width"]
        assert abs(note["y"] - text["y"]) < 40
