"""Finds what takes a PASS back: words of doubt or exception in the sentence that states it."""

from __future__ import annotations

from review.protocol.folding import ascii_lower, compiled, fold, skeleton

_NOUNS = (
    r"(?:fail(?:ure|ing)?|warn(?:ing)?|error|block(?:er|ing)?|contradiction|issue|problem|caveat|"
    r"exception|concern|violation|defect|reservation|doubt)s?"
)
# "no blockers", "0 WARN", "without warnings or failures" speak for a PASS, not against it.
_NEGATED = (
    rf"\b(?:no|zero|0|without(?: any)?)\s+{_NOUNS}(?:\s+(?:or|nor)\s+(?:no\s+)?{_NOUNS})*\b(?!-)"
    r"|\binfos? only\b|\bonly (?:\w+ )?infos?\b"
    r"|\bfailure modes? (?:(?:is|are|was) )?(?:absent|not (?:present|found|observed|seen))\b"
    r"|\bnot (?:a single|one) (?:\w+ ){1,3}?(?:is|was|remains|stays) (?:left )?(?:un(?!known)\w+|missing|broken|dead)\b"
    r"|\b(?:no|without) (?:\w+ )?placeholders?\b"
    r"|\bsuggested revisions?\s*:\s*(?:null|none|n/a|~)(?!\w)|\bsee (?:the )?infos?\b|\bnothing to (?:fix|change|correct|add)\b"
    r"|\b0\s*(?:/|of)\s*\d{1,4} (?:\w+ )?(?:violated|broken|failed|unmet)\b"
    r"|\b(?:none|no (?:change|revision|correction|edit|fix|action)(?:s|es)?)\s+(?:is |are )?(?:needed|required)\b"
)
# What may stand between "no" and the fault it denies.
_BETWEEN = (
    r"(?:(?:instances?|occurrences?|signs?|traces?|evidence|examples?|cases?|of|the|an?|any|such|serious|real|"
    r"actual|gate['\u2019]?s?|described|this|kind|undefined|unsupported|missing|broken|internal|open|major|minor|hard|"
    r"clear|single|apparent|obvious|new|listed|terms?|claims?|links?|or|and|nor|hidden)\s+){0,5}"
)
_FAULTS = (
    r"(?:fail(?:ures?|ing|s)?(?:\s+modes?)?|warn(?:ings?|s)?|errors?|block(?:ers?)?|contradict(?:ions?|ory|s)?|issues?|"
    r"problems?|caveats?|exceptions?|concerns?|violat(?:ions?|es?)|defects?|reservations?|doubts?|"
    r"undefined(?:\s+(?:terms?|words?|names?|abbreviations?|acronyms?))?|unsupported(?:\s+claims?)?|"
    r"missing(?:\s+\w+)?|broken(?:\s+\w+)?|instances?|mislead(?:ing|s)?|conflicts?|wrong|incorrect|unclear|breaks?)"
)
_DENIED_FAULT = (
    rf"\b(?:no|zero|0|without|free (?:of|from)|absence of|neither|nor|nothing(?: is)?|none(?: (?:is|are))?)\s+{_BETWEEN}{_FAULTS}"
    rf"(?:(?:\s*,?\s+(?:or|nor|and)\s+|\s*,\s*)(?:no\s+|any\s+|0\s+)?{_BETWEEN}{_FAULTS})*\b(?!-)"
    rf"|\bnever (?:itself )?{_FAULTS}\b"
    r"|\bnone (?:of \w+ )?(?:is|are|was|were) (?:present|found|seen|undefined|missing|broken|wrong)\b"
    r"|\b(?:neither|no|nor|nothing|none)\s+(?!else|other)(?:(?!else|other)[\w'\u2019]+\s+){0,3}(?:contradicts?|fails?|breaks?|conflicts?|misleads?|violates?)\b"
    r"|\b(?:look|check|search|test|scan|hunt)\w* for [^.;:!?]{0,120}?(?=\s(?:and (?:found|saw|there|it|one|two|three)|but)\b|[.;:!?]|$)"
    rf"|\b(?:does|do|did|is|are|was|were|would|need)(?:\s+not|n['\u2019]t)\s+(?:(?:\w+ly|itself|a|an|the|any|show|exhibit|"
    rf"contain|have|in|be|been)\s+){{0,3}}{_FAULTS}\b"
    r"|\bno (?!(?:\w+ )?(?:definition|source|citation|evidence|explanation|reference|link))(?:[\w,-]+ ){1,8}?(?:is|are|was|were) (?:present|found|left|visible)\b"
    rf"|\b(?:fail(?:ure)?(?: modes?)?|{_FAULTS}) (?:(?:is|are|was|were) )?(?:absent|not (?:present|found|observed|seen))\b"
)
_ENGLISH = (
    # Contrast and exception.
    r"but|except\w*|exclud\w*|however|although|though|albeit|despite|notwithstanding|still|yet|"
    r"nevertheless|nonetheless|otherwise|instead|rather|apart from|aside|barring|save for|minus|"
    r"modulo|other than|only|mostly|largely|partial\w*|almost|nearly|"
    # Condition.
    r"if|unless|until|when|once|pending|after|before|provided|providing|assuming|condition\w*|"
    r"contingent|subject to|as long as|so long as|granted|provisional\w*|tentativ\w*|draft|"
    r"skip\w*|unverified|n/a|deferred|truncat\w*|low confidence|by default|default|in spite|save|bar|sans|"
    r"while|whereas|whilst|so far|for now|till|(?:were|had) (?:it|the|this|that|there)|arguabl\w*|suppos\w*|"
    r"alleged\w*|ostensibl\w*|hopefully|reluctant\w*|begrudging\w*|grudging\w*|kind of|sort of|lest|less|merely|"
    r"upon|await\w*|without|given|in theory|nope|nah|lenient\w*|unread|unchecked|misleading|undefined|"
    r"vague\w*|ambiguous\w*|sarcas\w*|kidding|joking|lol|opinion|quoting|unless|false|none the less|"
    r"(?:per|says?|said|as) (?:the|an?|its) (?:note|text|author|prompt|gate|title)|"
    r"(?:as|by|on) (?:instructed|requested|told|demanded|asked|wished|ordered|request|order)|because the (?:note|text|author) (?:says?|asks?|wants?)|"
    r"(?:follow|obey|ignor|disregard|discount|overlook|leav|set|pretend)ing|argument|at a stretch|squint|charitab\w*|generous\w*|"
    r"hesita\w*|heavy heart|protest|against|regret\w*|strings|limits?|footnote|tb[acd]|to be (?:confirmed|checked|decided)|half|"
    r"in part|partly|at least|regardless|no matter|despite|even with|faults?|warts|nominal\w*|formally|surface|superficial\w*|"
    r"at face value|face value|seeming\w*|apparent(?:ly)?|presum\w*|i (?:think|guess|hope|believe|suppose)|who knows|unknown|guess\w*|random|"
    r"coin|50/50|weak\w*|too short|hard to|nothing (?:read|checked)|empty|unreadable|out of scope|tim(?:e|ed) ?out|abort\w*|"
    r"interrupt\w*|cut (?:off|short)|stale|outdated|old|last time|carried over|copied|cached|stub|dummy|test|testing|mock|fake|"
    r"simulat\w*|joke|ha(?:ha)*|wink|yeah|opposite|revers\w*|invert\w*|negat\w*|unmet|miss(?:ed|es)|later|being kind|"
    r"confiden\w*|of \d+ \w+, \d+|nobody|no ?one|"
    r"preliminar\w*|temporar\w*|in principle|technically|on paper|hypothetical\w*|theoretical\w*|"
    # Denial.
    r"not|\w+n['\u2019]t|(?:is|are|was|were|do|does|did|has|have|had|ca|could|would|should|wo)nt|"
    r"never|cannot|no longer|den(?:y|ie[sd])|refus\w*|withheld|withh?old\w*|revok\w*|void|invalid\w*|"
    r"cancel\w*|impossible|reject\w*|withdraw\w*|withdrew|retract\w*|revis\w*|disagree\w*|downgrad\w*|"
    # Fault.
    r"contradict\w*|fail\w*|warn\w*|error\w*|block\w*|caveat\w*|reservations?|issues?|problem\w*|"
    r"defect\w*|violat\w*|broken|wrong\w*|incorrect\w*|inadequate\w*|insufficient\w*|missing|lacks?|"
    r"lacking|unresolved|unsupported|incomplete\w*|concern\w*|todo|fix\w*|"
    # Obligation and uncertainty.
    r"must|should|ought|need\w*|requir\w*|unclear|unsure|uncertain\w*|doubt\w*|maybe|perhaps|"
    r"possibl[ey]|probabl[ey]|likely|might|may|could|would|see(?! no\b)|"
    # Another time, or no real review.
    r"previous\w*|initial\w*|former\w*|earlier|at first|first (?:impression|sight|glance)|expected|"
    r"desired|example|template|sample|placeholder"
)
# What objects in a later sentence; there "could", "if" or "see" are no sign of doubt.
_OBJECTION = (
    r"\b(?:but|except|however|although|unless|not|never|cannot|\w+n['\u2019]t|contradict\w*|fail\w*|"
    r"warn\w*|error\w*|block\w*|must|should|broken|wrong\w*|incorrect\w*|missing|unclear|violat\w*|"
    r"reject\w*|revis(?:ed|ing|it)|withdraw\w*|retract\w*|correction|actually|"
    r"aber|nicht|jedoch|mais|pas|sauf|pero|salvo)\b"
)
_GRAVER = r"\b(?:fail|warn|error|block)\w*"
# The same in the languages a reviewer most often falls into; other scripts are doubt as a whole.
_FOREIGN = (
    r"aber|jedoch|allerdings|ausser|nicht|kein\w*|trotz\w*|obwohl|fehl\w*|sondern|mais|sauf|"
    r"cependant|toutefois|pas|sinon|echec|pourtant|excepto|salvo|aunque|embargo|falla\w*|"
    r"falta\w*|cumple|ma|pero|tranne|eccetto|tuttavia|non|mas|porem|exceto|nao|contudo|maar|"
    r"behalve|niet|echter|abgelehnt|verweigert|rechazad\w*|denegad\w*|refuse\w*|men|inte|utom|ikke|ale|nie|oprocz|krome|ama|degil"
)
_DOUBT = rf"\b(?:{_ENGLISH}|{_FOREIGN})\b|\d\s*%|[~\u2260\u00bf?\u274c\u274e\u2717\u2718\u26a0\u26d4\U0001f6ab\U0001f6d1\U0001f534\U0001f44e]"
_TURN = (
    r"\W*(no(?=[,.:;!\s]*$|[,.:;!] )|nope|nah|just kidding|kidding|sarcasm|joking|"
    r"i (?:cannot|can['\u2019]?t|could not|couldn['\u2019]t|did not|didn['\u2019]t|was unable|am unable|am not|have no)|"
    r"but|except|however|although|though|unless|yet|still|nevertheless|nonetheless|only|"
    r"not(?! (?:a single|one) (?:\w+ ){1,3}?(?:is|was|remains|stays) (?:left )?(?:un(?!known)\w+|missing|broken|dead)\b)|"
    r"caveat|(?:fail|warn|error)\w*|that said|having said|apart from|aside from|otherwise|if|provided|"
    r"pending|conditional\w*|on condition|assuming|as long as|subject to|once|until|with the exception|"
    r"one (?:exception|caveat|problem|blocker|issue)|wait|actually|correction|on reflection|on second|"
    r"update|edit|scratch|revis\w*|sorry|aber|jedoch|mais|pero|sauf|salvo)\b"
)
# What takes a PASS back in the last lines of a review, whatever stands between.
_REJECTION = (
    r"\b(?:fail\w*|warn\w*|error\w*|reject\w*|block(?:ed|ers?|ing|s)?|must|should(?:n['\u2019]t| not| be\b| have)|"
    r"unaccept\w*|cannot|can['\u2019]t|not (?:\w+ )?(?:accept\w*|final|valid|pass\w*|approved?|ok|okay|good|"
    r"confirm\w*|so|true|correct|right|sound|usable|publishable|ready|met|stand|hold|apply|count|verif\w*|judge\w*|"
    r"read|check\w*|review\w*|done|over|sure|certain|trust\w*|rely|be (?:accept|trust|read|us)\w*|enough|believe)|"
    r"\w+n['\u2019]t (?:\w+ )?(?:accept\w*|valid|pass|approve|confirm|stand|hold|apply|count|read|check|trust|right|true)|"
    r"retract\w*|withdr\w*|revok\w*|rescind\w*|revers(?:e|ed|ing)|revis(?:e|ed|ing|it\w*)|reconsider\w*|overrul\w*|overturn\w*|"
    r"strike (?:that|this|it)|struck|scratch (?:that|this|it)|disregard\w*|ignore|undo|undone|oops|whoops|wrong\w*|mistak\w*|"
    r"misread|incorrect\w*|inaccurate|nope|nah|needs? (?:work|to|revis\w*|rewrit\w*|fix\w*|an?\b|more|chang\w*|correct\w*)|"
    r"chang(?:ed?|ing) (?:\w+ )?(?:my mind|verdict|result|decision|this|that|it)|invalid\w*|void|null|den(?:y|ied|ies)|"
    r"declin\w*|downgrad\w*|instead|on reflection|(?:on )?second thoughts?|actually|after all|however|worse|unfit|"
    r"kidding|sarcas\w*|jok(?:e|ing)|correction|check again|re-?check|unread|unable|could(?: not|n['\u2019]t)|"
    r"disagree\w*|object(?:ion|ed|s)?|dismiss\w*|refus\w*|suspend\w*|pending|abort\w*|cancel\w*|"
    r"placeholder|example only|(?:as|is|was|only|just|merely) an? (?:mere |bad |worked |sample )?(?:example|template|sample)|sorry|not really|never mind|forget (?:that|this|it)|provisional\w*|tentativ\w*|no pass|"
    r"to be (?:confirmed|decided|checked)|tbd|tbc|draft|redo|re-?do|rewrit\w*|rewrote|do(?: not|n['\u2019]t) (?:use|publish|merge|ship|count)|"
    r"thumbs down|veto\w*|not this|not that|no[.!]?$|not[.!]?$)(?!\w)"
    r"|\b(?:scrap|scratch|annul\w*|premature\w*|flunk\w*|unknown|durchgefallen|nicht|kein\w*|rechazad\w*|echec|recale|abgelehnt|"
    r"no longer|no more|todo|conditional\w*|awaiting|preliminar\w*|far from|less than a|anything but|subject to|misleading|"
    r"tak(?:e|en|ing) (?:it |that |this )?back|forget what|send (?:it|this) back|return(?:ed)? to|back to the author|below the bar|"
    r"(?:un|in|dis)(?:admissible|sufficient|adequate|approved|certain|sure|decided|checked|verified|finished|sound|tested|satisfactory)|"
    r"(?:do|does|did)(?: not|n['\u2019]t) (?:know|meet|satisfy|hold|deserve|qualify|comply)|is violated)\b"
    r"|^\W*(?:broken|contradictory|mostly|almost|only|partly|in part|if|provided|once|except|apart from|but|unless|until|or|not)\b"
    r"|^\W*(?:(?:final|overall|my|the)\s+){0,2}(?:result|grade|score|rating|verdict|outcome|decision|answer|call)\s*[:=](?!\W*(?:pass|clean|ok)\b)"
    r"|^\W*(?:(?:an?|the)\s+)?(?:examples?|template|sample)\b(?! (?:fits?|supports?|match(?:es)?|holds?|illustrates?|works?|shows?)\b)|[?]\W*$|^\W*/s\W*$|[\u274c\u274e\u2717\u2718\u26d4\U0001f6ab\U0001f6d1\U0001f534\U0001f44e]|[!\u00ac]\s*pass\b"
    r"|~~|^\W*(?:update|edit|correction|erratum|amend\w*|ps|p\.s\.)\b"
)
_FAULT = (
    r"\b(?:is|are|was|were|remains?|stays?|looks?|seems?|reads?|be)\s+(?:(?:\w+ly|still|also|too|all|quite|very|an?|the)\s+){0,2}"
    r"(?:undefined|wrong|misleading|broken|missing|unsupported|contradict\w*|false|incorrect|vague|unclear|untrue|"
    r"present|empty|unreadable|truncated|garbled|ambiguous|inconsistent|invented|fabricated|unsourced|circular|bad)\b"
    r"|\b(?:breaks?|broke|misleads?|violates?|contradicts?|conflicts?|lacks?|omits?)\b"
    r"|\b(?:two|three|four|five|several|many|[1-9]\d{0,3}) (?:\w+ )?(?:instances|violations|offen[cs]es|occurrences)\b"
    r"|\bone (?:instance|violation|occurrence)\b|\bwrong\b|\bthough\W*$"
    r"|\b(?:violations?|contradictions?|defects?|blockers?|undefined|unsupported)\b"
    r"|\b(?:nothing|none of it|half|not all) (?:of \w+ \w+ )?(?:was|were|is|has been) (?:checked|read|reviewed|looked)"
)
_FAULTS_COUNTED = (
    r"^[^.!?]{0,60}?\b(?:one|two|three|four|five|six|several|many|some|[1-9]\d{0,3}) (?:\w+ )?"
    r"(?:instances?|violations?|terms?|places?|faults?|flaws?|gaps?|exceptions?|offen[cs]es?)\b"
)
# Confidence is no doubt where it is high.
_SURE = r"\b(?:high|full|very high|good|strong)(?:ly)? confiden\w*|\bconfidence\W{1,3}(?:is )?(?:high|full|very high|(?:0?\.|)[89]\d\b(?:\s?%)?|1\.0)|\b100 ?%"
# A review that was none, or a fault in words of its own: against a PASS that is only implied.
_UNREAD = (
    r"\b(?:no (?:note|text|gate|access|definition|source|content)s?|lies?|lied|stopped|ran out|cut off|mid-sentence|guess\w*|"
    r"severity|critical|major|serious|severe|have no|has no|unsourced|undocumented|halfway|half|access|guessing|drift|"
    r"exaggerat\w*|overclaim\w*|overstat\w*|bogus|nonsense|weak|poor\w*|bad\w*|confus\w*|inconsisten\w*)\b"
)
# A parenthesis of these words leaves a PASS one; any other is doubt.
_PLAIN_WORD = (
    r"a|all|an|and|any|are|at|clean|clear|comfortably|each|every|fine|good|in|info|infos|"
    r"informational|is|it|its|marginal|marginally|mild|minor|narrow|narrowly|no|none|not|note|"
    r"notes|nothing|observation|observations|of|one|only|or|remark|remarks|report|solid|strong|"
    r"suggestion|suggestions|the|to|two|three|four|five|six|seven|eight|nine|ten|well|with|"
    r"borderline|finding|findings|found|yes|absent|defined|linked|sourced|cited|named|used|"
    r"supported|checks|checked|terms|term|claims|claim|links|link|instances|instance|warn|"
    r"warns|warning|warnings|fail|fails|failure|failures|error|errors|issue|issues|mode|modes|"
    r"present|late|small|short|long|first|second|third|of|confirmed|text|title|body|met|nit|"
    r"nits|cosmetic|trivial|optional|easily|unconditional|x|agree|agrees|resolve|resolves|match|matches|hold|holds|stylistic|"
    r"unchanged|nothing|criteria|criterion|both|throughout|sources|source|expanded|explained"
)
_SUGGESTED = r"\bsuggested revisions?\b"
_COUNTED = r"\b(?:[1-9]\d*|one|two|three|four|five|several)\s+(?:warn|fail|error)\w*"
# In capitals these are decisions or severities, whatever the sentence.
_SHOUTED = r"\b(?:FAIL|WARN|ERROR|BLOCK)\w*"
_SHOUTED_AND_DENIED = (
    r"\b(?:[Nn]o|NO|0|zero|without)\s+(?:FAIL|WARN|ERROR)\w*"
    r"(?:(?:\s+(?:or|nor|and)|,)\s+(?:no\s+|0\s+)?(?:FAIL|WARN|ERROR)\w*)*"
)
_CONTINUATION = ("(", "\u2026", "\u2014", "\u2013")
_DECISION_WORD = r"\b(?:pass|warn|fail|error)\b"
_FOOTNOTED = r"\b(?:pass|warn|fail|error)\*+(?=[\s(.,:;]|$)"
_SHARE = r"\b(\d{1,9})\s*(?:/|of|out of)\s*(\d{1,9})\b"
_NONE_OF = r"\b0\s*(?:/|of)\s*\d{1,4}(?= (?:\w+ )?(?:violated|broken|failed|unmet)\b)"
_SENTENCE_END = r"[.!?][\"'\u201d\u2019)\]*_`]*(?:\s+(?=(\S))|$)"
_ABBREVIATION = r"(?i:(?:^|[\s(])(?:e\.g|i\.e|cf|vs|etc|no|nr|approx|resp|sec|p|pp|[a-z])$)"
_ABBREVIATION_LENGTH = 8
_LAST_LATIN = 0x24F


