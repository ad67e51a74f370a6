"""Gates: what a gate file declares, what is wrong with it, and what a name stands for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review.knowledge_base import AmbiguousGate, Gate, UnknownGate, UnreadableFile
from review.knowledge_base.gate_definition import ALL_REGIONS, read_gate
from review.vocabulary import Region, Severity
from tests.unit.knowledge_base.builders import link, make_config, make_corpus, problem_codes, write

FOLDER = "kb/instructions/review-gates"
PATH = f"{FOLDER}/prose/x.md"
BODY = "\n## Failure mode\n\nIt is there.\n"


def definition(frontmatter: str, body: str = BODY):
    return read_gate(path=PATH, gate_id="prose/x", text=f"---\n{frontmatter}\n---\n{body}")


def write_gate(root: Path, gate_id: str, text: str = BODY) -> None:
    write(root, f"{FOLDER}/{gate_id}.md", text)


class TestDefinition:
    def test_reads_all_keys(self):
        found = definition(
            "type: kb/types/review-gate.md\ngate_id: prose/x\nname: An x\nlens: prose\n"
            "watches: [title, body]\nstaleness: rewrite(0.5)\nrequires_type: [kb/types/a.md, b]\n"
            "requires_trait: sourced\napplies_to: docs/adr/\nlanguage: EN\ndescription: What it finds\nrule: bare-urls\n"
            "reads: links\nseverity: Warn"
        )

        assert found.problems == ()
        assert (found.name, found.description, found.rule) == ("An x", "What it finds", "bare-urls")
        assert found.watches == {Region.TITLE, Region.BODY}
        assert found.rewrite_threshold == 0.5
        assert (found.reads_links, found.severity) == (True, Severity.WARN)
        wanted = found.requirement
        assert wanted.types == ("kb/types/a.md", "b")
        assert (wanted.traits, wanted.places) == (("sourced",), ("docs/adr/",))
        assert wanted.language == "en"

    @pytest.mark.parametrize("text", [BODY, "---\n---\n" + BODY, "\ufeff---\r\n---\r\n" + BODY])
    def test_has_defaults_that_judge_everything(self, text):
        found = read_gate(path=PATH, gate_id="prose/x", text=text)

        assert found.problems == ()
        assert found.name == "x"
        assert found.watches == ALL_REGIONS
        assert found.rewrite_threshold is None
        assert not found.reads_links
        assert found.requirement.types == found.requirement.traits == ()

    def test_reads_a_type_relative_to_the_gate(self):
        found = definition("requires_type: ../../../types/x.md")

        assert found.requirement.types == ("kb/types/x.md",)

    @pytest.mark.parametrize(
        ("frontmatter", "code", "line"),
        [
            pytest.param("name: a: b", "invalid-frontmatter", 2, id="broken-yaml"),
            pytest.param("[]", "invalid-frontmatter", 2, id="a-list"),
            pytest.param("name: x\nrequires_trait: 5", "invalid-gate", 3, id="number"),
            pytest.param("name: x\nrequires_trait: []", "invalid-gate", 3, id="empty-list"),
            pytest.param("requires_trait:", "invalid-gate", 2, id="blank"),
            pytest.param("requires_trait: [{a: b}]", "invalid-gate", 2, id="mapping-in-list"),
            pytest.param("requires_trait: {a: b}", "invalid-gate", 2, id="mapping"),
            pytest.param("requires_trait: [good, 7]", "invalid-gate", 2, id="one-of-two"),
            pytest.param("requires_trait: null", "invalid-gate", 2, id="null"),
            pytest.param("requires_type: 5", "invalid-gate", 2, id="type"),
            pytest.param("name: x\nrequire_trait: a", "invalid-gate", 3, id="typo"),
            pytest.param("requires-trait: a", "invalid-gate", 2, id="dash"),
            pytest.param("Requires_Type: a", "invalid-gate", 2, id="capitals"),
            pytest.param("trait: a", "invalid-gate", 2, id="short-form"),
            pytest.param("required_types: a", "invalid-gate", 2, id="another-word"),
            pytest.param("name: [x]", "invalid-gate", 2, id="name-no-text"),
            pytest.param("rule: {a: b}", "invalid-gate", 2, id="rule-no-text"),
        ],
    )
    def test_keeps_a_gate_out_that_might_judge_the_wrong_notes(self, frontmatter, code, line):
        found = definition(frontmatter)

        assert [(str(p.code), p.line, p.skipped) for p in found.problems] == [(code, line, True)]
        assert found.problems[0].message.startswith(f"line {line}: ")

    def test_keeps_a_gate_out_whose_frontmatter_never_closes(self):
        found = read_gate(path=PATH, gate_id="prose/x", text="---\nname: x\n" + BODY)

        assert [(str(p.code), p.skipped) for p in found.problems] == [
            ("unclosed-frontmatter", True)
        ]

    def test_keeps_a_gate_out_whose_merge_is_not_finished(self):
        found = definition("name: x", "<<<<<<< HEAD\nOne.\n=======\nTwo.\n>>>>>>> other\n")

        assert [(str(p.code), p.skipped) for p in found.problems] == [("merge-conflict", True)]

    @pytest.mark.parametrize("body", ["", "\n \n", "\t"])
    def test_keeps_a_gate_out_that_says_nothing(self, body):
        found = definition("name: x", body)

        assert [(str(p.code), p.skipped) for p in found.problems] == [("empty-gate", True)]

    @pytest.mark.parametrize(
        ("frontmatter", "code", "hint"),
        [
            pytest.param("descripton: y", "unknown-key", "did you mean `description`?", id="near"),
            pytest.param("zzz: y", "unknown-key", "known: type, gate_id", id="far"),
            pytest.param("gate_id: prose/y", "gate-id-mismatch", "'prose/x'", id="id"),
            pytest.param("lens: style", "gate-id-mismatch", "'prose'", id="lens"),
            pytest.param("staleness: rewrite(2)", "invalid-gate", "Taken as `changed`", id="rule"),
            pytest.param("reads: everything", "invalid-gate", "expected `links`", id="reads"),
            pytest.param("reads: [links, x]", "invalid-gate", "'links', 'x'", id="reads-more"),
            pytest.param("reads: {a: b}", "invalid-gate", "no name", id="reads-mapping"),
            pytest.param("staleness: sometimes", "invalid-gate", "rewrite(0.5)", id="word"),
            pytest.param("severity: fail\nrule: bare-urls", "invalid-gate", "`warn`", id="fail"),
            pytest.param("severity: warn", "invalid-gate", "a key `rule`", id="severity-alone"),
        ],
    )
    def test_reports_what_changes_nothing_for_any_note(self, frontmatter, code, hint):
        found = definition(f"name: x\n{frontmatter}")

        assert [(str(p.code), p.line, p.skipped) for p in found.problems] == [(code, 3, False)]
        assert hint in found.problems[0].message
        assert found.rewrite_threshold is None

    @pytest.mark.parametrize(
        ("written", "watched"),
        [
            ("body", {Region.BODY}),
            ("[title, description, frontmatter, body]", set(Region)),
            ("title, body", {Region.TITLE, Region.BODY}),
            ("[body, body]", {Region.BODY}),
        ],
    )
    def test_reads_what_a_gate_watches(self, written, watched):
        found = definition(f"watches: {written}")

        assert found.watches == watched
        assert found.problems == ()

    @pytest.mark.parametrize(
        "written", ["[titel, body]", "[]", "", "{body: yes}", "Body", "5", "[[body]]"]
    )
    def test_watches_everything_where_it_cannot_tell(self, written):
        found = definition(f"name: x\nwatches: {written}")

        assert found.watches == ALL_REGIONS
        assert [(str(p.code), p.line, p.skipped) for p in found.problems] == [
            ("unknown-watch", 3, False)
        ]

    @given(st.text(max_size=200))
    def test_is_given_for_any_text(self, text):
        found = read_gate(path=PATH, gate_id="prose/x", text=f"---\n{text}\n---\n{BODY}")

        assert found.watches
        assert all(problem.path == PATH for problem in found.problems)


class TestCatalog:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        for gate_id in ("prose/a", "prose/b", "prose/nested/c", "semantic/a"):
            write_gate(tmp_path, gate_id)
        return tmp_path

    def ids(self, gates: tuple[Gate, ...]) -> list[str]:
        return [gate.gate_id for gate in gates]

    def test_takes_a_gates_id_and_lens_from_its_path(self, root):
        catalog = make_corpus(root).gates

        assert self.ids(catalog.gates) == ["prose/a", "prose/b", "prose/nested/c", "semantic/a"]
        assert [gate.lens for gate in catalog.gates] == ["prose", "prose", "prose", "semantic"]
        assert catalog.gates[0].path == f"{FOLDER}/prose/a.md"
        assert catalog.gates[0].text == BODY
        assert catalog.problems == ()

    @pytest.mark.parametrize(
        ("names", "ids"),
        [
            pytest.param(["prose/a"], ["prose/a"], id="id"),
            pytest.param([f"{FOLDER}/prose/a.md"], ["prose/a"], id="path"),
            pytest.param([f"./{FOLDER}/prose/a.md"], ["prose/a"], id="dotted-path"),
            pytest.param(["prose/a.md"], ["prose/a"], id="id-with-ending"),
            pytest.param(["prose"], ["prose/a", "prose/b", "prose/nested/c"], id="bundle"),
            pytest.param(["prose/"], ["prose/a", "prose/b", "prose/nested/c"], id="bundle-slash"),
            pytest.param(
                [f"{FOLDER}/prose"], ["prose/a", "prose/b", "prose/nested/c"], id="folder"
            ),
            pytest.param(["prose/nested"], ["prose/nested/c"], id="nested-bundle"),
            pytest.param(
                ["semantic", "prose/b", "semantic/a"], ["prose/b", "semantic/a"], id="many"
            ),
            pytest.param(
                [FOLDER], ["prose/a", "prose/b", "prose/nested/c", "semantic/a"], id="all"
            ),
            pytest.param([], [], id="none"),
        ],
    )
    def test_resolves_names(self, root, names, ids):
        assert self.ids(make_corpus(root).gates.resolve(names)) == ids

    @pytest.mark.parametrize(
        ("name", "hint"),
        [
            pytest.param("prose/aa", "prose/a", id="near-a-gate"),
            pytest.param("semantics", "semantic", id="near-a-bundle"),
            pytest.param("pros", "prose", id="prefix-of-a-bundle"),
            pytest.param("Prose/a", "prose/a", id="other-case"),
            pytest.param("", "resolve_gates", id="empty"),
            pytest.param("/", "resolve_gates", id="slash"),
            pytest.param("../../notes/a", "", id="outside"),
        ],
    )
    def test_refuses_unknown_names_with_what_is_near(self, root, name, hint):
        with pytest.raises(UnknownGate) as caught:
            make_corpus(root).gates.resolve(["prose/a", name])

        assert repr(name) in caught.value.message
        assert hint in caught.value.hint
        assert caught.value.exit_code == 5

    def test_refuses_a_name_that_is_a_gate_and_a_folder(self, root):
        write_gate(root, "prose/nested")
        catalog = make_corpus(root).gates

        with pytest.raises(AmbiguousGate) as caught:
            catalog.resolve(["prose/nested"])

        assert caught.value.exit_code == 5
        assert self.ids(catalog.resolve(["prose/nested/"])) == ["prose/nested/c"]
        assert self.ids(catalog.resolve([f"{FOLDER}/prose/nested.md"])) == ["prose/nested"]
        assert self.ids(catalog.resolve(["prose/nested.md"])) == ["prose/nested"]

    def test_knows_a_gate_that_cannot_be_used(self, root):
        write_gate(root, "prose/bad", "---\nrequires_trait: 5\n---\n" + BODY)
        catalog = make_corpus(root).gates

        assert catalog.resolve(["prose/bad"]) == ()
        assert problem_codes(catalog.problems_of(["prose/bad"])) == {
            f"{FOLDER}/prose/bad.md": "invalid-gate"
        }
        assert catalog.problems_of(["semantic"]) == ()
        assert len(catalog.problems_of(["prose"])) == 1

    @pytest.mark.parametrize(
        ("content", "code"),
        [
            pytest.param(b"", "empty-gate", id="empty"),
            pytest.param(b"\n\n", "empty-gate", id="blank"),
            pytest.param(b"\xff", "not-utf8", id="not-utf8"),
            pytest.param(b"a\x00", "contains-nul", id="nul"),
            pytest.param(b"x" * 100_001, "too-large", id="too-large"),
        ],
    )
    def test_leaves_a_bad_file_out_and_goes_on(self, root, content, code):
        write(root, f"{FOLDER}/prose/bad.md", content)

        catalog = make_corpus(root).gates

        assert problem_codes(catalog.problems) == {f"{FOLDER}/prose/bad.md": code}
        assert catalog.problems[0].skipped
        assert len(catalog.gates) == 4
        assert catalog.resolve(["prose/bad"]) == ()

    def test_refuses_a_gate_without_a_lens_folder(self, root):
        write_gate(root, "stray")

        catalog = make_corpus(root).gates

        assert problem_codes(catalog.problems) == {f"{FOLDER}/stray.md": "invalid-gate"}
        assert catalog.problems[0].skipped
        assert len(catalog.gates) == 4

    @pytest.mark.parametrize(("length", "used"), [(200, True), (201, False)])
    def test_takes_a_lens_that_every_store_can_hold(self, root, length, used):
        write_gate(root, f"{'l' * length}/x")

        catalog = make_corpus(root).gates

        assert (len(catalog.gates) == 5) is used
        assert bool(catalog.problems) is not used

    @pytest.mark.parametrize("name", ["README", "prose/README", "prose/index", "prose/Readme"])
    def test_takes_no_documentation_for_a_gate(self, root, name):
        write_gate(root, name, "")

        catalog = make_corpus(root).gates

        assert len(catalog.gates) == 4
        assert catalog.problems == ()

    def test_takes_no_hidden_file_for_a_gate(self, root):
        write_gate(root, "prose/.draft")

        assert len(make_corpus(root).gates.gates) == 4

    def test_takes_links_inside_the_root_and_reports_those_that_lead_out(self, tmp_path):
        root = tmp_path / "root"
        write(tmp_path, "outside/x.md", BODY)
        write(root, "beyond/x.md", BODY)
        link(root, f"{FOLDER}/prose/in.md", "../../../../beyond/x.md")
        link(root, f"{FOLDER}/prose/out.md", "../../../../../outside/x.md")

        catalog = make_corpus(root).gates

        assert self.ids(catalog.gates) == ["prose/in"]
        assert problem_codes(catalog.problems) == {f"{FOLDER}/prose/out.md": "outside-root"}

    def test_says_that_there_is_no_gates_folder(self, tmp_path):
        (tmp_path / "kb").mkdir()

        catalog = make_corpus(tmp_path).gates

        assert problem_codes(catalog.problems) == {FOLDER: "vanished"}
        with pytest.raises(UnknownGate, match="no gate and no bundle"):
            catalog.resolve(["prose"])

    def test_reads_another_gates_folder(self, tmp_path):
        write(tmp_path, "gates/prose/a.md", BODY)

        catalog = make_corpus(tmp_path, gates_folder="gates").gates

        assert self.ids(catalog.resolve(["gates/prose/a.md"])) == ["prose/a"]

    def test_reports_rules_that_do_not_exist(self, root):
        write_gate(root, "prose/a", "---\nname: a\nrule: missing-titel\n---\n" + BODY)
        write_gate(root, "prose/b", "---\nrule: missing-title\n---\n" + BODY)

        catalog = make_corpus(root).gates

        (problem,) = catalog.problems
        assert (problem.path, str(problem.code)) == (f"{FOLDER}/prose/a.md", "unknown-rule")
        assert (problem.line, problem.skipped) == (3, False)
        assert "missing-title" in problem.message
        assert len(catalog.gates) == 4

    def test_gives_one_gate_by_path(self, root):
        write_gate(root, "prose/bad", "")
        corpus = make_corpus(root)

        assert corpus.gate(f"{FOLDER}/prose/a.md").gate_id == "prose/a"
        for name, code in (("bad", "empty-gate"), ("none", "vanished")):
            with pytest.raises(UnreadableFile) as caught:
                corpus.gate(f"{FOLDER}/prose/{name}.md")
            assert str(caught.value.problem.code) == code


class TestRememberedGates:
    def test_are_given_whole(self, tmp_path):
        write_gate(
            tmp_path,
            "prose/a",
            "---\nname: A\nwatches: [titel]\nstaleness: rewrite(0.25)\nrequires_type: b\n"
            "requires_trait: [c, d]\nrule: r\ndescription: e\n---\n" + BODY,
        )
        write_gate(tmp_path, "prose/bad", "---\nrequire_trait: x\n---\n" + BODY)
        with make_corpus(tmp_path) as corpus:
            first = corpus.gates

        second = make_corpus(tmp_path).gates

        assert second == first
        assert second == make_corpus(tmp_path, use_cache=False).gates
        assert len(second.problems) == 3

    def test_follow_every_change_of_the_file_even_within_one_tick(self, tmp_path):
        write_gate(tmp_path, "prose/a", "---\nname: A\n---\n" + BODY)
        with make_corpus(tmp_path) as corpus:
            assert corpus.gates.gates[0].name == "A"
        write_gate(tmp_path, "prose/a", "---\nname: B\n---\n" + BODY)

        assert make_corpus(tmp_path).gates.gates[0].name == "B"

    def test_are_dropped_when_deleted_and_else_written_once(self, tmp_path):
        write_gate(tmp_path, "prose/a")
        write_gate(tmp_path, "prose/b")
        index_path = make_config(tmp_path).index_path
        with make_corpus(tmp_path) as corpus:
            assert len(corpus.gates.gates) == 2
        full = index_path.stat()
        with make_corpus(tmp_path) as corpus:
            assert len(corpus.gates.gates) == 2
        assert index_path.stat().st_mtime_ns == full.st_mtime_ns
        (tmp_path / FOLDER / "prose/b.md").unlink()

        with make_corpus(tmp_path) as corpus:
            assert len(corpus.gates.gates) == 1

        assert index_path.stat().st_size < full.st_size
