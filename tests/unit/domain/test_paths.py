"""Paths, ids, fingerprints and artifact names keep their identity."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.domain.paths import (
    BadPath,
    fingerprint,
    gate_id_of,
    gate_path_of,
    lens_of,
    name_problem,
    near_matches,
    normalise_path,
    normalise_prose,
    path_below,
    sha256_hex,
    slug,
)

GATES = "kb/instructions/review-gates"
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))


class TestPathBelow:
    @pytest.mark.parametrize(
        "raw", ["kb/a.md", "./kb/a.md", "/srv/base/kb/a.md", "/srv/base//kb/a.md/"]
    )
    def test_takes_what_a_person_may_write(self, raw):
        assert path_below("/srv/base", raw) == "kb/a.md"

    @pytest.mark.parametrize(
        ("raw", "said"),
        [
            pytest.param("/etc", "outside the repository root /srv/base", id="elsewhere"),
            pytest.param("/srv/base2/a.md", "outside the repository root", id="a-longer-name"),
            pytest.param("/srv/base", "is the repository root", id="the-root"),
            pytest.param("/srv/base/", "is the repository root", id="the-root-as-a-folder"),
            pytest.param("/srv/base/../x", "contains '..'", id="by-the-way-up"),
            pytest.param("", "names no file", id="nothing"),
        ],
    )
    def test_says_what_is_wrong(self, raw, said):
        with pytest.raises(BadPath, match=re.escape(said)):
            path_below("/srv/base", raw)


class TestNormalisePath:
    @pytest.mark.parametrize(
        ("raw", "path"),
        [
            pytest.param("kb/notes/a.md", "kb/notes/a.md", id="already-normal"),
            pytest.param("./kb/./notes//a.md", "kb/notes/a.md", id="dots-and-doubled-slashes"),
            pytest.param("kb/notes/", "kb/notes", id="folder-with-trailing-slash"),
            pytest.param("kb/notes/U\u0308ber.md", "kb/notes/\u00dcber.md", id="decomposed-accent"),
            pytest.param(
                "kb/-n :: 'x' #1 \U0001f600.md", "kb/-n :: 'x' #1 \U0001f600.md", id="odd-but-legal"
            ),
            pytest.param("kb/a\\b.md", "kb/a\\b.md", id="backslash-is-a-character"),
            pytest.param("kb/diff", "kb/diff", id="named-like-a-route"),
            pytest.param("kb/..a/b...md", "kb/..a/b...md", id="dots-inside-a-name"),
            pytest.param("kb/" + "n" * 250 + ".md", "kb/" + "n" * 250 + ".md", id="long-name"),
        ],
    )
    def test_gives_one_spelling(self, raw, path):
        assert normalise_path(raw) == path

    @pytest.mark.parametrize(
        ("raw", "reason"),
        [
            pytest.param("", "names no file", id="empty"),
            pytest.param("././", "names no file", id="only-dots"),
            pytest.param("/etc/passwd", "absolute", id="absolute"),
            pytest.param("kb/../../x.md", "'..'", id="climbs"),
            pytest.param("..", "'..'", id="parent"),
            pytest.param("kb/a\nb.md", "U+000A", id="line-feed"),
            pytest.param("kb/a\x00.md", "U+0000", id="nul"),
            pytest.param("kb/a\x1b[31m.md", "U+001B", id="escape"),
            pytest.param("kb/a\x7f.md", "U+007F", id="delete"),
            pytest.param("kb/a\x85.md", "U+0085", id="c1"),
            pytest.param("kb/a\u2028.md", "U+2028", id="line-separator"),
            pytest.param("kb/a\u202egnp.md", "U+202E", id="bidi-override"),
            pytest.param("kb/a\u2066.md", "U+2066", id="bidi-isolate"),
            pytest.param("kb/a\udcff.md", "U+DCFF", id="undecodable-byte"),
            pytest.param("kb/" + "\u00e4" * 1279, "2561 bytes", id="too-long-in-bytes"),
        ],
    )
    def test_refuses_what_names_no_file_below_the_root(self, raw, reason):
        with pytest.raises(BadPath) as refused:
            normalise_path(raw)

        assert reason in refused.value.message
        assert refused.value.message.isprintable()

    def test_takes_the_longest_path(self):
        assert name_problem("kb/" + "a" * 2557) == ""

    @settings(deadline=None)
    @given(ANY_TEXT)
    def test_refuses_or_gives_a_fixpoint(self, raw):
        try:
            path = normalise_path(raw)
        except BadPath:
            return

        assert normalise_path(path) == path
        assert unicodedata.is_normalized("NFC", path)
        assert not {"", ".", ".."}.intersection(path.split("/"))
        assert name_problem(path) == ""


class TestGateIds:
    @pytest.mark.parametrize("gate_id", ["prose/source-residue", "a/b/c", "top", "prose/x.md"])
    def test_path_and_id_are_inverse(self, gate_id):
        path = gate_path_of(gate_id, gates_folder=GATES)

        assert path == f"{GATES}/{gate_id}.md"
        assert gate_id_of(path, gates_folder=GATES) == gate_id

    @pytest.mark.parametrize(
        "path",
        [
            "kb/notes/a.md",
            f"{GATES}/prose/x.txt",
            f"{GATES}.md",
            f"{GATES}/.md",
            f"{GATES}/prose/.md",
        ],
    )
    def test_refuses_a_path_that_is_no_gate(self, path):
        with pytest.raises(BadPath):
            gate_id_of(path, gates_folder=GATES)

    @pytest.mark.parametrize("gate_id", ["../x", "/etc/x", "", "a\nb"])
    def test_refuses_an_id_that_leaves_the_folder(self, gate_id):
        with pytest.raises(BadPath):
            gate_path_of(gate_id, gates_folder=GATES)

    def test_the_lens_is_the_first_part(self):
        assert [lens_of(gate_id) for gate_id in ("prose/x", "a/b/c", "top")] == [
            "prose",
            "a",
            "top",
        ]


class TestFingerprint:
    BASE = {
        "note_path": "kb/notes/a.md",
        "gate_path": f"{GATES}/prose/x.md",
        "quote": "It is so.",
        "text": "no source",
    }

    def test_is_sixteen_hex_digits(self):
        value = fingerprint(**self.BASE)

        assert len(value) == 16
        assert int(value, 16) >= 0

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"quote": " it  is\nSO "}, id="case-and-spaces"),
            pytest.param({"quote": "\u201cIt is **so**.\u201d"}, id="quotation-marks-and-emphasis"),
            pytest.param({"text": "worded in another way"}, id="text-beside-a-quote"),
        ],
    )
    def test_holds_when_the_same_place_is_quoted(self, change):
        assert fingerprint(**self.BASE | change) == fingerprint(**self.BASE)

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"note_path": "kb/notes/b.md"}, id="note"),
            pytest.param({"gate_path": f"{GATES}/prose/y.md"}, id="gate"),
            pytest.param({"quote": "It is not so."}, id="quote"),
            pytest.param({"quote": ""}, id="no-quote"),
            pytest.param({"quote": "", "text": "It is so."}, id="text-with-the-words-of-the-quote"),
        ],
    )
    def test_differs_for_another_finding(self, change):
        assert fingerprint(**self.BASE | change) != fingerprint(**self.BASE)

    def test_a_blank_quote_counts_as_none(self):
        assert fingerprint(**self.BASE | {"quote": " > \n"}) == fingerprint(
            **self.BASE | {"quote": ""}
        )

    @settings(deadline=None)
    @given(ANY_TEXT, ANY_TEXT)
    def test_is_total(self, quote, text):
        assert len(fingerprint(note_path="a", gate_path="b", quote=quote, text=text)) == 16

    def test_prose_folds_to_plain_words(self):
        assert (
            normalise_prose("> The `Job`\u2019s\u00a0*state* \u2014 **done**\u2026")
            == "the job's state - done"
        )


class TestSlug:
    @pytest.mark.parametrize("text", ["claim-job", "A.b_c-1", "gpt-5-1-codex@max"])
    def test_keeps_a_safe_name(self, text):
        assert slug(text) == text

    @pytest.mark.parametrize(
        "text",
        [
            "",
            ".",
            "..",
            "-rf",
            ".hidden",
            "a/b",
            "a b",
            "日本",
            "name\n",
            "x" * 250,
            "a.",
            "@x",
            "\udcff",
        ],
    )
    def test_makes_any_text_a_bounded_file_name(self, text):
        name = slug(text)

        assert 0 < len(name) <= 80
        assert name.isascii()
        assert "/" not in name
        assert name[0] not in ".-@"
        assert name != text

    def test_two_long_names_do_not_meet(self):
        assert slug("x" * 250) != slug("x" * 251)
        assert slug("日本") != slug("日本語")

    @pytest.mark.parametrize("size", [8, 9, 20])
    def test_obeys_a_small_bound(self, size):
        assert len(slug("a long name with blanks", max_bytes=size)) <= size

    @settings(deadline=None)
    @given(ANY_TEXT, st.integers(8, 120))
    def test_is_total_and_stable(self, text, size):
        name = slug(text, max_bytes=size)

        assert name == slug(text, max_bytes=size)
        assert 0 < len(name.encode("ascii")) <= size
        assert name not in (".", "..")


class TestNearMatches:
    KNOWN = (
        "prose/source-residue",
        "prose/undefined-terms",
        "semantic/claim-drift",
        "frontmatter/title",
    )

    @pytest.mark.parametrize(
        ("word", "first"),
        [
            pytest.param("prose/source-residu", "prose/source-residue", id="typo"),
            pytest.param("source-residue", "prose/source-residue", id="lens-left-out"),
            pytest.param("residue", "prose/source-residue", id="part-of-the-name"),
            pytest.param("Frontmatter/Title", "frontmatter/title", id="case"),
        ],
    )
    def test_names_the_likeliest_first(self, word, first):
        assert near_matches(word, self.KNOWN)[0] == first

    def test_names_nothing_that_is_far(self):
        assert near_matches("zzzz", self.KNOWN) == ()

    def test_takes_a_word_of_any_kind(self):
        assert near_matches("\udcff" * 500, (*self.KNOWN, "\udcff")) == ()

    def test_is_quick_among_very_many(self):
        known = [f"kb/notes/folder-{n % 300}/some-note-{n}.md" for n in range(100_000)]
        started = time.process_time()

        assert near_matches("kb/notes/folder-17/some-not-617.md", known)[0].endswith("-617.md")
        assert time.process_time() - started < 10

    def test_is_the_same_for_any_order(self):
        assert near_matches("prose/s", self.KNOWN) == near_matches("prose/s", self.KNOWN[::-1])


def test_sha256_is_over_the_bytes():
    assert sha256_hex(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert sha256_hex(b"\xef\xbb\xbfa\r\n") != sha256_hex(b"a\n")
