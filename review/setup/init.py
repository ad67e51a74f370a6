"""Sets a repository up: starter gates, types, instructions and settings; overwrites nothing."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
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
# Folders that often hold the notes of a repository that has none in `kb`.
_USUAL = ("docs", "doc", "documentation", "notes", "content", "wiki")
_MARKERS = (
    (_VAULT, "obsidian"),
    ("dendron.yml", "dendron"),
    ("logseq/config.edn", "logseq"),
    ("docusaurus.config.*", "docusaurus"),
    ("mkdocs.y*ml", "mkdocs"),
    ("hugo.[tyj]*", "hugo"),
    ("config/_default", "hugo"),
    ("zola.toml", "zola"),
    ("_toc.yml", COMMONMARK.name),  # of a Jupyter Book, whose settings have the name of Jekyll's
    ("_config.y*ml", "jekyll"),
)
_BASE_URL = re.compile(rb"^\s*(?:(base_url)|baseurl)\s*=", re.IGNORECASE | re.MULTILINE)
_PACKAGE = Path(__file__).parents[1]


class InitJson(Document, kw_only=True):
    """The answer of `review_init`; `differing` are kept files that the starter set has otherwise.

    `flavour` is the dialect that the notes seem to be in, `next` the command to type next; `roots`
    are the folders with notes that the new settings name beside `kb/notes`.
    """

    schema: str = "review-init/1"
    into: str
    dry_run: bool
    created: list[str]
    kept: list[str]
    differing: list[str]
    next: str
    flavour: str
    roots: list[str] = []


def initialise(into: Path, *, dry_run: bool, mcp: bool = False) -> InitJson:
    """Copy what is missing of the starter set, and make the folder of the notes.

    All places are looked at first, so that a refusal leaves nothing half done.
    """
    flavour = guess_flavour(into)
    starter = dict(_starter())
    if mcp:
        starter[MCP_SETTINGS] = _source("mcp.json").read_bytes()
    if flavour != COMMONMARK.name:
        unset = f'# flavour = "{COMMONMARK.name}"'.encode()
        starter[SETTINGS] = starter[SETTINGS].replace(unset, f'flavour = "{flavour}"'.encode())
    if roots := _roots_beside(into):
        named = ", ".join(f'"{folder}"' for folder in (*roots, NOTES_FOLDER))
        starter[SETTINGS] = starter[SETTINGS].replace(
            _UNSET_ROOTS, f"roots = [{named}]".encode(), 1
        )
    for folder in {*(Path(target).parent for target in starter), Path(NOTES_FOLDER)}:
        _refuse_taken(into, folder)
    kept = [target for target in sorted(starter) if os.path.lexists(into / target)]
    created = sorted(starter.keys() - kept)
    for target in () if dry_run else created:
        _create(into, target, starter[target])
    if not (into / NOTES_FOLDER).is_dir():
        created.append(f"{NOTES_FOLDER}/")
        if not dry_run:
            with refusing_to(f"make {into / NOTES_FOLDER}"):
                (into / NOTES_FOLDER).mkdir(parents=True, exist_ok=True)
    where = shlex.quote(str(into))
    sweep = f"cd {where} && commonplace review_sweep --all-gates --runner rules -q"
    return InitJson(
        into=str(into),
        dry_run=dry_run,
        created=sorted(created),
        kept=kept,
        differing=[target for target in kept if _differs(into / target, starter[target])],
        next=f"commonplace review_init --into {where}" if dry_run else sweep,
        flavour=flavour,
        roots=roots if SETTINGS in created else [],
    )


def _roots_beside(root: Path) -> list[str]:
    if (root / _VAULT).is_dir():  # its notes lie beside it
        return ["."]
    if has_notes(root, Config.note_roots):
        return []
    return [folder for folder in _USUAL if has_notes(root, [folder])]


def has_notes(root: Path, folders: Iterable[str] = ()) -> bool:
    """True if one of the folders, or of those in `kb/review.toml`, holds a Markdown file."""
    with suppress(ConfigRefused, FileNotFoundError):
        folders = folders or read_settings(root / SETTINGS).get("note_roots", ())
    return any(
        folder != "." or not file.is_relative_to(root / "kb")
        for folder in folders or Config.note_roots
        for file in (root / folder).rglob("*.md")
    )


def guess_flavour(root: Path) -> str:
    """Guess the dialect of Markdown from the files next to the notes, else in the root's folders."""
    for folder in (root, root / "kb", root / NOTES_FOLDER):
        if flavour := _flavour_in(folder):
            return flavour
    found = {_flavour_in(folder) for folder in root.glob("[!.]*/")} - {""}
    return found.pop() if len(found) == 1 else COMMONMARK.name


def _flavour_in(folder: Path) -> str:
    for marker, flavour in _MARKERS:
        if any(folder.glob(marker)):
            return flavour
    site = folder / "config.toml"
    found = _BASE_URL.search(site.read_bytes()) if site.is_file() else None
    return "" if found is None else "zola" if found[1] else "hugo"


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
