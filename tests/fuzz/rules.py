"""What must hold of the readers of review text, for any bytes: each rule fails by AssertionError."""

from __future__ import annotations

from review.protocol.decision import read_decision
from review.protocol.findings import read_findings
from review.protocol.output import ParsedOutput, decode_output, parse_output
from review.protocol.sentinels import ExpectedPair, end_line, read_sentinel, start_line
from review.vocabulary import Decision

TOKEN = "0a1b2c3d"
PAIRS = (
    ExpectedPair(1, "kb/notes/a.md", "prose/x"),
    ExpectedPair(2, "kb/notes/a.md", "prose/y"),
    ExpectedPair(3, "kb/notes/über.md", "prose/x"),
)
# Without one of these in it a text declares no PASS.
_DECLARING = ("pass", "ok", "clean", "info", "nowarn", "nofail")


def _parsed(text: str) -> ParsedOutput:
    return parse_output(text.encode("utf-8", "replace"), token=TOKEN, expected=PAIRS)


def _texts(parsed: ParsedOutput) -> dict[int, list[str]]:
    """The blocks' lines, without what the ends of lines may differ in."""
    return {
        key: [line.rstrip() for line in block.text.strip().split("\n")]
        for key, block in parsed.blocks.items()
    }


def block(pair: ExpectedPair, text: str) -> str:
    """A pair's block as it is asked for."""
    names = pair.note_path, pair.gate_id
    opening = start_line(TOKEN, pair.ordinal, *names)
    return f"{opening}\n{text}\n{end_line(TOKEN, pair.ordinal, *names)}\n"


def output(data: bytes) -> None:
    """Any bytes are an output: read whole, each pair once, and what stands around changes nothing."""
    parsed = parse_output(data, token=TOKEN, expected=PAIRS)
    assert {*parsed.blocks, *parsed.missing} == {1, 2, 3}
    assert not {*parsed.blocks} & {*parsed.missing}
    assert not parsed.blocks or parsed.has_own_blocks
    for found in parsed.blocks.values():
        assert found.text.strip()
        assert "\0" not in found.text
        assert not any((one := read_sentinel(line)) and one.token == TOKEN and one.opens
                       for line in found.text.split("\n"))  # fmt: skip
        decision(found.text.encode("utf-8", "replace"))
    text = decode_output(data)
    if text[:1] in ("\ufeff", "\ufffe"):
        return  # a second mark; what is put before it would take its place
    before = _texts(_parsed(text))
    assert before == _texts(_parsed(f"Both notes were read.\n\n{text}"))
    below = _parsed(f"{text}\n\nBoth notes were read.\n")
    # Words below two versions of a pair may say that the first one holds.
    unclear = {key for key, why in below.missing.items() if "two different" in why}
    assert {key: text for key, text in before.items() if key not in unclear} == _texts(below)
    if "\r" not in text:
        assert before == _texts(_parsed(text.replace("\n", "\r\n")))
    _one_pair_alone(text)


def _one_pair_alone(text: str) -> None:
    """What a worker writes for one pair changes nothing of another, whatever it is."""
    if TOKEN in text.lower():
        return
    verdict = "The note breaks.\n\n## Result: FAIL"
    for whole in (
        block(PAIRS[0], text) + block(PAIRS[1], verdict),
        block(PAIRS[1], verdict) + block(PAIRS[0], text),
    ):
        parsed = _parsed(whole)
        assert parsed.blocks[2].text == verdict
        assert read_decision(parsed.blocks[2].text).decision is Decision.FAIL
        assert (
            (1 in parsed.blocks) or not text.strip("`~ \t\r\n\ufeff\u200b") or 1 in parsed.missing
        )


def decision(data: bytes) -> None:
    """Any text has a decision, the same whatever its line ends; never PASS where none is declared."""
    text = decode_output(data)
    parsed = read_decision(text)
    assert (parsed.source is None) == (parsed.decision is Decision.UNKNOWN)
    assert bool(parsed.problem) == (parsed.decision is Decision.UNKNOWN)
    findings = read_findings(text)
    if parsed.decision is Decision.PASS:
        said = "".join(char for char in text.casefold() if char.isalnum())
        assert any(word in said for word in _DECLARING)
    if "\r" not in text:
        for other in (text.replace("\n", "\r\n"), text.replace("\n", "  \n")):
            assert read_decision(other).decision is parsed.decision
        # Trailing blanks alone: a line end is a place too.
        again = read_findings(text.replace("\n", "\r\n"))
        assert [one.severity for one in again] == [one.severity for one in findings]
    assert read_decision(f"\n\n{text}\n\n").decision is parsed.decision
    assert read_decision(f"{text}\n\n## Result: FAIL").decision is not Decision.PASS
