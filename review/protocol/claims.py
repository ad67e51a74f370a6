"""Finds verdicts in other words: lines that say WARN or FAIL, or deny a PASS, and are no findings."""

from __future__ import annotations

import re

from review.protocol.breaches import breach_in
from review.protocol.declarations import is_denied_by
from review.protocol.doubts import without_denials
from review.protocol.folding import ascii_lower, compiled, skeleton
from review.protocol.review_lines import Place, ReviewLine

_GRAVE = (
    r"(?:hard[- ]|soft[- ])?(?:fail(?:ed|s|ing|ures?)?|warn(?:ed|s|ings?)?|errors?|blocked|blocker|"
    r"reject(?:ed)?|unacceptable|inconclusive)"
)
_END = r"(?!\w)(?=\s*(?:$|[.,;:!?)\]}|(/+&\u2013\u2014\u2026]|-{1,2}\s|and\b|or\b|overall\b|because\b|for\b|on\b|in\b|after\b|from\b|as\b))"
_LINKS = r"(?::|=+>?|\u2192|\u21d2|[-=]+>|\u2013|\u2014|\s-{1,2}\s|\|)"
_ARTICLE = (
    r"(?:(?:a|an|one|the|clear|plain|hard|soft|still|now|rather|really|actually|therefore)\s+){0,3}"
)
# `Severity: FAIL`, `Bottom line - fail.`, `Check 2 = failed`; the label is none of the severities.
_LABELLED = (
    r"^[\W\d_]{0,40}(?!(?:info|warn|warning|fail|failure|error)\b)\w[^:=|\u2192\u21d2\u2013\u2014]{0,60}?\s*"
    + _LINKS + r"[\W_]{0,6}" + _ARTICLE + _GRAVE + _END
)  # fmt: skip
_LABEL = (
    r"(?:result|verdict|outcome|decision|conclusion|assessment|judge?ment|ruling|answer|call|rating|"
    r"grade|status|bottom line|in short|summary|tl;?dr|severity|recommendation|score|evaluation)"
)
_AFTER_LABEL = rf"^[\W\d_]{{0,40}}(?:(?:the|my|our|final|overall)\s+){{0,3}}{_LABEL}\W{{1,4}}(?:(?:is|was|now|therefore)\s+)?{_ARTICLE}{_GRAVE}{_END}"
_SUBJECT = (
    r"(?:this|it|that|here|which|answer|call|(?:the|this|my|our|final|overall|as a)\s+(?:whole\s+)?(?:\w+\s+)?"
    r"(?:note|text|result|verdict|outcome|decision|conclusion|judge?ment|review|gate|page|answer|call|title|body|whole))"
)
# `The result is FAIL.`, `This is a fail.`, `I judge this a FAIL.`, `The note gets a WARN.`
_STATED = (
    rf"\b{_SUBJECT}\s+(?:(?:clearly|plainly|now|still|therefore|thus|really|actually|then)\s+)?"
    r"(?:is|was|are|becomes?|became|remains?|gets?|got|deserves?|earns?|merits?|stays?|has|must be|should be|has to be|can only be)\s+"
    + _ARTICLE + _GRAVE + _END
)  # fmt: skip
_JUDGED = (
    r"\b(?:judge|rate|call|grade|mark|deem|consider|give|score|make|flag|record|report|declare)(?:d|s|ing)?\s+"
    r"(?:it|this|that|(?:this|the) (?:note|text))\s+(?:as\s+)?" + _ARTICLE + _GRAVE + _END
)
_CHANGED = (
    r"\b(?:chang\w+|revis\w+|downgrad\w+|correct\w*|lower\w*|switch\w*|amend\w*|updat\w*|turn\w*|mov\w+)\s+"
    r"(?:[\w'\u2019]+\s+){0,4}?(?:to|into)\s+" + _ARTICLE + _GRAVE + _END
)
_THEREFORE = (
    r"(?:^|[.;]\s+)\W*(?:so|therefore|hence|thus|ergo|consequently|accordingly|overall|in sum|in short|finally|"
    r"(?:i|we) (?:would )?(?:say|conclude|vote)|make it|my vote)[:,]?\s+(?:this\s+|it\s+)?(?:is\s+)?" + _ARTICLE + _GRAVE + _END
)  # fmt: skip
_FAILS = (
    r"(?<!if )(?<!when )(?<!where )(?<!whether )(?<!how )(?<!why )(?<!before )"
    r"\b(?:note|it|this|text|gate|page|article|title|body|paragraph|section)\s+"
    r"(?:(?:clearly|plainly|thus|therefore|also|still|simply|outright|has|have)\s+)?fail(?:s|ed)\b"
    r"(?=\s*(?:$|[.,;:!\u2013\u2014(]|-\s|the\b|this\b|that\b|on\b|here\b|its\b|because\b|outright\b|badly\b|at\b))"
)
_SHOULD_BE = (
    r"\b(?:result|verdict|outcome|decision|answer|judge?ment)\s+(?:would|should|ought to|shall|could only|can only)\s+be\s+"
    + _ARTICLE + _GRAVE + _END
)  # fmt: skip
_ARROW = r"^\W{0,40}(?:\u2192|\u21d2|[-=]+>)\s*" + _GRAVE + _END
_STATEMENTS = (_AFTER_LABEL, _STATED, _JUDGED, _THEREFORE, _FAILS)
_PROSE = (_AFTER_LABEL, _STATED, _JUDGED, _CHANGED, _THEREFORE, _FAILS, _ARROW, _SHOULD_BE)
_TAKEN_BACK = (
    r"\b(?:i|we)\s+(?:(?:hereby|now|must|have to|will|would)\s+)?(?:retract|withdraw|withdrew|revoke|rescind|"
    r"take (?:it|that|this) back|changed? my (?:mind|verdict|decision))\b"
    r"|\b(?:strike|scratch|disregard|ignor|retract|withdraw|revok)(?:e|s|ing)?\s+(?:that|the|my|this)\s+(?:\w+\s+)?"
    r"(?:pass|verdict|decision|above|first line|review|block)\b"
    r"|\b(?:pass|verdict|decision)(?: above)? (?:is|was) (?:wrong|premature|withdrawn|retracted|mistaken|void|a mistake)\b"
    r"|\b(?:this|the|my) review (?:is|was) (?:a draft|not|void|invalid|incomplete|withdrawn|unfinished|wrong)\b"
    r"|\bnot a (?:real|true|complete|finished|final|full) review\b"
)
_JSON = (
    r"[\"'][\w -]{1,40}[\"']\s*:\s*[\"'](?:fail\w*|warn\w*|error|block\w*|reject\w*)[\"']"
    r"|[\"'](?:pass|passed|passes|ok|clean|success|accepted)[\"']\s*:\s*(?:false|0|null|[\"'](?:no|false|n)[\"'])"
)
_NO = r"(?:no|nope|nah|not?|false|0|null|n|off|never|\u2610|\u2717|\u2718|\u274c|\[ ?\])"
_FIELD_NAME = r"[\W_]{0,40}(?:pass(?:ed|es)?|accepted|approved|success)[\"'`]?"
_PASS_IS_NO = (
    r"[\W_]{0,40}(?:pass(?:ed|es)?|ok|clean(?:\s+pass)?|accepted|approved|success)[\"'`]?\s*(?:[:=(\u2013\u2014?]|-{1,2}\s|,)"
    rf"[\s\"'`(]*{_NO}(?!\w)(?=\s*(?:$|[.,;:!?)\"'`\u2013\u2014]|-{{1,2}}\s))"
)
_REFUSED = (
    r"(?:\b(?:not|no|never|cannot|hardly|neither|nor|isn['\u2019]t|wasn['\u2019]t|can['\u2019]t|won['\u2019]t|doesn['\u2019]t|"
    r"does not|did not|didn['\u2019]t|unable to)\s+(?:(?:yet|a|an|be|the|to|clean|clear|deserve|give|get|earn|"
    r"merit|warrant|called?|it|this|reach|qualify|for|as|say|enough)\s+){0,4}pass(?:ed)?)(?!\w)"
    r"(?=\s*(?:$|[.,;:!?)\u2013\u2014]|-\s|either\b|here\b|yet\b|this\b|the gate\b))"
)
_MARKED = rf"[>{{]\s*{_GRAVE}\s*[<}}]|(?:\[x\]|\u2611|\u2714|\u2705)\s*{_GRAVE}\W*$"
_SYMBOL = r"[\W_]*[\u274c\u274e\u2717\u2718\u26d4\U0001f6ab\U0001f6d1\U0001f534\U0001f44e][\W_]*"
_COUNT = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|several|many|multiple|0*[1-9]\d{0,3})"
)
_COUNTED = (
    rf"(?:^|[.;:,(]\s*|\b(?:is|are|was|were|found|with|and)\s+)\W{{0,4}}{_COUNT}\s+(?:hard\s+|soft\s+|clear\s+)?"
    r"(?:fail|warn|error)(?:ure|ing)?s?(?![\w-]|\s+modes?\b)"
    r"|^\W{0,40}an?\s+(?:fail|warn|error)(?:ure|ing)?(?=\s*(?:$|[.:!(\u2013\u2014]))"
)
_TALLIED = rf"\b(?:fail|warn|error)(?:ures?|ings?|s)?\s*[:=]\s*(?:{_COUNT}|yes|true|x|y|\u2611|\u2713|\u2714|\u2705)(?!\w)"
_GRAVE_CELL = r"[\W_]*(?:fail(?:ed|s|ure)?|warn(?:ing)?|error|blocked|rejected)[\W_]*(?:\(\d+\))?"
_SCALE_CELL = r"[\W_]*(?:pass|warn|fail|error|info)(?:ing|s|ures?)?[\W_]*"
_NOTHING_CELLS = frozenset({"0", "none", "no", "-", "n/a", "\u2014", "\u2013"})
_FINDING = r"(?:[-*+\u2022]|\d{1,9}[.)])\s*(?:\[[ xX]\]\s*)?[\W_]{0,8}(?:info|warn(?:ing)?|fail(?:ure)?)(?!\w)"
_REMARK = r"(?i:[-*+\u2022]|\d{1,9}[.)])\s*[\W_]{0,8}(?i:info)[\W_]{0,6}(?:\s|$)"
_BARE = r"[\W_]{0,40}" + _GRAVE + r"(?!\w)(?:[\W_]*$|[\W_]*[.:\u2013\u2014(])"
_NOTHING = r"[\W_]*(?:none|nothing|n/?a|0|no|zero|not (?:found|present|seen|applicable)|absent|empty)(?!\w)"
_SPELT = (
    r"^\W{0,40}(?:f[ .\-]a[ .\-]i[ .\-]l|w[ .\-]a[ .\-]r[ .\-]n|e[ .\-]r[ .\-]r[ .\-]o[ .\-]r)\W*$"
)
# Only a line that holds one of these can say anything here.
_TELLING = r"fail|warn|err|block|reject|accept|inconclu|pass|ok|clean|succ|[fwe][ .-][ae]"
_LONG_QUOTE = '"[^"\n]{1,300}"|\u201c[^\u201d\n]{1,300}\u201d'
_OF_A_DECISION = r"\b(?:result|verdict|outcome|decision|pass|fail|warn|error)"
_SHORT = 40
# One word of more than one script, alone in its line.
_MIXED = r"\W*(?=\w*[A-Za-z])(?=\w*[^\W\d_\u0000-\u024f])[^\W\d_]{3,}\W*"
_ONE_WORD = r"\W*\w+\W*"


