"""Link tables: what each link of a note means among the files that are really there."""

from __future__ import annotations

import unicodedata

import pytest

from review.domain.markdown.link_forms import ANCHORED
from review.protocol.prompt import LinkRow
from tests.unit.knowledge_base.builders import link, make_corpus, write

NOTE = "kb/notes/area/a.md"
SIZE = len("# A note\n\nWith text.\n")  # what `write` writes


@pytest.fixture
def root(tmp_path):
    for path in (
        NOTE,
        "kb/notes/t.md",
        "kb/notes/area/My Note.md",
        "kb/notes/area/deep/stem.md",
        "kb/notes/" + unicodedata.normalize("NFD", "caf\u00e9") + ".md",
        "kb/types/note.md",
        "kb/assets/picture.png",
        "src/tool.py",
        "kb/reports/reviews/r.md",
        ".env",
        "docs/.hidden/x.md",
    ):
        write(tmp_path, path)
    return tmp_path


def resolved(root, text):
    return {row.target: row.resolved for row in make_corpus(root).linker.table(NOTE, text)}


class TestTable:
    @pytest.mark.parametrize(
        ("text", "target", "path"),
        [
            pytest.param("[x](../t.md)", "../t.md", "kb/notes/t.md", id="relative"),
            pytest.param("[x](/kb/notes/t.md)", "/kb/notes/t.md", "kb/notes/t.md", id="root"),
            pytest.param("[x](kb/notes/t.md)", "kb/notes/t.md", "kb/notes/t.md", id="bare-root"),
            pytest.param("[x](../t.md#sec)", "../t.md#sec", "kb/notes/t.md", id="anchor"),
            pytest.param(
                "[x](My%20Note.md)", "My%20Note.md", "kb/notes/area/My Note.md", id="percent"
            ),
            pytest.param(
                "[x](<My Note.md>)", "My Note.md", "kb/notes/area/My Note.md", id="angle-brackets"
            ),
            pytest.param("[x][r]\n\n[r]: ../t.md", "../t.md", "kb/notes/t.md", id="reference"),
            pytest.param("[[stem]]", "stem", "kb/notes/area/deep/stem.md", id="wikilink"),
            pytest.param("[[t#Part|shown]]", "t#Part", "kb/notes/t.md", id="wikilink-with-anchor"),
            pytest.param("![[picture.png]]", "picture.png", "kb/assets/picture.png", id="embed"),
            pytest.param(
                "[x](../caf\u00e9.md)", "../caf\u00e9.md", "kb/notes/caf\u00e9.md", id="nfd-on-disk"
            ),
            pytest.param("[x](/src/tool.py)", "/src/tool.py", "src/tool.py", id="no-note"),
            pytest.param("[x](/kb/types)", "/kb/types", "kb/types", id="folder"),
            pytest.param("[x](none.md)", "none.md", None, id="dead"),
            pytest.param("[[nobody]]", "nobody", None, id="dead-wikilink"),
            pytest.param("[x](../../../../etc/passwd)", "../../../../etc/passwd", None, id="out"),
            pytest.param("[x](../../.env)", "../../.env", None, id="dot-file"),
            pytest.param("[x](/docs/.hidden/x.md)", "/docs/.hidden/x.md", None, id="hidden-folder"),
            pytest.param(
                "[x](/kb/reports/reviews/r.md)", "/kb/reports/reviews/r.md", None, id="reports"
            ),
            pytest.param("[[r]]", "r", None, id="wikilink-into-reports"),
            pytest.param("[x](a%00b.md)", "a%00b.md", None, id="nul"),
        ],
    )
    def test_resolves(self, root, text, target, path):
        assert resolved(root, text) == {target: path}

    @pytest.mark.parametrize(
        "text",
        [
            "[x](https://example.org/a.md)",
            "[x](mailto:a@b.c)",
            "[x](#part)",
            "`[x](../t.md)`",
            "none",
        ],
    )
    def test_has_no_row_for_what_leads_to_no_other_file(self, root, text):
        assert resolved(root, text) == {}

    def test_has_one_row_per_target_in_the_order_of_the_note(self, root):
        text = "[b](none.md) [a](../t.md)\n\n[again](../t.md) ![again](none.md)\n"

        rows = make_corpus(root).linker.table(NOTE, text)

        assert rows == (LinkRow("none.md", None), LinkRow("../t.md", "kb/notes/t.md", SIZE))

    def test_resolves_no_link_of_the_file_system_that_leads_out(self, tmp_path):
        root = tmp_path / "root"
        write(tmp_path, "outside/x.md")
        write(root, NOTE)
        write(root, ".env")
        link(root, "kb/notes/out.md", "../../../outside/x.md")
        link(root, "kb/notes/folder", "../../../outside")
        link(root, "kb/notes/env.md", "../../.env")
        link(root, "kb/notes/loop.md", "loop.md")
        text = "[a](../out.md) [b](../folder/x.md) [c](../env.md) [d](../loop.md) [e](../folder)"

        assert set(resolved(root, text).values()) == {None}
        assert len(resolved(root, text)) == 5

    def test_resolves_links_through_links_that_stay_inside(self, root):
        link(root, "kb/notes/linked", "../types")

        assert resolved(root, "[x](../linked/note.md) [[note]]") == {
            "../linked/note.md": "kb/notes/linked/note.md",
            "note": "kb/types/note.md",
        }

    def test_walks_the_knowledge_base_for_wikilinks_only(self, root):
        linker = make_corpus(root).linker
        linker.table(NOTE, "[x](../t.md)")
        write(root, "kb/notes/late.md")

        assert linker.table(NOTE, "[[late]]") == (LinkRow("late", "kb/notes/late.md", SIZE),)

    def test_has_the_size_of_notes_alone_whatever_their_spelling_on_disk(self, root):
        write(root, "kb/notes/long.md", "x" * 4_200)
        text = "[a](../long.md) [b](/src/tool.py) [c](/kb/types) [d](../caf\u00e9.md) [e](no.md)"

        sizes = {row.target: row.size for row in make_corpus(root).linker.table(NOTE, text)}

        assert list(sizes.values()) == [4_200, None, None, SIZE, None]


