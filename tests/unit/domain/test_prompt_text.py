"""What of a note a model is given."""

from __future__ import annotations

import pytest

from review.domain.markdown.flavours import FLAVOURS
from review.domain.markdown.prompt_text import text_for_prompt

DATA = "iVBORw0KGgo" * 40


class TestPictures:
    @pytest.mark.parametrize(
        "picture",
        [
            pytest.param(f"![a](data:image/png;base64,{DATA}==)", id="markdown"),
            pytest.param(f'<img src="data:image/svg+xml;base64,{DATA}">', id="html"),
            pytest.param(f"![a](DATA:image/png;BASE64,{DATA})", id="capitals"),
            pytest.param(f"![a](data:image/svg+xml;utf8,{'%3Csvg%20' * 40})", id="percent-signs"),
            pytest.param(f"[i]: <data:image/png;base64,{DATA}>", id="definition"),
            pytest.param(f'<img src="data:image/png;base64,\n{DATA}\n{DATA}\nab=">', id="lines"),
        ],
    )
    def test_are_a_placeholder_of_one_line(self, picture):
        shown = text_for_prompt(f"Before.\n\n{picture}\n\nAfter the picture it goes on.\n")

        assert len(shown) < 160
        assert "characters left out>" in shown
        assert "After the picture it goes on." in shown

    def test_that_are_short_stay(self):
        text = "![dot](data:image/gif;base64,R0lGODlhAQABAAAAACw=)\n"

        assert text_for_prompt(text) == text


class TestComments:
    @pytest.mark.parametrize(
        ("flavour", "comment"),
        [
            ("commonmark", "<!-- secret -->"),
            ("commonmark", "<!--\nsecret\n\n```\n-->"),
            ("commonmark", "[//]: # (secret)"),
            ("commonmark", "[//]: # (a secret\nof (two) lines)"),
            ("commonmark", '[comment]: <> "a secret\n  in quotation marks"'),
            ("commonmark", "[//]: #\n'a secret below'"),
            ("commonmark", "> [//]: # (a secret\n> in a quotation)"),
            ("commonmark", "- x\n\n  [//]: # (a secret\n  in a list)"),
            ("obsidian", "%%\nsecret\n\n%%"),
            ("obsidian", "Words %% secret %% and words"),
            ("mkdocs", "{# secret #}"),
            ("docusaurus", "{/* secret */}"),
            ("commonmark", "> quoted <!-- secret --> text"),
            ("commonmark", "> a\n> <!--\n> secret\n> -->\n> b"),
            ("commonmark", "[]: # (secret)"),
            ("obsidian", "- a\n  %%\n  secret\n  %%\n- b"),
            ("obsidian", "Words <%# secret %> and words"),
            ("hugo", "{{/* secret */}}"),
            ("hugo", "{{< comment >}}\nsecret\n{{< /comment >}}"),
            ("jekyll", "{% comment %}\nsecret\n{% endcomment %}"),
            ("jekyll", "{% comment %}secret{% endcomment %} and words"),
            ("hugo", "Words {{- /* secret */ -}} and words"),
            ("hugo", "{{/*\nsecret\n\nsecret\n*/}}"),
        ],
    )
    def test_are_kept_from_models_where_that_is_asked_for(self, flavour, comment):
        text = f"---\ntitle: T\n---\n# A\n\n{comment}\n\nShown.\n"

        shown = text_for_prompt(text, FLAVOURS[flavour], strip_comments=True)

        assert "secret" not in shown
        assert shown.startswith("---\ntitle: T\n---\n# A\n")
        assert shown.endswith("Shown.\n")
        assert "secret" in text_for_prompt(text, FLAVOURS[flavour])

    @pytest.mark.parametrize(
        ("flavour", "text"),
        [
            ("commonmark", "```\n<!-- x -->\n[//]: # (x)\n```\n"),
            ("commonmark", "```\n[//]: # (x\ny)\n```\n"),
            ("commonmark", "In code `<!-- x -->` it stays.\n"),
            ("commonmark", "%% no comment here %%\n"),
            ("obsidian", "100 %% is text\n"),
        ],
    )
    def test_in_code_or_of_another_flavour_are_text(self, flavour, text):
        assert text_for_prompt(text, FLAVOURS[flavour], strip_comments=True) == text