def opens_finding(text: str) -> bool:
    """Whether the line is the bullet of a finding, as the reader of findings knows them."""
    return compiled(_FINDING).match(ascii_lower(text[:100])) is not None


def claim_in(line: ReviewLine) -> str:
    """Give what a line says against a PASS: another verdict with a label, or a PASS denied."""
    if word := _marked(line.text):
        return word
    if line.place is Place.LIST and opens_finding(line.text):
        return _claim_in_remark(line.text)
    plain = _plain(line.text)
    if found := compiled(_TAKEN_BACK).search(plain):
        return found[0]
    if word := breach_in(without_denials(plain)):
        return word
    if not compiled(_TELLING).search(plain):
        return ""
    if word := _denied_pass(plain):
        return word
    if line.place is Place.BODY and not line.level and (word := bare_in(plain)):
        return word
    return _other_verdict(line.text, without_denials(plain))


def _claim_in_remark(text: str) -> str:
    """What a finding of INFO says of the whole note; a graver one is read as a finding alone."""
    found = compiled(_REMARK).match(text[:_SHORT])
    if found is None:
        return ""
    plain = without_denials(_plain(text[found.end() :]))
    for pattern in (_TAKEN_BACK, *_STATEMENTS):
        if said := compiled(pattern).search(plain):
            return said[0].strip()
    return breach_in(plain, in_remark=True) or _denied_pass(plain)


