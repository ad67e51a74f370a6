"""Reads what follows a PASS in its own line: each sentence of it is audited, in English or not at all."""

from __future__ import annotations

from functools import cache

from review.protocol.claims import claim_in, count_in
from review.protocol.declarations import bare_item, read_statement
from review.protocol.doubts import fault_in, rejection_in
from review.protocol.folding import compiled, skeleton
from review.protocol.review_lines import Place, ReviewLine

_SENTENCE_END = r"(?<=[.!?])[\"'\u201d\u2019)\]*_`]*\s+"
_MENTIONED = r"`[^`\n]{0,300}`|\"[^\"\n]{0,300}\"|\u201c[^\u201d\n]{0,300}\u201d|'[^'\n]{1,300}'(?!\w)|\([^()]{0,300}\)"
_WISH = r"\bshould be (?:a bit |somewhat )?\w+er\b"
_LETTERS = r"[^\W\d_]{2,}"
# Words that carry an English sentence, and those that reviews are made of.
_ENGLISH = (
    "the a an is are was were be been has have had and or of to in on at by for from with as it its this that these those "
    "there they them their which who what where each every all any both no none nothing not does do did only one two three four "
    "five six seven here above below than so too very well now also just after before while if but still into over under same "
    "between through about we i my our you your out up down more most some such own can will would"
)
_REVIEW_WORDS = (
    "pass passes clean clear clearly narrow narrowly marginal marginally borderline minor mild strong solid good fine easily "
    "comfortably info infos information unconditional unconditionally final confirmed yes true ok okay trivial optional note notes "
    "title body text claim claims term terms link links source sources sourced cited citation citations defined linked named used "
    "supported checks checked instance instances found finding findings remark remarks suggestion suggestions nit nits issue issues "
    "warn warns warning warnings fail fails failure failures error errors present absent match matches agree agrees resolve resolves "
    "expanded explained stated states holds hold gate criterion criteria met satisfied acronym acronyms abbreviation abbreviations "
    "example examples heading headings lead summary section sections paragraph paragraphs sentence sentences line lines evidence "
    "consistent correct accurate readable unchanged cosmetic stylistic observation observations contradiction contradictions date dates "
    "absolute scope single subject well-formed correctly properly throughout review reviewed quoted quotes references reference reads "
    "jargon placeholder placeholders template wording style tone precise specific high confidence"
)
_KNOWN = f"{_ENGLISH} {_REVIEW_WORDS}"
# German, French, Spanish and its neighbours, Dutch and the North, and others.
_FOREIGN = (
    "doch wobei sofern wenn bis auf mit nur teilweise unter der das ist sind und nicht oder ein eine einer einem wird werden bleibt "
    "bleiben dass dennoch jedoch abgesehen vorausgesetzt knapp ohne fur von zum zur beim weil aber sonst bedingt eher "
    "est sont sous reserve le les des du une et ou ne que qui pour avec sans dans sur hormis neanmoins partiellement condition si "
    "meme quand lorsque moins cela ce cette il elle mais pas fait en "
    "el los las y con sin por para siempre obstante parcialmente se son pero cuando falta di lo gli che della pero condizione "
    "desde os uma com sem quando tuttavia benche purche anche ma nao mas porem salvo sino aunque menos la "
    "mits tenzij het een van niet als op voorwaarde dat wordt hvis og er ikke inte och att det men dersom forutsatt medan utom dock dog "
    "forutom undtagen bortset "
    "jesli jednak ze sie pod warunkiem pokud avsak azonban ha mutta jos insa daca ancak eger fakat tapi namun jika kecuali nhung neu tuy "
    "nhien tamen nisi sed"
)
_MIN_SHARE = 0.25


def tail_problem(line: ReviewLine) -> str:
    """Give what the rest of a line that declares a PASS holds against it, else an empty string."""
    statement = read_statement(bare_item(line.text), level=line.level, after_label=True)
    if statement is None:
        return ""
    tail = statement.tail.replace("*", "").replace("__", "")
    for at, part in enumerate(compiled(_SENTENCE_END).split(tail)):
        sentence = part.strip(" .,:;\u2013\u2014-\t")
        if sentence and (word := _against(sentence, line.number, first=at == 0)):
            return word
    return ""


def odd_remark_in(tail: str) -> str:
    """Give what makes a parenthesis behind the exact result line something else than a remark."""
    return _foreign_in(tail.strip(" ()"), share=0.5)


def _against(sentence: str, number: int, *, first: bool) -> str:
    line = ReviewLine(number, sentence, Place.BODY, 0, True, "", False)
    word = claim_in(line) or _foreign_in(sentence)
    if word or first:
        return word
    # "The table should be shorter" is a wish, "should be defined" a fault.
    sentence = compiled(_WISH).sub(" ", sentence)
    return count_in(line) or rejection_in(sentence) or fault_in(sentence)


def _foreign_in(sentence: str, *, share: float = _MIN_SHARE) -> str:
    """Give a word that shows a sentence to be no plain English, else an empty string."""
    shown = compiled(_MENTIONED).sub(" ", sentence)
    words = compiled(_LETTERS).findall(shown)
    if odd := next((word for word in words if not word.isascii() and not word[:1].isupper()), ""):
        return odd
    foreign, known = _words(_FOREIGN), _words(_KNOWN)
    folded = [skeleton(word) for word in words]
    if word := next((word for word in folded if word in foreign), ""):
        return word
    number = sum(word in known for word in folded)
    return words[0] if words and number < share * len(words) else ""


@cache
def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())
