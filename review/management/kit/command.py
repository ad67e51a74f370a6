"""The base of every command: streams, options, refusals and exit codes in one place."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from getpass import getuser
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, TextIO, TypeAlias, TypeVar, cast

import msgspec
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.management.color import no_style
from django.db import DatabaseError
from django.utils import timezone

from review import settings, store
from review.documents.base import encode
from review.domain.printing import printable
from review.errors import ExitCode, ReviewError, UsageRefused
from review.knowledge_base import Corpus
from review.management.kit.arguments import (
    COMMON_EXIT_CODES,
    EXIT_CODE_MEANINGS,
    Arguments,
    HelpShown,
    ReviewParser,
    declare,
    word,
)
from review.management.streams import (
    MAX_INPUT_BYTES,
    printable_json,
    progress_allowed,
    read_source,
    report,
)
from review.upkeep.open_store import open_store

_Request = TypeVar("_Request")
Options: TypeAlias = dict[str, Any]
# What a command writes for people.
Lines: TypeAlias = Iterator[str]
_MAX_USER_NAME = 100


class CommandRefused(CommandError):
    """A refusal on its way out of a command; `returncode` is its exit code."""

    def __init__(self, refusal: ReviewError) -> None:
        super().__init__(refusal.message, returncode=int(refusal.exit_code))
        self.refusal = refusal


class CommandFinished(CommandError):
    """A command that gave its result and ends with a code other than 0."""

    def __init__(self, code: ExitCode) -> None:
        super().__init__(EXIT_CODE_MEANINGS[code], returncode=int(code))


class ReviewCommand(BaseCommand):
    """A command that translates: parse, one call down, print.

    The docstring of its module is its help, with examples below, and its name that of its schema.
    `self.now` is the moment the command started, the only clock it reads.
    """

    requires_system_checks: list[str] = []
    stealth_options = ("stdin", "now")
    schema: ClassVar[str] = ""
    arguments: ClassVar[Arguments] = {}
    examples: ClassVar[Sequence[str]] = ()
    exit_codes: ClassVar[Mapping[ExitCode, str]] = {}
    store_use: ClassVar[store.Use] = store.Use.WRITE

    now: datetime
    stdin: BinaryIO | None
    as_json: bool
    quiet: bool
    use_cache: bool

    def __init_subclass__(cls) -> None:
        if "help" not in vars(cls):
            about, _blank, examples = (sys.modules[cls.__module__].__doc__ or "").partition("\n\n")
            cls.help = " ".join(about.split())
            cls.examples = [line.strip() for line in examples.splitlines()]
            name = cls.__module__.rpartition(".")[2].replace("_", "-")
            cls.schema = vars(cls).get("schema", f"{name}/1")

    def __init__(self, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        super().__init__(stdout=stdout, stderr=stderr, no_color=True)
        self.style = no_style()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> ReviewParser:
        parser = ReviewParser(
            prog=f"{Path(prog_name).name} {subcommand}".strip(),
            description=self.help,
            epilog=self._epilog(),
            called_from_command_line=True,
            **kwargs,
        )
        parser.output = self.stdout
        self.add_arguments(parser)
        common = parser.add_argument_group("common options")
        if self.schema:
            common.add_argument(
                "--json",
                action="store_true",
                help=f"print one JSON document of schema {self.schema}, and errors as JSON",
            )
        common.add_argument("-q", "--quiet", action="store_true", help="no notices, no progress")
        return parser

    @classmethod
    def all_exit_codes(cls) -> dict[ExitCode, str]:
        common = {code: EXIT_CODE_MEANINGS[code] for code in COMMON_EXIT_CODES}
        return dict(sorted((common | dict(cls.exit_codes)).items()))

    def use_of(self, options: Options) -> store.Use:
        """Return what this call needs of the store; override it where that depends on the options."""
        return self.store_use

    def run(self, options: Options) -> None:
        raise NotImplementedError

    def add_arguments(self, parser: CommandParser) -> None:
        declare(parser, self.arguments)

    @property
    def config(self) -> settings.Config:
        return settings.current()

    @cached_property
    def corpus(self) -> Corpus:
        return Corpus(self.config, use_cache=self.use_cache)

    def answer(
        self, argv: Sequence[str], *, stdin: BinaryIO | None = None, now: datetime | None = None
    ) -> int:
        """Run `argv` (program, command, arguments), report a refusal, and give the exit code."""
        arguments = list(argv[2:])
        try:
            options = vars(self.create_parser(argv[0], argv[1]).parse_args(arguments))
            self.execute(**options, stdin=stdin, now=now)
        except HelpShown:
            return int(ExitCode.DONE)
        except CommandFinished as finished:
            return finished.returncode
        except (ReviewError, CommandRefused) as error:
            refusal = error.refusal if isinstance(error, CommandRefused) else error
            report(refusal, stream=self.log, as_json="--json" in arguments)
            return int(refusal.exit_code)
        return int(ExitCode.DONE)

    def run_from_argv(self, argv: list[str]) -> None:
        if code := self.answer(argv):
            sys.exit(code)

    def execute(self, *args: Any, **options: Any) -> None:
        """Open the store, `run` the command, and raise refusals as CommandRefused."""
        self._bind(options)
        try:
            use = self.use_of(options)
            if use is not store.Use.NONE:
                open_store(write=use is store.Use.WRITE)
            self._fill_actor(options)
            try:
                self.run(options)
            finally:
                if "corpus" in vars(self):
                    self.corpus.save()
        except (ReviewError, DatabaseError) as error:
            refusal = error if isinstance(error, ReviewError) else store.refusal_of(error)
            if refusal is None:
                raise
            raise CommandRefused(refusal) from error

    def read_input(self, source: str, *, max_bytes: int = MAX_INPUT_BYTES) -> bytes:
        return read_source(source, stdin=self.stdin, max_bytes=max_bytes)

    def show(
        self,
        document: msgspec.Struct,
        lines: Iterable[str],
        *,
        warnings: Iterable[str] = (),
        notices: Iterable[str] = (),
        code: ExitCode = ExitCode.DONE,
    ) -> None:
        """Write the result, with `--json` as the document, else as lines; end with the code."""
        if self.as_json:
            self.write_json(document)
        else:
            self.write_lines(lines)
            for line in (*warnings, *(() if self.quiet else notices)):
                self.warn(line)
        self.finish(code)

    def write_json(self, document: msgspec.Struct) -> None:
        self.write_raw(printable_json(encode(document)) + "\n")

    def write_lines(self, lines: Iterable[str]) -> None:
        """Write lines for people, each made safe for a terminal."""
        for line in lines:
            self.write_raw(f"{printable(line)}\n")

    def write_raw(self, text: str) -> None:
        """Write `text` as it is, for formats of other tools."""
        self.stdout.write(text, ending="")

    def notice(self, text: str) -> None:
        """Write a line to stderr that `-q` silences."""
        if not self.quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Write a line to stderr that `-q` does not silence, such as a problem with a file."""
        self.stderr.write(printable(text).removesuffix("\n") + "\n", ending="")

    @property
    def log(self) -> TextIO:
        """The stream behind `stderr`, for what is no line of text."""
        return cast(TextIO, self.stderr._out)

    @property
    def shows_progress(self) -> bool:
        return not self.quiet and progress_allowed(self.log)

    def finish(self, code: ExitCode) -> None:
        """Raise CommandFinished after the result was written, unless `code` is `DONE`."""
        if code is not ExitCode.DONE:
            raise CommandFinished(code)

    def _bind(self, options: dict[str, Any]) -> None:
        for name in ("stdout", "stderr"):
            stream = options.pop(name, None)
            if stream is not None:
                getattr(self, name)._out = stream
        self.stdin = options.pop("stdin", None)
        self.now = options.pop("now", None) or timezone.now()
        self.as_json = bool(options.get("json"))
        self.quiet = bool(options.get("quiet"))
        self.use_cache = not options.get("no_cache")
        self.stderr.style_func = None

    def _fill_actor(self, options: dict[str, Any]) -> None:
        if "actor" not in options or options["actor"]:
            return
        named = settings.current().actor
        try:
            options["actor"] = word(named) if named else _user()
        except ArgumentTypeError as error:
            raise UsageRefused(f"COMMONPLACE_ACTOR: {error}") from error

    def _epilog(self) -> str:
        examples = ["examples:", *(f"  {line}" for line in self.examples), ""]
        codes = [f"  {int(code):>3}  {text}" for code, text in self.all_exit_codes().items()]
        return "\n".join([*(examples if self.examples else ()), "exit codes:", *codes])