class TestKnown:
    def test_lists_the_files_of_the_knowledge_base(self, root):
        known = make_corpus(root).linker.base.known

        assert "kb/assets/picture.png" in list(known)
        assert len(known) == len(list(known)) == 7
        assert not [path for path in known if path.startswith(("src/", "kb/reports/"))]

    def test_says_what_is_there_beyond_it(self, root):
        known = make_corpus(root).linker.base.known

        assert "src/tool.py" in known
        assert "src/none.py" not in known
        assert 5 not in known

    def test_gives_paths_by_stem(self, root):
        stems = make_corpus(root).linker.base.stems

        assert stems["stem"] == ["kb/notes/area/deep/stem.md"]
        assert "nobody" not in stems
        assert len(stems) == len(list(stems))


class TestFlavours:
    @pytest.mark.parametrize(
        ("flavour", "text"), [("dendron", "[[x|abc123]]"), ("docusaurus", "[x](abc123)")]
    )
    def test_notes_are_found_by_their_ids_where_links_name_them(self, tmp_path, flavour, text):
        root = tmp_path / "base"
        (root / "kb/notes").mkdir(parents=True)
        (root / "kb/notes/long-name.md").write_text("---\nid: abc123\n---\n# T\n")

        (row,) = make_corpus(root, flavour=flavour).linker.table(NOTE, text)
        assert (row.target, row.resolved) == ("abc123", "kb/notes/long-name.md")

    def test_files_beside_a_page_are_found_by_its_address(self, tmp_path):
        folder = tmp_path / "base/kb/notes/01-first"
        folder.mkdir(parents=True)
        (folder / "index.md").write_text('+++\ntitle = "A"\npath = "first"\n+++\n')
        (folder / "plan.svg").write_text("x")

        corpus = make_corpus(tmp_path / "base", flavour="zola")
        (row,) = corpus.linker.table("kb/notes/02-b/index.md", "![x](../first/plan.svg)")
        assert row.resolved == "kb/notes/01-first/plan.svg"

    def test_of_obsidian_names_are_those_of_the_whole_vault(self, root):
        write(root, "files/plan.png")

        (row,) = make_corpus(root, flavour="obsidian").linker.table(NOTE, "![[plan.png]]")
        assert row.resolved == "files/plan.png"


class TestShares:
    def test_counts_what_resolves_of_the_links_written_alike(self, root):
        text = (
            "[a](../t.md) [b](../gone.md#x) [c](t.html) `[d](../e.md)`\n\n```\n[f](../g.md)\n```\n"
        )
        write(root, NOTE, text)

        share_of = make_corpus(root).linker.share_of

        assert [share_of(form) for form in ("../x.md", "x.html", "/x")] == [(1, 1), (0, 1), (0, 0)]

    def test_counts_what_resolves_of_the_anchors(self, root):
        write(root, NOTE, "# A\n\n[a](#a) [b](#b) [t](../t.md#a-note) [u](../t.md#gone)\n")

        assert make_corpus(root).linker.share_of(ANCHORED) == (2, 2)
