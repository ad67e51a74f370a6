"""Eight processes over one store do everything at once: nothing that was reported is lost."""

from __future__ import annotations

import os

import pytest

from tests.helpers.commands import shared_store
from tests.races.storm import Storm, rage

pytestmark = pytest.mark.django_db(transaction=True)
# Another seed is another storm.
SEED = int(os.environ.get("COMMONPLACE_TEST_SEED", "1"))
A_MINUTE = float(os.environ.get("COMMONPLACE_TEST_SECONDS", "60"))


class TestAStorm:
    @pytest.mark.parametrize(
        "storm",
        [
            pytest.param(Storm(6, SEED), id="a-short-one"),
            pytest.param(
                Storm(A_MINUTE, SEED),
                marks=pytest.mark.soak, id="over-many-notes-with-people-at-the-pages",
            ),
            pytest.param(
                Storm(A_MINUTE, SEED, notes=3, with_site=False),
                marks=pytest.mark.soak, id="over-three-notes-that-all-want",
            ),
        ],
    )  # fmt: skip
    def test_leaves_a_store_that_holds_what_was_reported_and_nothing_else(
        self, storm, tmp_path, verdicts, request
    ):
        verdict = rage(storm, tmp_path / "base", shared_store())

        faults = verdict.pop("faults")
        verdicts[request.node.name] = verdict
        assert not faults, "\n\n".join(faults)
        assert sum(verdict["acts"].values())
