"""`review_init`: a repository gets what it needs, and nobody's file is overwritten."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import pytest

from tests.helpers.commands import REPOSITORY, run, run_process

LEFT_OUT = ("undefined-acronyms", "wall-of-links", "repeated-paragraphs")
TAKEN = ("kb/review.toml", "kb/AGENTS.md", "kb/types/note.md", "kb/reports/.gitignore")


def init(into, *args):
    return run("review_init", "--into", into, *args, "--json")


class TestNewRepository:
    def test_gets_gates_types_instructions_settings_and_a_folder_for_notes(self, tmp_path):
        done = init(tmp_path / "new")

        assert done.exit == 0
        made = {
            path.relative_to(tmp_path / "new").as_posix() for path in (tmp_path / "new").rglob("*")
        }
        assert {*TAKEN, "kb/notes", "kb/instructions/fix-warnings.md"} <= made
        assert {name.rstrip("/") for name in done.json["created"]} <= made
        assert done.json["kept"] == []

    def test_each_file_is_that_of_the_starter_set(self, tmp_path):
        init(tmp_path)

        for folder in ("kb/types", "kb/instructions"):
            for file in (REPOSITORY / folder).rglob("*.md"):
                copy = tmp_path / file.relative_to(REPOSITORY)
                if file.stem in LEFT_OUT:
                    assert not copy.exists()
                    continue
                assert copy.read_bytes() == file.read_bytes()

    def test_its_last_line_is_a_command_that_works_as_typed(self, tmp_path, monkeypatch):
        monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
        empty = run("review_init", "--into", tmp_path)
        (tmp_path / "kb/notes/a.md").write_text("# A\n\nThe the note.\n")
        again = run("review_init", "--into", tmp_path)

        changes_folder, next_command = again.err.splitlines()[-1].split(" && ")
        _program, name, *arguments = shlex.split(next_command)
        swept = run_process(name, *arguments, "--json", root=tmp_path)

        assert "put Markdown files under kb/notes, or" in empty.err
        assert "put Markdown files" not in again.err
        assert changes_folder == f"next: cd {tmp_path}"
        assert swept.exit == 0
        assert swept.json["pairs"]["warn"] >= 1

    def test_works_outside_of_any_knowledge_base_and_is_of_use_at_once(self, tmp_path):
        outside = {"COMMONPLACE_ROOT": "", "COMMONPLACE_REVIEW_DB": ""}

        done = run_process("review_init", root=tmp_path, env=outside)
        (tmp_path / "kb/notes/a.md").write_text("# A\n\nThe the note.\n")
        gates = run_process("resolve_gates", "--json", root=tmp_path, env=outside)
        selected = run_process(
            "review_target_selector", "--all-gates", "--json", root=tmp_path, env=outside
        )

        assert done.exit == 0
        # Nothing that one shell alone understands, where the reader stands in the folder already.
        assert "\nnext: commonplace review_sweep" in done.err
        assert gates.json["problems"] == []
        assert len(gates.json["gates"]) >= 24
        assert {target["note_path"] for target in selected.json["targets"]} == {"kb/notes/a.md"}

    def test_keeps_the_store_out_of_version_control_without_touching_another_ignore_file(
        self, tmp_path
    ):
        (tmp_path / ".gitignore").write_text("build/\n")

        init(tmp_path)

        assert "*" in (tmp_path / "kb/reports/.gitignore").read_text().splitlines()
        assert (tmp_path / ".gitignore").read_text() == "build/\n"

    def test_the_settings_that_it_copies_are_read_without_complaint(self, tmp_path, monkeypatch):
        init(tmp_path)
        monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))

        assert run("resolve_gates", "prose").exit == 0

    def test_mcp_clients_find_the_server_where_that_is_asked_for(self, tmp_path):
        init(tmp_path / "without")
        told = run("review_init", "--into", tmp_path / "with", "--mcp").out
        table = tomllib.loads(told[told.index("[mcp_servers") :])["mcp_servers"]["commonplace"]
        settings = json.loads((tmp_path / "with" / ".mcp.json").read_text())

        assert not (tmp_path / "without" / ".mcp.json").exists()
        assert settings == {
            "mcpServers": {"commonplace": {"command": "commonplace", "args": ["mcp"]}}
        }
        assert Path(table["command"]).is_absolute()  # Codex may lack the environment's PATH
        assert table["env"] == {"COMMONPLACE_ROOT": str(tmp_path / "with")}
        assert table["default_tools_approval_mode"] == "approve"


class TestExistingFiles:
    @pytest.mark.parametrize("name", TAKEN)
    def test_are_kept_and_named(self, tmp_path, name):
        mine = tmp_path / name
        mine.parent.mkdir(parents=True)
        mine.write_text("mine\n")

        done = init(tmp_path)

        assert mine.read_text() == "mine\n"
        assert done.json["kept"] == done.json["differing"] == [name]

    def test_a_second_run_changes_nothing(self, tmp_path):
        first = init(tmp_path).json

        again = init(tmp_path).json

        assert again["created"] == []
        assert sorted([*again["kept"], "kb/notes/"]) == first["created"]
        assert again["differing"] == []

    def test_a_dangling_link_is_somebodys_file(self, tmp_path):
        (tmp_path / "kb").mkdir()
        (tmp_path / "kb/AGENTS.md").symlink_to("elsewhere.md")

        done = init(tmp_path)

        assert "kb/AGENTS.md" in done.json["kept"]
        assert not (tmp_path / "kb/elsewhere.md").exists()

    def test_a_run_that_was_cut_short_is_finished_by_the_next(self, tmp_path):
        first = init(tmp_path).json
        (tmp_path / "kb/types/note.md").unlink()

        assert init(tmp_path).json["created"] == ["kb/types/note.md"]
        assert "kb/types/note.md" in first["created"]


class TestRefusals:
    @pytest.mark.parametrize("name", ["kb", "kb/types", "kb/notes"])
    def test_a_file_where_a_folder_must_be_stops_it_before_anything_is_written(
        self, tmp_path, name
    ):
        blocked = tmp_path / name
        blocked.parent.mkdir(parents=True, exist_ok=True)
        blocked.write_text("mine\n")
        before = sorted(tmp_path.rglob("*"))

        done = init(tmp_path)

        assert (done.exit, done.error["code"]) == (5, "place-taken")
        assert sorted(tmp_path.rglob("*")) == before

    def test_a_link_that_leads_out_is_not_followed(self, tmp_path, tmp_path_factory):
        outside = tmp_path_factory.mktemp("outside")
        (tmp_path / "kb").symlink_to(outside)

        assert init(tmp_path).exit == 5
        assert list(outside.iterdir()) == []

    def test_a_place_that_cannot_be_written_is_told(self):
        done = init("/proc/new")

        assert done.exit == 1
        assert "cannot write /proc/new/kb" in done.error["message"]


class TestDryRun:
    def test_says_what_would_be_created_and_writes_nothing(self, tmp_path):
        done = run("review_init", "--into", tmp_path / "new", "--dry-run")

        assert "would create: kb/review.toml" in done.out.splitlines()
        assert f"next: commonplace review_init --into {tmp_path / 'new'}\n" in done.err
        assert not (tmp_path / "new").exists()


class TestDefault:
    def test_is_the_knowledge_base_that_the_current_folder_is_in(self, tmp_path, monkeypatch):
        (tmp_path / "kb/notes/deep").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / "kb/notes/deep")

        done = run("review_init", "--json")

        assert done.json["into"] == str(tmp_path)

    def test_else_the_current_folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

        assert run("review_init", "--json").json["into"] == str(tmp_path)


class TestWheel:
    def test_carries_everything_that_the_starter_set_names(self):
        project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
        copies = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["copies"]
        starter = REPOSITORY / "review" / "starter"
        named = {
            entry["from"]
            for entry in tomllib.loads((starter / "manifest.toml").read_text())["copy"]
        }

        assert {name for name in named if not (starter / name).exists()} == set(copies)
        assert all((REPOSITORY / name).exists() for name in copies)
        assert all(target == f"review/starter/{name}" for name, target in copies.items())


@pytest.mark.django_db
def test_a_vault_is_reviewed_with_the_notes_beside_it(tmp_path, monkeypatch):
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / "Home.md").write_text("# Home\n\nSee [[HOME]] and [it](nowhere.md).\n")
    done = init(tmp_path)
    monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))

    found = run("review_check", "links/unresolved-links", "--json").json["findings"]

    assert "there are no notes yet" not in done.err
    assert [(item["note_path"], item["quote"]) for item in found] == [
        ("Home.md", "[it](nowhere.md)")
    ]
    gates = tmp_path / "kb/instructions/review-gates/links"
    run("review_sweep", "links", "--runner", "rules", "--model", "rules", "-q")
    (gates / "unresolved-links.md").rename(gates / "links-that-lead-nowhere.md")
    (rename,) = run("review_status", "--json").json["renames"]
    assert rename["new_path"].endswith("links-that-lead-nowhere.md")


@pytest.mark.django_db
class TestFoldersOfNotes:
    @pytest.mark.parametrize(
        ("files", "roots"),
        [
            pytest.param(["docs/guide/a.md", "src/x.py", "README.md"], ["docs"], id="docs"),
            pytest.param(["notes/a.md", "content/a.md"], ["notes", "content"], id="two"),
            pytest.param(["docs/a.md", "kb/notes/b.md"], [], id="notes-in-place"),
            pytest.param(["docs/a.rst", "node_modules/x/README.md"], [], id="no-markdown"),
            pytest.param(["eleventy.config.js", "src/a.md", "README.md"], ["src"], id="eleventy"),
            pytest.param(["config/.eleventy.js", "src/a.md"], ["src"], id="eleventy-in-a-folder"),
            pytest.param([".eleventy.js", "a.md"], ["."], id="eleventy-in-the-root"),
            pytest.param(
                ["site/astro.config.mjs", "site/src/content/a.md", "site/README.md"],
                ["site/src/content"],
                id="astro-in-a-folder",
            ),
            pytest.param(["docs/.vitepress/x", "docs/a.md", "a.md"], ["docs"], id="vitepress"),
            pytest.param(
                ["next.config.mjs", "content/a.md", "app/b.md"], ["content", "app"], id="nextra"
            ),
            pytest.param(["SUMMARY.md", "a.md"], ["."], id="gitbook"),
            pytest.param(["book.json", "source/a.md", "README.md"], ["source"], id="honkit"),
            pytest.param(["book.toml", "src/a.md", "README.md"], ["src"], id="mdbook"),
            pytest.param(
                ["site/docusaurus.config.js", "docs/a.md", "site/blog/b.md"],
                ["site/blog", "docs"],
                id="docusaurus-beside-its-notes",
            ),
        ],
    )
    def test_are_named_where_the_usual_place_has_none(self, tmp_path, monkeypatch, files, roots):
        for name in files:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("# A note\n")
        before = run("review_init", "--into", tmp_path, "--dry-run", "--json").json

        done = run("review_init", "--into", tmp_path)

        again = run("review_init", "--into", tmp_path, "--json").json
        assert (before["roots"], again["roots"], again["differing"]) == (roots, [], [])
        assert f"notes are taken from: {', '.join(roots)} (roots" in done.err or not roots
        assert (tmp_path / "kb/notes").is_dir() is not bool(roots)
        monkeypatch.setenv("COMMONPLACE_ROOT", str(tmp_path))
        notes = tomllib.loads((tmp_path / "kb/review.toml").read_text())["notes"]
        assert ("node_modules" in notes.get("excludes", [])) is ("." in roots)
        if roots:
            assert run("review_status", "--json").json["notes"] >= len(roots)

    def test_a_site_of_mdx_is_told_that_its_files_are_no_notes(self, tmp_path):
        for name in ("astro.config.mjs", "src/content/a.mdx", "node_modules/x/b.mdx"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("# A note\n")

        done = run("review_init", "--into", tmp_path)
        again = init(tmp_path).json

        assert "files that end in .mdx are no notes, and left out: 1" in done.err
        assert (again["mdx"], again["flavour"], again["roots"]) == (1, "github", [])


class TestFlavour:
    @pytest.mark.parametrize(
        ("marker", "text", "flavour"),
        [
            ("kb/notes/.obsidian/app.json", "{}", "obsidian"),
            ("dendron.yml", "", "dendron"),
            ("docusaurus.config.ts", "", "docusaurus"),
            ("mkdocs.yml", "", "mkdocs"),
            ("config.toml", 'base_url = "x"', "zola"),
            ("config.toml", 'baseURL = "x"', "hugo"),
            ("config/_default/hugo.toml", "", "hugo"),
            ("site/config.yaml", "title: T\n#baseURL: x", "hugo"),
            ("eleventy.config.js", "", "jekyll"),
            ("astro.config.mjs", "", "github"),
            ("docs/.vitepress/config.ts", "", "commonmark"),
            ("logseq/config.edn", "{}", "logseq"),
            ("site/config.toml", 'title = "T"\nbase_url = "x"', "zola"),
            ("docs/_config.yml", "theme: minima", "jekyll"),
            ("website/docusaurus.config.js", "", "docusaurus"),
            ("docs/mkdocs.yaml", "", "mkdocs"),
            ("book/_toc.yml", "", "commonmark"),
            ("config.toml", "[build]\njobs = 1", "commonmark"),
            (".cargo/config.toml", 'base_url = "x"', "commonmark"),
            ("hugo.md", "# Hugo", "commonmark"),
            ("README.md", "", "commonmark"),
        ],
    )
    def test_is_guessed_from_what_stands_beside_the_notes(self, tmp_path, marker, text, flavour):
        place = tmp_path / marker
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

        done = init(tmp_path)

        notes = tomllib.loads((tmp_path / "kb/review.toml").read_text())["notes"]
        assert done.json["flavour"] == notes.get("flavour", "commonmark") == flavour
        assert init(tmp_path).json["differing"] == []
        told = run("review_init", "--into", tmp_path).err
        assert ("check that kb/review.toml says" in told) is (flavour != "commonmark")

    def test_that_was_just_written_is_said_and_not_to_be_checked(self, tmp_path):
        (tmp_path / ".obsidian").mkdir()

        assert (
            ': kb/review.toml says `flavour = "obsidian"`'
            in run("review_init", "--into", tmp_path).err
        )
