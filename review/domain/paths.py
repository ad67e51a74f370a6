"""Identities: of files (paths), gates (ids), findings (fingerprints) and artifact names (slugs)."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from review.errors import InputRejected

# What every database can put into an index: PostgreSQL takes no more than a third of a page.
MAX_PATH_BYTES = 2560
MAX_LENS_CHARACTERS = 200
FINGERPRINT_LENGTH = 16
_SLUG_HASH_LENGTH = 8
_SHOWN_CHARACTERS = 200

# C0, DEL and C1 controls, line and paragraph separators, the controls that reorder text, lone surrogates.
_FORBIDDEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# One spelling for quotation marks and dashes: who quotes a note often straightens them.
_PLAIN_MARKS = str.maketrans(
    "\u2018\u2019\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2010\u2011\u2012\u2013\u2014",
    '\'\'\'""""""-----',
)
_MARKUP = re.compile(r"[*_`#>|~\\]+")
_NOT_SLUG = re.compile(r"[^A-Za-z0-9._@-]+")


class BadPath(InputRejected): ...


def normalise_path(raw: str) -> str:
    """A file's identity: its NFC POSIX path from the root, without `./` and spare slashes."""
    path = composed(raw)
    if path.startswith("/"):
        raise BadPath(f"{_shown(raw)} is absolute; paths are relative to the repository root")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts:
        raise BadPath(f"{_shown(raw)} names no file below the repository root")
    if ".." in parts:
        raise BadPath(f"{_shown(raw)} contains '..'; paths stay below the repository root")
    path = "/".join(parts)
    if reason := name_problem(path):
        raise BadPath(f"{_shown(raw)}: {reason}")
    return path


def composed(name: str) -> str:
    """NFC, the one spelling in which names are compared; ASCII, as nearly all is, has no other."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def path_below(root: str, raw: str) -> str:
    """`normalise_path` of a path as a person gives it: from the root, or absolute below it."""
    if not raw.startswith("/"):
        return normalise_path(raw)
    if not f"{raw}/".startswith(f"{root}/"):
        raise BadPath(f"{_shown(raw)} lies outside the repository root {root}")
    below = raw.removeprefix(root).strip("/")
    if not below:
        raise BadPath(f"{_shown(raw)} is the repository root; name what lies below it")
    return normalise_path(below)


def name_problem(path: str) -> str:
    """Return why this name is not one we can show, store and open again; `""` when it is."""
    if found := _FORBIDDEN.search(path):
        return f"the name contains the forbidden character U+{ord(found[0]):04X}"
    if (size := len(path.encode())) > MAX_PATH_BYTES:
        return f"the path has {size} bytes; at most {MAX_PATH_BYTES} are supported"
    return ""


def gate_id_of(gate_path: str, gates_folder: str) -> str:
    """Return the path below the gates folder, without `.md`, or raise BadPath if it is none."""
    folder = gates_folder.rstrip("/") + "/"
    gate_id = gate_path.removeprefix(folder).removesuffix(".md")
    if f"{folder}{gate_id}.md" != gate_path or not gate_id or gate_id.endswith("/"):
        raise BadPath(f"{_shown(gate_path)} is no .md file below {folder}")
    return gate_id


def gate_label(gate_path: str, gates_folder: str) -> str:
    """The gate's id; its path where the gates folder was another one at that time."""
    try:
        return gate_id_of(gate_path, gates_folder)
    except BadPath:
        return gate_path


def gate_path_of(gate_id: str, gates_folder: str) -> str:
    """Return the path of the gate's file; the inverse of `gate_id_of`."""
    return f"{normalise_path(gates_folder)}/{normalise_path(gate_id)}.md"


def lens_of(gate_id: str) -> str:
    """Return the first part of a gate id; a gate that lies in no lens folder is its own lens."""
    return gate_id.partition("/")[0]


def normalise_prose(text: str) -> str:
    """Fold what may differ between two quotes of one place: case, spaces, markup, outer marks."""
    folded = unicodedata.normalize("NFKC", text).translate(_PLAIN_MARKS).casefold()
    return " ".join(_MARKUP.sub("", folded).split()).strip("\"'. ")


def fingerprint(*, note_path: str, gate_path: str, quote: str, text: str, number: int = 1) -> str:
    """Hash note, gate and quote (else the text), and `number` of equal ones, to 16 hex digits."""
    wanted = normalise_prose(quote)
    kind, words = ("quote", wanted) if wanted else ("text", normalise_prose(text))
    # A path holds no NUL, so the parts cannot run into each other.
    joined = "\0".join((note_path, gate_path, kind, words, *([str(number)] if number > 1 else [])))
    return sha256_hex(joined.encode("utf-8", "surrogatepass"))[:FINGERPRINT_LENGTH]


def slug(text: str, *, max_bytes: int = 80) -> str:
    """Make an ASCII file name part of at most `max_bytes`, with a hash if anything was replaced."""
    kept = _NOT_SLUG.sub("-", text).strip(".-@")
    if kept == text and 0 < len(kept) <= max_bytes:
        return kept
    digest = sha256_hex(text.encode("utf-8", "surrogatepass"))[:_SLUG_HASH_LENGTH]
    stem = kept[: max(0, max_bytes - len(digest) - 1)].rstrip(".-@")
    return (f"{stem}-{digest}" if stem else digest)[:max_bytes]


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def near_matches(word: str, known: Iterable[str], *, limit: int = 3) -> tuple[str, ...]:
    # Only an error message needs it; difflib took 3.7 s over 100,000 names.
    from rapidfuzz import process
    from rapidfuzz.distance import Indel

    word = word[:_SHOWN_CHARACTERS]
    names = sorted(set(known))
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.casefold(), name)
    wanted = word.casefold()
    containing = [name for name in names if len(wanted) > 2 and wanted in name.casefold()]
    close = process.extract(
        wanted, list(folded), scorer=Indel.normalized_similarity, score_cutoff=0.6, limit=limit
    )
    return tuple(dict.fromkeys([*(folded[name] for name, _, _ in close), *containing]))[:limit]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint with the near matches of a word; `""` where nothing known is near."""
    near = near_matches(word, known)
    return f"did you mean {', '.join(near)}?" if near else ""


def _shown(raw: str) -> str:
    """Quote a name for a message: escaped, and not longer than a line or two."""
    return repr(raw if len(raw) <= _SHOWN_CHARACTERS else raw[:_SHOWN_CHARACTERS] + "…")
