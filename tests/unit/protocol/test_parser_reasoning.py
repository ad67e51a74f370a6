"""Reasoning and terminal escapes in outputs: neither is part of an answer."""

from __future__ import annotations

import pytest

from review.protocol.output import parse_output
from review.protocol.sentinels import ExpectedPair, end_line, start_line

TOKEN = "0a1b2c3d"
PAIR = ExpectedPair(1, "kb/notes/a.md", "prose/x")
START = start_line(TOKEN, 1, PAIR.note_path, PAIR.gate_id)
END = end_line(TOKEN, 1, PAIR.note_path, PAIR.gate_id)
DRAFT = f"{START}\n## Result: PASS\n{END}\n"
OPEN_DRAFT = f"{START}\n## Result: PASS\n"
ANSWER = f"{START}\n## Result: FAIL\n{END}\n"


def parse(text):
    return parse_output(text.encode(), token=TOKEN, expected=[PAIR])


class TestReasoning:
    @pytest.mark.parametrize(
        "reasoning",
        [
            pytest.param(f"<think>\n{DRAFT}No, that is wrong.\n</think>\n", id="think"),
            pytest.param(f"<thinking>\n{DRAFT}</thinking>\n", id="thinking"),
            pytest.param(f"  <Think>\n{OPEN_DRAFT}  </Think>\n", id="unclosed-draft"),
            pytest.param(f"[THINK]\n{DRAFT}[/THINK]\n", id="brackets"),
            pytest.param(f"\u25c1think\u25b7\n{DRAFT}\u25c1/think\u25b7\n", id="triangles"),
            pytest.param(f"<analysis>\n{DRAFT}</analysis>\n", id="another-name"),
            pytest.param(f"<seed:think>\n{DRAFT}</seed:think>\n", id="with-a-prefix"),
            pytest.param(f"**<think>**\n{DRAFT}**</think>**\n", id="in-bold"),
            pytest.param(f"<think>\n{DRAFT}That is wrong.</think>\n", id="closed-behind-words"),
            pytest.param(f"<|begin_of_thought|>\n{DRAFT}<|end_of_thought|>\n", id="in-words"),
            pytest.param(
                f'<details type="reasoning" done="true">\n{DRAFT}</details>\n', id="details"
            ),
            pytest.param(
                f"<|channel|>analysis<|message|>\n{DRAFT}<|end|>\n"
                "<|start|>assistant<|channel|>final<|message|>\n",
                id="channels",
            ),
            pytest.param(f"Let me see.\n{DRAFT}</think>\n", id="no-opening-tag"),
            pytest.param(f"{OPEN_DRAFT}No.\n</think>\n", id="no-opening-tag-and-unclosed-draft"),
            pytest.param(f"<think>Let me see.\n{DRAFT}No.</think> So:\n", id="words-beside-tags"),
            pytest.param(f"Let me see.\n{DRAFT}That is wrong.</think>\n", id="one-tag-after-words"),
            pytest.param(
                f"<details>\n<summary>Thought for 9 s</summary>\n{DRAFT}</details>\n", id="summary"
            ),
            pytest.param(f"Thinking...\n{DRAFT}...done thinking.\n", id="ollama"),
            pytest.param(f"Thinking\u2026\n{DRAFT}\u2026done thinking.\n", id="ellipsis"),
            pytest.param(f"## Thinking\n{DRAFT}No.\n## Answer\n", id="title"),
            pytest.param(f"**Reasoning:**\n\n{DRAFT}\n**Final answer**\n", id="bold-title"),
            pytest.param(f"### 思考过程\n{DRAFT}\n### 回答\n", id="title-in-chinese"),
            pytest.param(f"[Start thinking]\n{DRAFT}[End thinking]\n", id="llama-cpp"),
            pytest.param(f"analysisLet me see.\n{DRAFT}No.assistantfinal\n", id="bare-channels"),
            pytest.param(f"```thinking\n{DRAFT}No.\n```\n", id="fence"),
            pytest.param(f"Thinking Process:\n\n1. Read it.\n{DRAFT}No.\n", id="plain-title"),
            pytest.param(f"\u25ba **THINKING**\n{DRAFT}\u25ba **ANSWER**\n", id="title-of-a-cli"),
            pytest.param(f"&lt;think&gt;\n{DRAFT}&lt;/think&gt;\n", id="escaped-tag"),
            pytest.param(f"{DRAFT}Wait, that is wrong.\n", id="no-tag-at-all"),
            pytest.param(f"{OPEN_DRAFT}Wait, that is wrong.\n", id="unclosed-and-no-tag"),
        ],
    )
    def test_gives_way_to_the_answer_below_it(self, reasoning):
        parsed = parse(f"{reasoning}\n{ANSWER}")

        assert parsed.blocks[1].text == "## Result: FAIL"

    @pytest.mark.parametrize(
        "output",
        [
            pytest.param(f"<think>\n{DRAFT}No, that is wrong.\n</think>\n", id="closed"),
            pytest.param(f"<think>\n{DRAFT}No, that is wrong.\n", id="never-closed"),
            pytest.param(f"<think>Let me see.\n{DRAFT}", id="words-beside-a-tag-never-closed"),
            pytest.param(f"{DRAFT}No, that is wrong.\n</think>\n", id="no-opening-tag"),
            pytest.param(f'<think duration="9s">\n{DRAFT}', id="attributes"),
            pytest.param(f"<reflection>\n{DRAFT}No.\n</reflection>\n", id="another-name"),
            pytest.param(f"## Thinking\n{DRAFT}No, that is wrong.\n", id="title"),
            pytest.param(f"# Thought process:\n{DRAFT}Hm.\n## Answer\n\nNone.\n", id="and-another"),
            pytest.param(f"**Gedankengang**\n{DRAFT}Das stimmt nicht.\n", id="title-in-german"),
            pytest.param(f"Here is my thought process:\n{DRAFT}No.\n", id="title-in-words"),
            pytest.param(f"[Start thinking]\n{DRAFT}No.\n", id="llama-cpp"),
            pytest.param(f"```thinking\n{DRAFT}No.\n```\n", id="fence"),
        ],
    )
    def test_alone_is_no_answer(self, output):
        parsed = parse(output)

        assert not parsed.blocks
        assert not parsed.has_own_blocks
        assert "stands in reasoning" in parsed.missing[1]
        assert any("stands in reasoning" in one for one in parsed.misfits)

    @pytest.mark.parametrize(
        ("start", "end"),
        [
            ("<think>", "</think>"),
            ("[THINK]", "So it fails.[/THINK]"),
            ("<|channel>thought", "So it fails.<channel|>"),
            ("<think>", "</think><answer>"),
        ],
    )
    def test_may_end_in_the_line_where_the_answer_begins(self, start, end):
        assert parse(f"{start}\n{DRAFT}{end}{ANSWER}").blocks[1].text == "## Result: FAIL"

    @pytest.mark.parametrize(
        "output",
        [
            pytest.param(f"{ANSWER}<think>\nWas that right?\n", id="below-the-answer"),
            pytest.param(f"{ANSWER}</think>\n", id="a-closing-tag-below-the-answer"),
            pytest.param(f"Here it is.\n{ANSWER}\n</thinking>\nDone.\n", id="and-words-below-it"),
            pytest.param(f"I write <think> in prose.\n{ANSWER}", id="in-a-sentence"),
            pytest.param(f"{ANSWER}<|end|>\n", id="an-end-of-nothing"),
            pytest.param(f"[Analysis]\n{ANSWER}", id="a-title-in-brackets"),
            pytest.param(f"Thinking...\n{ANSWER}", id="a-spinner-without-an-end"),
            pytest.param(f"## Reasoning\nI read it.\n\n{ANSWER}", id="a-title-above-the-answer"),
            pytest.param(f"{ANSWER}## Thoughts\nWas that right?\n", id="a-title-below-it"),
            pytest.param(f"## Analysis\n{ANSWER}Both pass.\n", id="a-title-of-answers"),
        ],
    )
    def test_tags_elsewhere_change_nothing(self, output):
        assert parse(output).blocks[1].text == "## Result: FAIL"

    def test_words_below_two_versions_leave_it_open_which_one_counts(self):
        parsed = parse(f"{ANSWER}Let me check.\n{DRAFT}No, the first one was right.\n")

        assert "two different blocks" in parsed.missing[1]

    def test_a_tag_in_a_closed_block_is_its_text(self):
        text = "The note ends with:\n\n</think>\n\n## Result: WARN"

        assert parse(f"{START}\n{text}\n{END}\n").blocks[1].text == text


class TestTerminalEscapes:
    @pytest.mark.parametrize(
        "decorate",
        [
            pytest.param(lambda line: f"\x1b[1;32m{line}\x1b[0m", id="colours"),
            pytest.param(lambda line: f"\x1b[38:2::10:20:30m{line}\x1b[m", id="true-colours"),
            pytest.param(lambda line: f"\x1b[?2004h{line}\x1b[K", id="modes"),
            pytest.param(
                lambda line: f"\x1b]0;title\x07{line}\x1b]8;;\x1b\\", id="titles-and-links"
            ),
            pytest.param(lambda line: f"\x1b(B{line}\x1b7\x1b8", id="charsets"),
            pytest.param(lambda line: f"| working\r\x1b[K{line}", id="a-spinner"),
            pytest.param(lambda line: f"- working\x1b[2K\x1b[1G{line}", id="another-spinner"),
        ],
    )
    def test_are_removed_before_reading(self, decorate):
        output = "\n".join(map(decorate, ANSWER.splitlines()))

        assert parse(output).blocks[1].text == "## Result: FAIL"
