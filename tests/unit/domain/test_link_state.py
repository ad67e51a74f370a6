"""The state of linked files: equal while a rule would judge the links alike, else another."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from review.domain.link_state import LinkFacts, LinkStates, link_facts


class Note(NamedTuple):
    path: str
    sha256: str
    links: LinkFacts


def note(path: str, text: str = "# Title\n") -> Note:
    return Note(path, str(hash(text)), link_facts(text, note_path=path))


def state(link: str, rule: str, *notes: Note, files: frozenset[str] = frozenset()) -> str:
    text = f'# A\n\n{link} says "the quick brown fox jumps over it".\n'
    states = LinkStates(
        notes, facts_of=lambda linked: linked.links, find_file=lambda path: str(path in files)
    )
    return states.of(note("kb/notes/a.md", text), rule=rule)


@pytest.mark.parametrize(
    ("link", "path"),
    [
        ("[x](other.md)", "kb/notes/other.md"),
        ("[x](other)", "kb/notes/other.en-US.md"),
        ("[x](<my other.md> 'Title')", "kb/notes/My other.md"),
        ("[x](sub/my%20other.md#part)", "kb/notes/sub/my other.md"),
        ("[x](/guide/other/)", "kb/notes/guide/03-other.md"),
        ("[x](guide/)", "kb/notes/guide/README.md"),
        ("[[Other]]", "kb/notes/sub/other.md"),
        ("[[words|a.b.other]]", "kb/notes/a.b.other.md"),
        ("[[other#Part|words]]", "kb/notes/other.md"),
        ("\n[x]: other.md\n", "kb/notes/other.md"),
        ('<a href="other.html">x</a>', "kb/notes/other.md"),
        ('{{< ref "other.md" >}}', "kb/notes/other.md"),
        ("{% post_url 2024-01-02-other %}", "kb/_posts/2024-01-02-other.md"),
    ],
)
def test_a_linked_note_that_vanishes_is_seen_however_the_link_is_written(link, path):
    there, elsewhere = note(path), note("kb/notes/else.md")

    assert state(link, "unresolved-links", there) != state(link, "unresolved-links", elsewhere)


@pytest.mark.parametrize(
    ("link", "rule", "is_seen"),
    [
        ("[x](other.md#part)", "broken-anchors", True),
        ("[x](other.md)", "broken-anchors", False),
        ("[x](other.md#part)", "unresolved-links", False),
        ("[x](other.md)", "verbatim-quotes", True),
    ],
)
def test_each_rule_sees_only_the_edits_that_it_reads(link, rule, is_seen):
    before, after = (note("kb/notes/other.md", f"# Other\n\n## {it}\n") for it in ("Part", "New"))

    assert (state(link, rule, before) != state(link, rule, after)) is is_seen


def test_what_is_not_linked_to_changes_nothing():
    other, more = note("kb/notes/other.md"), note("kb/notes/more.md")

    for rule in ("unresolved-links", "broken-anchors", "verbatim-quotes"):
        assert state("[x](other.md#x)", rule, other) == state("[x](other.md#x)", rule, other, more)


@pytest.mark.parametrize("link", ["![x](../img/plan.png)", "![[../img/plan.png|300]]"])
def test_a_file_that_is_no_note_is_looked_for_at_its_path(link):
    there = frozenset(("kb/img/plan.png",))

    assert state(link, "unresolved-links", files=there) != state(link, "unresolved-links")
