"""Sets a repository up: starter gates, types, instructions and settings; overwrites nothing."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from review.documents.base import Document
from review.domain.markdown.flavours import COMMONMARK
from review.errors import InputRejected, ReviewError
from review.job_files import NEW_FILE_MODE, refusing_to
from review.private_files import create_file, make_private
from review.settings import REPORTS_FOLDER, Config, ConfigRefused, read_settings

MANIFEST_NAME = "manifest.toml"
NOTES_FOLDER = "kb/notes"
SETTINGS = "kb/review.toml"
MCP_SETTINGS = ".mcp.json"
_VAULT = ".obsidian"
_UNSET_ROOTS = b'# roots = ["kb/notes", "kb/reference"]'
# Folders that often hold the notes of a repository that has none in `kb`, and itself.
_USUAL = "docs doc documentation notes content wiki ."
# The file of a builder, and what it holds if that tells; the dialect nearest to what the builder reads,
# and the folders of its notes: "." only if the others have none.
_BUILDERS: tuple[tuple[str, bytes, str, str], ...] = (
    (_VAULT, b"", "obsidian", "."),
    ("dendron.yml", b"", "dendron", "vault notes"),
    ("logseq/config.edn", b"", "logseq", "pages journals"),
    ("quartz.config.ts", b"", "obsidian", "content"),
    ("docusaurus.config.*", b"", "docusaurus", "docs blog ../docs"),
    ("mkdocs.y*ml", b"", "mkdocs", "docs"),
    ("hugo.[tyj]*", b"", "hugo", "content"),
    ("config/_default", b"", "hugo", "content"),
    ("zola.toml", b"", "zola", "content"),
    ("_toc.yml", b"", COMMONMARK.name, "."),  # of a Jupyter Book, whose settings have Jekyll's name
    ("_config.y*ml", b"", "jekyll", "."),
    ("*eleventy.*", b"", "jekyll", "src content ../src ."),
    (".v*press", b"", COMMONMARK.name, "."),  # VitePress and VuePress
    ("astro.config.*", b"", "github", "src/content src/pages"),
    ("next.config.*", b"", "github", "content pages app"),
    ("book.toml", b"", COMMONMARK.name, "src"),
    ("book.json", b"", COMMONMARK.name, "source src docs ."),
    ("SUMMARY.md", b"", COMMONMARK.name, "."),
    ("config.[ty]*ml", rb"(?m)^[\s#]*base_url\s*[=:]", "zola", "content"),
    ("config.[ty]*ml", rb"(?im)^[\s#]*baseurl\s*[=:]", "hugo", "content"),
)
_PACKAGE = Path(__file__).parents[1]


class InitJson(Document, kw_only=True, tag_field="schema", tag="review-init/1"):
    """The answer of `review_init`; `differing` are kept files that the starter set has otherwise.

    `flavour` is the dialect that the notes seem to be in, `next` the command to type next; `roots`
    are the folders with notes that the new settings name beside `kb/notes`, `mdx` the number of
    files that are no notes for their ending `.mdx`.
    """

    into: str
    dry_run: bool
    created: list[str]
    kept: list[str]
    differing: list[str]
    next: str
    flavour: str
    roots: list[str] = []
    mdx: int = 0


def initialise(into: Path, *, dry_run: bool, mcp: bool = False) -> InitJson:
    """Copy what is missing of the starter set, and make the folder of the notes if there is none.

    All places are looked at first, so that a refusal leaves nothing half done.
    """
    flavour, roots = guess_builder(into)
    starter = dict(_starter())
    if mcp:
        starter[MCP_SETTINGS] = _source("mcp.json").read_bytes()
    if flavour != COMMONMARK.name:
        unset = f'# flavour = "{COMMONMARK.name}"'.encode()
        starter[SETTINGS] = starter[SETTINGS].replace(unset, f'flavour = "{flavour}"'.encode())
    roots = [] if has_notes(into, Config.note_roots) else roots or _roots_in(into, into, _USUAL)
    if roots:
        named = ", ".join(f'"{folder}"' for folder in (*roots, NOTES_FOLDER))
        with_roots = starter[SETTINGS].replace(_UNSET_ROOTS, f"roots = [{named}]".encode(), 1)
        others = b'excludes = ["node_modules", "vendor"]' if "." in roots else b"# excludes = []"
        starter[SETTINGS] = with_roots.replace(b"# excludes = []", others, 1)
    for folder in {*(Path(target).parent for target in starter), Path(NOTES_FOLDER)}:
        _refuse_taken(into, folder)
    kept = [target for target in sorted(starter) if os.path.lexists(into / target)]
    created = sorted(starter.keys() - kept)
    for target in () if dry_run else created:
        _create(into, target, starter[target])
    if not roots and not (into / NOTES_FOLDER).is_dir():
        created.append(f"{NOTES_FOLDER}/")
        if not dry_run:
            with refusing_to(f"make {into / NOTES_FOLDER}"):
                (into / NOTES_FOLDER).mkdir(parents=True, exist_ok=True)
    where = shlex.quote(str(into))
    sweep = "" if into == Path.cwd() else f"cd {where} && "
    sweep += "commonplace review_sweep --all-gates --runner rules -q"
    return InitJson(
        into=str(into),
        dry_run=dry_run,
        created=sorted(created),
        kept=kept,
        differing=[target for target in kept if _differs(into / target, starter[target])],
        next=f"commonplace review_init --into {where}" if dry_run else sweep,
        flavour=flavour,
        roots=roots if SETTINGS in created else [],
        mdx=sum("node_modules" not in file.parts for file in into.rglob("*.mdx")),
    )


def has_notes(root: Path, folders: Iterable[str] = ()) -> bool:
    """True if one of the folders, or of those in `kb/review.toml`, holds a Markdown file."""
    with suppress(ConfigRefused, FileNotFoundError):
        folders = folders or read_settings(root / SETTINGS).get("note_roots", ())
    return any(
        folder != "." or not ("node_modules" in file.parts or file.is_relative_to(root / "kb"))
        for folder in folders or Config.note_roots
        for file in (root / folder).rglob("*.md")
    )


def guess_builder(root: Path) -> tuple[str, list[str]]:
    """Guess dialect and folders of the notes from the files beside them, else in the folders."""
    for folders in ([root], [root / "kb"], [root / NOTES_FOLDER], sorted(root.glob("[!.]*/"))):
        found = [(folder, *builder) for folder in folders if (builder := _builder_in(folder))]
        if len({flavour for _, flavour, _ in found}) == 1:
            roots = (_roots_in(root, folder, names) for folder, _, names in found)
            return found[0][1], list(dict.fromkeys(chain.from_iterable(roots)))
    return COMMONMARK.name, []


def _roots_in(root: Path, folder: Path, names: str) -> list[str]:
    places = (os.path.relpath(folder / name, root) for name in names.split())
    found = [place for place in places if place[:2] != ".." and has_notes(root, [place])]
    return (names.endswith(".") and found[:-1]) or found


def _builder_in(folder: Path) -> tuple[str, str] | None:
    found = (
        (flavour, names)
        for marker, text, flavour, names in _BUILDERS
        if any(not text or re.search(text, file.read_bytes()) for file in folder.glob(marker))
    )
    return next(found, None)


def _starter() -> Iterator[tuple[str, bytes]]:
    """Yield the place of every file of the starter set, and what it holds."""
    import tomllib

    manifest = _PACKAGE / "starter" / MANIFEST_NAME
    try:
        entries = tomllib.loads(manifest.read_text(encoding="utf-8"))["copy"]
    except OSError as error:
        raise ReviewError(
            f"this installation has no starter set: {error.filename}",
            "starter-missing",
            hint="install it again",
        ) from error
    for entry in entries:
        source, left_out = _source(entry["from"]), entry.get("without", ())
        if source.is_file():
            yield entry["to"], source.read_bytes()
        for file in source.rglob("*"):
            below = file.relative_to(source)
            is_hidden = any(part.startswith((".", "__")) for part in below.parts)
            if file.is_file() and not is_hidden and below.as_posix() not in left_out:
                yield f"{entry['to']}/{below.as_posix()}", file.read_bytes()


def _source(name: str) -> Path:
    """Return the folder in the package (a wheel), else in the checkout that contains it."""
    for base in (_PACKAGE / "starter", _PACKAGE.parent):
        if (base / name).exists():
            return base / name
    raise ReviewError(
        f"this installation has no {name!r} to copy", "starter-missing", hint="install it again"
    )


def _refuse_taken(into: Path, below: Path) -> None:
    """Look at `below` and every folder on the way to it."""
    root = Path(os.path.realpath(into))
    folder = into
    for part in ("", *below.parts):
        folder = folder / part
        if os.path.lexists(folder) and not folder.is_dir():
            raise InputRejected(f"{folder} is in the way: it must be a folder", "place-taken")
        if not Path(os.path.realpath(folder)).is_relative_to(root):
            raise InputRejected(
                f"{folder} leads out of {into}; nothing is written there", "place-taken"
            )


def _create(into: Path, target: str, content: bytes) -> None:
    path = into / target
    with refusing_to(f"write {path}"):
        if path.is_relative_to(into / REPORTS_FOLDER):
            make_private(into / REPORTS_FOLDER)
        path.parent.mkdir(parents=True, exist_ok=True)
        create_file(path, [content], mode=NEW_FILE_MODE)


def _differs(path: Path, content: bytes) -> bool:
    try:
        # In the place of a file there may be a device that never ends.
        return not path.is_file() or path.read_bytes() != content
    except OSError:
        return True