def retracted(line: str) -> bool:
    """Whether a decision word on the line is struck through, or carries a footnote's asterisk."""
    # By splitting: a pattern over the whole line would be quadratic where a strike never ends.
    struck = line.split("~~")[1:-1:2]
    if any(compiled(_DECISION_WORD).search(ascii_lower(part)) for part in struck):
        return True
    return line.count("*") % 2 == 1 and bool(compiled(_FOOTNOTED).search(ascii_lower(line)))


def taken_back_by(paragraph: str, *, next_text: str) -> str:
    """Give the word that takes a PASS back, else an empty string.

    `paragraph` is what stands after the word PASS in its paragraph, `next_text` what follows that.
    What counts is the rest of the sentence, a next one that opens with a turn ("However, ..."),
    and the names of other decisions.
    """
    sentence, rest = _split_sentence(paragraph)
    after = rest.strip() or next_text
    return (
        doubt_in(sentence)
        or _turn_in(after)
        or fault_in(_split_sentence(after)[0])
        or _first(_SHOUTED, compiled(_SHOUTED_AND_DENIED).sub(" ", rest))
        or _first(_COUNTED, fold(after))
    )


def doubt_in(text: str) -> str:
    """Give the first word of doubt anywhere in `text`, else an empty string."""
    folded = fold(text)
    for share in compiled(_SHARE).finditer(compiled(_NONE_OF).sub(" ", folded)):
        if share[1].lstrip("0") != share[2].lstrip("0"):
            return share[0]
    if found := compiled(_DOUBT).search(compiled(_SURE).sub(" ", without_denials(folded))):
        return found[0]
    return _foreign_letter_in(folded)


