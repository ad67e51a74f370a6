"""The grammar of one line that states a decision: what declares it, and what merely hints at one."""

from __future__ import annotations

import re
from typing import NamedTuple

from review.protocol.folding import ascii_lower, compiled, fold
from review.protocol.gravity import is_not_meant, is_notice
from review.protocol.signs import agree, without_signs
from review.vocabulary import Decision

# A statement stands at the start of its line; what follows the head is only searched for doubt.
_HEAD = 300
_LABEL = r"(?:(?:final|overall|gate|review|pair|my|the)\s+){0,2}(?:result|verdict|outcome|decision)"
_LABELLED = rf"(?:{_LABEL}|overall)\s*(?::|\s[-\u2013\u2014]{{1,2}}\s|[\u2013\u2014])\s*"
_LABEL_ALONE = rf"{_LABEL}\s*:?\s*"
_WORD = r"(?P<mark>[`\"']?)(?P<word>clean\s+pass|pass|warning|warn|fail|error|ok|clean|info)(?P=mark)(?!\w)"
_COUNTED = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|several|an?|[1-9]\d{0,3})\s+"
    r"(?P<word>warn|warning|fail|failure)s?(?!\w)"
)
_DELIMITED = r"\s*$|[.,:](?=\s|$)|\s*[\u2013\u2014(]|(?:\s+-{1,3}|--)(?=\s|$)"
_AFTER_PARENTHESIS = r"\s*(?:$|[.,:;](?=\s|$)|[\u2013\u2014]|-{1,3}\s)"
# `pass: false`, `PASS (no)`: the word names a field, and the value denies it.
_DENIED = (
    r"\s*(?:[:=(,\u2013\u2014]|-{1,3}(?=\s))[\s\"'`(\[]*"
    r"(?:no|nope|nah|not|false|0|null|n|n/?a|off|never|none|\u2610|\u25a1|\u2717|\u2718|\u274c|\u274e|\])"
    r"(?!\w)(?=[\"'`]?\s*(?:$|[.,;:!?()\u2013\u2014\]]|-{1,2}\s|because\b))"
)
# A lone value after the word is a field's; these are the ones that leave it a PASS.
_FIELD = r"\s*(?:[:=(\u2013\u2014]|-{1,2}\s)[\s\"'`(]*([^\W\d_]+)[\s\"'`)]*[.!]?\s*"
_MILD = (
    r"yes|true|ok|okay|clean|clear|clearly|marginal|marginally|borderline|narrow|narrowly|"
    r"minor|mild|strong|solid|good|fine|easily|comfortably|info|infos|information|"
    r"unconditional|unconditionally|final|confirmed|trivial|cosmetic|unchanged"
)
_EXACT = r"result\s*:\s*(?:pass|warn|fail|error)\s*(?:\([^()]*\))?$"
_TALLY = r"\s*\(\d+\)\s*(?::|$)|:\s*(?:\d|none\b|nothing\b|n/?a\b|zero\b|[-\u2013\u2014]?\s*$)"
_PROSE = r"\b(?:is|are|was|were|be|means?|refers?|denotes?|stands?|has|have|counts?)\b"
_SEVERAL = (
    r"[\[<{(]?\s*(?:pass|warn|fail|error)\s*(?:[|/,]\s*(?:or\s+)?|or\s+)(?:pass|warn|fail|error)\b"
)
_NO_WARN = (
    r"(?:overall\s*:\s*)?no\s+(?:fail(?:ure)?s?\s+(?:or|and|nor)\s+(?:no\s+)?)?warn(?:ing)?s?"
    r"(?:(?:\s+(?:or|and|nor)|\s*,(?:\s+and)?)\s+(?:no\s+)?(?:fail(?:ure)?|error)s?)*"
    r"(?:\s+(?:found|detected|raised|present|reported|to\s+report|findings?|issues?|instances?))*"
    # More may only be said of INFO.
    r"\s*(?:[.!]?\s*$|[.,:;(\u2013\u2014-]+\s*(?:only\s+|just\s+|and\s+)?"
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|several|some|an?|\d{1,3}|only|no)?\s*infos?\b)"
)
_LOOSE_LABEL = (
    r"(?P<lead>(?:[\w'\u2019-]{1,30}\s+){0,3}?)(?P<label>result|verdict|outcome|decision|overall|final|"
    r"correction|edit|update|grade|rating|status|conclusion|assessment|judge?ment|ruling)s?\b\s*"
    r"(?P<aside>\([^()]{0,60}\)|(?:on|for|of)\s[^:]{0,60}(?=:))?\s*(?:(?P<alone>:?$)|[:=\u2013\u2014-]+)\s*"
)
_LOOSE_VALUE = (
    r"\W*(?P<lead>(?:(?:not|no|never|zero|0|hardly|isn't|a|an|the|one|two|three|\d{1,4}|soft|hard|"
    r"partial|conditional|likely|still|now|is)\s+){0,4})"
    r"(?P<word>(?P<good>pass(?:ed|es|ing)?|ok|okay|clean|info)|(?P<warn>warn(?:s|ed|ings?)?)|"
    r"(?P<fail>fail(?:s|ed|ing|ures?)?)|(?P<error>errors?)|(?P<other>block(?:ed|er|ing)?|"
    r"reject(?:ed)?|needs?|unknown|unclear|inconclusive|pending))\b"
)
_REVISED = r"\b(?:revis\w+|updated?|edit|correct(?:ed|ion)|amended|changed|new|reconsidered)\b"
_NEGATION = r"\b(?:not|no|never|zero|0|hardly|isn't)\b"
_MENTION = '[`"\u201c\u201e\u00ab]'
_ITEM_MARK = r"(?:[-*+\u2022]|\d{1,3}[.)])\s+"
_LEADING_MARKS = r"[\W\d_]*"

