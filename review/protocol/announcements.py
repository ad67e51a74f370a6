"""Finds the words next to a block that call it an example: only what says so without doubt.

What is said of a note or a gate, quoted, or asked politely, calls no block anything; and a writer
who says that no file can be written gives the review itself, however the sentence is put.
"""

from __future__ import annotations

from review.protocol.folding import ascii_lower, compiled

_SENTENCE = 300
_WORD_ENDS = r"(?![-/._\w]*[\w/])"  # not `example-driven`, `sample/x` or `example.md`
_MODEL = (
    r"(?:example|illustration|sample|demonstration|demo|beispiel|ejemplo|exemple|esempio|exemplo|"
    rf"voorbeeld)s?{_WORD_ENDS}"
)
_STAND_IN = rf"(?:mock-?up|mock|placeholder|stand-?in|dumm(?:y|ie)|hypothetical|skeleton|scaffold)s?{_WORD_ENDS}"
_NOUN = rf"(?:{_MODEL}|{_STAND_IN})"
_INVENTED = (
    r"(?:hypothetical|illustrative|made-?up|fictional|fictitious|imaginary|invented|fake|simulated)"
)
_OBJECT = (
    r"(?:outputs?|answers?|responses?|reviews?|blocks?|results?|formats?|layout|shape|structure)\b"
)
_ADJECTIVE = (
    r"(?:(?!(?:the|this|that|your|of|for|about|with|in|on|and|notes?|gates?|pairs?)\b)"
    r"[\w'\u2019-]+\s+){0,2}?"
)
_OF_OBJECT = (
    r"(?:of|for|showing)\s+(?:(?!(?:and|for|from|in|to|of|notes?|gates?)\b)[\w'\u2019-]+\s+){0,3}?"
    rf"(?:{_OBJECT}|what\b|how\b)"
)
_END = rf"$|[:;.!()\u2026\u2013\u2014]|{_OBJECT}|{_OF_OBJECT}"
_ENDS = rf"\s*(?:only\b\s*)?(?:{_END})"
_GOES_ON = (
    rf"\s*(?:only\b\s*)?(?:{_END}|,|-|(?:until|till|pending|because|since|for now|while|and not)\b)"
)
_ONLY = r"(?:(?:only|just|merely|purely|simply|but|of course|meant as)\s+)*"
_A = r"(?:(?:an?|one|another|some|a few|two|ein|une?|uno)\s+)?"
_HEAD = rf"{_ONLY}{_A}{_ADJECTIVE}"
# `These are placeholders, I have not read …`, but not `This is an example, so I was lenient`.
_CALLED = (
    rf"(?:{_HEAD}{_STAND_IN}{_GOES_ON}|{_HEAD}{_INVENTED}\s+{_OBJECT}"
    rf"|{_ONLY}{_A}{_ADJECTIVE}{_MODEL}{_ENDS})"
)
_SEVERAL = (
    r"(?:these|those|they|both(?: blocks| reviews)?|(?:all (?:of )?)?(?:the|these|those|my) (?:\w+ )?"
    r"(?:above|blocks?|reviews?|outputs?|answers?)(?: (?:above|below|here|that follow))?|"
    r"(?:the )?(?:above|below|following)|what follows)"
)
_ONE = r"(?:this|that|this (?:block|review|output|answer))"
_IS = r"(?:['\u2019]s|\s+is|\s+are|\s+was|\s+were|\s+shows?)\s+"
_SAID = (
    rf"(?:{_SEVERAL}{_IS}(?:{_CALLED}|{_HEAD}{_MODEL}{_GOES_ON})"
    rf"|{_ONE}{_IS}(?:{_CALLED}|(?:only|just|merely|purely)\s+{_HEAD}{_MODEL}{_GOES_ON}))"
)
_BEGINS = r"(?:^|[,;:(\u2013\u2014]\s?)(?:(?:so|and|but|thus|hence|then|note|nb|remember)\W{1,4}(?:that\s+)?)?\W{0,4}"
_HERE = rf"(?:here(?:['\u2019]s| is| are| comes| follows?)|i (?:give|show|write)|(?:see|consider) (?:this|the following))\s+(?:{_CALLED}|{_HEAD}{_MODEL}{_GOES_ON})"
_REMARK = rf"(?:(?:note|nb|remember)\W+(?:that\s+)?)?{_SAID}"
_INTRODUCED = rf"{_BEGINS}(?:{_HERE}|{_SAID})"
_SMALL_WORD = rf"(?:{_OBJECT}|(?:of|the|an?|filled|passing|in|out|for|pairs?(?:\s+\d+)?|only)\b|\([^()]{{0,40}}\)?)"
# Not any adjective: `## Retry example` is the name of a note.
_TITLED = (
    r"(?:(?:filled-?\s?in|short|brief|simple|minimal|passing|failing|possible|typical|made-?up|format|output|review|answer|"
    r"block|quick|complete|full|illustrative|hypothetical|non-?final)\s+){0,2}?"
)
_TITLE = (
    rf"(?:(?:for|as|by way of|zum|par|por|per)\s+(?:an?\s+)?|{_ONLY}{_A}(?:the\s+|my\s+)?{_TITLED})"
    rf"{_NOUN}(?:\s*{_SMALL_WORD}){{0,6}}|examples?\s+\d+|e\.?\s?g\.?"
)
_STAND_INS = (
    rf"{_ONLY}(?:the\s+|my\s+)?{_TITLED}(?:{_NOUN}\s+{_OF_OBJECT}|(?:{_NOUN}|{_INVENTED})\s+{_OBJECT}\s*(?:only\b\s*)?(?:$|[:;,.!(\u2013\u2014-]|"
    rf"(?:until|till|pending|because|since|for now|while|to test|for testing)\b|{_OF_OBJECT}))"
)
_TEMPLATE = (
    r"(?:here(?:['\u2019]s| is)\s+|this is\s+|below is\s+)?(?:(?:only|just|merely)\s+)?(?:(?:the|an?|my)\s+)?"
    rf"(?:(?:empty|blank|bare|unfilled|output|review|block)\s+)?(?:template|boilerplate)s?{_WORD_ENDS}"
    rf"(?:\s*{_SMALL_WORD}){{0,6}}"
)
_HEADING = rf"(?:{_TITLE}|{_TEMPLATE})\W*"
_WOULD = (
    rf"(?:^|\b(?:{_OBJECT}|reviewer|model|it|this|that)\b[^,;]{{0,60}}?\s)(?:would|could|might|should|may)\s+"
    r"(?:then\s+|typically\s+|normally\s+|have\s+)?(?:look(?:ed)?|read|be|been)\s+"
    r"(?:something\s+|roughly\s+)?(?:like\b|as follows|this\b)"
)
_IF_ONLY = (
    r"\b(?:if|had|were|assuming|suppos(?:e|ing))\b.{0,120}\b(?:i|we|one|you|it|reviewer|model|output|answer|review)"
    r"\s*(?:would|could|might|['\u2019]d)\s+(?:then\s+|have\s+)?"
    r"(?:wr(?:ite|itten)|give|given|output|produced?|emit|sa(?:y|id)|answer(?:ed)?|report(?:ed)?|return(?:ed)?|be|look|read)\b"
)
_AS_EXAMPLE = (
    r"(?:\b(?:for (?:example|illustration|demonstration)(?: purposes)?(?: only)?|as an? (?:\w+ )?" + _NOUN + r")\s*$"
    r"|\bby way of (?:example|illustration)\b)"
)  # fmt: skip
_ABOUT_A_NOTE = r"\b(?:notes?|gates?|authors?|writers?|pages?|sections?|paragraphs?|texts?)\b"
_SHOWN = rf"\ban?\s+{_ADJECTIVE}{_NOUN}\s+{_OF_OBJECT}"
_NO_REVIEW = (
    rf"{_BEGINS}(?:{_SEVERAL}|{_ONE})(?:\s+(?:is|are|was|were)\s+(?:not|no|never)|\s+(?:is|are|was|were)n['\u2019]t)\s+"
    r"(?:an?\s+|my\s+|the\s+|yet\s+)?(?:real|actual|final|true|genuine|finished)?\s*"
    r"(?:reviews?|outputs?|answers?|results?|verdicts?|decisions?|blocks?)\s*(?:yet\b\s*)?(?:$|[.:,;!)\u2014])"
    r"|(?:^|\b(?:do not|don['\u2019]t|never|please)\s+(?:not\s+)?)ignore\s+(?:the|these|this|those)\s+(?:\w+\s+)?(?:blocks?|reviews?|output|answer)\b"
    r"|\b(?:do not|don['\u2019]t|never|please)\s+(?:not\s+)?(?:ingest|count|use|accept|take|store)\s+"
    r"(?:any of\s+)?(?:the|these|this|those)\s+(?:\w+\s+)?(?:blocks?|reviews?|output|answer)\b"
)
# Of these verbs, `please use the blocks below` and `don't ignore …` ask for the opposite.
_ASKED_FOR = (
    r"\bplease\s+(?:ingest|count|use|accept|take|store)\b|\b(?:not|never|n['\u2019]t)\s+ignore\b"
)
_FILES = (
    r"(?:files?|(?:to )?(?:the )?(?:disk|file ?system|output path|workspace|repository)|the output|here|it|there|"
    r"to (?:the |a |that )?(?:file|output path|disk)|[`\w/.-]+\.md)"
)
_NO_FILES = (
    r"(?:cannot|can ?not|can['\u2019]?t|could not|couldn['\u2019]?t|unable to|(?:not|never) (?:able|allowed|permitted) to|"
    r"if (?:i|we) could|were (?:i|we) able to)\s+(?:\w+\s+)?(?:write|save|create|edit|store|touch|modify)\s+"
    rf"(?:to\s+)?(?:(?:any|a|the|this|that|output|review)\s+){{0,2}}{_FILES}"
    r"|\b(?:no|without|lack(?:ing)?|missing)\s+(?:an?\s+|any\s+|the\s+)?(?:file[- ]?)?(?:system\s+)?(?:write|writing|editing|file)[- ]?"
    r"(?:system)?\s*(?:tools?|access|permissions?|rights?|leave)\b"
    r"|\bno\s+(?:tools?|permissions?|means|way|leave|access)\s+(?:to|for)\s+(?:write|writing|save|saving|create)\b"
    r"|\bread-only\b|\b(?:writing|write access|writes?)\s+(?:\w+\s+){0,3}(?:is|was|are|were)\s+"
    r"(?:not |denied|blocked|refused|disabled|unavailable|forbidden)"
)
_QUOTED = r"\"[^\"]*\"|\u201c[^\u201d]*\u201d|`[^`]*`"
_SENTENCE_END = r"(?<!e\.g)(?<!i\.e)[.!?][)\"'*_]*\s+"
_CLAUSE_END = r"\s*[;\u2013\u2014]\s+|\s+-+\s+"
_AHEAD = r"\b(?:below|following|follows)\b"
_LEADS_IN = (":", "\u2026", "...")
_DECORATION = "*_# \t()[]<>!-"


