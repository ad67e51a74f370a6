"""Finds the sentences that say a gate is breached, or ask for a graver verdict, in words of their own."""

from __future__ import annotations

import re

from review.protocol.folding import compiled

_RULE = (
    r"(?:gate|rule|criteri(?:on|a)|condition|requirement|standard|test|failure modes?|policy|bar)s?"
)
_BE = r"(?:(?:is|was|are|were|has been|have been|gets?|got|remains?|stays?)\s+)"
_ADVERB = r"(?:(?:\w+ly|still|also|thus|now|then|therefore)\s+){0,2}"
_BREACHED = (
    rf"\b{_RULE}\s+{_ADVERB}{_BE}?{_ADVERB}(?:triggered|triggers|fired|fires|tripped|trips|violated|breached|"
    r"broken|unmet|infringed|contravened|unsatisfied|unfulfilled|missed|flouted|not\s+(?:yet\s+|fully\s+)?(?:met|satisfied|fulfilled|"
    r"respected|kept|followed|observed|cleared|reached|passed)|appears?|shows? up|occurs?|is (?:visible|here|there|present))\b"
    r"|\b(?:trip(?:s|ped)?|trigger(?:s|ed)?|breach(?:es|ed)?|infring(?:es?|ed|ing)|contraven(?:es?|ed)|flout(?:s|ed)?|violat(?:es?|ed)|"
    rf"sets? off|runs? (?:afoul|foul) of|exhibits?|displays?|shows?)\s+(?:on\s+)?(?:the|this|that|its)\s+(?:\w+\s+)?{_RULE}\b(?!\s+of\b)"
    r"|\bin (?:clear |plain |open )?(?:breach|violation) of\b|\bfalls? (?:\w+ )?short\b|\b(?:infringes?|flouts?)\b"
    rf"|\b{_RULE}\s+appl(?:ies|y) to (?:lines?|sections?|paragraphs?) \d"
    r"|\bbelow (?:the|our|any) (?:bar|standard|threshold)\b"
    r"|\b(?:does|do|did)(?:n['\u2019]t| not) (?:\w+ )?(?:meet|satisfy|fulfil|fulfill|clear|respect|comply)\b"
    r"|\bat odds with\b|\b(?:title|body|lead) (?:and (?:the )?(?:title|body|lead) )?disagrees?\b"
)
_FAULTY = (
    r"\b(?:never|not) (?:been )?(?:defined|explained|introduced|sourced)\b|\bused without (?:an? |any )?(?:explanation|definition|introduction|source)\b"
    r"|\b(?:has|have|had|with|remains?|stays?) (?:no|without an?) (?:definition|source|citation|explanation|evidence|support|reference)s?\b"
    r"|\b(?:remains?|stays?) without\b|\bmajor revisions?\b|\bnot (?:yet )?(?:publishable|ready|acceptable)\b"
    r"|\b(?:is|are) dead\b|\bforg[eo]ts? to\b|\bmiss(?:es|ed) the (?:gate|criterion|bar|requirement)\b|\bthe very thing\b|\bclear case of\b|\bfull of\b"
    r"|\bfound in (?:lines?|sections?|paragraphs?) \d|\bthere (?:is|are) (?:\w+ )?(?:residue|instances? of|violations?|contradictions?)\b|\bremains? in (?:lines?|section) \d"
    rf"|\b(?:has|have|had|found|is an instance of) the {_RULE}\b|\b(?:exactly|precisely) what the gate\b|\bwithout an? (?:source|citation|definition)\b"
)
_GRAVE = r"(?:a |an |hard |soft |clear )*(?:fail|warn)"
_ADVERBS = (
    r"(?:so|hence|thus|therefore|consequently|accordingly|i['\u2019]d say|at (?:least|best|most)|clearly|definitely|plainly|surely|"
    r"certainly|obviously|probably|that['\u2019]s|it['\u2019]s|it is|that is|this is|still)\W+"
)
_DESERVED = (
    rf"^\W*(?:{_ADVERBS}){{1,3}}{_GRAVE}(?:ure|ing)?\W*$"
    rf"|^\W*(?:{_ADVERBS}){{0,3}}{_GRAVE}(?:ure|ing)?\s+(?:it is|is (?:my|the|our|what|warranted|due|deserved|in order|right|called|justified))\b"
    rf"|\b(?:is|was|are|['\u2019]s|say|be|earns?|deserves?|gets?|got|giving it|give it|gives it|giving this|warrants?|merits?|calls? for|means?|make(?:s)? it|amounts? to)\s+{_GRAVE}(?=\W*$|\s+(?:at (?:least|best|most)|overall)\b|[.;])"
    r"|\b(?:must|have to|has to|had to|should|need to|am going to|will|shall|let me)\s+(?:now\s+|therefore\s+)?(?:fail\b(?=\W*$|\s+(?:this|it|the note|that)\b)|reject\b|refuse\b)"
)
# Fields whose value speaks for itself.
_FIELDS = (
    r"^\W*(?:publishable|acceptable|approved?|compliant|satisfied|meets? (?:the )?gate|gate satisfied|gate met|complies|mergeable|"
    r"ok to (?:publish|merge|ship)|ready)\W{1,4}(?:false|no|not|nope|0|n|never|negative)\b"
    r"|^\W*(?:gate triggered|triggered|blocking|blocked|violated|violations? found|failure mode (?:present|found)|fails?)\W{1,4}(?:true|yes|y)\b"
    r"|^\W*(?:compliance|quality|score|coverage|conformance|conformity|rating)\W{1,4}(?:poor|low|bad|weak|insufficient|inadequate|none|zero|0\b(?!\.)|(?!100\b)\d{1,2}\s?%)"
    r"|^\W*(?:issues?|violations?|problems?|defects?|blockers?|faults?|instances?|offen[cs]es?|contradictions?)\W{1,4}(?:[1-9]\d{0,5}|one|two|three|four|five|six|several|many)\b"
    r"|^\W*(?:risk|severity|priority)\W{1,4}(?:high|critical|major|severe)\b|^\W*(?:action|change|revision|rework|fix) (?:required|needed)\W{1,4}(?:yes|true|y)\b"
    r"|^\W*needs? (?:revision|rework|work|fix|changes?)\W{1,4}(?:yes|true|y)\b|^\W*(?:issues?|violations?|problems?) found\W{1,4}(?:[1-9]|one|two|three|yes)"
    r"|^\W*(?:compliance|conformance)\W{1,4}no\b"
    r"|^\W*(?:grade|mark|note)\W{1,4}[d-f][+-]?\W*$"
    r"|^\W*[^:]{1,60}:\s*(?:bad|poor|not ok|nok|broken|unmet)\W*$"
    r"|^\W*(?:[-*+]\s*)?\[\s?\]\s+\w"
    r"|[\u274c\u274e\u2717\u2718\u26d4\u26a0\U0001f534\U0001f6ab\U0001f6d1\U0001f44e]\s*(?:(?:result|verdict|outcome|decision)\W{1,4})?pass\b"
    r"|\bpass\W{0,4}[\u274c\u274e\u2717\u2718\u26d4\u26a0\U0001f534\U0001f6ab\U0001f6d1\U0001f44e]"
    r"|\bresult\W{1,5}(?:fail|warn)\b|\bverdict (?:is|was|:) (?:an? )?(?:fail|warn)\b|\boutcome is (?:an? )?(?:fail|warn)\b"
)
_ASKED = r"([^.!?]{0,200})\?\W{1,20}(?:no|nope|hardly|not (?:really|quite|at all))\W{0,20}$"
_ASKED_FOR_FAULTS = (
    r"\b(?:fail|violat|trigger|fire|trip|breach|contradict|issue|problem|missing|undefined|unsupported|unclear|broken|mislead|conflict|"
    r"wrong|lack|omit|residue|placeholder|instance|fault|defect|jargon|vague|doubt|concern|any\b|need|change)"
)
# The reviewer says of the review that it is none, or of the note that it must not go out.
_NO_REVIEW = (
    r"\b(?:i|we) (?:\w+ly )?(?:did(?: not|n['\u2019]t)|have(?: not|n['\u2019]t)|could(?: not|n['\u2019]t)|never) (?:\w+ )?(?:read|open|see|seen|check|checked|review|reviewed|look)\b"
    r"|\b(?:i|we) (?:have )?(?:read|checked|saw|reviewed|looked at) (?:the )?(?:\w+ )?\w+ only\b|\b(?:i|we) (?:have )?(?:only )?skimmed\b|\b(?:i|we) (?:have )?only (?:read|checked|saw|reviewed|looked)\b"
    r"|\b(?:i|we) (?:have )?(?:read|checked|saw|reviewed|looked at) only\b|\b(?:i|we) (?:just )?(?:guessed|assumed|assume)\b|\bi (?:had|have) no access\b"
    r"|\bcut off, so\b|\bwhat a passing review\b|\btoo (?:generous|lenient|kind)\b|\b(?:real|true|actual) (?:verdict|result|decision)\b|^\W*in truth\b"
    r"|^\W*(?:please )?(?:do not|don['\u2019]t|never) (?:publish|merge|ship|use|release|accept|approve)\b|^\W*(?:please )?(?:block|hold|stop) (?:the|this|it)\b"
    r"|^\W*please (?:fix|correct|rename|rewrite)\b|^\W*(?:on )?second thoughts?\b|^\W*(?:this|it|that) is (?:just |only |merely )?an? (?:placeholder|stub|draft|guess)(?=\W*$|\s+(?:until|for now|review|verdict)\b)"
    r"|^\W*(?:en fait|eigentlich nicht|doch nicht|leider nicht)\b|\bi would(?: not|n['\u2019]t) (?:let|publish|accept|approve|merge|pass|sign)\b|^\W*to-?do\W{1,3}\w|^\W*reject\b"
    r"|\bmust be (?:defined|fixed|renamed|rewritten|corrected|changed|sourced|removed|explained)\b"
)
_DENYING = (
    r"\b(?:no|not|nothing|never|none|neither|nor|nowhere|nobody|\w+n['\u2019]t|cannot|without|if|whether|when|unless|would|could|might|may|"
    r"what|why|how|explains?|describes?|says?|defines?|mentions?|where|check\w*|look\w*)\b"
)
# Denials that are the fault themselves.
_WANTING = (
    r"\b(?:is|says|states|claims|means) the opposite of\b|^\W*(?:\w+ )?residue\W{1,4}(?:in )?lines?\b|\b(?:so to speak|says so itself|for want of a better)\b|\b(?:does|do|did)(?:n['\u2019]t| not) (?:define|explain|source|cite|introduce)s?\b(?! (?:any|a single|new))|\bnever says what\b|\bdoes(?:n['\u2019]t| not) exist\b"
    r"|\bno (?:definition|source|citation|explanation|evidence) (?:of|for) [^.;]{1,60}(?:is|are|was) (?:given|found|offered|there)\b|\bnowhere is\b"
    r"|\bthere (?:is|are) no (?:definition|source|citation|explanation|evidence)s? (?:of|for)\b|\b(?:does|do)(?:n['\u2019]t| not) give\b"
)
_DENIED = r"\b(?:no|not|nothing|never|none|neither|nor|\w+n['\u2019]t|cannot)\b[^.;:!?]*$"
# What a longer quotation that names a decision became.
_MENTIONED = r"\bx\s+(?:is|are|was|were)?\s*$"
_CLAUSE = 100


