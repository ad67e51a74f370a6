"""What is installed with us: pinned, hashed, and fetched from no place that we name."""

from __future__ import annotations

import re

import pytest

from tests.helpers.commands import REPOSITORY

LOCKS = sorted((REPOSITORY / "requirements").glob("*.txt"))
_REQUIREMENT = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?==", re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
class TestLock:
    def test_pins_every_package_by_its_hashes(self, lock):
        parts = re.split(r"\n(?=[A-Za-z0-9])", lock.read_text().split("\n\n#")[0])
        packages = [part for part in parts if _REQUIREMENT.match(part)]

        assert packages
        assert not [part.split()[0] for part in packages if "--hash=sha256:" not in part]

    def test_takes_nothing_from_an_address(self, lock):
        lines = [
            line for line in lock.read_text().splitlines() if not line.lstrip().startswith("#")
        ]

        assert not [
            line
            for line in lines
            if re.search(r"://|^\s*-e\b|git\+|--index|--find-links|--trusted", line)
        ]


def test_what_is_installed_for_a_team_is_installed_by_hashes():
    told = (REPOSITORY / "docs" / "deploy.md").read_text()

    assert "--require-hashes -r requirements/web.txt" in told


def test_make_installs_by_hashes():
    assert "--require-hashes" in (REPOSITORY / "Makefile").read_text()
