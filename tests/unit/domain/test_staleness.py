"""What makes a pair stale, and in which order it is said."""

from __future__ import annotations

import pytest

from review.domain.staleness import Digests, staleness_reasons
from review.vocabulary import Staleness


class TestStalenessReasons:
    @pytest.mark.parametrize(
        ("accepted", "reasons"),
        [
            pytest.param(None, (Staleness.MISSING_REVIEW,), id="never-accepted"),
            pytest.param(Digests("n", "g"), (), id="fresh"),
            pytest.param(Digests("old", "g"), (Staleness.NOTE_CHANGED,), id="note-changed"),
            pytest.param(Digests("n", "old"), (Staleness.GATE_CHANGED,), id="gate-changed"),
            pytest.param(
                Digests("old", "old"),
                (Staleness.GATE_CHANGED, Staleness.NOTE_CHANGED),
                id="gate-before-note",
            ),
        ],
    )
    def test_gives_all_that_hold_in_order_of_precedence(self, accepted, reasons):
        assert staleness_reasons(current=Digests("n", "g"), accepted=accepted) == reasons

    def test_the_two_texts_are_not_mixed_up(self):
        swapped = staleness_reasons(current=Digests("a", "b"), accepted=Digests("b", "a"))

        assert len(swapped) == 2