def _marked(text: str) -> str:
    """What stands out by marks: JSON, a cell, a ticked box, a symbol, a word of two scripts."""
    odd = len(text) < _SHORT and not text.isascii()
    if odd and (compiled(_SYMBOL).fullmatch(text) or compiled(_MIXED).fullmatch(text)):
        return text
    shown = skeleton(text)
    found = compiled(_MARKED).search(shown) or compiled(_JSON).search(shown)
    if found:
        return found[0].strip()
    return _grave_cell(shown) if "|" in shown else ""


def _denied_pass(plain: str) -> str:
    field = compiled(_FIELD_NAME).match(plain)
    value = plain[field.end() :].lstrip() if field else ""
    if value[:1] in (":", "=") and is_denied_by(value):
        return plain.strip()
    found = compiled(_PASS_IS_NO).match(plain) or compiled(_REFUSED).search(plain)
    return found[0].strip() if found else ""


def heads_faults(line: ReviewLine) -> bool:
    """Whether the line is a heading of one grave word alone: `## FAIL`."""
    return line.level > 0 and bool(compiled(_BARE).fullmatch(skeleton(line.text[:100])))


def bare_in(plain: str) -> str:
    """`FAIL` or `WARN: text` as a paragraph of its own, but not `Warnings: none`."""
    found = compiled(_BARE).match(plain)
    if found is None or compiled(_NOTHING).match(plain, found.end()):
        return ""
    return found[0].strip()


