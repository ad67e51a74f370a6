"""A change is trivial only if nothing the gate watches changed, or little enough of the body."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.domain.staleness import (
    MAX_LINES,
    MAX_WORDS,
    as_gate_sees,
    body_ratio,
    changed_regions,
    regions_of,
)
from review.knowledge_base.gate_definition import parse_staleness_rule
from review.vocabulary import Region

ALL = frozenset(Region)
TEXT = st.text(alphabet="ab# =-`\n\r\t", max_size=80)
NOTE = """---
title: How it is
description: What it says.
status: current
---

# How it is

An intro paragraph.

Another paragraph, with a hard break\x20\x20
here.

- one
- two

```sh
# set up

run
```
"""


def seen(before: str, after: str, *, watches=ALL, threshold=None):
    return as_gate_sees(
        regions_of(before),
        regions_of(after),
        watches=frozenset(watches),
        rewrite_threshold=threshold,
    )


def edited(old: str, new: str) -> str:
    assert old in NOTE
    return NOTE.replace(old, new, 1)


class TestChangedRegions:
    @pytest.mark.parametrize(
        ("after", "regions"),
        [
            pytest.param(NOTE, set(), id="nothing"),
            pytest.param(edited("# How it is", "# How it was"), {Region.TITLE}, id="heading"),
            pytest.param(
                edited("title: How it is", "title: x"),
                {Region.FRONTMATTER},
                id="title-key-below-a-heading",
            ),
            pytest.param(
                edited("What it says", "Other"),
                {Region.DESCRIPTION, Region.FRONTMATTER},
                id="description",
            ),
            pytest.param(edited("current", "draft"), {Region.FRONTMATTER}, id="status"),
            pytest.param(
                edited("---\n", "---\nreview_skip:\n  prose/x: quoted at length\n"),
                set(),
                id="what-the-note-skips",
            ),
            pytest.param("\ufeff" + NOTE, {Region.FRONTMATTER}, id="bom"),
            pytest.param(edited("An intro", "The intro"), {Region.BODY}, id="word"),
            pytest.param(NOTE.rstrip("\n"), {Region.BODY}, id="final-newline"),
            pytest.param(
                NOTE.replace("\n", "\r\n"), {Region.BODY, Region.FRONTMATTER}, id="line-ends"
            ),
            pytest.param(
                edited(
                    "# How it is\n\nAn intro paragraph.\n", "An intro paragraph.\n\n# How it is\n"
                ),
                {Region.BODY},
                id="heading-below-the-intro",
            ),
            pytest.param(
                edited("# How it is", "# How it is "), {Region.TITLE}, id="blank-behind-the-heading"
            ),
        ],
    )
    def test_names_the_parts_that_differ(self, after, regions):
        assert changed_regions(regions_of(NOTE), regions_of(after)) == regions

    def test_the_frontmatter_title_is_the_title_of_a_note_without_heading(self):
        before, after = "---\ntitle: a\n---\nText", "---\ntitle: b\n---\nText"

        assert changed_regions(regions_of(before), regions_of(after)) == {
            Region.TITLE,
            Region.FRONTMATTER,
        }

    @settings(deadline=None, max_examples=400)
    @given(TEXT, TEXT)
    def test_names_none_only_for_equal_texts(self, before, after):
        assert bool(changed_regions(regions_of(before), regions_of(after))) is (before != after)


class TestTriviality:
    @pytest.mark.parametrize(
        "after",
        [
            pytest.param(
                edited("paragraph.\n\nAnother", "paragraph.\nAnother"), id="paragraphs-merged"
            ),
            pytest.param(edited("- one\n- two", "- one\n\n- two"), id="list-detached"),
            pytest.param(edited("here.\n\n- one", "here.\n- one"), id="list-attached"),
            pytest.param(edited("break  \nhere", "break\nhere"), id="hard-break-removed"),
            pytest.param(
                edited("# set up\n\nrun", "# set up\n\n\nrun"), id="blank-line-in-a-fence"
            ),
            pytest.param(edited("  \nhere", " \nhere"), id="one-blank-of-a-hard-break"),
        ],
    )
    def test_a_change_of_shape_is_not_trivial(self, after):
        assert not seen(NOTE, after).trivial

    def test_a_hash_in_a_fence_is_no_title(self):
        before = "Intro.\n\n```sh\n# set up\n```\n"

        assert not seen(before, before.replace("Intro", "Other"), watches={Region.BODY}).trivial
        assert seen(before, before.replace("# set", "# tear"), watches={Region.TITLE}).trivial

    def test_text_before_the_title_is_body(self):
        before = "Before.\n\n# T\n\nText\n"

        assert seen(before, before.replace("Before", "Other")).watched == (Region.BODY,)

    @pytest.mark.parametrize(
        ("old", "new", "watches", "watched"),
        [
            pytest.param("An intro", "The intro", {Region.TITLE}, (), id="body-unwatched"),
            pytest.param("# How it is", "# Other", {Region.BODY}, (), id="title-unwatched"),
            pytest.param(
                "status: current",
                "status: x",
                {Region.TITLE, Region.BODY},
                (),
                id="status-unwatched",
            ),
            pytest.param(
                "What it says",
                "x",
                {Region.DESCRIPTION},
                (Region.DESCRIPTION,),
                id="description-watched",
            ),
            pytest.param(
                "What it says",
                "x",
                ALL,
                (Region.DESCRIPTION, Region.FRONTMATTER),
                id="in-the-order-of-the-words",
            ),
        ],
    )
    def test_what_is_not_watched_does_not_count(self, old, new, watches, watched):
        change = seen(NOTE, edited(old, new), watches=watches)

        assert change.watched == watched
        assert change.trivial is not bool(watched)

    @pytest.mark.parametrize(
        ("threshold", "trivial"),
        [
            pytest.param(None, False, id="changed"),
            pytest.param(0.0, False, id="nothing-allowed"),
            pytest.param(0.6, True, id="below"),
            pytest.param(0.5, True, id="exactly"),
            pytest.param(0.49, False, id="above"),
        ],
    )
    def test_a_small_change_of_the_body_is_trivial_to_a_rewrite_gate(self, threshold, trivial):
        change = seen("a b c d", "a b c x", threshold=threshold)

        assert (change.body_ratio, change.trivial) == (0.5, trivial)

    def test_a_rewrite_gate_still_sees_any_change_of_another_region(self):
        after = edited("An intro", "The intro").replace("What it says", "x")

        assert not seen(NOTE, after, threshold=1.0).trivial


class TestBodyRatio:
    @pytest.mark.parametrize(
        ("before", "after", "ratio"),
        [
            pytest.param("", "", 0.0, id="both-empty"),
            pytest.param("a b", "\n a\nb  \n\n", 0.0, id="wrapped-anew"),
            pytest.param("a b", "a\n\nb", 0.5, id="paragraph-split"),
            pytest.param("a\n    b", "a\nb", 0.5, id="indentation-removed"),
            pytest.param("a  \nb", "a\nb", 0.5, id="hard-break-removed"),
            pytest.param("- a\n- b", "- a\n\n- b", 1 / 4, id="list-pulled-apart"),
            pytest.param("```\na\n\nb\n```", "```\na\nb\n```", 1 / 4, id="blank-line-in-a-fence"),
            pytest.param("", "a", 1.0, id="from-nothing"),
            pytest.param("a b", "c d", 2.0, id="nothing-in-common"),
            pytest.param("a b c", "a c", 1 / 3, id="one-removed"),
            pytest.param("a b", "b a", 1.0, id="order-counts"),
            pytest.param("w " * 1048, "w " * 1048 + "n " * 838, 838 / 1048, id="much-appended"),
            pytest.param("a", "a b c d", 3.0, id="more-than-doubled"),
            pytest.param("我们有平台", "我们\n没有平台", 1 / 5, id="without-spaces"),
        ],
    )
    def test_is_the_share_of_words_that_changed(self, before, after, ratio):
        assert body_ratio(before, after) == pytest.approx(ratio)

    @settings(deadline=None, max_examples=300)
    @given(st.text(alphabet="ab \n", max_size=60), st.text(alphabet="ab \n", max_size=60))
    def test_is_zero_only_where_words_stand_the_same(self, before, after):
        ratio = body_ratio(before, after)

        assert ratio >= 0
        assert ratio == 0 or body_ratio(after, before) > 0
        if ratio == 0:
            assert before.split() == after.split()

    def test_counts_lines_in_a_long_text(self):
        lines = [f"word and word number {n}" for n in range(MAX_WORDS // 4)]
        changed = [*lines[:-1], "one line of them"]

        assert body_ratio("\n".join(lines), "\n".join(changed)) == pytest.approx(2 / len(lines))

    def test_never_says_too_little_of_a_text_beyond_measure(self):
        lines = [str(n) for n in range(MAX_LINES + 10)]
        swapped = [lines[0], *reversed(lines[1:-1]), lines[-1]]

        ratio = body_ratio("\n".join(lines), "\n".join(swapped))

        assert 1.99 < ratio < 2

    @pytest.mark.parametrize("count", [MAX_WORDS, MAX_LINES, 1_000_000])
    def test_is_quick_however_long_the_text(self, count):
        before = "\n".join(str(n) for n in range(count))
        after = "\n".join(str(n if n % 2 else -n) for n in range(count))
        started = time.process_time()

        body_ratio(before, after)

        assert time.process_time() - started < 5


class TestParseStalenessRule:
    @pytest.mark.parametrize(
        ("raw", "threshold"),
        [
            ("changed", None),
            (" Changed ", None),
            ("rewrite(0.5)", 0.5),
            ("rewrite( .25 )", 0.25),
            ("Rewrite (1)", 1.0),
            ("rewrite(0)", 0.0),
        ],
    )
    def test_reads_both_rules(self, raw, threshold):
        assert parse_staleness_rule(raw) == threshold

    @pytest.mark.parametrize(
        "raw",
        [
            "",
            "rewrite",
            "rewrite()",
            "rewrite(1.5)",
            "rewrite(-0.1)",
            "rewrite(nan)",
            "rewrite(1e-1)",
            "50%",
        ],
    )
    def test_refuses_anything_else_and_says_what_was_expected(self, raw):
        with pytest.raises(ValueError, match="expected changed, or rewrite"):
            parse_staleness_rule(raw)
