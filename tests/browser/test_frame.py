"""What is around every page, in a browser."""

from __future__ import annotations

from tests.builders import make_jobs


class TestFrame:
    def test_a_list_is_clean_in_every_look(self, visit, root):
        make_jobs(root, ("a.md", "prose/x"))

        visit.open("/jobs/")

        assert visit.problems() == []

    def test_an_empty_list_is_clean_in_every_look(self, visit):
        visit.open("/jobs/")

        assert visit.problems() == []

    def test_the_login_is_clean_in_every_look(self, new_visit, transactional_db):
        visit = new_visit(None)

        visit.open("/jobs/")

        assert visit.path == "/login/?next=/jobs/"
        assert visit.problems() == []
