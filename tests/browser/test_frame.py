"""What is around every page, in a browser: navigation, keys, preferences, refusals."""

from __future__ import annotations

import pytest

from tests.helpers.jobs import queued


class TestLooks:
    def test_an_empty_list_is_clean(self, visit):
        visit.open("/jobs/")

        assert visit.problems() == []

    def test_the_login_is_clean(self, new_visit, transactional_db):
        visit = new_visit(None)

        visit.open("/jobs/")

        assert visit.path == "/login/?next=/jobs/"
        assert visit.problems() == []

    def test_a_refusal_is_clean(self, visit):
        with visit.expecting_complaints():
            visit.open("/jobs/?colour=red")

        assert "this page has no filter" in visit.page.inner_text("main")
        assert visit.problems() == []

    def test_the_help_and_the_menus_are_clean(self, visit):
        page = visit.open("/jobs/")

        page.keyboard.press("?")
        assert page.locator("#keys").is_visible()
        assert visit.problems() == []


class TestKeys:
    def test_j_and_k_move_along_the_rows_and_stay_within(self, visit, root):
        older, newer = queued(root), queued(root)
        page = visit.open("/jobs/")
        seen = []

        for key in "jjjkk":
            page.keyboard.press(key)
            seen.append(visit.focused())

        rows = [f"job-{newer}", f"job-{older}", f"job-{older}", f"job-{newer}", f"job-{newer}"]
        assert seen == rows

    def test_enter_opens_the_row_and_u_goes_back_to_the_list_as_it_was(self, visit, root):
        job_id, _newer = queued(root), queued(root)
        page = visit.open("/jobs/?status=queued")

        for key in ("j", "j", "Enter"):
            page.keyboard.press(key)
        page.wait_for_url(f"**/jobs/{job_id}")
        page.keyboard.press("u")

        page.wait_for_url(f"**/jobs/?status=queued#job-{job_id}")
        assert visit.focused() == f"job-{job_id}"

    @pytest.mark.parametrize(("key", "place"), [("h", "/"), ("j", "/jobs/"), ("e", "/events/")])
    def test_g_and_a_letter_go_to_a_page(self, visit, key, place):
        page = visit.open("/jobs/?status=failed")

        page.keyboard.press("g")
        page.keyboard.press(key)

        page.wait_for_url(f"{visit.base}{place}")

    def test_are_letters_in_a_field(self, visit, root):
        queued(root)
        page = visit.open("/jobs/")

        page.keyboard.press("/")
        page.keyboard.type("jk?gj")

        assert page.input_value("#find") == "jk?gj"
        assert visit.path == "/jobs/"
        assert not page.locator("#keys").is_visible()

    def test_leave_the_browsers_own_shortcuts_alone(self, visit, root):
        queued(root)
        page = visit.open("/jobs/")

        page.keyboard.press("Control+j")

        assert visit.focused() == ""

    def test_can_be_switched_off_and_stay_off(self, visit, root):
        queued(root)
        page = visit.open("/jobs/")

        page.click("button[name=keys][value=off]")
        page.wait_for_load_state()
        page.keyboard.press("j")
        page.keyboard.press("?")

        assert visit.path == "/jobs/"
        assert visit.focused() == ""
        assert not page.locator("#keys").is_visible()
        assert page.get_attribute("button[name=keys][value=off]", "aria-pressed") == "true"


class TestPreferences:
    def test_colours_can_be_chosen_against_the_system(self, visit):
        page = visit.open("/jobs/")
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")

        page.click("button[name=theme][value=dark]")
        page.wait_for_load_state()

        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light

    def test_the_administration_has_the_colours_of_the_pages(self, plain_visit):
        page = plain_visit.open("/jobs/")
        page.click("button[name=theme][value=dark]")
        page.wait_for_load_state()
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")

        plain_visit.open("/admin/")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark

        page.click("button[name=theme][value=light]")
        page.wait_for_load_state()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
        assert plain_visit.path == "/admin/"


class TestWithoutJavaScript:
    def test_the_menu_opens_on_a_phone(self, new_visit, operator):
        visit = new_visit(operator, script=False, width=360)
        page = visit.open("/jobs/")

        page.click("text=Menu")
        page.click("#places >> text=Events")

        page.wait_for_url("**/events/")

    def test_filters_are_links(self, plain_visit, root):
        queued(root)
        page = plain_visit.open("/jobs/")

        page.click(".facets >> text=failed")

        page.wait_for_url("**/jobs/?status=failed")
        assert "No jobs here." in page.inner_text("main")

    def test_a_person_logs_in_and_out(self, new_visit, operator):
        visit = new_visit(None, script=False)
        page = visit.open("/events/")

        page.fill("#id_username", "ana")
        page.fill("#id_password", "a long password")
        page.click("main button[type=submit]")
        page.wait_for_url(f"{visit.base}/events/")
        page.click(".user-button")
        page.click("text=Log out")

        page.wait_for_url("**/login/")
