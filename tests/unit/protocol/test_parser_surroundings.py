"""What stands around a block is ignored, but a block that is hidden or called an example is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.protocol.parser import ExpectedPair, parse_output
from review.protocol.sentinels import end_line, start_line

TOKEN = "0a1b2c3d"
PAIRS = (ExpectedPair(1, "kb/notes/example.md", "prose/x"), ExpectedPair(2, "b.md", "prose/y"))


def block(ordinal: int, body: str = "All is well.\n\n## Result: PASS") -> str:
    names = PAIRS[ordinal - 1].note_path, PAIRS[ordinal - 1].gate_id
    return f"{start_line(TOKEN, ordinal, *names)}\n{body}\n{end_line(TOKEN, ordinal, *names)}\n"


def parse(text: str):
    return parse_output(text.encode(), token=TOKEN, expected=PAIRS)


ONE, BOTH = block(1), block(1) + block(2)


class TestComments:
    @pytest.mark.parametrize(
        "output",
        [
            pytest.param(f"<!--\n{BOTH}-->\n", id="around-both"),
            pytest.param(f"<!-- draft\n\n{BOTH}\n-->\n", id="with-words"),
            pytest.param(f"Text <!-- hidden:\n{BOTH}-->\n", id="begun-late-in-a-line"),
            pytest.param(f"<!--\n{BOTH}", id="never-closed"),
            pytest.param(f"   <!--\n{BOTH}", id="indented-and-never-closed"),
            pytest.param(f"<!-- a --> <!-- b\n{BOTH}-->\n", id="the-second-of-a-line"),
            pytest.param(f"<!--\na --> b <!--\n{BOTH}-->\n", id="opened-where-one-closed"),
            pytest.param(f"```markdown\n<!--\n{BOTH}-->\n```\n", id="in-an-outer-fence"),
            pytest.param(f"<!--\r\n{BOTH}-->\r\n".replace("\n", "\r\n"), id="crlf"),
        ],
    )
    def test_that_hide_blocks_make_their_pairs_missing(self, output):
        parsed = parse(output)

        assert not parsed.blocks
        assert {why.split(" (")[0] for why in parsed.missing.values()} == {
            "its block stands in an HTML comment"
        }
        assert parsed.has_own_blocks

    @pytest.mark.parametrize(
        "output",
        [
            pytest.param(f"<!-- the reviews -->\n{BOTH}", id="closed-on-its-line"),
            pytest.param(f"<!--\nthe reviews\n-->\n{BOTH}", id="closed-before"),
            pytest.param(f"<!-->\n{BOTH}", id="empty"),
            pytest.param(f"The mark `<!--` opens a comment.\n{BOTH}-->\n", id="in-a-code-span"),
            pytest.param(f"I saw a <!-- mark.\n{BOTH}", id="mentioned-and-never-closed"),
            pytest.param(f"{BOTH}<!-- the end\n", id="after-the-blocks"),
            pytest.param(block(1, "<!--\n## Result: PASS") + block(2), id="within-a-block"),
        ],
    )
    def test_that_hide_no_block_change_nothing(self, output):
        assert set(parse(output).blocks) == {1, 2}

    def test_hide_one_block_and_not_the_next(self):
        parsed = parse(f"<!--\n{ONE}-->\n{block(2)}")

        assert (set(parsed.blocks), set(parsed.missing)) == ({2}, {1})


LEADS = [
    "Here is an example of the output:",
    "For example:",
    "**Example:**",
    "## Example output",
    "Example",
    "e.g.:",
    "A passing review would look like this:",
    "I could not read the note. If it passed, I would write:",
    "Since the note was missing, here is a filled-in sample of what\nthe answer would look like:",
    "Here is a hypothetical review.",
    "Below is an illustration of the format.",
    "This is not a real review:",
    "Only a mock-up:",
    "Beispiel:",
]


class TestExamples:
    @pytest.mark.parametrize("lead", LEADS)
    @pytest.mark.parametrize("fence", ["", "```", "~~~markdown"])
    def test_announced_above_are_no_reviews(self, lead, fence):
        parsed = parse(f"{lead}\n\n{fence}\n{BOTH}{fence[:3]}\n")

        assert not parsed.blocks
        assert all("calls its block an example" in why for why in parsed.missing.values())

    @pytest.mark.parametrize(
        "after",
        [
            "This is only an example.",
            "The above is a made-up sample, since I could not open the note.",
            "(That was just an illustration.)",
            "Note: this is a placeholder.",
            "This is not a real review.",
        ],
    )
    @pytest.mark.parametrize("fence", ["", "```"])
    def test_called_so_afterwards_are_no_reviews(self, after, fence):
        parsed = parse(f"{fence}\n{BOTH}{fence}\n\n{after}\n")

        assert not parsed.blocks

    def test_end_with_their_fence(self):
        parsed = parse(f"For example:\n```\n{ONE}```\nAnd now in earnest:\n\n{block(2)}")

        assert (set(parsed.blocks), set(parsed.missing)) == ({2}, {1})

    def test_named_by_the_info_of_their_fence_are_no_reviews(self):
        assert not parse(f"```example\n{BOTH}```\n").blocks

    def test_do_not_become_reviews_by_being_given_again_in_earnest(self):
        """Two versions of one pair are never chosen between, whatever stands around them."""
        parsed = parse(f"Example:\n```\n{ONE}```\nIn earnest:\n{block(1, '## Result: FAIL')}")

        assert 1 in parsed.missing

    @pytest.mark.parametrize(
        "lead",
        [
            "Sure, here it is:",
            "Here are the reviews in the required format:",
            "Following the template of the prompt:",
            "As in the example you gave:",
            "Review of kb/notes/example.md:",
            "Here is the review for the example note:",
            "For example, I checked every link of the first note.",
            "I read both notes, for example the part on units. The reviews follow:",
            "Reviews of example-one.md and sample.md:",
            "self-reported-model: example-model-1",
            "The note would look better with a figure, but here are the reviews:",
            "Let me write the blocks.",
        ],
    )
    @pytest.mark.parametrize("fence", ["", "```markdown"])
    def test_are_not_seen_in_other_words(self, lead, fence):
        parsed = parse(f"{lead}\n\n{fence}\n{BOTH}{fence[:3]}\n\nDone. Anything else?\n")

        assert set(parsed.blocks) == {1, 2}

    def test_named_far_above_do_not_count(self):
        parsed = parse(f"Example:\n\nI skip the example. Both reviews:\n\n{BOTH}")

        assert set(parsed.blocks) == {1, 2}


WORDS = st.text(st.sampled_from("abcdefgh ,;\n\t>-#*"), max_size=80)


class TestOtherText:
    @given(above=WORDS, between=WORDS, below=WORDS, crlf=st.booleans())
    def test_changes_no_block(self, above, between, below, crlf):
        text = f"{above}\n{block(1)}\n{between}\n{block(2)}\n{below}"

        parsed = parse(text.replace("\n", "\r\n") if crlf else text)

        assert {key: found.text.split() for key, found in parsed.blocks.items()} == {
            key: found.text.split() for key, found in parse(BOTH).blocks.items()
        }