def announces_example(words: str) -> bool:
    """Whether the line or paragraph above a block ends by announcing an example."""
    sentences = _sentences(words[-2 * _SENTENCE :])
    last = sentences[-1][-_SENTENCE:]
    if compiled(_NO_FILES).search(last):
        return False
    if _is_no_review(last) or _is_introduced(last):
        return True
    if not last.rstrip("*_ )").endswith(_LEADS_IN):
        return False
    bare = last.rstrip("*_ ):\u2026.")
    if compiled(_AS_EXAMPLE).search(bare):
        return True
    if compiled(_ABOUT_A_NOTE).search(bare) is None and compiled(_SHOWN).search(bare):
        return True
    return _is_supposed(bare, before=" ".join(sentences[:-1]))


def calls_it_an_example(line: str) -> bool:
    """Whether the line after a block says that the block was an example only."""
    if line.rstrip(" \t*_").endswith(_LEADS_IN) or compiled(_AHEAD).search(
        ascii_lower(line[:_SENTENCE])
    ):
        return False  # it speaks of what follows
    said = [sentence.lstrip(_DECORATION) for sentence in _sentences(line[:_SENTENCE])]
    return any(compiled(_REMARK).match(one) or _is_no_review(one) for one in said)


def _sentences(words: str) -> list[str]:
    """Lower-cased, what is quoted left out; at least one."""
    plain = " ".join(compiled(_QUOTED).sub('""', ascii_lower(words)).split())
    return [part.strip() for part in compiled(_SENTENCE_END).split(plain)]


def _is_no_review(sentence: str) -> bool:
    found = compiled(_NO_REVIEW).search(sentence)
    return found is not None and not compiled(_ASKED_FOR).search(found[0])


def _is_introduced(sentence: str) -> bool:
    clause = compiled(_CLAUSE_END).split(sentence)[-1]
    for part in (sentence, clause):
        title = part.strip(_DECORATION + ":.\u2026")
        if compiled(_HEADING).fullmatch(title):
            return True
        if compiled(_STAND_INS).match(title) or compiled(_INTRODUCED).search(part):
            return True
    return False


def _is_supposed(sentence: str, *, before: str) -> bool:
    """Whether it tells what somebody would write, and not what the file should hold."""
    if compiled(r"\bfiles?\b|\.md\b|\bdisk\b").search(sentence):
        return False
    supposed = compiled(_WOULD).search(sentence) or compiled(_IF_ONLY).search(sentence)
    return supposed is not None and compiled(_NO_FILES).search(before) is None
