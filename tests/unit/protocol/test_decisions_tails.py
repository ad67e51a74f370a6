"""What stands behind a PASS in its own line is read sentence by sentence."""

from __future__ import annotations

import pytest

from review.protocol.decisions import read_decision
from review.vocabulary import Decision

HEADS = (
    "PASS. {}", "**PASS.** {}", "**Pass.** The prose is plain. {}", "Verdict: PASS. {}", "**Verdict: PASS.** {}",
    "Result: PASS. The lead is short. {}", "PASS \u2014 the lead is short. {}", "PASS: fine. {}", "Clean pass. {}",
    "### Summary\nA note.\n\nOutcome: PASS. {}",
)  # fmt: skip
AGAINST = (
    "This note fails.", "That is no pass.", "Rejected.", "We take that back.", "I have changed my verdict.", "Disregard the above.",
    "The criterion is not satisfied.", "Criterion met? No.", "Do not merge this.", "Blocked: yes", "TODO: open the note.",
    "Four claims have no citation.", "We skimmed only the lead.", "This is a stub until the note arrives.", "The rule fires on line 7.",
    "Paragraph 2 trips the criterion.", "The title disagrees with its body, so FAIL.", "The lead is at odds with the title.",
    "`quorum` is used without an explanation.", "It infringes the rule.", "The note falls well short of the standard.",
    "Recommendation: major revision.", "Compliance: 35%", "Quality: bad", "Violations: 2", "Approved: no", "Acceptable: false",
    "I did not open the note.", "The failure mode occurs in section 3.", "There are contradictions in it.", "Please rewrite the lead.",
    "Der Titel widerspricht dem Text.", "Le titre contredit le corps.", "El t\u00edtulo contradice el texto.",
)  # fmt: skip
FOR = (
    "The title matches the body.", "Each claim has a source.", "All terms are defined where they first appear.",
    "No instance of the failure mode was found.", "Nothing to report.",
    "It never contradicts itself.", "No line triggers the gate.", "The table should be wider, and it reads well.",
    "Every acronym is expanded on first use.", "The three links resolve.",
    "The note gives the date, the place and the person.", "Readers get the point from the first paragraph.",
)  # fmt: skip


class TestALaterSentenceOfTheLine:
    @pytest.mark.parametrize("sentence", AGAINST)
    @pytest.mark.parametrize("head", HEADS)
    def test_takes_the_pass_back(self, head, sentence):
        assert read_decision(head.format(sentence)).decision is not Decision.PASS

    @pytest.mark.parametrize("sentence", FOR)
    @pytest.mark.parametrize("head", HEADS)
    def test_gives_a_reason_for_it(self, head, sentence):
        assert read_decision(head.format(sentence)).decision is Decision.PASS

    def test_is_read_however_far_behind_it_stands(self):
        tail = "The lead is short. " * 400

        assert read_decision(f"PASS. {tail}The note fails.").decision is Decision.UNKNOWN


FOREIGN = (
    "sofern der Titel stimmt", "wobei die Quelle offen bleibt", "unter Vorbehalt", "mit kleinen Abstrichen", "unless renommé",
    "sous réserve d'un ajout", "à condition de corriger le titre", "siempre que se cite la fuente", "con reservas", "no obstante la fuente",
    "a patto che il titolo cambi", "desde que o título mude", "mits de titel klopt", "hvis titelen stemmer", "förutsatt att titeln ändras",
    "jeśli tytuł się zgadza", "pokud nadpis sedí", "mutta otsikko puuttuu", "ancak ba\u015fl\u0131k eksik", "asalkan judulnya diganti",
    "nhưng tiêu đề sai", "но без источника", "但标题不对", "ただし出典なし",
)  # fmt: skip
KNOWN = (
    "narrowly", "marginal", "borderline", "no instances", "all terms defined", "every claim is sourced", "title and body agree",
    "the links resolve", "2 INFO", "nothing found", "each acronym is expanded", "with one INFO", "clearly",
)  # fmt: skip


class TestTheRestOfItsSentence:
    @pytest.mark.parametrize("tail", FOREIGN)
    @pytest.mark.parametrize(
        "head", ["PASS, {}", "Verdict: PASS \u2013 {}", "PASS: {}", "**PASS** - {}"]
    )
    def test_is_doubt_in_any_other_language(self, head, tail):
        assert read_decision(head.format(tail)).decision is Decision.UNKNOWN

    @pytest.mark.parametrize("tail", KNOWN)
    @pytest.mark.parametrize(
        "head", ["Verdict: PASS, {}", "Verdict: PASS \u2013 {}", "**PASS** - {}"]
    )
    def test_leaves_the_pass_where_it_is_plain(self, head, tail):
        assert read_decision(head.format(tail)).decision is Decision.PASS


REMARKS = (
    "(all sources resolve)", "(title agrees with body)", "(minor stylistic remark)", "(trivial)", "(see INFO above)", "(nothing to change)",
    "(0/4 criteria violated)", "(unchanged)", "(each term is defined)", "(3 INFO)",
)  # fmt: skip
DOUBTS = (
    "(if renamed)", "(once sourced)", "(no)", "(see WARN above)", "(1/4 criteria met)", "(withheld)", "(red flag)", "(sofern belegt)",
    "(to be confirmed)", "(partly)", "(one term is undefined)",
)  # fmt: skip


class TestAParenthesisOfTheResultLine:
    @pytest.mark.parametrize("remark", REMARKS)
    def test_without_doubt_leaves_its_word(self, remark):
        assert read_decision(f"A note.\n\n## Result: PASS {remark}").decision is Decision.PASS

    @pytest.mark.parametrize("doubt", DOUBTS)
    def test_of_doubt_takes_it_back(self, doubt):
        assert read_decision(f"A note.\n\n## Result: PASS {doubt}").decision is Decision.UNKNOWN