_DECISIONS = {
    "pass": Decision.PASS,
    "warn": Decision.WARN,
    "warning": Decision.WARN,
    "fail": Decision.FAIL,
    "failure": Decision.FAIL,
    "error": Decision.ERROR,
    "ok": Decision.PASS,
    "clean": Decision.PASS,
    "info": Decision.PASS,
}
# These are decisions only alone or after a label: in prose they are ordinary words.
_WEAK = frozenset({"ok", "clean", "info"})
_UNDERSCORES = r"(?<!\w)_+|_+(?!\w)"
_OUR_LABELS = frozenset({"result", "verdict", "outcome", "decision", "overall"})
_RESULT_LEVEL = 2
_A_CHOICE_OF_TWO = 2

TEMPLATE_COPIED = (
    "the result line is the template's, copied: one of PASS, WARN, FAIL, ERROR is wanted"
)
SEVERAL_NAMED = "the line names several decisions and chooses none"


class Statement(NamedTuple):
    """A decision stated by a line; `tail` is what follows the word, `exact` the form we ask for.

    `firm` holds for a word that is a heading, emphasised, in capitals or after a label.
    """

    decision: Decision
    tail: str
    labelled: bool
    exact: bool
    firm: bool
    word: str = ""


class Hint(NamedTuple):
    """What a labelled line says, read as loosely as possible; it never declares, it contradicts.

    `decision` is `unknown` for a value that is none of ours ("not a PASS"), None for a label whose
    value stands on the next line. `strong` holds for a result line or any labelled heading;
    `revised` for a decision that replaces an earlier one, or could if its label says so.
    """

    decision: Decision | None
    strong: bool
    revised: bool


def read_statement(
    text: str, *, level: int, after_label: bool = False, first: bool = False
) -> Statement | None:
    """Read a line, its heading marks (`level` of them) taken off; None where it states nothing.

    `after_label` says that the line above is a label alone, `first` that nothing stands above.
    """
    text, signs = without_signs(text)
    shown, rest = _without_emphasis(text[:_HEAD]), text[_HEAD:]
    head = ascii_lower(shown)
    label = compiled(_LABELLED).match(head)
    start = label.end() if label else 0
    if (
        label
        and label[0].startswith("overall")
        and (counted := compiled(_COUNTED).match(head, start))
    ):
        return _counted(counted, shown[counted.end() :] + rest)
    labelled = label is not None or after_label
    found = compiled(_WORD).match(head, start)
    if found is None or (found["mark"] and not labelled):
        return None
    tail = shown[found.end() :] + rest
    word = " ".join(found["word"].split())
    decision = _DECISIONS[word.removeprefix("clean ")]
    if not _is_delimited(tail) or _is_denied(tail, decision) or not agree(signs, decision):
        return None
    if word == "warning" and is_notice(shown):
        return None
    if not labelled and not _stands_alone(word, tail, is_opening_heading=first and level > 0):
        return None
    return Statement(
        decision=decision,
        tail=tail,
        labelled=labelled,
        exact=level == _RESULT_LEVEL and not rest and compiled(_EXACT).match(head) is not None,
        firm=labelled or level > 0 or text[:1] in "*_" or text[: len(word)].isupper(),
        word=word,
    )


def _is_denied(tail: str, decision: Decision) -> bool:
    """A lone word behind a WARN or FAIL is its reason; behind a PASS it may be a field's value."""
    if decision is Decision.PASS:
        return is_denied_by(tail)
    return compiled(_DENIED).match(ascii_lower(tail[:_HEAD])) is not None or is_not_meant(tail)


def bare_item(text: str) -> str:
    """Give a line without the mark of a list item."""
    marker = compiled(_ITEM_MARK).match(text)
    return text[marker.end() :] if marker else text


def is_denied_by(tail: str) -> bool:
    """Whether what follows the word is the value of a field that denies it, or an odd one."""
    head = ascii_lower(tail[:_HEAD])
    if compiled(_DENIED).match(head):
        return True
    value = compiled(_FIELD).fullmatch(head)
    return value is not None and not compiled(_MILD).fullmatch(value[1])


