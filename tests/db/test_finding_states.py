"""The queue's projection agrees with what it derives from after all that can happen, and can be made again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from review.acceptance import accept as projection
from review.acceptance.accept import notes_off_the_queue, rebuild_finding_states
from review.models import CurrentAcceptance, FindingState
from review.queue import columns as looking
from review.upkeep.doctor import check_queue, rebuild_acceptances
from review.upkeep.documents import CheckState
from tests.builders import NOTE, NOW, make_root, write_note
from tests.helpers.eventful import eventful_root, history
from tests.helpers.triage import decide, queue_of, report

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
    return make_root(tmp_path, notes={"a.md": NOTE, "b.md": NOTE})


def stored() -> list[dict[str, object]]:
    """All rows, without their keys."""
    rows = FindingState.objects.order_by("event_id", "ordinal").values()
    return [{name: value for name, value in row.items() if name != "id"} for row in rows]


class TestUpToDate:
    def test_after_everything_that_can_happen(self, tmp_path, monkeypatch):
        monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
        root = eventful_root(tmp_path)
        seen = []

        for step in history(root):
            kept = stored()
            seen.append(str(kept))
            assert not any(notes_off_the_queue()), step
            rebuild_finding_states()
            assert stored() == kept, step

        assert len(set(seen)) > len(seen) // 2

    def test_after_current_acceptances_were_made_again(self, root):
        report(root, "a.md", "prose/x", "vague")
        CurrentAcceptance.objects.update(decision="pass")
        rebuild_finding_states()
        assert stored() == []

        rebuild_acceptances()

        assert [line.note_path for line in queue_of(root).lines()] == ["kb/notes/a.md"]

    def test_rows_that_are_off_are_found_and_made_again(self, root):
        report(root, "a.md", "prose/x", "vague")
        report(root, "b.md", "prose/x", "vague")
        before = stored()
        FindingState.objects.filter(note_path="kb/notes/a.md").update(state="fixed")

        found = check_queue(repair=False)
        repaired = check_queue(repair=True)

        assert (found.state, repaired.state) == (CheckState.PROBLEM, CheckState.REPAIRED)
        assert found.message.startswith("1 notes are off")
        assert stored() == before
        assert check_queue(repair=False).state is CheckState.OK

    def test_what_is_written_between_the_two_readings_is_no_fault(self, root, monkeypatch):
        report(root, "a.md", "prose/x", "vague")
        derive, waiting = (
            projection.finding_states,
            [lambda: report(root, "a.md", "prose/x", "dull")],
        )

        def meanwhile(*keys, **tables):
            while waiting:
                waiting.pop()()
            return derive(*keys, **tables)

        monkeypatch.setattr(projection, "finding_states", meanwhile)

        assert check_queue(repair=False).state is CheckState.OK


class TestCheapness:
    def test_the_statements_do_not_grow_with_the_findings(self, root, django_assert_num_queries):
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        counts = []
        for number in (2, 30):
            report(root, "a.md", "prose/x", *(f"point {n} of it" for n in range(number)))
            with CaptureQueriesContext(connection) as seen:
                list(queue_of(root).lines())
            counts.append(len(seen))

        assert counts[0] == counts[1]


class TestFiles:
    def test_of_a_small_base_are_looked_at_each_time(self, root):
        report(root, "a.md", "prose/x", "vague")
        queue_of(root)

        write_note(root, "a.md", NOTE + "\nMore.\n")

        assert [line.since for line in queue_of(root).lines()] == ["changed"]

    def test_of_a_large_base_are_looked_at_once_a_minute(self, root, monkeypatch):
        monkeypatch.setattr(looking, "SMALL_BASE", 1)
        report(root, "a.md", "prose/x", "vague")
        queue_of(root, now=NOW)
        write_note(root, "a.md", NOTE + "\nMore.\n")

        soon = [line.since for line in queue_of(root, now=NOW + timedelta(seconds=59)).lines()]
        later = [line.since for line in queue_of(root, now=NOW + timedelta(seconds=61)).lines()]

        assert (soon, later) == (["same"], ["changed"])

    def test_a_deferred_finding_is_open_again_when_its_note_changes(self, root):
        (mark,) = report(root, "a.md", "prose/x", "vague")
        sha256 = queue_of(root).notes.digests["kb/notes/a.md"]
        decide(mark, "deferred", note_sha256=sha256)
        assert queue_of(root).total == 0

        write_note(root, "a.md", NOTE + "\nMore.\n")

        assert [line.state_now for line in queue_of(root).lines()] == ["open"]
