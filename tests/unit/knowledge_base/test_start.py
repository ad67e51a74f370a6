"""Start-up: with nothing changed, the corpus answers without the libraries that are slow to import."""

from __future__ import annotations

import subprocess
import sys

from tests.unit.knowledge_base.builders import make_corpus, write

GATE = "kb/instructions/review-gates/prose/x.md"
SCRIPT = """
import sys
from tests.unit.knowledge_base.builders import make_corpus
from pathlib import Path
corpus = make_corpus(Path(sys.argv[1]))
assert len(corpus.notes().notes) == len(corpus.gates.gates) == 1
print(*sorted({"yaml", "rapidfuzz", "review.domain.markdown.links"} & set(sys.modules)))
"""


class TestWarmCorpus:
    def test_imports_nothing_that_only_a_change_needs(self, tmp_path):
        write(tmp_path, "kb/notes/a.md", "---\nstatus: current\n---\nBody\n")
        write(tmp_path, GATE, "---\nname: x\nstaleness: rewrite(0.5)\n---\nBody\n")
        with make_corpus(tmp_path) as corpus:
            corpus.notes()
            corpus.gates  # noqa: B018 - reading it fills the index

        answer = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path)],
            capture_output=True,
            text=True,
            check=True,
        )

        assert answer.stdout.split() == []
