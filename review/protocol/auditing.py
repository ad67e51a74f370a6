"""Goes through a review that declares a PASS once more, for whatever speaks against believing it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from review.protocol.claims import bare_in, claim_in, count_in, heads_faults, opens_finding
from review.protocol.declarations import is_label_alone
from review.protocol.doubts import doubt_in, fault_in, objection_in, rejection_in, unread_in
from review.protocol.folding import compiled, skeleton
from review.protocol.gravity import is_disclaimer
from review.protocol.other_results import other_result_in
from review.protocol.review_lines import Place, ReviewLine, walk_review
from review.protocol.tails import tail_problem

_CLOSING = 3
_HEAD = 200
_PARAGRAPH = 1_000
_HARMLESS = (
    r"[\W_]*(?:that is all|that['\u2019]s all|end(?: of (?:the )?(?:review|block|report|file|pair))?|done|thanks?(?: you)?|"
    r"thank you(?: for reading)?|none|n/?a|nothing(?: else)?(?: to (?:add|report))?|</(?:details|div|section|p)>|"
    r"no (?:further |other )?(?:comments?|remarks?|changes?|revisions?|findings?)(?: (?:needed|required|found|suggested|proposed|necessary))?|"
    r"(?:findings?|suggested revisions?|issues?|remarks?|changes?)\W{1,4}(?:none|nothing|n/?a|null|0|-)|"
    r"(?:signed|reviewer|reviewed by|model|date|self-reported-model)\s*:.{0,80}|"
    r"(?:### )?(?:summary|findings?|suggested revisions?|rationale|notes?|reasoning))[\W_]*"
)
_LABEL_WORDS = (
    r"[\W_]*(?:(?:so|therefore|thus|hence|accordingly|in sum|in short|overall|final|finally|my|our|the|this|is|here|"
    r"as follows|result|verdict|decision|outcome|conclusion|assessment|judge?ment|review|gate|pair|summary|findings?|"
    r"suggested|revisions?|notes|rationale|reasoning|analysis|recommendations?|report|for|of|below|line|i conclude|"
    r"which gives|gives|giving|here['\u2019]s|it|against)[\W_]+)+"
)
_CONDITION = (
    r"\b(?:not|never|cannot|can['\u2019]t|\w+n['\u2019]t|if|unless|until|once|when|after|before|would|could|should|might|may|"
    r"must|false|wrong|liked?|want\w*|wish\w*|expect\w*|ask\w*|instruct\w*|demand\w*|require\w*|says?|said|tells?|told|"
    r"claim\w*|according|examples?|e\.g|template|sample|placeholder|hypothetical\w*|instead|rather|refus\w*|declin\w*|"
    r"avoid\w*|without|unable|impossible|previous\w*|earlier|last time|formerly|no longer|pretend\w*|suppos\w*|imagine|"
    r"format|desired|ideal\w*|target|author\w*|prompt|hardly|barely|neither|nor|far from|except|but|yet|wrote|writes?|"
    r"nothing|deserv\w*|merit\w*|in order to|answers?|reads?|quot\w+|cit\w+|copied|pasted|old|prior|tempt\w*|hop(?:e|ed|ing))\b"
    r"|^\W*(?:were|had|to|no)\b|\b(?:an|the|to|no|be|of|is|for|with)$|\b(?:e\.g|i\.e)\.?$"
)
_ORDERED = (
    r"\b(?:tells?|told|asks?|asked|wants?|instruct\w*|demand\w*|requires?|urges?|orders?|begs?|commands?)\b.{0,80}"
    r"\b(?:follow\w*|below|next|this line|ends? with|ending with|conclude with|close with|finish with|writ\w+|answer|reply|output|say)\b"
)
_ANNOUNCED = (
    r"\b(?:examples?|template|sample|placeholder|hypothetical\w*|quotation|format|illustration)\b.{0,80}"
    r"\b(?:follow\w*|below|next|under)\b|"
    rf"{_ORDERED}|"
    r"\b(?:follow\w*|below|next|under)\b.{0,80}\b(?:examples?|template|sample|placeholder|hypothetical\w*|illustration)\b"
)
_SENTENCE_END = (".", "!", "?", ")", "]", '"', "\u201d", "`", "\u2026")


# In a suggestion for the note only these make something else of the PASS below it.
_UNSAID = (
    r"\b(?:not|never|cannot|\w+n['\u2019]t|if|unless|would|examples?|template|sample|hypothetical\w*|results?|verdict|review|"
    r"after the fix|when fixed|once fixed|pass)\b"
)
_UNSAID_IN_ADVICE = r"\b(?:never|cannot|if|unless|would|hypothetical\w*|results?|verdict|review|after the fix|when fixed|once fixed|pass)\b"
_ADVICE = (
    r"^\W*(?:optionally|perhaps|maybe|not strictly|add|consider|use|put|move|link|say|write|name|cite|give|spell|expand|shorten|"
    r"split|drop|remove|replace|merge|mention|keep)\b"
)
_LEADS = (
    r"\b(?:once(?!\W*$)|after(?:wards?)?|when|whenever|if|then|only|unless|until|expected|status|outcome|results?|gives?|gets?|becomes?|"
    r"yields?|makes?|earns?|reads|would|will|done|with (?:that|this|the|these|those|it)|so that|which|provided|assuming|on condition|"
    r"thereby|subsequently|later|finally|at that point|in that case|follow\w*)\b|[,;]\W{0,20}$|(?<!/)\b(?:to|is|be|are|a|an|the|and|or|as|for|of)\W*$"
)
_SUGGESTION = r"suggested (?:revisions?|changes?|fix(?:es)?|wording)\b"


class Declared(NamedTuple):
    """How a PASS was declared: in which lines, and how firmly.

    :param numbers: the lines that state it.
    :param opens: whether the first of them stands above all prose.
    :param exact: the result line that was asked for, at the end.
    :param no_warn: only a closing line that there is no WARN says so.
    :param weak: only a word such as INFO or OK says so.
    :param labelled: a label stands before the word.
    """

    numbers: tuple[int, ...]
    opens: bool = False
    exact: bool = False
    no_warn: bool = False
    weak: bool = False
    labelled: bool = False


class _Seen(NamedTuple):
    line: ReviewLine
    in_finding: bool
    above: str  # the last sentence of the paragraph above
    shown: bool  # whether a fence or a quotation stands between that and the line
    suggested: bool  # whether a suggestion for the note stands above


def why_not_believed(text: str, declared: Declared, *, has_grave_finding: bool) -> str:
    """Say why a PASS that was declared is not believed, else give an empty string."""
    last, first = declared.numbers[-1], declared.numbers[0]
    opening = declared.opens and last == first
    below: deque[_Seen] = deque(maxlen=_CLOSING)
    following = 0
    above: _Seen | None = None
    for seen in _visible(text):
        number = seen.line.number
        if problem := _against(seen, declared, above, has_grave_finding=has_grave_finding):
            return problem
        above = seen
        if number > last:
            below.append(seen)
            following += 1
            if not opening and not _is_harmless(seen):
                return f"line {number} follows the PASS of line {last}, and may take it back"
    if declared.weak and has_grave_finding:
        return f"line {first} says no more than that all is well, and a finding says otherwise"
    return _closing_problem(below, last, is_short=following <= _CLOSING and declared.labelled)


def _against(
    seen: _Seen, declared: Declared, above: _Seen | None, *, has_grave_finding: bool
) -> str:
    """Say what a line holds against the PASS, wherever it stands."""
    line = seen.line
    if line.number in declared.numbers:
        return _denial_problem(line) if declared.no_warn else _declaring(seen, declared)
    if word := claim_in(line) or other_result_in(line.text):
        return f"line {line.number} speaks against a PASS: \u201c{_short(word)}\u201d"
    if above and heads_faults(above.line) and _is_prose(line):
        return (
            f"line {above.line.number} speaks against a PASS: \u201c{_short(above.line.text)}\u201d"
        )
    known = has_grave_finding and (declared.exact or declared.labelled)
    if not known and not seen.in_finding and (word := count_in(line)):
        return f"line {line.number} counts what speaks against a PASS: \u201c{_short(word)}\u201d"
    if declared.no_warn and not seen.in_finding and (word := _any_doubt(line)):
        return f"\u201c{_short(word)}\u201d in line {line.number} speaks against a PASS"
    return ""


def _declaring(seen: _Seen, declared: Declared) -> str:
    """What leads into a line that declares the PASS, and what follows the word in it."""
    number = seen.line.number
    if problem := _led_in(seen, declared):
        return problem
    word = tail_problem(seen.line)
    return f"line {number} says PASS, and \u201c{_short(word)}\u201d takes it back" if word else ""


def _denial_problem(line: ReviewLine) -> str:
    """Whether the closing line that there is no WARN says more than that."""
    word = rejection_in(line.text) or ("pass" if "pass" in skeleton(line.text) else "")
    return f"\u201c{_short(word)}\u201d in line {line.number} speaks against a PASS" if word else ""


def _any_doubt(line: ReviewLine) -> str:
    if line.level:
        return bare_in(skeleton(line.text)) if ":" in line.text else ""
    if line.text.isupper() and " " in line.text:
        return line.text  # a verdict of the gate's own
    return (
        doubt_in(line.text)
        or fault_in(line.text)
        or rejection_in(line.text)
        or unread_in(line.text)
    )


def _is_prose(line: ReviewLine) -> bool:
    return line.place is Place.BODY and not line.level and not _is_small_talk(line)


def _led_in(seen: _Seen, declared: Declared) -> str:
    """Whether the sentence above the PASS is not over, and makes something else of it."""
    above = skeleton(seen.above).strip().rstrip("*_ ")
    if not above:
        return ""
    number = seen.line.number
    if seen.suggested and declared.exact and not _is_unsaid(above):
        is_advice = _is_advice(above, shown=seen.shown) and not compiled(_ORDERED).search(above)
        return "" if is_advice else f"the sentence above line {number} goes on in its PASS"
    if found := compiled(_ANNOUNCED).search(above):
        return f"\u201c{_short(found[0])}\u201d stands above the PASS of line {number}"
    if above.endswith(":"):
        harmless = compiled(_LABEL_WORDS).fullmatch(above) is not None
    elif above.endswith(_SENTENCE_END) and not above.endswith(("e.g.", "i.e.")):
        return ""
    else:
        harmless = compiled(_CONDITION).search(above) is None
    return "" if harmless else f"the sentence above line {number} goes on in its PASS"


def _is_unsaid(above: str) -> bool:
    is_advice = compiled(_ADVICE).match(above) is not None
    return compiled(_UNSAID_IN_ADVICE if is_advice else _UNSAID).search(above) is not None


def _is_advice(above: str, *, shown: bool) -> bool:
    """Whether a sentence of a suggestion is about the note, and does not lead into the PASS."""
    if above.endswith(_SENTENCE_END):
        return True
    if above.endswith(":") and not shown:
        return False
    return compiled(_LEADS).search(above) is None


def _is_harmless(seen: _Seen) -> bool:
    """Whether a line below the last PASS cannot take it back."""
    if seen.in_finding and seen.line.place is Place.LIST:
        return not rejection_in(seen.line.text)
    return _is_small_talk(seen.line)


def _is_small_talk(line: ReviewLine) -> bool:
    return len(line.text) < _HEAD and bool(compiled(_HARMLESS).fullmatch(skeleton(line.text)))


def _closing_problem(below: Sequence[_Seen], last: int, *, is_short: bool) -> str:
    for seen in below:
        line = seen.line
        if seen.in_finding or _is_small_talk(line):
            continue
        word = rejection_in(line.text) or fault_in(line.text)
        if not word and is_short:
            word = objection_in(line.text)
        if not word and seen is below[-1] and is_label_alone(line.text):
            word = line.text
        if word:
            return f"line {last} says PASS, and \u201c{_short(word)}\u201d in line {line.number} takes it back"
    return ""


def _visible(text: str) -> Iterator[_Seen]:
    """Yield the lines outside fences and quotations, with what stands above them."""
    in_finding = suggested = shown = False
    above = paragraph = ""
    for line in walk_review(text):
        if line.place in (Place.FENCE, Place.QUOTE):
            shown = True
            continue
        if is_disclaimer(line.text):
            continue
        in_finding = _stays_in_finding(line, in_finding=in_finding)
        if line.starts or line.level:
            above = paragraph
        before = above if line.starts or line.level else paragraph
        yield _Seen(line, in_finding, before, shown, suggested)
        shown = False
        if compiled(_SUGGESTION).match(skeleton(line.text[:_HEAD]).lstrip("* ")):
            suggested = True
        elif line.level:
            suggested = False
        if line.place is not Place.BODY or line.level:
            paragraph = ""
        else:
            paragraph = line.text if line.starts else f"{paragraph} {line.text}"
            paragraph = _last_sentence(paragraph[-_PARAGRAPH:])


def _stays_in_finding(line: ReviewLine, *, in_finding: bool) -> bool:
    if line.place is not Place.LIST:
        return False
    is_bullet = line.text[:1] in "-*+\u2022" or line.text[:1].isdigit()
    return opens_finding(line.text) if is_bullet else in_finding


def _last_sentence(paragraph: str) -> str:
    end = max(paragraph.rfind(mark, 0, -1) for mark in (". ", "! ", "? "))
    return paragraph[end + 2 :] if end >= 0 else paragraph


def _short(word: str) -> str:
    return " ".join(word.split())[:60]