class ReadingCommand(ReviewCommand):
    store_use = store.Use.READ


class StorelessCommand(ReviewCommand):
    store_use = store.Use.NONE


def told(*parts: str | Iterable[str] | None) -> Lines:
    """Yield lines: texts, those of a list one by one, and nothing for None."""
    for part in parts:
        yield from (part,) if isinstance(part, str) else part or ()


def request_of(kind: type[_Request], options: Mapping[str, Any], **more: Any) -> _Request:
    """Make a request of the options with the names of its fields, and of `more`.

    `--model` names the model partition.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if "model" in given:
        given.setdefault("model_partition", given["model"])
    return msgspec.convert({**given, **more}, kind)


def refuse(wrong: Mapping[str, object], *, hint: str = "") -> None:
    """Refuse options by the message of the first condition that holds."""
    for message, is_so in wrong.items():
        if is_so:
            raise UsageRefused(message, hint=hint)


def require_option(options: Options, needed: str, *others: str) -> None:
    """Refuse `others` that say something only beside `needed`."""
    flags = {name: f"--{name.replace('_', '-')}" for name in (needed, *others)}
    given = [name for name in others if options[name] not in (None, False)]
    refuse({f"{flags[name]} goes with {flags[needed]}": not options[needed] for name in given})


def _user() -> str:
    """The user as an actor: a person only at a terminal, with a name on one line."""
    try:
        name = getuser()
    except (KeyError, OSError):
        name = str(os.getuid())
    streams = (sys.stdin, sys.stdout, sys.stderr)
    is_here = any(stream and not stream.closed and stream.isatty() for stream in streams)
    name = "".join(char if char.isprintable() else "-" for char in name)[:_MAX_USER_NAME]
    return f"{'human' if is_here else 'unnamed'}:{name}"
