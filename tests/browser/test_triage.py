"""Triage in a browser: by keyboard alone, by hand, without JavaScript; focus, and what is announced."""

from __future__ import annotations

import pytest

from review.models import DecisionEvent, Disposition
from tests.browser.triaging import TEN, in_focus, settle, shown, wait_for_states
from tests.builders import NOTE, make_gate, make_root
from tests.helpers.reviewed import UNDECIDED, review_pairs
from tests.helpers.triage import decide, report


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(
        tmp_path,
        notes={"a.md": NOTE, "b.md": NOTE},
        gates={gate: make_gate(gate) for gate in ("prose/x", "links/z")},
    )


@pytest.fixture
def marks(transactional_db, root) -> list[str]:
    """Fingerprints of ten findings in two notes."""
    return report(root, "a.md", "prose/x", *TEN[:6]) + report(root, "b.md", "links/z", *TEN[6:])


class TestKeyboard:
    def test_ten_findings_are_decided_without_a_mouse(self, visit, marks):
        page = visit.open("/queue/")
        page.keyboard.press("j")
        for key in "fdlfdlfdlf":
            page.keyboard.press(key)

        states = wait_for_states(visit, 10)
        order = ("fixed", "rejected", "deferred")
        assert states == {mark: [order[n % 3]] for n, mark in enumerate(marks)}
        page.get_by_text("every finding has a disposition").wait_for()
        assert visit.problems() == []

    def test_the_focus_is_on_the_next_row_at_once(self, visit, marks):
        page = visit.open("/queue/")
        page.keyboard.press("j")
        page.keyboard.press("j")

        page.keyboard.press("f")

        assert in_focus(visit) == TEN[2]
        settle(visit)
        assert in_focus(visit) == TEN[2]
        assert shown(visit) == [TEN[0], *TEN[2:]]
        assert "9 findings" in page.locator("[data-part=queue-sum]").inner_text()

    def test_after_the_last_row_it_is_on_the_one_before(self, visit, marks):
        page = visit.open("/queue/")
        for _ in range(12):
            page.keyboard.press("j")

        page.keyboard.press("d")

        settle(visit)
        assert in_focus(visit) == TEN[8]

    def test_what_was_done_is_announced_politely(self, visit, marks):
        page = visit.open("/queue/")
        page.keyboard.press("j")
        page.keyboard.press("d")

        place = page.locator("#announce", has_text="Rejected")
        place.wait_for(state="attached")
        assert place.get_attribute("aria-live") == "polite"
        assert place.text_content() == f"Rejected: “{TEN[0]}” (prose/x in kb/notes/a.md)."

    def test_z_takes_back_what_was_done_last(self, visit, marks):
        page = visit.open("/queue/")
        page.keyboard.press("j")
        page.keyboard.press("f")
        settle(visit)

        page.keyboard.press("z")

        assert wait_for_states(visit, 2) == {marks[0]: ["fixed", "open"]}
        page.locator("[data-row]", has_text=TEN[0]).wait_for()
        assert shown(visit) == TEN
        assert in_focus(visit) == TEN[0]

    def test_x_selects_and_the_keys_decide_about_the_selection(self, visit, marks):
        page = visit.open("/queue/")
        for key in "jxjjx":
            page.keyboard.press(key)
        assert page.locator(".selected").inner_text() == "2 selected:"

        page.keyboard.press("d")

        assert wait_for_states(visit, 2) == {marks[0]: ["rejected"], marks[2]: ["rejected"]}
        settle(visit)
        assert in_focus(visit) == TEN[3]
        assert not page.locator(".selected").is_visible()

    def test_enter_opens_and_u_comes_back_to_the_row(self, visit, marks):
        page = visit.open("/queue/?lens=prose")
        page.keyboard.press("j")
        page.keyboard.press("j")

        page.keyboard.press("Enter")
        page.wait_for_url("**/findings/**")
        assert visit.path == f"/findings/{marks[1]}/?lens=prose"
        assert "2 of 6" in page.locator("main").inner_text()

        page.keyboard.press("u")
        page.wait_for_url("**/queue/**")
        assert in_focus(visit) == TEN[1]

    def test_a_finding_is_decided_on_its_page_and_the_next_one_comes(self, visit, marks):
        page = visit.open(f"/findings/{marks[0]}/")
        for key, mark in zip("fdl", marks[1:4], strict=True):
            page.keyboard.press(key)
            page.wait_for_url(f"**/findings/{mark}/")
        page.keyboard.press("n")
        page.wait_for_url(f"**/findings/{marks[4]}/")
        page.keyboard.press("p")
        page.wait_for_url(f"**/findings/{marks[3]}/")

        assert list(wait_for_states(visit, 3).values()) == [["fixed"], ["rejected"], ["deferred"]]

    def test_a_key_pressed_twice_decides_about_one_finding(self, visit, marks):
        page = visit.open(f"/findings/{marks[0]}/")
        page.evaluate(
            """() => { for (const _ of [1, 2]) document.dispatchEvent(
                new KeyboardEvent('keydown', {key: 'f', bubbles: true})) }"""
        )
        page.wait_for_url(f"**/findings/{marks[1]}/")

        assert wait_for_states(visit, 1) == {marks[0]: ["fixed"]}
        assert "Not changed" not in page.locator("main").inner_text()

    def test_slash_filters_and_escape_leaves_the_field(self, visit, marks):
        page = visit.open("/queue/")
        page.keyboard.press("/")
        page.keyboard.type("point 7")
        page.keyboard.press("Enter")
        page.wait_for_url("**q=point+7")

        assert shown(visit) == [TEN[7]]
        assert Disposition.objects.count() == 0

    def test_letters_typed_into_the_reason_decide_nothing(self, visit, marks):
        page = visit.open("/queue/")
        page.keyboard.press("j")
        page.locator("#reason").focus()
        page.keyboard.type("fdl jk")
        page.keyboard.press("Enter")

        page.wait_for_timeout(200)
        assert page.locator("#reason").input_value() == "fdl jk"
        assert Disposition.objects.count() == 0

    def test_the_reason_goes_with_the_next_decision_only(self, visit, marks):
        page = visit.open("/queue/")
        page.locator("#reason").fill("twice the same")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("d")
        page.keyboard.press("d")

        wait_for_states(visit, 2)
        reasons = Disposition.objects.order_by("pk").values_list("reason", flat=True)
        assert list(reasons) == ["twice the same", ""]

    def test_the_switch_turns_the_keys_off(self, visit, marks):
        page = visit.open("/queue/")
        page.get_by_role("button", name="off").click()
        page.wait_for_load_state()
        page.keyboard.press("j")
        page.keyboard.press("f")

        page.wait_for_timeout(200)
        assert Disposition.objects.count() == 0
        assert not page.locator(".finding-row .key").first.is_visible()


