"""The pages of gates: what one asks, how its reviews went, and its text over time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.models import FileSnapshot, Finding
from review.protocol.fix_answers import FixAnswer
from review.queue.triage import dispose_each
from review.vocabulary import DispositionState
from tests.builders import (
    NOW,
    PARTITION,
    gate_path,
    make_gate,
    note_path,
    write_gate,
    write_note,
)
from tests.helpers.commands import run
from tests.helpers.pages import text_of, twin
from tests.helpers.reviewed import FAIL, WARN, open_corpus, review_pairs
from tests.helpers.triage import report
from tests.hostile import HOSTILE, faults_of

pytestmark = pytest.mark.django_db
X = "/gates/prose/x"
RULE = """
Long sentences.

## Example (fail)

```markdown
the the cat
```

WARN: doubled.

## Example (pass)

```markdown
the cat
```
"""


def dispose(root, mark: str, state: DispositionState) -> None:
    """Decide about a finding."""
    dispose_each(
        [FixAnswer(mark, state, "because")],
        actor="human:ana",
        corpus=open_corpus(root),
        now=NOW + timedelta(hours=2),
    )


class TestGate:
    def test_shows_what_it_asks(self, web, root):
        shown = text_of(web.get(X))

        assert "A finding is a line that fails prose/x. Quote it." in shown
        assert "watches" in shown

    def test_counts_decisions_and_what_an_edit_would_make_stale(self, web, root):
        for name, review in (("a.md", WARN), ("b.md", FAIL), ("c.md", WARN), ("d.md", None)):
            write_note(root, name)
            if review:
                review_pairs(root, (name, "prose/x"), review=review)

        (cover,) = twin(web, X)["partitions"]
        shown = text_of(web.get(X))

        assert cover["model_partition"] == PARTITION
        assert cover["counts"] == {
            "fresh": 0, "warn": 2, "fail": 1, "note-changed": 0, "gate-changed": 0,
            "missing-review": 1,
        }  # fmt: skip
        assert cover["would_go_stale"] == 3
        assert "▲ warn 2 (67 %)" in shown
        assert "An edit of this gate makes 3 pairs stale" in shown

    def test_says_what_people_made_of_its_findings(self, web, root):
        for name in ("a.md", "b.md", "c.md"):
            write_note(root, name)
            review_pairs(root, (name, "prose/x"), review=WARN)
        marks = list(Finding.objects.order_by("pk").values_list("fingerprint", flat=True))
        dispose(root, marks[0], DispositionState.REJECTED)
        dispose(root, marks[0], DispositionState.FIXED)
        dispose(root, marks[1], DispositionState.FIXED)
        dispose(root, marks[2], DispositionState.REJECTED)

        assert twin(web, X)["dispositions"] == {
            "open": 0, "fixed": 2, "rejected": 1, "deferred": 0,
        }  # fmt: skip
        assert "2 of 3 right: too few to say" in text_of(web.get(X))

    def test_shows_precision_agreement_and_a_mute(self, web, root):
        names = [f"n{number}.md" for number in range(8)]
        for name in names:
            write_note(root, name)
        review_pairs(root, *((name, "prose/x") for name in names), review=WARN)
        review_pairs(root, (names[0], "prose/x"), review=WARN, model_partition="other")
        review_pairs(root, (names[1], "prose/x"), model_partition="other")
        for mark in Finding.objects.values_list("fingerprint", flat=True).distinct():
            dispose(root, mark, DispositionState.REJECTED)
        (root / "kb/review.toml").write_text('[muted]\n"prose/x" = "to be rewritten"\n')

        listed, shown = web.get("/gates/"), text_of(web.get(f"{X}?agreement=shown"))

        assert "0 of 8 right · 0–32 % ✕ noisy" in shown
        assert "0 of 8 right · 0–32 % ✕ noisy" in text_of(listed)
        assert 'class="interval is-noisy"' in listed.content.decode()
        assert "muted Its findings are kept out of the queue: to be rewritten" in shown
        assert "positive agreement 0.67 other flags passes" in shown
        assert f"{PARTITION} flags 1 1 passes 0 0" in shown
        assert twin(web, X)["agreement"] is None

    def test_counts_as_open_what_the_queue_shows_of_it(self, web, root):
        for name in ("b.md", "c.md", "d.md"):
            write_note(root, name)
        report(root, "a.md", "prose/x", "one", "two")
        report(root, "b.md", "prose/x", "passed since")
        review_pairs(root, ("b.md", "prose/x"), now=NOW + timedelta(hours=1))
        dispose(root, *report(root, "c.md", "prose/x", "settled"), DispositionState.REJECTED)
        report(root, "d.md", "prose/x", "its note is gone")
        (root / note_path("d.md")).unlink()
        write_gate(root, "prose/y")
        report(root, "a.md", "prose/y", "of another gate")

        (entry,) = run("warn_selector", "--gate", "prose/x", "--json").json["entries"]

        assert twin(web, X)["dispositions"]["open"] == len(entry["findings"]) == 2
        assert "2 open" in text_of(web.get(X))

    def test_findings_of_other_gates_count_for_those(self, web, root):
        write_gate(root, "prose/y")
        review_pairs(root, ("a.md", "prose/y"), review=WARN)
        dispose(root, Finding.objects.get().fingerprint, DispositionState.FIXED)

        assert twin(web, X)["dispositions"]["fixed"] == 0

    def test_shows_its_text_over_time(self, web, root):
        review_pairs(root, ("a.md", "prose/x"))
        write_gate(root, "prose/x", make_gate("prose/x", body="Second text of it.\n"))
        review_pairs(root, ("a.md", "prose/x"), now=NOW + timedelta(hours=1))

        texts = web.get(X).context["about"].texts
        against = text_of(web.get(f"{X}?against={texts[1].snapshot_id}"))

        assert [text.is_now for text in texts] == [True, False]
        assert "Second text of it." in against
        assert web.get(f"/texts/{texts[1].snapshot_id}").content.decode() == make_gate("prose/x")

    @pytest.mark.parametrize("against", ["x", "-1", "9" * 30, "1.5"])
    def test_a_text_that_cannot_be_is_refused(self, web, root, against):
        assert web.get(f"{X}?against={against}").status_code == 400

    def test_another_files_text_is_not_compared(self, web, root):
        review_pairs(root, ("a.md", "prose/x"))
        key = FileSnapshot.objects.get(path__path=note_path("a.md")).pk

        assert "This gate has no such version." in text_of(web.get(f"{X}?against={key}"))

    def test_tries_its_examples_with_its_rule(self, web, root):
        write_gate(root, "prose/x", make_gate("prose/x", body=RULE, rule="repeated-words"))

        examples = twin(web, X)["examples"]

        assert [(item["kind"], item["found"], item["holds"]) for item in examples] == [
            ("fail", "warn", True),
            ("pass", "pass", True),
        ]

    def test_says_which_example_does_not_hold(self, web, root):
        wrong = RULE.replace("the the cat", "the cat")
        write_gate(root, "prose/x", make_gate("prose/x", body=wrong, rule="repeated-words"))

        shown = text_of(web.get(X))

        assert "does not hold Example (fail): the rule says pass, the gate warn" in shown

    def test_examples_for_a_model_are_not_tried(self, web, root):
        write_gate(root, "prose/x", make_gate("prose/x", body=RULE))

        assert "for the model to read" in text_of(web.get(X))

    def test_one_that_is_gone_keeps_its_text_and_history(self, web, root):
        review_pairs(root, ("a.md", "prose/x"))
        (root / gate_path("prose/x")).unlink()

        shown = text_of(web.get(X))

        assert "The gate is gone" in shown
        assert "fails prose/x" in shown

    @pytest.mark.parametrize("gate", ["prose/y", "../../../etc/passwd", "prose", "%2e%2e/x"])
    def test_one_that_never_was_is_not_found(self, web, root, gate):
        assert web.get(f"/gates/{gate}").status_code == 404

    @pytest.mark.parametrize("text", HOSTILE)
    def test_a_hostile_one_is_inert(self, web, root, text):
        hostile = make_gate("prose/x", body=f"{text}\n", description=repr(text))
        write_gate(root, "prose/x", hostile)

        for address in (X, f"{X}?as=lines", "/gates/", "/matrix/"):
            response = web.get(address)

            assert faults_of(response.content.decode(), whole_page=True) == []


class TestList:
    def test_is_the_document_of_the_command(self, web, root):
        document = twin(web, "/gates/")

        assert document["schema"] == "resolve-gates/1"
        assert [gate["gate_id"] for gate in document["gates"]] == ["prose/x"]

    def test_narrows_by_lens_and_by_who_judges(self, web, root):
        write_gate(root, "links/y", make_gate("links/y", rule="repeated-words"))

        def ids(query):
            return [gate["gate_id"] for gate in twin(web, f"/gates/?{query}")["gates"]]

        assert ids("lens=links") == ["links/y"]
        assert ids("judged=model") == ["prose/x"]

    def test_names_gates_that_cannot_be_used(self, web, root):
        write_gate(root, "prose/empty", "")

        assert "prose/empty.md" in text_of(web.get("/gates/"))
        assert "It is left out." in text_of(web.get("/gates/"))

    def test_says_how_to_start_where_there_is_none(self, web, root):
        (root / gate_path("prose/x")).unlink()

        assert "commonplace review_init" in text_of(web.get("/gates/"))

    def test_a_reader_sees_them(self, reader, root):
        assert reader.get("/gates/").status_code == 200
        assert reader.get(X).status_code == 200

    def test_no_more_queries_with_more_gates_and_notes(
        self, web, root, django_assert_max_num_queries
    ):
        for number in range(15):
            write_gate(root, f"prose/g{number}")
            write_note(root, f"n{number}.md")
            review_pairs(root, (f"n{number}.md", f"prose/g{number}"), review=WARN)

        with django_assert_max_num_queries(23):
            web.get("/gates/")
        with django_assert_max_num_queries(31):
            web.get("/gates/prose/g3")


def test_an_address_with_a_slash_at_its_end_leads_to_the_gate(web, root):
    assert web.get("/gates/prose/x/").headers["Location"] == "/gates/prose/x"
