"""Reads `kb/review.toml`; an error names the file, the key and what was expected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from review.errors import InputRejected

# Ten years: a date that long ago can still be computed.
MAX_DURATION = timedelta(days=3650)
_DURATION_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_MAX_MONEY = 1_000_000_000
RUNNER_FIELDS = (
    "answer", "error", "model", "session_id", "cost_usd", "input_tokens", "output_tokens",
)  # fmt: skip
# What a runner's command may name. Not the prompt: it is given on stdin, or as a file.
PLACEHOLDERS = ("model", "effort", "scratch", "output_file", "last_message", "prompt_file")
_HINT = "the file that review_init writes shows every setting with its default"


class ConfigRefused(InputRejected): ...


class RunnerOutput(StrEnum):
    """The place of a declared runner's answer: all of stdout, JSON on it, or a file."""

    TEXT = "text"
    JSON = "json"
    JSON_LINES = "jsonl"
    FILE = "file"


class ApiKind(StrEnum):
    ANTHROPIC = "anthropic"
    OPENAI = "openai"


# Types that are checked by more than their shape: `_value` reads them.
class _Duration(timedelta): ...


class _Money(float): ...


class _Folder(str): ...


class _FolderOrRoot(str): ...


class _Argument(str): ...


_Name = Annotated[str, Meta(min_length=1)]
# A pattern of files below the root.
_Below = Annotated[str, Meta(pattern=r"^(?!/)(?!.*(^|/)\.\.(/|$)).*\.md$")]
_Reason = Annotated[str, Meta(pattern=r"\S")]
_Variable = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_VariableOrNone = Annotated[str, Meta(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")]
_RunnerField = Annotated[str, Meta(pattern=f"^({'|'.join(RUNNER_FIELDS)})$")]
_Positive = Annotated[int, Meta(ge=1)]
_Price = Annotated[float, Meta(ge=0)]
# The names in `domain/flavours`, which this module must not import.
_Flavour = Literal[
    "commonmark", "github", "obsidian", "dendron", "zola", "hugo", "jekyll", "logseq", "mkdocs",
    "docusaurus", "pandoc",
]  # fmt: skip
_Anchors = Literal["github", "docusaurus", "mkdocs", "pandoc", "obsidian"]


class Partition(Struct, frozen=True, forbid_unknown_fields=True):
    """A declared model partition; `aliases` are model names, as written, that count as it."""

    name: str = msgspec.field(name="")  # the table's own name, which is none of its keys
    aliases: tuple[_Name, ...] = ()
    any_effort: bool = False


class Prices(Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars for a million tokens; None is unknown. A batch pays the part `batch` of each."""

    input: _Price | None = None
    output: _Price | None = None
    cached_input: _Price | None = None
    cache_write: _Price | None = None
    batch: _Price | None = None


class RunnerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A declared runner, or changes to a built-in one.

    :param like: the built-in runner whose output it has and whose other settings it takes.
    :param model: as it calls the model that it runs where only the partition is known.
    :param fields: where a JSON answer holds what (`RUNNER_FIELDS`), as dotted paths.
    :param where: dotted path to the value that an answer's JSON object has.
    :param edits: whether the command may be used to edit a note in its working directory.
    :param kind: of a model API instead of a command; what follows it is for these.
    :param key: the environment variable of the key; empty sends none, None is the usual one.
    :param structured: whether the server can be asked for structured output.
    """

    name: str = msgspec.field(name="")
    like: str = ""
    command: tuple[_Argument, ...] = ()
    model: str = ""
    model_options: tuple[_Argument, ...] = ()
    effort_options: tuple[_Argument, ...] = ()
    options: tuple[_Argument, ...] = ()
    output: RunnerOutput | None = None
    fields: Mapping[_RunnerField, str] = {}
    where: Mapping[str, str] = {}
    join: bool = False
    edits: bool = False
    environment: Mapping[_Variable, _Argument] = {}
    kind: ApiKind | None = None
    address: str = ""
    key: _VariableOrNone | None = None
    max_output_tokens: _Positive = 16_000
    structured: bool = True
    prices: Prices = Prices()


class WorkerSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The runner of a partition where a broker hands jobs out; `rate` as Celery's: `10/m`."""

    name: str = msgspec.field(name="")
    runner: _Name
    model: _Name | None = None
    rate: Annotated[str, Meta(pattern=r"^([1-9][0-9]*/[smh])?$")] = ""


# Each key's field of `review.settings.Config`, and its type.
_SECTIONS: Mapping[str, Mapping[str, tuple[str, Any]]] = {
    "notes": {
        "roots": ("note_roots", Annotated[tuple[_FolderOrRoot, ...], Meta(min_length=1)]),
        "excludes": ("excludes", tuple[_Name, ...]),
        "max_bytes": ("max_note_bytes", _Positive),
        "cache": ("uses_cache", bool),
        "flavour": ("flavour", _Flavour),
        "anchors": ("anchors", _Anchors),
        "site_root": ("site_root", _FolderOrRoot),
    },
    "prompt": {"strip_comments": ("strips_comments", bool), "max_gates": ("max_gates", _Positive)},
    "gates": {"folder": ("gates_folder", _Folder), "contracts": ("contracts", tuple[_Below, ...])},
    "jobs": {
        "abandoned_after": ("abandoned_after", _Duration),
        "max_prompt_tokens": ("max_prompt_tokens", _Positive),
        "lease": ("lease", _Duration),
    },
    "sweeps": {
        "jobs": ("sweep_jobs", _Positive),
        "timeout": ("sweep_timeout", _Duration),
        "max_attempts": ("sweep_attempts", _Positive),
        "max_cost_usd": ("sweep_max_cost_usd", _Money),
    },
    "broker": {"url": ("broker_url", _Name)},
}
# Tables of names that are the user's own.
_TABLES: Mapping[str, tuple[str, Any]] = {
    "types": ("folder_types", dict[str, _Name]),
    "muted": ("muted", dict[_Name, _Reason]),
    "partitions": ("partitions", Partition),
    "runners": ("runners", RunnerSettings),
    "workers": ("workers", WorkerSettings),
}


def read_settings(path: Path) -> dict[str, Any]:
    return parse_settings(path, read_file(path))


def read_file(path: Path) -> bytes:
    """Return what is in the file, nothing where there is none; a dead link does not pass for none."""
    try:
        return path.read_bytes()
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not path.is_symlink():
            return b""
        raise ConfigRefused(f"{path}: cannot be read: {error.strerror}") from error


def parse_settings(path: Path, data: bytes) -> dict[str, Any]:
    """Parse what was read from `path`; returns and raises as `read_settings` does."""
    changes: dict[str, Any] = {}
    for section, values in _document(path, data).items():
        if section in _SECTIONS:
            keys = _SECTIONS[section]
            for key, value in _converted(path, section, values, dict[str, Any]).items():
                if key not in keys:
                    raise _unknown_key(path, f"{section}.{key}", keys)
                name, kind = keys[key]
                changes[name] = _converted(path, f"{section}.{key}", value, kind)
        elif section not in _TABLES:
            raise _unknown_key(path, section, [*_SECTIONS, *_TABLES])
        else:
            name, kind = _TABLES[section]
            if isinstance(kind, type) and issubclass(kind, Struct):
                tables = _converted(path, section, values, dict[str, dict[str, Any]])
                changes[name] = {
                    own: _converted(path, f"{section}.{own}", {**table, "": own}, kind)
                    for own, table in tables.items()
                }
            else:
                changes[name] = _converted(path, section, values, kind)
    if folders := changes.get("folder_types"):
        named = _converted(path, "types", list(folders), list[_Folder])
        changes["folder_types"] = dict(zip(named, folders.values(), strict=True))
    _refuse_shared_aliases(path, changes.get("partitions", {}))
    return changes


def parse_duration(raw: str) -> timedelta:
    """Read `90s`, `15m`, `2h` or `3d`, up to ten years, or raise ValueError."""
    match = re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", raw.strip())
    if match is None:
        raise ValueError(f"{raw!r:.99} is not a duration such as 90s, 15m, 2h or 3d")
    length = timedelta(**{_DURATION_UNITS[match[2]]: int(match[1])})
    if length > MAX_DURATION:
        raise ValueError(f"{raw!r} is longer than {MAX_DURATION.days}d")
    return length


def _document(path: Path, data: bytes) -> dict[str, Any]:
    if not data:
        return {}
    import tomllib

    text = ""
    try:
        text = data.decode()
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # bad UTF-8 and endless numbers, too
        told = str(error).replace(
            "at end of document", f"at the end, line {len(text.splitlines())}"
        )
        raise ConfigRefused(f"{path}: not valid TOML: {told}") from error


def _converted(path: Path, key: str, value: Any, kind: Any) -> Any:
    """Convert a value of the file; `ConfigRefused` says what is wrong with it, and where."""
    try:
        return msgspec.convert(value, kind, dec_hook=_value)
    except msgspec.ValidationError as error:
        said, below = _PLACE.fullmatch(str(error)).groups(default="")  # type: ignore[union-attr]
        unknown = re.fullmatch(r"(?s)Object contains unknown field `(.*)`", said)
        if unknown:
            known = filter(None, (field.encode_name for field in msgspec.structs.fields(kind)))
            raise _unknown_key(path, f"{key}{below}.{unknown[1]}", known) from error
        for word, plain in _PLAIN_WORDS.items():
            said = said.replace(f"`{word}`", plain)
        if said.startswith("Invalid enum value"):
            words = get_args(kind) or (ApiKind if below == ".kind" else RunnerOutput)
            said += f"; expected one of {', '.join(words)}"
        raise ConfigRefused(f"{path}: {key}{below}: {said}", hint=_HINT) from error


_PLACE = re.compile(r"(?s)(.*?)(?: - at (?:`key` in )?`\$(.*)`)?")
_PLAIN_WORDS = {
    "array": "a list", "object": "a table", "str": "text", "int": "a whole number",
    "bool": "true or false",
}  # fmt: skip


def _unknown_key(path: Path, key: str, known: Iterable[str]) -> ConfigRefused:
    return ConfigRefused(f"{path}: unknown key {key!r:.200}; known: {', '.join(known)}", hint=_HINT)


def _refuse_shared_aliases(path: Path, partitions: Mapping[str, Partition]) -> None:
    owner: dict[str, str] = {}
    for name, partition in partitions.items():
        for alias in partition.aliases:
            if owner.setdefault(alias, name) != name:
                raise ConfigRefused(
                    f"{path}: partitions.{name}.aliases: {alias!r} is an alias of"
                    f" {owner[alias]!r} too",
                    hint="name each alias in one partition",
                )


def _value(kind: type, value: object) -> object:
    """Read a value of a type above, or raise ValueError; msgspec adds its place."""
    if kind is _Money:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not 0 < value < _MAX_MONEY
        ):
            raise ValueError(f"expected an amount above 0, such as 2.50, got {value!r:.99}")
        return _Money(value)
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {value!r:.99}")  # noqa: TRY004 - told with its place
    if kind is _Duration:
        return _Duration(seconds=parse_duration(value).total_seconds())
    if kind is _Argument:
        return _Argument(_argument(value))
    parts = [part for part in value.split("/") if part not in ("", ".")]
    if kind is _FolderOrRoot and not parts and value.startswith("."):
        return _FolderOrRoot(".")
    if value.startswith("/") or ".." in parts or not parts:
        raise ValueError(f"expected a folder below the root, got {value!r:.99}")
    return kind("/".join(parts))


def _argument(value: str) -> str:
    for word in re.findall(r"\{([a-z_]+)\}", value):
        if word == "prompt":
            raise ValueError("expected no {prompt}: it is given on stdin")
        if word not in PLACEHOLDERS:
            raise ValueError(f"expected one of {{{'}, {'.join(PLACEHOLDERS)}}}, got {value!r:.99}")
    if "\0" in value:
        raise ValueError("expected no NUL character")
    return value