class TestByHand:
    def test_a_button_of_a_row_decides_about_it(self, visit, marks):
        page = visit.open("/queue/")

        page.locator("[data-row]").nth(3).get_by_role("button", name="Reject").click()

        assert wait_for_states(visit, 1) == {marks[3]: ["rejected"]}
        settle(visit)
        assert in_focus(visit) == TEN[4]

    def test_all_on_the_page_are_selected_with_one_box(self, visit, marks):
        page = visit.open("/queue/")

        page.get_by_label("All on this page").check()
        page.locator(".bulk").get_by_role("button", name="Defer").click()

        assert len(wait_for_states(visit, 10)) == 10

    def test_all_that_match_are_decided_after_a_look(self, visit, marks):
        page = visit.open("/queue/?lens=prose")
        page.get_by_role("link", name="Dispose of all 6").click()
        page.wait_for_url("**/queue/all?lens=prose")
        assert visit.problems() == []

        page.get_by_label("Reason").fill("of no use")
        page.get_by_role("button", name="Reject all").click()
        page.wait_for_url("**/queue/?lens=prose")

        assert len(wait_for_states(visit, 6)) == 6
        assert "6 findings rejected." in page.locator(".messages").inner_text()

    def test_what_changed_meanwhile_is_said_before_anything_is_done(self, visit, marks):
        page = visit.open("/queue/all?lens=prose")
        decide(marks[0], "fixed")

        with visit.expecting_complaints():
            page.get_by_role("button", name="Reject all").click()
            page.get_by_role("alert").wait_for()

        assert "5 findings match now, not 6" in page.get_by_role("alert").inner_text()
        assert Disposition.objects.count() == 1

    def test_what_another_tab_decided_is_named_and_left_alone(self, visit, marks):
        page = visit.open("/queue/")
        decide(marks[0], "fixed", actor="human:bo")

        page.locator("[data-row]").nth(0).get_by_role("button", name="Reject").click()

        page.locator(".messages", has_text="human:bo set it to fixed").wait_for()
        assert wait_for_states(visit, 1) == {marks[0]: ["fixed"]}
        assert shown(visit) == TEN[1:]

    def test_what_the_server_refuses_comes_back_into_the_list(self, visit, marks, operator):
        page = visit.open("/queue/")
        operator.user_permissions.clear()

        with visit.expecting_complaints():
            page.keyboard.press("j")
            page.keyboard.press("f")
            page.locator(".messages", has_text="review.change_finding").wait_for()

        assert shown(visit) == TEN
        assert Disposition.objects.count() == 0