def odd_parenthesis_in(tail: str) -> str:
    """Give the first word of a parenthesis right after PASS that is not known to leave it one."""
    head = skeleton(tail).lstrip()
    if not head.startswith("("):
        return ""
    inner = without_denials(head[1:].partition(")")[0])
    words = compiled(r"[^\W\d_]+|[^\w\s,;.:/&+'\u2019\u2013\u2014-]").findall(
        compiled(_SURE).sub(" ", inner)
    )
    return next((word for word in words if not compiled(_PLAIN_WORD).fullmatch(word)), "")


def objection_in(text: str) -> str:
    """Give the first word of a later sentence that objects to a PASS, else an empty string."""
    folded = without_denials(fold(text))
    if found := compiled(_OBJECTION).search(folded):
        return found[0]
    return _foreign_letter_in(folded)


def faults_counted_in(text: str) -> str:
    """Give what the sentence of a PASS counts ("three instances"), else an empty string."""
    return _first(_FAULTS_COUNTED, without_denials(skeleton(_split_sentence(text)[0])))


def rejection_in(text: str) -> str:
    """Give the first word of a closing line that rejects, retracts or outweighs a PASS."""
    folded = skeleton(text)
    found = _first(_REJECTION, compiled(_SUGGESTED).sub(" ", without_denials(folded)))
    return found or _foreign_letter_in(folded)


