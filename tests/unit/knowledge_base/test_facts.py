"""Facts: what a note's bytes say about status and kind, and which faults are named."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.knowledge_base.notes import facts_of
from tests.unit.knowledge_base.builders import problem_codes

PATH = "kb/notes/a.md"

LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
CONFLICT = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"


def facts(text: str):
    return facts_of(PATH, text.encode())


class TestFacts:
    def test_read_status_type_and_traits(self):
        found = facts(
            "---\ntype: ../types/claim.md\ntraits: [has-sources, long]\nstatus: current\n---\nBody\n"
        )

        assert found.status == "current"
        assert found.kind.type_path == "kb/types/claim.md"
        assert found.kind.traits == {"has-sources", "long"}
        assert found.kind.readable
        assert found.problems == ()

    @pytest.mark.parametrize("written", ["on", "0012", "1.10", "2024-12-19", "yes", "~", "Current"])
    def test_give_the_status_as_written(self, written):
        assert facts(f"---\nstatus: {written}\n---\nBody\n").status == written

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("# Title\n\nstatus: current\n", id="no-frontmatter"),
            pytest.param(
                "---\ntitle: x\n---\nBody\n\n---\nstatus: current\n---\n", id="rules-in-body"
            ),
            pytest.param("---\nstatus:\n---\nBody\n", id="blank"),
        ],
    )
    def test_have_no_status_where_none_is_declared(self, text):
        found = facts(text)

        assert found.status == ""
        assert found.kind.readable
        assert found.problems == ()

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("+++\nstatus = 'current'\n+++\nBody\n", id="toml"),
            pytest.param('{"status": "current"}\n\nBody\n', id="json"),
        ],
    )
    def test_are_read_from_toml_and_json_too(self, text):
        found = facts(text)

        assert (found.status, found.kind.readable) == ("current", True)
        assert found.problems == ()

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("\ufeff---\nstatus: current\n---\nBody\n", id="bom"),
            pytest.param("---\r\nstatus: current\r\n---\r\nBody\r\n", id="crlf"),
            pytest.param("---\nstatus: current\n...\nBody\n", id="closed-by-dots"),
            pytest.param("---\nstatus: current\n---", id="nothing-below"),
        ],
    )
    def test_survive_the_shapes_of_frontmatter(self, text):
        assert facts(text).status == "current"

    def test_hash_the_bytes_as_they_are(self):
        data = b"\xef\xbb\xbf# T\r\n"

        assert facts_of(PATH, data).sha256 == hashlib.sha256(data).hexdigest()

    @pytest.mark.parametrize(
        ("text", "code", "line"),
        [
            pytest.param("---\ntitle: a: b\n---\nBody\n", "invalid-frontmatter", 2, id="colon"),
            pytest.param("---\na: 1\n\tb: 2\n---\nBody\n", "invalid-frontmatter", 3, id="tab"),
            pytest.param("---\ntitle: x\n\nBody\n", "unclosed-frontmatter", 1, id="unclosed"),
            pytest.param("---\n- a\n---\nBody\n", "invalid-frontmatter", 2, id="list"),
            pytest.param("---\na: b\ntype: [x]\n---\nBody\n", "invalid-frontmatter", 3, id="type"),
            pytest.param(
                "---\ntraits: [{a: b}]\n---\nBody\n", "invalid-frontmatter", 2, id="traits"
            ),
        ],
    )
    def test_name_the_line_of_frontmatter_that_gates_cannot_rely_on(self, text, code, line):
        found = facts(text)

        assert [str(problem.code) for problem in found.problems] == [code]
        assert found.problems[0].line == line
        assert not found.problems[0].skipped
        assert not found.kind.readable

    def test_say_that_a_status_is_no_word_and_keep_the_kind(self):
        found = facts("---\ntype: kb/types/x.md\nstatus: [current]\n---\nBody\n")

        assert problem_codes(found.problems) == {PATH: "invalid-frontmatter"}
        assert found.status == ""
        assert found.kind.type_path == "kb/types/x.md"

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            pytest.param("x".encode("utf-16"), "not-utf8", id="utf-16"),
            pytest.param(b"a\x00b", "contains-nul", id="nul"),
            pytest.param(b"\xef\xbb\xbf \n", "empty-note", id="blank"),
        ],
    )
    def test_skip_what_is_no_text(self, data, code):
        found = facts_of(PATH, data)

        assert problem_codes(found.problems) == {PATH: code}
        assert found.problems[0].skipped

    @pytest.mark.parametrize(
        ("text", "code", "line"),
        [
            pytest.param(LFS_POINTER, "git-lfs-pointer", None, id="lfs"),
            pytest.param("/annex/objects/SHA256E-s9--4d.md\n", "git-lfs-pointer", None, id="annex"),
            pytest.param(f"\ufeff{LFS_POINTER}", "git-lfs-pointer", None, id="lfs-behind-a-bom"),
            pytest.param(
                "../.git/annex/objects/X/9/SHA256E-s9--4d.md\n",
                "git-lfs-pointer",
                None,
                id="unlocked",
            ),
            pytest.param(f"# T\n\n{CONFLICT}", "merge-conflict", 3, id="conflict"),
            pytest.param(f"\ufeff{CONFLICT}", "merge-conflict", 1, id="behind-a-bom"),
            pytest.param(
                "# T\n\n<<<<<<< HEAD\n```sh\nls\n=======\n```sh\nls -l\n>>>>>>> b\n```\n",
                "merge-conflict",
                3,
                id="around-a-fence",
            ),
            pytest.param(
                "<<<<<<<<< \na\n=========\nb\n>>>>>>>>>\n", "merge-conflict", 1, id="longer"
            ),
            pytest.param(
                "<<<<<<< conflict 1\n%%%%%%% diff\n-a\n+b\n+++++++ side\nc\n>>>>>>> conflict 1\n",
                "merge-conflict",
                1,
                id="of-jujutsu",
            ),
            pytest.param(f"---\n{CONFLICT}---\n", "merge-conflict", 2, id="in-frontmatter"),
        ],
    )
    def test_name_what_git_left_in_the_place_of_a_text(self, text, code, line):
        found = facts(text)

        assert problem_codes(found.problems) == {PATH: code}
        assert (found.problems[0].skipped, found.problems[0].line) == (True, line)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(f"# T\n\n```\n{CONFLICT}```\n", id="in-a-fence"),
            pytest.param(f"# T\n\n<pre>\n{CONFLICT}</pre>\n", id="in-pre"),
            pytest.param(
                f"{{% highlight text %}}\n{CONFLICT}{{% endhighlight %}}\n", id="in-a-shortcode"
            ),
            pytest.param(">>>>>>> b\n\nT\n=======\n\n<<<<<<< a\n", id="in-another-order"),
            pytest.param("T\n=======\n", id="an-underlined-heading"),
            pytest.param(f"About {LFS_POINTER}", id="a-pointer-in-a-sentence"),
        ],
    )
    def test_take_the_same_signs_for_text_elsewhere(self, text):
        assert facts(text).problems == ()

    @given(
        st.binary(max_size=200)
        | st.text(max_size=200).map(lambda text: text.encode("utf-8", "ignore"))
    )
    def test_are_given_for_any_bytes(self, data):
        found = facts_of(PATH, data)

        assert found.sha256 == hashlib.sha256(data).hexdigest()
        assert all(problem.path == PATH for problem in found.problems)