class TestServerAway:
    def test_a_decision_stays_in_its_row_and_is_sent_again_with_its_reason(self, visit, marks):
        page = visit.open("/queue/")
        page.route("**/queue/dispose*", lambda route: route.abort())
        page.locator("#reason").fill("a table needs no source")
        unsaved = page.locator("[data-row] .unsaved")

        with visit.expecting_complaints():
            page.locator("[data-row]").first.get_by_role("button", name="Reject").click()
            unsaved.wait_for()

        assert "Not saved: rejected (a table needs no source)" in unsaved.inner_text()
        assert shown(visit) == TEN
        page.unroute("**/queue/dispose*")
        assert wait_for_states(visit, 1) == {marks[0]: ["rejected"]}
        assert Disposition.objects.get().reason == "a table needs no source"
        unsaved.wait_for(state="detached")
        assert shown(visit) == TEN[1:]

    @pytest.mark.parametrize("place", ["finding", "look"])
    def test_a_form_waits_for_a_server_that_is_away(self, visit, marks, root, place):
        review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)
        path, field, button, made = {
            "finding": (f"/findings/{marks[0]}/", "textarea[name=reason]", "Reject", Disposition),
            "look": ("/looks/", "input[name=reason]", "Pass", DecisionEvent),
        }[place]
        page = visit.open(path)
        page.fill(field, "a table needs no source")
        unsaved = page.locator(".unsaved")

        with visit.expecting_complaints():
            page.context.set_offline(True)
            page.get_by_role("button", name=button).first.click()
            unsaved.wait_for()
            page.context.set_offline(False)
            unsaved.wait_for(state="detached")

        assert made.objects.get().reason == "a table needs no source"

    def test_the_list_stays_where_it_is_when_undo_is_offered(self, visit, marks):
        page = visit.open("/queue/")
        before = page.locator(".note-group").first.bounding_box()["y"]
        page.keyboard.press("j")
        page.keyboard.press("f")
        page.get_by_role("button", name="Undo").wait_for()

        assert page.locator(".note-group").first.bounding_box()["y"] == before

    @pytest.mark.parametrize("width", [1280, 390])
    def test_nothing_moves_under_the_pointer(self, visit, marks, width):
        """A tick moves no row, and the next finding comes to where the last one was decided."""
        page = visit.open("/queue/")
        page.set_viewport_size({"width": width, "height": 800})
        top = lambda: page.locator("[data-row]").first.bounding_box()["y"]  # noqa: E731
        before = top()
        page.locator("[data-row] input").first.check()
        ticked = top()
        page.locator("[data-row] input").first.uncheck()
        page.locator("[data-row]").first.get_by_role("button", name="Defer").click()
        wait_for_states(visit, 1)
        page.get_by_role("button", name="Undo").wait_for()

        assert [ticked, top()] == [before, before]

    def test_the_buttons_of_a_finding_stay_where_they_are(self, visit, marks):
        page = visit.open(f"/findings/{marks[0]}/")
        page.set_viewport_size({"width": 1280, "height": 800})
        button = page.get_by_role("button", name="Defer")
        before = button.bounding_box()["y"]
        button.click()
        page.locator(".messages").get_by_text(f"Deferred: “{TEN[0]}").wait_for()

        assert button.bounding_box()["y"] == before


class TestWithoutJavaScript:
    def test_a_finding_is_decided_and_the_page_comes_back_at_the_next_row(self, plain_visit, marks):
        page = plain_visit.open("/queue/")

        page.locator("[data-row]").nth(1).get_by_role("button", name="Fixed").click()

        assert wait_for_states(plain_visit, 1) == {marks[1]: ["fixed"]}
        (third,) = page.locator("[data-row]", has_text=TEN[2]).all()
        assert plain_visit.path == f"/queue/#{third.get_attribute('id')}"
        assert "Fixed: “point 1" in page.locator(".messages").inner_text()

    def test_a_selection_is_decided_with_a_reason(self, plain_visit, marks):
        page = plain_visit.open("/queue/")
        page.locator("input[name=finding]").nth(0).check()
        page.locator("input[name=finding]").nth(2).check()
        page.locator("#reason").fill("noise")

        page.locator(".bulk").get_by_role("button", name="Reject").click()

        assert wait_for_states(plain_visit, 2) == {marks[0]: ["rejected"], marks[2]: ["rejected"]}
        assert set(Disposition.objects.values_list("reason", flat=True)) == {"noise"}

    def test_it_is_taken_back(self, plain_visit, marks):
        page = plain_visit.open("/queue/")
        page.locator("[data-row]").nth(0).get_by_role("button", name="Defer").click()

        page.get_by_role("button", name="Undo").click()

        assert wait_for_states(plain_visit, 2) == {marks[0]: ["deferred", "open"]}

    def test_a_finding_is_decided_on_its_page(self, plain_visit, marks):
        page = plain_visit.open(f"/findings/{marks[0]}/")
        page.get_by_label("Reason").fill("said elsewhere")

        page.get_by_role("button", name="Reject").click()

        assert plain_visit.path == f"/findings/{marks[1]}/"
        assert Disposition.objects.get().reason == "said elsewhere"
