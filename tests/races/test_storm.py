"""Eight processes over one store do everything at once: nothing that was reported is lost."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.helpers.commands import shared_store
from tests.races.storm import Storm, rage

pytestmark = pytest.mark.django_db(transaction=True)
# `make soak` asks for a minute each; another seed is another storm.
IS_SOAK = "COMMONPLACE_TEST_RACES" in os.environ
SECONDS = float(os.environ.get("COMMONPLACE_TEST_RACES", "6"))
SEED = int(os.environ.get("COMMONPLACE_TEST_SEED", "1"))


class TestAStorm:
    @pytest.mark.parametrize(
        "storm",
        [
            pytest.param(Storm(SECONDS, SEED), id="over-many-notes-with-people-at-the-pages"),
            pytest.param(
                Storm(SECONDS, SEED, notes=3, with_site=False),
                marks=pytest.mark.skipif(not IS_SOAK, reason="a part of make soak"),
                id="over-three-notes-that-all-want",
            ),
        ],
    )
    def test_leaves_a_store_that_holds_what_was_reported_and_nothing_else(self, storm, tmp_path):
        verdict = rage(storm, tmp_path / "base", shared_store())

        faults = verdict.pop("faults")
        sys.stdout.write(json.dumps(verdict, indent=1) + "\n")
        assert not faults, "\n\n".join(faults)
        assert sum(verdict["acts"].values())
