"""Texts that try to act on a page, and the test of a page that none of them did."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

HOSTILE = [
    pytest.param("<img src=x onerror=alert(1)>", id="image-with-handler"),
    pytest.param("[x](javascript:alert(1))", id="script-link"),
    pytest.param("[x](JaVaScRiPt&#58;alert(1))", id="script-link-in-entities"),
    pytest.param("[x](java\tscript:alert(1))", id="script-link-with-a-tab"),
    pytest.param("[x](vbscript:msgbox)", id="vbscript-link"),
    pytest.param("[[javascript:alert(1)|x]]", id="script-wikilink"),
    pytest.param("<svg onload=alert(1)>", id="svg"),
    pytest.param("<svg/onload=alert(1)//", id="svg-unclosed"),
    pytest.param('```mermaid\ngraph TD; A["<script>alert(1)</script>"]\n```', id="diagram"),
    pytest.param("[x](data:text/html;base64,PHNjcmlwdD4=)", id="data-link"),
    pytest.param("![x](data:text/html,<script>alert(1)</script>)", id="data-image"),
    pytest.param("![x](https://tracker.example/p.gif)", id="tracking-image"),
    pytest.param("- WARN: a </script><script>alert(1)</script>", id="closed-script"),
    pytest.param('"><script>alert(1)</script>', id="closed-attribute"),
    pytest.param("' autofocus onfocus='alert(1)", id="attribute"),
    pytest.param('[x](https://a.example "onmouseover=alert(1)")', id="link-title"),
    pytest.param('[x](https://a.example/"onmouseover="alert(1))', id="link-address"),
    pytest.param("<https://a.example/'><img src=x onerror=alert(1)>>", id="autolink"),
    pytest.param("<style>@import 'https://x.example'</style>", id="style"),
    pytest.param("<base href='https://x.example/'>", id="base"),
    pytest.param("<meta http-equiv=refresh content='0;url=https://x.example'>", id="refresh"),
    pytest.param("<iframe srcdoc='<script>alert(1)</script>'></iframe>", id="frame"),
    pytest.param("<form action='https://x.example'><button>Log in</button></form>", id="form"),
    pytest.param("<!--><script>alert(1)</script>-->", id="comment"),
    pytest.param("<math><mtext></p><mglyph><style><img src onerror=alert(1)>", id="mutation"),
    pytest.param("{{ 7|add:7 }}{% load static %}${alert(1)}", id="template"),
    pytest.param("# <script>alert(1)</script>", id="heading"),
    pytest.param(
        "| <img src=x onerror=alert(1)> |\n|---|\n| [x](javascript:alert(1)) |", id="table"
    ),
    pytest.param("[^<script>]: <script>alert(1)</script>\n\n[^<script>]", id="footnote"),
    pytest.param("[x]: javascript:alert(1)\n\n[x]", id="reference"),
    pytest.param("- [x] <input onfocus=alert(1) autofocus>", id="task"),
    pytest.param("\x00<scr\x00ipt>alert(1)</script>", id="nul"),
]

_ACTIVE = {
    "applet", "audio", "base", "embed", "frame", "iframe", "img", "math", "object", "picture",
    "portal", "source", "style", "svg", "track", "video",
}  # fmt: skip
_FORMS = {"form", "button", "select", "textarea"}
_SAFE_ADDRESS = re.compile(r"(?:https?:|mailto:|#|/(?!/)|\?|$)", re.IGNORECASE)


class _Looked(HTMLParser):
    def __init__(self, *, whole_page: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self._whole_page = whole_page

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if self._is_active(tag, attributes):
            self.faults.append(f"<{tag} {attributes}>")
        for name, value in attrs:
            address = re.sub(r"[\x00-\x20]", "", value or "")
            if (
                name.startswith("on")
                or name in ("style", "srcdoc", "srcset", "autofocus")
                or (
                    name in ("href", "src", "action", "formaction")
                    and not _SAFE_ADDRESS.match(address)
                )
            ):
                self.faults.append(f"{tag}.{name}={value}")

    def _is_active(self, tag, attributes):
        if not self._whole_page:
            return tag in _ACTIVE | _FORMS | {"script", "link", "meta"}
        # A page has scripts, forms and drawings of its own: those that come from this site.
        if tag == "script":
            return not str(attributes.get("src", "")).startswith("/static/")
        if tag == "meta":
            return "http-equiv" in attributes
        return tag in _ACTIVE - {"svg"}


def faults_of(html: str, *, whole_page: bool = False) -> list[str]:
    """What in this HTML could act, load or lead astray.

    :param whole_page: take scripts from `/static/`, forms and drawings for the page's own.
    """
    looked = _Looked(whole_page=whole_page)
    looked.feed(html)
    looked.close()
    return looked.faults


def harmless(html: str) -> bool:
    """Whether nothing in a piece of HTML acts, loads or leads astray."""
    found = faults_of(html)
    assert not found, found
    return True