def unread_in(text: str) -> str:
    """Give what says that no review took place, or finds a fault in other words."""
    return _first(_UNREAD, without_denials(skeleton(text)))


def fault_in(text: str) -> str:
    """Give the first words that find a fault in the note, else an empty string."""
    return _first(_FAULT, without_denials(skeleton(text)))


def without_denials(folded: str) -> str:
    """Take out what denies a fault ("no warnings", "does not contradict itself")."""
    return compiled(_DENIED_FAULT).sub(" ", compiled(_NEGATED).sub(" ", folded))


def graver_words_in(text: str) -> str:
    """Give the first word that names a WARN, FAIL or ERROR without denying it."""
    return _first(_GRAVER, compiled(_NEGATED).sub(" ", fold(text)))


def _turn_in(after: str) -> str:
    if after[:1].islower() or after.startswith(_CONTINUATION):
        return doubt_in(_split_sentence(after)[0])
    found = compiled(_TURN).match(fold(after[:200]))
    return found[1] if found else ""


def _first(pattern: str, text: str) -> str:
    found = compiled(pattern).search(text)
    return found[0] if found else ""


def _split_sentence(text: str) -> tuple[str, str]:
    for found in compiled(_SENTENCE_END).finditer(text):
        after = found[1] or ""
        head = text[max(0, found.start() - _ABBREVIATION_LENGTH) : found.start()]
        if text[found.start() - 1 : found.start()] == "." and found.start():
            continue  # an ellipsis trails off, it does not end
        if after.islower() or after.isdigit() or compiled(_ABBREVIATION).search(head):
            continue
        return text[: found.end()], text[found.end() :]
    return text, ""


def _foreign_letter_in(folded: str) -> str:
    if folded.isascii():
        return ""
    return next((char for char in folded if char.isalpha() and ord(char) > _LAST_LATIN), "")
