"""Serve the pages and the admin on this machine, and let its user in by a link."""

from __future__ import annotations

import errno
import getpass
import io
import ipaddress
import re
import socket
from argparse import ArgumentTypeError
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandParser
from django.core.servers.basehttp import WSGIRequestHandler, WSGIServer, run

from review.errors import Conflict, ReviewError, UsageRefused
from review.management.kit import ExitCode, Options, ReviewCommand, positive_int, word
from review.store import checks_without_reviews
from review.web.core.responses import entry_path

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000
MAX_PORT = 65_535
# Seconds, for a look whether somebody listens.
_PATIENCE = 2


class Command(ReviewCommand):
    """Add the tables for people to the store where they are missing, then answer requests."""

    help = (
        "Serve the pages and the admin on this machine, until Ctrl-C. On first run a user is made "
        "for you; the printed link logs you in, once, without a password."
    )
    examples = (
        "commonplace serve",
        "commonplace serve --port 8080",
        "commonplace serve --link    # another link, for a server that runs already",
    )
    exit_codes = {ExitCode.CONFLICT: "--link: no user on the staff has this machine user's name"}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", type=word, default=DEFAULT_HOST, help="address to listen on")
        parser.add_argument(
            "--port", type=_port, default=DEFAULT_PORT, metavar="N", help="port to listen on"
        )
        parser.add_argument(
            "--link", action="store_true", help="print a link that logs you in, and serve nothing"
        )

    def run(self, options: Options) -> None:
        host = options["host"]
        _allow(host)
        with checks_without_reviews():
            call_command("migrate", verbosity=0)
        call_command("clearsessions")
        if options["link"]:
            self._say_link(host, options["port"])
            self._look_for_server(host, options["port"])
            return
        from commonplace_site.wsgi import application

        try:
            run(
                host,
                options["port"],
                application,
                ipv6=":" in host,
                threading=True,
                server_cls=WholeRequestServer,
                on_bind=lambda port: self._say_where(host, int(port)),
            )
        except KeyboardInterrupt:
            return
        except OSError as error:
            raise _named(error, host, options["port"]) from error

    def _look_for_server(self, host: str, port: int) -> None:
        """Warn if no server answers yet: the link is valid for one that is started in time."""
        try:
            socket.create_connection((host, port), timeout=_PATIENCE).close()
        except OSError:
            self.warn(
                f"no server answers at {_address(host, port)} yet; start one with:"
                f" {_command(host, port)}, or give the --port of the one that runs"
            )

    def _say_where(self, host: str, port: int) -> None:
        try:
            self._say_link(host, port)
        except NoLocalOperator as nobody:
            self.notice(f"{nobody.message}: {_address(host, port)}")
        if not _is_local(host):
            self.warn("others can reach this server, without encryption: see docs/deploy.md")
        self.notice("Ctrl-C stops the server.")

    def _say_link(self, host: str, port: int) -> None:
        user = local_operator()
        minutes = settings.PASSWORD_RESET_TIMEOUT // 60
        self.notice(f"This link logs you in as {user.username}, once, within {minutes} minutes:")
        self.write_lines([f"{_address(host, port)}{entry_path(user)}"])
        self.stdout.flush()


def _allow(host: str) -> None:
    """Allow the name we listen on; a server that listens everywhere needs a configured name."""
    if host in ("0.0.0.0", "::"):  # noqa: S104
        if not settings.NAMED_HOSTS:
            raise UsageRefused(
                f"{host} is every address of this machine, and no name is allowed for it",
                "no-host-name",
                hint="set COMMONPLACE_HOSTS to the names that browsers will use",
            )
        return
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, f"[{host}]" if ":" in host else host]


def _named(error: OSError, host: str, port: int) -> Exception:
    """The refusal that the error of listening means; itself where it came of something else."""
    if error.errno == errno.EADDRINUSE:
        return ReviewError(
            f"port {port} of {host} is in use: Address already in use",
            "port-refused",
            hint=f"give another --port; if it is a server of this base: {_command(host, port)} --link",
        )
    if error.errno in (errno.EACCES, errno.EPERM) and error.filename is None:
        return ReviewError(
            f"port {port} of {host} is not for this user: {error.strerror}",
            "port-refused",
            hint=f"ports below 1024 are the system's; give another, such as --port {DEFAULT_PORT}",
        )
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        return UsageRefused(
            f"{host!r} is no address of this machine: {error.strerror}", "no-such-host"
        )
    return error


def _command(host: str, port: int) -> str:
    at = "" if host == DEFAULT_HOST else f" --host {host}"
    return f"commonplace serve{at}{'' if port == DEFAULT_PORT else f' --port {port}'}"


def _port(raw: str) -> int:
    number = positive_int(raw)
    if number > MAX_PORT:
        raise ArgumentTypeError(f"{raw!r} is no port: the last one is {MAX_PORT}")
    return number


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_LENGTH = re.compile(r"[0-9]{1,18}", re.ASCII)


class WholeRequestHandler(WSGIRequestHandler):
    """Refuses a body without a certain end: the rest would be taken for another request."""

    timeout = 30.0  # seconds without a byte, of a request and between two

    def handle_one_request(self) -> None:
        """Answer one request; close without an answer where the next byte does not come in time."""
        stream = self.rfile
        try:
            super().handle_one_request()
        except TimeoutError:
            self.close_connection = True
        finally:
            self.rfile = stream

    def parse_request(self) -> bool:
        """Read the line, the headers and the body; False when the request was refused."""
        if not super().parse_request():
            return False
        length, *others = {value.strip() for value in self.headers.get_all("Content-Length", ["0"])}
        if others or "Transfer-Encoding" in self.headers or not _LENGTH.fullmatch(length):
            return self._refuse(HTTPStatus.BAD_REQUEST, "the length of the body is not known")
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if int(length) > most:
            return self._refuse(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {most:,} bytes"
            )
        self.rfile = io.BytesIO(self.rfile.read(int(length)))
        if len(self.rfile.getbuffer()) < int(length):
            return self._refuse(HTTPStatus.BAD_REQUEST, "the body ends before its length")
        return True

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log only what the server itself refused: the pages log what they refuse."""
        if isinstance(code, HTTPStatus):
            super().log_request(code, size)

    def _refuse(self, status: HTTPStatus, why: str) -> bool:
        self.close_connection = True
        self.send_error(status, explain=why)
        return False


class WholeRequestServer(WSGIServer):
    def __init__(self, address: tuple[str, int], handler: object, **options: Any) -> None:
        super().__init__(address, WholeRequestHandler, **options)


_NOT_IN_NAMES = re.compile(r"[^\w.@+-]")


class NoLocalOperator(Conflict):
    """People log in with passwords here, and none of them is the user of this machine."""


def local_operator() -> User:
    """Return the user with this machine's user name; created, without a password, if none exist.

    :raises NoLocalOperator: there are users, and no active one on the staff has this name.
    """
    users = get_user_model().objects
    name = _machine_user()
    found = users.filter(username=name, is_active=True, is_staff=True).first()
    if found is not None:
        return found
    if users.exists():
        raise NoLocalOperator(
            f"no user {name!r} on the staff; log in with a password",
            hint=f"make one: commonplace createsuperuser --username {name}",
        )
    return users.create_superuser(name)


def _machine_user() -> str:
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = ""
    return _NOT_IN_NAMES.sub("-", name)[:150] or "operator"
