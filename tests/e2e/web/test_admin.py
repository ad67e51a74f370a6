"""The administration's lists: to look at, and to change nothing in."""

from __future__ import annotations

import re

import pytest

from review.models import Acceptance, FileSnapshot, ReviewJob, ReviewPair
from tests.builders import write_note
from tests.helpers.reviewed import review_pairs

LISTS = {
    "reviewjob": ReviewJob,
    "reviewpair": ReviewPair,
    "filesnapshot": FileSnapshot,
    "acceptance": Acceptance,
}


@pytest.fixture(autouse=True)
def _one_review(db, root):
    review_pairs(root, ("a.md", "prose/x"))


class TestLists:
    @pytest.mark.parametrize("name", LISTS)
    def test_staff_see_the_list_and_each_row(self, reader, name):
        key = LISTS[name].objects.values_list("pk", flat=True).first()

        assert reader.get(f"/admin/review/{name}/").status_code == 200
        assert reader.get(f"/admin/review/{name}/{key}/change/").status_code == 200

    @pytest.mark.parametrize(
        ("name", "place"),
        [
            ("reviewpair", "/reviews/{}/"),
            ("filesnapshot", "/admin/review/filesnapshot/{}/change/"),
            ("acceptance", "/admin/review/acceptance/{}/change/"),
        ],
    )
    def test_the_history_of_a_row_is_on_its_page(self, reader, name, place):
        key = LISTS[name].objects.values_list("pk", flat=True).first()

        answer = reader.get(f"/admin/review/{name}/{key}/history/")

        assert answer["Location"] == f"{place.format(key)}#events"

    def test_words_are_in_sentence_case_and_gates_are_named_by_their_ids(self, reader):
        page = reader.get("/admin/review/acceptance/").content.decode()

        assert "Full review" in page
        assert "Full Review" not in page
        assert '<td class="field-gate_id">prose/x</td>' in page

    @pytest.mark.parametrize("name", LISTS)
    @pytest.mark.parametrize("verb", ["add", "delete", "change"])
    def test_not_even_a_superuser_changes_a_row(self, admin_client, name, verb):
        row = LISTS[name].objects.first()
        before = LISTS[name].objects.values().get(pk=row.pk)
        place = "add" if verb == "add" else f"{row.pk}/{verb}"

        response = admin_client.post(f"/admin/review/{name}/{place}/", {"post": "yes"})

        assert response.status_code == 403
        assert LISTS[name].objects.values().get(pk=row.pk) == before

    @pytest.mark.parametrize("name", LISTS)
    def test_nothing_can_be_deleted_in_bulk(self, admin_client, name):
        page = admin_client.get(f"/admin/review/{name}/").content.decode()

        assert "delete_selected" not in page

    @pytest.mark.parametrize(
        ("name", "columns"),
        [
            pytest.param("reviewjob", ["job", "status"], id="jobs"),
            pytest.param("reviewpair", ["id", "decision", "status"], id="pairs"),
            pytest.param("acceptance", ["id", "decision", "kind"], id="acceptances"),
        ],
    )
    def test_say_how_a_row_stands_before_their_long_columns(self, web, name, columns):
        page = web.get(f"/admin/review/{name}/").content.decode()

        shown = re.findall(r'<div class="text">(?:<a [^>]*>|<span>)([^<]*)', page)
        assert [word.lower() for word in shown if word.strip()][: len(columns)] == columns

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            pytest.param("reviewjob", "prose", id="jobs-by-lens"),
            pytest.param("reviewpair", "notes/a", id="pairs-by-note"),
            pytest.param("filesnapshot", "notes/a", id="snapshots-by-path"),
            pytest.param("acceptance", "agent:test", id="acceptances-by-actor"),
        ],
    )
    def test_are_searched(self, web, name, words):
        found = web.get(f"/admin/review/{name}/", {"q": words}).context["cl"].result_count
        none = web.get(f"/admin/review/{name}/", {"q": "nowhere"}).context["cl"].result_count

        assert (found, none) == (1, 0)

    @pytest.mark.parametrize(("decision", "found"), [("pass", 1), ("fail", 0)])
    def test_acceptances_are_filtered_by_decision(self, web, decision, found):
        page = web.get("/admin/review/acceptance/", {"decision": decision})

        assert page.context["cl"].result_count == found

    def test_jobs_are_counted_by_kind(self, web):
        assert "Completed (1)" in web.get("/admin/review/reviewjob/").content.decode()

    @pytest.mark.parametrize("name", LISTS)
    def test_ask_the_store_as_often_for_many_rows_as_for_few(self, web, root, name, count_queries):
        address = f"/admin/review/{name}/"
        web.get(address)
        few = count_queries(lambda: web.get(address))
        for _ in range(3):
            review_pairs(root, ("a.md", "prose/x"))

        assert count_queries(lambda: web.get(address)) == few

    def test_a_text_is_shown_as_it_is(self, web, root):
        snapshot = FileSnapshot.objects.get(path__path="kb/notes/a.md")

        page = web.get(f"/admin/review/filesnapshot/{snapshot.pk}/change/").content.decode()

        assert "A reader finds a note by its title" in page


class TestFrame:
    def test_the_policy_holds_here_too(self, web):
        response = web.get("/admin/review/reviewjob/")

        assert "unsafe" not in response["Content-Security-Policy"]
        assert "<script>" not in response.content.decode()
        assert "style=" not in response.content.decode()

    def test_its_login_is_the_one_of_the_pages(self, client):
        response = client.get("/admin/login/?next=/admin/")

        assert response["Location"] == "/login/?next=/admin/"


class TestLongLists:
    @pytest.mark.parametrize(
        ("name", "words", "found"),
        [
            pytest.param("reviewpair", "notes/a", 1, id="pair-of-a-note"),
            pytest.param("reviewpair", "prose/x", 1, id="pair-of-a-gate"),
            pytest.param("reviewpair", "notes/a prose/x", 1, id="pair-of-both"),
            pytest.param("reviewpair", "notes/a nowhere", 0, id="pair-of-one-only"),
            pytest.param("acceptance", "notes/a", 1, id="acceptance-of-a-note"),
            pytest.param("acceptance", "agent:test", 1, id="acceptance-by-an-actor"),
        ],
    )
    def test_find_rows_by_every_word(self, web, name, words, found):
        shown = web.get(f"/admin/review/{name}/", {"q": words}).context["cl"]

        assert shown.result_count == found

    def test_find_a_pair_by_its_number_and_its_jobs(self, web):
        pair = ReviewPair.objects.get()

        for number in (pair.pk, pair.job_id):
            shown = web.get("/admin/review/reviewpair/", {"q": number}).context["cl"]
            assert [row.pk for row in shown.result_list] == [pair.pk]

    @pytest.mark.parametrize("name", LISTS)
    def test_ask_as_often_for_many_rows_as_for_few(self, web, root, count_queries, name):
        web.get(f"/admin/review/{name}/")  # what is asked once a process
        few = count_queries(lambda: web.get(f"/admin/review/{name}/"))
        for number in range(12):
            write_note(root, f"n{number}.md")
            review_pairs(root, (f"n{number}.md", "prose/x"))

        assert count_queries(lambda: web.get(f"/admin/review/{name}/")) == few