def count_in(line: ReviewLine) -> str:
    """Give the first count of WARN or FAIL in a line that is no finding."""
    if line.place is Place.LIST and opens_finding(line.text):
        return ""
    plain = without_denials(_plain(line.text))
    found = compiled(_COUNTED).search(plain) or compiled(_TALLIED).search(plain)
    return found[0].strip() if found else ""


def _other_verdict(text: str, plain: str) -> str:
    if not _names_scale(plain):
        for pattern in (_LABELLED, *_PROSE):
            if found := compiled(pattern).search(plain):
                return found[0].strip()
    if found := compiled(_SPELT).match(plain):
        return found[0].strip()
    disguised = not text.isascii() and plain[:40].strip() != ascii_lower(text)[:40].strip()
    found = compiled(_BARE).match(plain) if disguised else None
    if found and not compiled(_BARE).match(ascii_lower(text)):
        return found[0].strip()
    return ""


def _names_scale(plain: str) -> bool:
    """Whether the line lists the words of the scale: it explains them."""
    return all(re.search(rf"\b{word}\b", plain) for word in ("pass", "warn", "fail"))


def _plain(text: str) -> str:
    """The line folded, what it only mentions (code, longer quotations) left out."""
    parts = text.split("`")
    if len(parts) > 2:
        kept = [_mention(part, part) if at % 2 else part for at, part in enumerate(parts)]
        text = "".join(kept)
    if '"' in text or "\u201c" in text:
        text = compiled(_LONG_QUOTE).sub(_unless_long, text)
    return skeleton(text)


def _unless_long(quote: re.Match[str]) -> str:
    return _mention(quote[0], quote[0][1:-1])


def _mention(mention: str, inner: str) -> str:
    """A word stays; of longer mentions those of a decision and those of anything else differ."""
    if _is_word(mention):
        return inner
    return " x " if compiled(_OF_A_DECISION).search(ascii_lower(inner)) else " q "


def _is_word(text: str) -> bool:
    return compiled(_ONE_WORD).fullmatch(text[:_SHORT]) is not None and len(text) < _SHORT


def _grave_cell(shown: str) -> str:
    cells = [cell.strip() for cell in shown.strip().strip("|").split("|")]
    if len(cells) < 2 or any(cell in _NOTHING_CELLS for cell in cells):
        return ""
    if len(cells) > 2 and all(compiled(_SCALE_CELL).search(cell) for cell in cells):
        return ""  # the scale, copied
    grave = (cell for cell in cells if compiled(_GRAVE_CELL).fullmatch(cell))
    return next(grave, "")
