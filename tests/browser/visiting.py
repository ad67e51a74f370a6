"""A visit to the pages with a real browser, which notes what a browser complains about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request

AXE = Path(__file__).parents[1] / "vendor" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
HEIGHT = 900
LOOKS = (("light", 1280), ("dark", 1280), ("light", 360), ("dark", 360))
_RUN_AXE = """async (tags) => (await axe.run(document, {
    runOnly: {type: "tag", values: tags}, resultTypes: ["violations"], preload: false,
})).violations.map((v) => `${v.id}: ${v.help}: ` + v.nodes.map((n) => n.html.slice(0, 160)).slice(0, 3).join(" | "))
"""
# Colours that are on their way from one theme to the other are neither.
_AT_REST = "() => Promise.allSettled(document.getAnimations().map((each) => each.finished))"
_TOO_WIDE = """() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    return [...document.querySelectorAll("body *")]
        .filter((e) => e.getBoundingClientRect().right > width + 1)
        .map((e) => e.outerHTML.slice(0, 120)).slice(0, 3);
}"""


@dataclass
class Visit:
    """One tab, logged in; `complaints` is what a browser would show in its console."""

    page: Page
    base: str
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("request", self._requested)

    def open(self, path: str) -> Page:
        """Go to a page of the site and wait until it is there."""
        self.page.goto(f"{self.base}{path}", wait_until="load")
        return self.page

    @property
    def path(self) -> str:
        """Path, query and fragment of where we are."""
        return self.page.url.removeprefix(self.base)

    def problems(self, *, best_practice: bool = True) -> list[str]:
        """What is wrong with the page we are on, light and dark, wide and narrow; none if good.

        :param best_practice: hold it to what axe advises beyond WCAG, too.
        """
        rules = [*RULES, "best-practice"] if best_practice else RULES
        found: list[str] = []
        for theme, width in LOOKS:
            with self.look(theme, width):
                found += [f"{theme} {width}: {problem}" for problem in self._problems_now(rules)]
        return found

    @contextmanager
    def look(self, theme: str, width: int) -> Iterator[Page]:
        """The same page in other colours and another width."""
        before = self.page.viewport_size
        self.page.emulate_media(color_scheme=theme)
        self.page.set_viewport_size({"width": width, "height": HEIGHT})
        self.page.evaluate(_AT_REST)
        yield self.page
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size(before)

    @contextmanager
    def expecting_complaints(self) -> Iterator[list[str]]:
        """Complaints inside are the test's to look at: a page that answers 404 is one."""
        before = len(self.complaints)
        heard: list[str] = []
        yield heard
        heard += self.complaints[before:]
        del self.complaints[before:]

    def focused(self) -> str:
        """The id of the element that has the focus."""
        return str(self.page.evaluate("document.activeElement.id"))

    def _problems_now(self, rules: list[str]) -> list[str]:
        wide = [f"wider than the window: {html}" for html in self.page.evaluate(_TOO_WIDE)]
        return [*self.page.evaluate(_RUN_AXE, rules), *wide]

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _requested(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if f"{parts.scheme}://{parts.netloc}" != self.base:
            self.complaints.append(f"asked another place: {request.url}")
