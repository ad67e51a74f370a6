"""The pages of notes: what each gate says of one, what may be done about it, and the list."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.models import CurrentAcceptance, FileSnapshot
from review.protocol.fix_answers import FixAnswer
from review.queue.triage import dispose_each
from review.vocabulary import DispositionState
from tests.builders import (
    NOW,
    PARTITION,
    TYPED_NOTE,
    gate_path,
    make_gate,
    make_jobs,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.pages import text_of, twin
from tests.helpers.reviewed import UNDECIDED, WARN, open_corpus, review_pairs

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
OTHER = "gpt-5-1-codex"
INFO = "### Findings\n- INFO: a remark\n\n## Result: PASS\n"
A = f"/notes/{note_path('a.md')}"


@pytest.fixture
def reviewed(root):
    """A note that one model warned about."""
    review_pairs(root, ("a.md", "prose/x"), review=WARN)
    return root


def states(client, address: str = A) -> dict[tuple[str, str], str]:
    """`(gate, partition)` to where it stands."""
    pairs = twin(client, address)["pairs"]
    return {(pair["gate_id"], pair["model_partition"]): pair["state"] for pair in pairs}


class TestPairs:
    def test_one_row_a_gate_and_partition(self, web, reviewed):
        write_gate(reviewed, "prose/y")
        review_pairs(reviewed, ("a.md", "prose/x"), model_partition=OTHER)

        assert states(web) == {
            ("prose/x", PARTITION): "fresh",
            ("prose/x", OTHER): "fresh",
        }

    def test_a_partition_owes_what_it_has_judged_of_any_note(self, web, reviewed):
        write_gate(reviewed, "prose/y")
        write_gate(reviewed, "prose/new")
        write_note(reviewed, "b.md")
        review_pairs(reviewed, ("a.md", "prose/x"), model_partition=OTHER)
        review_pairs(reviewed, ("b.md", "prose/y"), model_partition=OTHER)

        assert states(web) == {
            ("prose/x", PARTITION): "fresh",
            ("prose/x", OTHER): "fresh",
            ("prose/y", OTHER): "missing-review",
        }
        assert twin(web, A)["unjudged_gates"] == ["prose/new"]

    def test_partitions_of_the_settings_owe_gates_of_models_and_the_rules_those_of_rules(
        self, web, reviewed
    ):
        (reviewed / "kb" / "review.toml").write_text(
            f'[partitions."{PARTITION}"]\naliases = ["opus"]\n'
        )
        write_gate(reviewed, "prose/y")
        write_gate(reviewed, "links/r", make_gate("links/r", rule="bare-urls"))

        assert states(web) == {
            ("links/r", "rules"): "missing-review",
            ("prose/x", PARTITION): "fresh",
            ("prose/y", PARTITION): "missing-review",
        }

    def test_says_why_a_review_is_stale_and_how_much_changed(self, web, reviewed):
        write_note(reviewed, "a.md", "# Retrieval basics\n\nA reader finds a note by its links.\n")

        (pair,) = twin(web, A)["pairs"]
        shown = text_of(web.get(A))

        assert pair["reasons"] == ["note-changed"]
        assert pair["change"]["watched"] == ["body"]
        assert "note changed body" in shown
        assert f"{100 * pair['change']['body_ratio']:.0f} % diff for prose/x" in shown

    def test_a_changed_gate_counts_before_a_changed_note(self, web, reviewed):
        write_note(reviewed, "a.md", "# Other\n")
        write_gate(reviewed, "prose/x", make_gate("prose/x", body="Asks more.\n"))

        assert twin(web, A)["pairs"][0]["reasons"] == ["gate-changed", "note-changed"]
        assert "gate changed and the note changed" in text_of(web.get(A))

    def test_a_change_that_no_gate_watches_is_called_that(self, web, root):
        write_gate(root, "prose/t", make_gate("prose/t", watches="[title]"))
        review_pairs(root, ("a.md", "prose/t"))
        write_note(root, "a.md", "# Retrieval basics\n\nAnother body.\n")

        assert "touches nothing this gate watches" in text_of(web.get(A))

    def test_says_who_accepted_and_when(self, web, reviewed):
        shown = text_of(web.get(A))

        assert "full review, agent:test" in shown

    def test_a_gate_that_asks_nothing_of_the_note_has_no_row(self, web, root):
        write_gate(root, "prose/t", make_gate("prose/t", requires_type="kb/types/concept.md"))
        write_note(root, "typed.md", TYPED_NOTE)

        assert ("prose/t", PARTITION) not in states(web, f"{A}?model={PARTITION}")
        assert ("prose/t", PARTITION) in states(
            web, f"/notes/{note_path('typed.md')}?model={PARTITION}"
        )

    def test_a_gate_that_is_gone_says_so(self, web, reviewed):
        (reviewed / gate_path("prose/x")).unlink()

        assert states(web) == {("prose/x", PARTITION): "gate-gone"}
        assert web.get(A).status_code == 200

    def test_an_open_job_shows(self, web, reviewed):
        write_note(reviewed, "a.md", "# Other\n")
        (job,) = make_jobs(reviewed, ("a.md", "prose/x"))

        assert twin(web, A)["pairs"][0]["open_review_job_id"] == job.review_job_id
        assert f"/jobs/{job.review_job_id}" in web.get(A).content.decode()

    def test_a_review_nobody_could_read_wants_a_look(self, web, root):
        (pair,) = review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)

        assert twin(web, A)["pairs"][0]["undecided_pair_id"] == pair
        assert "needs a look" in text_of(web.get(A))

    def test_a_later_review_that_could_be_read_settles_it(self, web, root):
        review_pairs(root, ("a.md", "prose/x"), review=UNDECIDED)
        review_pairs(root, ("a.md", "prose/x"), now=LATER)

        assert twin(web, A)["pairs"][0]["undecided_pair_id"] is None

    def test_a_note_nobody_reviewed_says_how_to_begin(self, web, root):
        shown = text_of(web.get(A))

        assert "No reviews of this note yet." in shown
        assert "--note kb/notes/a.md --model MODEL --json | commonplace create_review_jobs" in shown


class TestFindings:
    def test_open_ones_are_listed_and_stand_in_the_text(self, web, reviewed):
        (item,) = twin(web, A)["findings"]
        body = web.get(A).content.decode()

        assert item["finding"]["text"] == "the claim has no source"
        assert f'id="f-{item["finding"]["fingerprint"]}"' in body

    def test_follow_their_quote_when_the_note_changes(self, web, reviewed):
        write_note(
            reviewed, "a.md", "# New\n\nMore.\n\nA reader finds a note by its title, always.\n"
        )

        assert twin(web, A)["findings"][0]["finding"]["line_now"] == 5

    def test_disposed_ones_are_not(self, web, reviewed):
        mark = twin(web, A)["findings"][0]["finding"]["fingerprint"]
        answer = FixAnswer(mark, DispositionState.REJECTED, "no")
        corpus = open_corpus(reviewed)
        dispose_each([answer], actor="human:ana", corpus=corpus, now=LATER)

        assert twin(web, A)["findings"] == []

    def test_one_that_two_models_report_is_listed_once(self, web, reviewed):
        review_pairs(reviewed, ("a.md", "prose/x"), review=WARN, model_partition=OTHER)

        assert len(twin(web, A)["findings"]) == 1


class TestHistory:
    def test_is_newest_first_with_the_texts_of_then(self, web, reviewed):
        write_note(reviewed, "a.md", "# Second\n")
        review_pairs(reviewed, ("a.md", "prose/x"), now=LATER)

        events = twin(web, A)["history"]
        body = web.get(A).content.decode()

        assert [event["decision"] for event in events] == ["pass", "warn"]
        assert events[0]["note_sha256"] != events[1]["note_sha256"]
        for snapshot in FileSnapshot.objects.filter(path__path=note_path("a.md")):
            assert f"/texts/{snapshot.pk}" in body

    def test_goes_on_on_the_next_page(self, web, root):
        for minute in range(32):
            review_pairs(root, ("a.md", "prose/x"), now=NOW + timedelta(minutes=minute))

        first = web.get(A).context["history"]
        second = web.get(first.next_url).context["history"]

        assert (len(first.items), len(second.items)) == (30, 2)
        assert not {e.acceptance_event_id for e in first.items} & {
            e.acceptance_event_id for e in second.items
        }


class TestNotesThatAreGone:
    def test_keep_their_reviews_and_their_text(self, web, reviewed):
        (reviewed / note_path("a.md")).unlink()

        shown = text_of(web.get(A))

        assert "The note is gone." in shown
        assert "A reader finds a note by its title" in shown
        assert twin(web, A)["sha256"] is None

    def test_one_that_never_was_is_not_found_and_near_ones_are_named(self, web, root):
        response = web.get(f"/notes/{note_path('b.md')}")

        assert response.status_code == 404
        assert "did you mean kb/notes/a.md" in text_of(response)

    def test_one_that_cannot_be_read_says_why(self, web, reviewed):
        (reviewed / note_path("a.md")).write_bytes(b"\xff\xfe")

        assert "The note cannot be read." in text_of(web.get(A))


class TestCost:
    def test_no_more_queries_with_more_gates_models_and_events(
        self, web, root, django_assert_max_num_queries
    ):
        gates = [f"prose/g{number}" for number in range(12)]
        for gate in gates:
            write_gate(root, gate)
        for hour, partition in enumerate((PARTITION, OTHER, "gemini-3-pro")):
            for gate in gates:
                review_pairs(
                    root, ("a.md", gate), review=WARN, model_partition=partition,
                    now=NOW + timedelta(hours=hour),
                )  # fmt: skip
            write_note(root, "a.md", f"# Version {hour}\n\nA reader finds a note.\n")

        with django_assert_max_num_queries(22):
            response = web.get(A)

        assert len(response.content) < 200_000

    def test_looking_changes_nothing(self, web, reviewed):
        before = (reviewed / note_path("a.md")).stat().st_mtime_ns
        rows = list(CurrentAcceptance.objects.values())

        for address in (A, "/notes/", "/matrix/", "/gates/", "/gates/prose/x"):
            web.get(address)

        assert (reviewed / note_path("a.md")).stat().st_mtime_ns == before
        assert list(CurrentAcceptance.objects.values()) == rows


@pytest.mark.parametrize("other", [WARN.replace("no source", "no proof"), INFO])
def test_open_findings_are_those_of_the_queue(web, reviewed, other):
    review_pairs(reviewed, ("a.md", "prose/x"), review=other, model_partition=OTHER, now=LATER)

    listed = twin(web, A)["findings"]
    queued = twin(web, f"/queue/?note={note_path('a.md')}")["entries"]

    assert [item["finding"]["text"] for item in listed] == [
        finding["text"] for entry in queued for finding in entry["findings"]
    ]
