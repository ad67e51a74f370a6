"""What stands around a block is ignored, but a hidden one is none, and an example gives no PASS."""

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


def doubted(parsed) -> set[int]:
    return {key for key, found in parsed.blocks.items() if found.doubt}


ONE, BOTH = block(1), block(1) + block(2)


class TestComments:
    @pytest.mark.parametrize(
        "output",
        [
            pytest.param(f"<!--\n{BOTH}-->\n", id="around-both"),
            pytest.param(f"<!-- draft\n\n{BOTH}\n-->\n", id="with-words"),
            pytest.param(f"   <!--\n{BOTH}-->\n", id="indented"),
            pytest.param(f"<!--\n{BOTH}the end --> of it\n", id="closed-in-a-line"),
            pytest.param(f"I saw <!-- here.\n<!--\n{BOTH}-->\n", id="mentioned-before"),
            pytest.param(
                "<!--\n" + block(1, "a --> b\n## Result: PASS") + block(2) + "-->\n",
                id="its-end-in-a-block-too",
            ),
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
            pytest.param(f"It begins with <!-- here.\n{BOTH}And ends --> there.\n", id="in-prose"),
            pytest.param(f"<!-- a -->\n{ONE}<!-- b -->\n{block(2)}<!-- c -->\n", id="between"),
            pytest.param(f"{BOTH}<!-- the end\n", id="after-the-blocks"),
            pytest.param(block(1, "<!--\n## Result: PASS") + block(2), id="within-a-block"),
        ],
    )
    def test_that_hide_no_block_change_nothing(self, output):
        parsed = parse(output)

        assert {key: found.doubt for key, found in parsed.blocks.items()} == {1: "", 2: ""}

    @pytest.mark.parametrize(
        ("output", "why"),
        [
            pytest.param(f"<!--\n{BOTH}", "is never closed", id="never-closed"),
            pytest.param(f"Text <!-- hidden:\n{BOTH}-->\n", "ends below", id="begun-in-a-line"),
            pytest.param(f"    <!--\n{BOTH}-->\n", "ends below", id="indented-as-code"),
        ],
    )
    def test_that_may_hide_blocks_leave_their_pass_in_doubt(self, output, why):
        parsed = parse(output)

        assert [why in found.doubt for found in parsed.blocks.values()] == [True, True]

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
    def test_announced_above_are_in_doubt(self, lead, fence):
        parsed = parse(f"Hello.\n\n{lead}\n\n{fence}\n{BOTH}{fence[:3]}\n")

        number = 3 + lead.count("\n")
        for found in parsed.blocks.values():
            assert found.doubt.startswith(f"line {number} calls the block an example: ")
        assert doubted(parsed) == {1, 2}

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
    def test_called_so_afterwards_are_in_doubt(self, after, fence):
        parsed = parse(f"{fence}\n{BOTH}{fence}\n\n{after}\n")

        assert doubted(parsed) == {1, 2}

    def test_end_with_their_fence(self):
        parsed = parse(f"For example:\n```\n{ONE}```\nAnd now in earnest:\n\n{block(2)}")

        assert (set(parsed.blocks), doubted(parsed)) == ({1, 2}, {1})

    def test_are_named_by_the_info_of_their_fence(self):
        assert doubted(parse(f"```example\n{BOTH}```\n")) == {1, 2}

    @pytest.mark.parametrize(
        "output",
        [
            pytest.param("Example:\n```\n{old}```\nIn earnest:\n{new}", id="before"),
            pytest.param("{new}\nExample output:\n\n{old}", id="after"),
            pytest.param("Example:\n{old}Template:\n{other}My review:\n{new}", id="two-of-them"),
            pytest.param("<think>\nFor example:\n{old}</think>\n{new}", id="in-thoughts"),
            pytest.param("{old}These are only examples.\n\n{new}", id="called-so-afterwards"),
        ],
    )
    def test_give_way_to_the_block_that_is_meant(self, output):
        new = block(1, "## Result: FAIL")
        parsed = parse(output.format(old=ONE, other=block(1, "## Result: WARN"), new=new))

        assert (parsed.blocks[1].text, parsed.blocks[1].doubt) == ("## Result: FAIL", "")

    @pytest.mark.parametrize(
        "output",
        [
            pytest.param("Example:\n{old}Another example:\n{new}", id="both-examples"),
            pytest.param("One:\n{old}Two:\n{new}", id="neither"),
        ],
    )
    def test_two_versions_are_not_chosen_between_otherwise(self, output):
        new = block(1, "## Result: FAIL")

        assert "two different" in parse(output.format(old=ONE, new=new)).missing[1]

    def test_that_are_given_again_to_the_letter_are_meant(self):
        assert doubted(parse(f"Example:\n{ONE}\nAnd the review itself:\n{ONE}")) == set()

    def test_in_a_quotation_announce_nothing(self):
        assert doubted(parse(f"> An example:\n\n{BOTH}")) == set()

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

        assert (set(parsed.blocks), doubted(parsed)) == ({1, 2}, set())

    def test_named_far_above_do_not_count(self):
        parsed = parse(f"Example:\n\nI skip the example. Both reviews:\n\n{BOTH}")

        assert (set(parsed.blocks), doubted(parsed)) == ({1, 2}, set())


WORDS = st.text(st.sampled_from("abcdefgh ,;\n\t>-#*"), max_size=80)


class TestOtherText:
    @given(above=WORDS, between=WORDS, below=WORDS, crlf=st.booleans())
    def test_changes_no_block(self, above, between, below, crlf):
        text = f"{above}\n{block(1)}\n{between}\n{block(2)}\n{below}"

        parsed = parse(text.replace("\n", "\r\n") if crlf else text)

        assert {key: found.text.split() for key, found in parsed.blocks.items()} == {
            key: found.text.split() for key, found in parse(BOTH).blocks.items()
        }
