"""What tests of the pages share: the JSON twin, messages, and the pairs of a form."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from django.test import Client


def twin(client: Client, address: str) -> Any:
    """The JSON document of a page."""
    response = client.get(address, headers={"accept": "application/json"})
    assert response.status_code == 200, response.content[:300]
    return response.json()


def text_of(response: Any) -> str:
    """A page's text, without tags and in single blanks."""
    body = response.content.decode()
    body = re.sub(r"<(head|script|style)\b.*?</\1>", " ", body, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def values_of(response: Any, name: str) -> list[str]:
    """Values of the form fields of a name, in order."""
    found = re.findall(rf'<input[^>]*\bname="?{name}"?[^>]*>', response.content.decode())
    values = (re.search(r'\bvalue="([^"]*)"|\bvalue=(\S+?)[ >]', tag) for tag in found)
    return [unescape(value[1] or value[2] or "") for value in values if value]


def messages_of(response: Any) -> list[str]:
    """What the page after a change says was done."""
    body = response.content.decode()
    items = re.findall(r"<li class=\"[^\"]*\" data-announce>(.*?)</li>", body, re.DOTALL)
    return [unescape(item).strip() for item in items]
