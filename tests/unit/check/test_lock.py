"""The review lock as text: what is written is read back, and any bytes give a lock."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.check.lock import Lock, LockedFinding, LockedNote, LockedReview, lock_text, read_lock
from review.domain.printing import UNSAFE
from review.vocabulary import Decision, DispositionState, Severity

_TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
_SHA256 = st.text("0123456789abcdef", min_size=64, max_size=64)
_FINDINGS = st.builds(
    LockedFinding,
    gate=_TEXT,
    model=_TEXT,
    severity=st.sampled_from(Severity),
    fingerprint=st.text("0123456789abcdef", min_size=16, max_size=16),
    line=st.none() | st.integers(1, 9_999),
    text=_TEXT,
    quote=_TEXT,
    state=st.sampled_from(DispositionState),
)
_REVIEWS = st.builds(
    LockedReview, _TEXT, _SHA256, st.dictionaries(_TEXT, st.sampled_from(Decision), max_size=3)
)
_NOTES = st.builds(
    LockedNote,
    _TEXT,
    st.lists(_REVIEWS, max_size=2).map(tuple),
    st.lists(_FINDINGS, max_size=2).map(tuple),
)
_LOCKS = st.builds(
    lambda gates, notes: Lock(gates, {note.note: note for note in notes}),
    st.dictionaries(_TEXT, _SHA256, max_size=3),
    st.lists(_NOTES, max_size=3),
)


@settings(max_examples=25, deadline=None)
@given(_LOCKS)
def test_what_is_written_is_read_back_and_nothing_in_it_acts_on_a_terminal(lock):
    text = lock_text(lock)

    assert read_lock(text.encode()) == lock
    assert text == lock_text(read_lock(text.encode()))
    assert not UNSAFE.search(text)


@settings(max_examples=25, deadline=None)
@given(_LOCKS, st.binary(max_size=20), st.floats(0, 1))
def test_damage_is_named_and_never_an_exception(lock, damage, place):
    data = lock_text(lock).encode()
    at = int(place * len(data))

    read = read_lock(data[:at] + damage + data[at + len(damage) :])

    assert all(problem.code == "damaged-lock" and problem.line for problem in read.problems)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"=======", id="merge-conflict"),
        pytest.param(b'{"gate":"prose/x","sha256":"0"}', id="short-digest"),
        pytest.param(b'{"note":"kb/a.md","reviews":[["m"]]}', id="other-shape"),
        pytest.param(b'{"note":"\xff"}', id="not-utf8"),
        pytest.param(b"[" * 100_000, id="nested"),
    ],
)
def test_a_line_that_cannot_be_read_is_one_problem(line):
    lock = Lock({"prose/x": "0" * 64}, {"kb/a.md": LockedNote("kb/a.md")})

    read = read_lock(lock_text(lock).encode() + line + b"\n")

    (problem,) = read.problems
    assert (problem.line, problem.skipped) == (4, True)
    assert (read.gates, read.notes) == (lock.gates, lock.notes)


def test_of_two_lines_of_one_note_neither_counts():
    text = lock_text(Lock({}, {"kb/a.md": LockedNote("kb/a.md")}))

    read = read_lock(text.encode() + text.splitlines()[1].encode())

    assert read.notes == {}
    assert "neither counts" in read.problems[0].message
