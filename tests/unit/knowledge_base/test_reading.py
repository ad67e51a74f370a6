"""Reading: byte-exact, regular files only, never outside the root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from review.knowledge_base.reader import UnreadableFile, decode, read_file
from tests.unit.knowledge_base.builders import LIMIT, link, make_corpus, write

NFD_NAME = "kb/notes/e\u0301.md"


def refusal(root: Path, path: str, *, max_bytes: int = LIMIT) -> str:
    with pytest.raises(UnreadableFile) as caught:
        read_file(str(root), path, max_bytes=max_bytes)
    assert caught.value.problem.path == path
    assert caught.value.problem.skipped
    return str(caught.value.problem.code)


class TestReadFile:
    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b"\xef\xbb\xbf---\r\ntitle: x\r\n---\r\nno final newline", id="bom-crlf"),
            pytest.param(b"one\rtwo\r", id="lone-carriage-returns"),
            pytest.param(bytes(range(256)), id="every-byte"),
            pytest.param(b"", id="nothing"),
        ],
    )
    def test_gives_the_bytes_as_they_are(self, tmp_path, data):
        write(tmp_path, "kb/notes/a.md", data)

        assert read_file(str(tmp_path), "kb/notes/a.md", max_bytes=LIMIT).data == data

    def test_leaves_the_times_of_the_file_alone(self, tmp_path):
        target = write(tmp_path, "kb/notes/a.md")
        os.utime(target, ns=(1_000, 2_000))
        before = target.stat()

        read_file(str(tmp_path), "kb/notes/a.md", max_bytes=LIMIT)

        after = target.stat()
        assert (after.st_mtime_ns, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)

    def test_reads_a_file_in_the_root_itself(self, tmp_path):
        write(tmp_path, "README.md", b"x")

        assert read_file(str(tmp_path), "README.md", max_bytes=LIMIT).data == b"x"

    def test_reads_below_a_root_that_is_named_through_a_link(self, tmp_path):
        write(tmp_path, "real/kb/notes/a.md", b"x")
        link(tmp_path, "root", "real")

        with make_corpus(tmp_path / "root") as corpus:
            assert corpus.read_note("kb/notes/a.md").data == b"x"
            assert [note.path for note in corpus.notes().notes] == ["kb/notes/a.md"]

    def test_follows_links_that_stay_inside(self, tmp_path):
        write(tmp_path, "docs/real/a.md", b"x")
        link(tmp_path, "kb/notes/folder", "../../docs/hop")
        link(tmp_path, "docs/hop", "real")
        link(tmp_path, "kb/notes/a.md", "folder/a.md")

        assert read_file(str(tmp_path), "kb/notes/folder/a.md", max_bytes=LIMIT).data == b"x"
        assert read_file(str(tmp_path), "kb/notes/a.md", max_bytes=LIMIT).data == b"x"

    @pytest.mark.parametrize(
        "target",
        [
            pytest.param("../../../outside/secret.md", id="relative"),
            pytest.param("/etc/passwd", id="absolute"),
            pytest.param("hop.md", id="through-another-link"),
            pytest.param("../../../outside/none.md", id="dead"),
        ],
    )
    def test_refuses_a_link_that_leads_out(self, tmp_path, target):
        root = tmp_path / "root"
        write(tmp_path, "outside/secret.md")
        link(root, "kb/notes/hop.md", "../../../outside/secret.md")
        link(root, "kb/notes/a.md", target)

        assert refusal(root, "kb/notes/a.md") == "outside-root"

    def test_refuses_a_file_in_a_folder_that_leads_out(self, tmp_path):
        root = tmp_path / "root"
        write(tmp_path, "outside/secret.md")
        link(root, "kb/notes/folder", "../../../outside")

        assert refusal(root, "kb/notes/folder/secret.md") == "outside-root"

    def test_takes_no_sibling_of_the_root_for_its_inside(self, tmp_path):
        write(tmp_path, "root-2/secret.md")
        link(tmp_path / "root", "kb/a.md", "../../root-2/secret.md")

        assert refusal(tmp_path / "root", "kb/a.md") == "outside-root"

    @pytest.mark.parametrize(
        "hidden",
        [
            pytest.param(".env", id="dot-file"),
            pytest.param(".git/config", id="git"),
            pytest.param("sub/.git/hooks/a.md", id="git-of-a-submodule"),
        ],
    )
    def test_refuses_a_link_to_what_is_hidden(self, tmp_path, hidden):
        write(tmp_path, hidden, "PASSWORD=x")
        link(tmp_path, "kb/notes/a.md", f"../../{hidden}")

        assert refusal(tmp_path, "kb/notes/a.md") == "outside-root"

    @pytest.mark.parametrize(
        ("made", "code"),
        [
            pytest.param("nothing", "vanished", id="no-such-file"),
            pytest.param("folder", "not-a-file", id="folder"),
            pytest.param("fifo", "not-a-file", id="fifo"),
            pytest.param("loop", "link-loop", id="link-to-itself"),
            pytest.param("dead", "vanished", id="dead-link"),
        ],
    )
    def test_names_what_is_no_readable_file_without_waiting_for_it(self, tmp_path, made, code):
        path = tmp_path / "kb/notes/a.md"
        path.parent.mkdir(parents=True)
        if made == "folder":
            path.mkdir()
        elif made == "fifo":
            os.mkfifo(path)
        elif made == "loop":
            path.symlink_to("a.md")
        elif made == "dead":
            path.symlink_to("none.md")

        assert refusal(tmp_path, "kb/notes/a.md") == code

    def test_refuses_what_is_larger_than_the_limit(self, tmp_path):
        write(tmp_path, "a.md", b"12345")

        assert refusal(tmp_path, "a.md", max_bytes=4) == "too-large"
        assert read_file(str(tmp_path), "a.md", max_bytes=5).data == b"12345"

    def test_does_not_open_a_normalised_name_for_another_spelling(self, tmp_path):
        write(tmp_path, NFD_NAME, b"x")

        assert read_file(str(tmp_path), NFD_NAME, max_bytes=LIMIT).data == b"x"


class TestReader:
    def test_keeps_no_descriptor_after_refusals(self, tmp_path):
        os.mkfifo(tmp_path / "pipe.md")
        before = len(list(Path("/proc/self/fd").iterdir()))

        for path in ("pipe.md", "none/a.md", "none.md") * 3:
            with pytest.raises(UnreadableFile):
                read_file(str(tmp_path), path, max_bytes=LIMIT)

        assert len(list(Path("/proc/self/fd").iterdir())) == before

    def test_has_no_signature_for_a_file_that_is_growing(self, tmp_path, monkeypatch):
        target = write(tmp_path, "a.md", b"one")
        read = os.read

        def read_while_another_appends(descriptor: int, size: int) -> bytes:
            data = read(descriptor, size)
            if data == b"one":
                target.write_bytes(b"one and two")
            return data

        monkeypatch.setattr(os, "read", read_while_another_appends)

        assert read_file(str(tmp_path), "a.md", max_bytes=LIMIT).signature is None


class TestDecode:
    @pytest.mark.parametrize(
        ("data", "code", "message"),
        [
            pytest.param("Grüße".encode("latin-1"), "not-utf8", "line 1: byte 0xFC", id="latin-1"),
            pytest.param(b"a\nb\n\xff", "not-utf8", "line 3: byte 0xFF", id="stray-byte"),
            pytest.param(
                "x".encode("utf-16"), "not-utf8", "line 1: encoded as UTF-16", id="utf-16"
            ),
            pytest.param(b"\xfe\xff\x00x", "not-utf8", "line 1: encoded as UTF-16", id="utf-16-be"),
            pytest.param("x".encode("utf-16-le"), "contains-nul", "line 1:", id="utf-16-no-mark"),
            pytest.param(b"one\ntwo \x00", "contains-nul", "line 2:", id="nul"),
            pytest.param(b"\xed\xa0\x80", "not-utf8", "line 1: byte 0xED", id="encoded-surrogate"),
            pytest.param(b"cut \xe2\x82", "not-utf8", "line 1: byte 0xE2", id="cut-character"),
        ],
    )
    def test_names_the_line_of_what_is_no_text(self, data, code, message):
        with pytest.raises(UnreadableFile) as caught:
            decode("kb/notes/a.md", data)

        assert str(caught.value.problem.code) == code
        assert caught.value.problem.message.startswith(message)

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b"\xef\xbb\xbftext\r\n", id="bom"),
            pytest.param("\u2028 and \x85 and \x0c".encode(), id="odd-line-ends"),
            pytest.param(b"", id="empty"),
        ],
    )
    def test_gives_text_that_encodes_to_the_same_bytes(self, data):
        assert decode("kb/notes/a.md", data).encode() == data