def is_label_alone(text: str) -> bool:
    """Whether the line is a label whose decision may stand on the next one."""
    return (
        len(text) < _HEAD
        and compiled(_LABEL_ALONE).fullmatch(ascii_lower(_without_emphasis(text))) is not None
    )


def names_several(text: str) -> str:
    """Say why a line that lists several decisions chooses none; empty for any other line."""
    head = ascii_lower(_without_emphasis(text[:_HEAD]))
    label = compiled(_LABELLED).match(head)
    if compiled(_SEVERAL).match(head, label.end() if label else 0) is None:
        return ""
    words = set(re.findall("pass|warn|fail|error", head))
    return TEMPLATE_COPIED if "|" in head and len(words) > _A_CHOICE_OF_TWO else SEVERAL_NAMED


def says_no_warn(text: str) -> bool:
    """Whether the line closes a review by saying that there is no WARN."""
    return compiled(_NO_WARN).match(ascii_lower(_without_emphasis(text[:_HEAD]))) is not None


def read_hint(text: str, *, level: int, after_label: bool = False) -> Hint | None:
    """Read a line as loosely as possible: whatever could contradict a decision.

    A line that begins inside a code span or quotation marks mentions a decision, it takes none.
    """
    folded = fold(text[:_HEAD])
    marks = compiled(_LEADING_MARKS).match(folded)
    start = marks.end() if marks else 0
    if compiled(_MENTION).search(folded, 0, start):
        return None
    folded = folded[start:]
    several = names_several(folded)
    if several == TEMPLATE_COPIED:
        return None
    label = compiled(_LOOSE_LABEL).match(folded)
    if label is None:
        value = folded if after_label else ""
        decision = _loose_decision(compiled(_LOOSE_VALUE).match(value))
        return Hint(decision, strong=True, revised=_states(value)) if decision else None
    return _labelled_hint(folded, label, level=level, several=bool(several))


def _labelled_hint(folded: str, label: re.Match[str], *, level: int, several: bool) -> Hint | None:
    value = folded[label.end() :]
    strong = (level > 0 or label["label"] == "result") and not label["aside"]
    revises = (
        compiled(_REVISED).search(label["lead"] + label["label"] + (label["aside"] or ""))
        is not None
    )
    if label["alone"] is not None:
        return Hint(None, strong, revises)
    ours = label["label"] in _OUR_LABELS
    # After a label that is not ours only a plain word counts: `Status: fail`, not `Edit: warn him`.
    decision = (
        _loose_decision(compiled(_LOOSE_VALUE).match(value)) if ours or _states(value) else None
    )
    unread = level == _RESULT_LEVEL and label["label"] == "result"
    if several or (decision is None and unread):
        decision = Decision.UNKNOWN
    return Hint(decision, strong, revises and _states(value)) if decision else None


def _states(value: str) -> bool:
    return read_statement(value, level=0, after_label=True) is not None


def _counted(counted: re.Match[str], tail: str) -> Statement | None:
    """`Overall: one WARN`; of a WARN and a FAIL together it says neither."""
    decision = _DECISIONS[counted["word"]]
    if decision is Decision.WARN and re.search("fail|error", ascii_lower(tail)):
        return None
    return Statement(decision, tail, labelled=True, exact=False, firm=True)


def _is_delimited(tail: str) -> bool:
    found = compiled(_DELIMITED).match(tail)
    if found is None:
        return False
    if not found[0].endswith("("):
        return True
    closed = tail.find(")", found.end())
    return closed < 0 or compiled(_AFTER_PARENTHESIS).match(tail, closed + 1) is not None


def _stands_alone(word: str, tail: str, *, is_opening_heading: bool) -> bool:
    """Whether a word without a label is a decision, and not the first word of a sentence."""
    if word in _WEAK:
        return not tail.strip(" .") or (word == "info" and is_opening_heading)
    tail = ascii_lower(tail)
    if compiled(_TALLY).match(tail):
        return False
    return not (tail.startswith(",") and compiled(_PROSE).search(tail.partition(". ")[0]))


def _loose_decision(value: re.Match[str] | None) -> Decision | None:
    if value is None:
        return None
    negated = compiled(_NEGATION).search(value["lead"]) is not None
    if value["good"]:
        return Decision.UNKNOWN if negated else Decision.PASS
    if negated:
        return None  # "no warnings" says nothing against a PASS
    for name in ("warn", "fail", "error"):
        if value[name]:
            return Decision(name)
    return Decision.UNKNOWN


def _without_emphasis(head: str) -> str:
    shown = head.replace("*", "")
    shown = (compiled(_UNDERSCORES).sub("", shown) if "_" in shown else shown).lstrip()
    return shown.rstrip() if len(head) < _HEAD else shown