def breach_in(plain: str, *, in_remark: bool = False) -> str:
    """Give what says that the gate is breached, or a field that amounts to it, else an empty string.

    `plain` is folded, with what it only mentions taken out. A denial in the same clause excuses.
    A remark of INFO may find a fault of detail, but not that the gate is breached.
    """
    for pattern in (_FIELDS, _NO_REVIEW) if in_remark else (_FIELDS, _NO_REVIEW, _WANTING):
        if found := compiled(pattern).search(plain):
            return found[0].strip()
    found = compiled(_DESERVED).search(plain)
    if found and not compiled(_DENIED).search(
        plain[max(0, found.start() - _CLAUSE) : found.start()]
    ):
        return found[0].strip()
    asked = compiled(_ASKED).search(plain) if "?" in plain else None
    if asked and not compiled(_ASKED_FOR_FAULTS).search(asked[1]):
        return asked[0].strip()
    for pattern in (_BREACHED,) if in_remark else (_BREACHED, _FAULTY):
        for breach in compiled(pattern).finditer(plain):
            if _holds(plain, breach):
                return breach[0]
    return ""


def _holds(plain: str, found: re.Match[str]) -> bool:
    head = plain[max(0, found.start() - _CLAUSE) : found.start()]
    clause = head[max(head.rfind(mark) for mark in ".;:!?,") + 1 :]
    return not compiled(_DENYING).search(clause) and not compiled(_MENTIONED).search(clause)
