"""Each rule finds its fault where a mechanical change brought it into a clean note."""

from __future__ import annotations

import random

import pytest

from review.domain.link_state import READING_RULES
from review.domain.markdown.links import RuleInput, RuleLink, extract_links
from review.runners.rules.judge import RULES
from tests.unit.runners.rules.judged import review_of
from tests.unit.runners.rules.mutators import MUTATORS, SOURCE, clean_note

NOTES = 100
LEAST_FOUND = 95
KNOWN = {"source.md": "kb/source.md"}


class Repository:
    """A repository that has nothing of what a note names."""

    make_targets = None

    def __contains__(self, path):
        return False

    def is_gone(self, path, *, note_path):
        return True

    def ignores(self, path):
        return False


def findings(rule: str, text: str) -> list[tuple[str, str]]:
    links = tuple(
        RuleLink(link.target, link.line, KNOWN.get(link.target), external=link.target != "gone.md")
        for link in extract_links(text)
    )
    review = review_of(
        rule, text, links=links, repository=Repository(), text_of={"kb/source.md": SOURCE}.get
    )
    return [(found.text, found.quote) for found in review.findings]


def test_there_is_a_mutator_for_each_rule():
    assert set(MUTATORS) == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_clean_notes_have_no_finding(rule):
    assert [seed for seed in range(NOTES) if findings(rule, clean_note(seed))] == []


@pytest.mark.parametrize("rule", RULES)
def test_the_fault_is_found_in_all_but_a_few(rule):
    missed = []
    for seed in range(NOTES):
        clean = clean_note(seed)
        spoiled = MUTATORS[rule](clean, random.Random(seed))  # noqa: S311
        assert spoiled != clean
        if not findings(rule, spoiled):
            missed.append(seed)

    assert len(missed) <= NOTES - LEAST_FOUND, f"missed in notes {missed}"


class Watched:
    """A note that remembers which files beside it a rule asked for."""

    def __init__(self, given: RuleInput):
        self.given, self.asked = given, set()

    def __getattr__(self, name):
        self.asked.add(name)
        return getattr(self.given, name)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_reads_linked_files_is_judged_again_when_these_change(rule):
    spoiled = MUTATORS[rule](clean_note(0), random.Random(0))  # noqa: S311
    given = Watched(RuleInput("kb/a.md", spoiled, repository=Repository()))

    RULES[rule].judge(given)

    asks = not given.asked.isdisjoint(("links", "anchors_of", "text_of"))
    assert asks is (rule in READING_RULES)
