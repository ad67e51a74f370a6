"""What a person does to the pairs of a note: acks what was shown, and asks for reviews."""

from __future__ import annotations

import pytest

from review.models import CurrentAcceptance, ReviewJob
from review.vocabulary import AcceptanceKind, JobStatus
from tests.builders import PARTITION, make_gate, note_path, write_gate, write_note
from tests.helpers.pages import messages_of, text_of, values_of
from tests.helpers.reviewed import WARN, current, review_pairs

pytestmark = pytest.mark.django_db
A = f"/notes/{note_path('a.md')}"


@pytest.fixture
def reviewed(root):
    """A note that one model warned about."""
    review_pairs(root, ("a.md", "prose/x"), review=WARN)
    return root


class TestActing:
    def pick(self, web, *, gate="prose/x"):
        """The value of the pair's tick box."""
        return next(value for value in values_of(web.get(A), "pick") if value.endswith(f" {gate}"))

    def test_acks_the_text_that_was_shown(self, web, reviewed):
        shown = "# Shown\n\nA reader finds a note by its title\n"  # what the open finding quotes
        write_note(reviewed, "a.md", shown)

        response = web.post(
            "/ack/",
            {"note": note_path("a.md"), "pick": self.pick(web), "reason": "wording", "next": A},
            follow=True,
        )

        row = current()
        assert response.redirect_chain == [(A, 303)]
        assert (row.event.kind, row.event.actor) == (AcceptanceKind.ACK, "human:ana")
        assert row.note_snapshot.text == shown
        assert messages_of(response) == ["Acked: prose/x."]

    def test_acks_all_that_is_trivial_at_once(self, web, root):
        for gate in ("prose/t", "prose/u"):
            write_gate(root, gate, make_gate(gate, watches="[title]"))
        review_pairs(root, ("a.md", "prose/t"), ("a.md", "prose/u"), ("a.md", "prose/x"))
        write_note(root, "a.md", "# Retrieval basics\n\nAnother body.\n")
        form = web.get(A)

        response = web.post(
            "/ack/",
            {
                "note": note_path("a.md"), "also": "trivial",
                "trivial": values_of(form, "trivial"), "pick": self.pick(web),
            },
            follow=True,
        )  # fmt: skip

        assert "Ack 2 trivial changes" in text_of(form)
        assert messages_of(response) == ["Acked: prose/t, prose/u."]
        assert current(gate_id="prose/x").event.kind == AcceptanceKind.FULL_REVIEW

    def test_refuses_another_text_by_name(self, web, reviewed):
        write_note(reviewed, "a.md", "# Shown\n")
        pick = self.pick(web)
        write_note(reviewed, "a.md", "# Edited behind the page\n")

        response = web.post("/ack/", {"note": note_path("a.md"), "pick": pick}, follow=True)

        assert messages_of(response) == [
            "Not acked: kb/notes/a.md prose/x: the note was edited since it was selected"
        ]
        assert current().event.kind == AcceptanceKind.FULL_REVIEW

    def test_requests_a_review(self, web, reviewed):
        response = web.post(
            "/request-review/", {"note": note_path("a.md"), "pick": self.pick(web)}, follow=True
        )

        job = ReviewJob.objects.get(status=JobStatus.QUEUED)
        assert job.events.get().actor == "human:ana"
        assert "Requested: 1 pair in 1 queued job." in messages_of(response)[0]

    def test_what_is_queued_already_is_said(self, web, reviewed):
        form = {"note": note_path("a.md"), "pick": self.pick(web)}
        web.post("/request-review/", form)

        response = web.post("/request-review/", form, follow=True)

        assert "already-queued" in messages_of(response)[-1]

    def test_a_first_review_is_requested_for_a_model_that_is_named(self, web, root):
        (value,) = values_of(web.get(f"{A}?model={PARTITION}"), "pick")

        web.post("/request-review/", {"note": note_path("a.md"), "pick": value})

        assert ReviewJob.objects.get().model_partition.name == PARTITION

    @pytest.mark.parametrize("address", ["/ack/", "/request-review/"])
    @pytest.mark.parametrize(
        "form",
        [
            pytest.param({"pick": "x"}, id="no-note"),
            pytest.param({"note": "kb/notes/a.md", "pick": "nonsense"}, id="no-pair"),
            pytest.param({"note": "kb/notes/a.md"}, id="nothing-ticked"),
            pytest.param({"note": "kb/notes/a.md", "pick": "m - - x prose/x"}, id="no-number"),
        ],
    )
    def test_a_form_that_is_none_of_ours_is_refused(self, web, reviewed, address, form):
        response = web.post(address, form)

        assert response.status_code == 400

    @pytest.mark.parametrize("address", ["/ack/", "/request-review/", "/override/"])
    def test_a_reader_may_not(self, web, reader, reviewed, address):
        form = {"note": note_path("a.md"), "pick": self.pick(web)}

        assert reader.post(address, form).status_code == 403
        assert CurrentAcceptance.objects.count() == 1
        assert ReviewJob.objects.count() == 1

    def test_a_reader_sees_no_button(self, reader, reviewed):
        body = reader.get(A).content.decode()

        assert "Ack the selected pairs" not in body
        assert "Request reviews" not in body

    def test_leads_to_no_other_site(self, web, reviewed):
        form = {"note": note_path("a.md"), "pick": self.pick(web), "next": "https://x.example/"}

        assert web.post("/request-review/", form)["Location"] == A
