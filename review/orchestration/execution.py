"""Runs one claimed job with the embedded reviewer: judges each pair by its gate's rule."""

from __future__ import annotations

from collections.abc import Sequence

from review.artifacts import ArtifactStore
from review.conf import Config
from review.corpus.gate_definition import read_definition
from review.corpus.linking import Linker
from review.domain.identity import gate_id_of
from review.domain.links import extract_links, resolve_link
from review.models import ReviewJob, ReviewPair
from review.protocol.sentinels import end_line, start_line
from review.runners.rules.judging import RULES, judge
from review.runners.rules.rendering import render_block
from review.runners.rules.values import RuleInput, RuleLink


def pairs_with_texts(job: ReviewJob) -> list[ReviewPair]:
    """The job's pairs with the exact texts to judge, in their order."""
    related = ("note", "gate", "note_snapshot", "gate_snapshot")
    return list(job.pairs.select_related(*related).order_by("ordinal"))


def gates_without_rule(pairs: Sequence[ReviewPair], *, config: Config) -> list[str]:
    """Ids of the gates that no rule judges, each once, in order of the pairs."""
    return list(
        dict.fromkeys(
            _gate_id(pair, config) for pair in pairs if _rule_of(pair, config) not in RULES
        )
    )


def write_rules_output(
    job: ReviewJob, pairs: Sequence[ReviewPair], *, linker: Linker, config: Config
) -> None:
    """Judge every pair and write the job's output file, as any worker would.

    :raises UnknownRule: a gate names no rule; ask `gates_without_rule` first.
    :raises ArtifactNotWritten: the system refused the file.
    """
    blocks = []
    for pair in pairs:
        names = (job.sentinel_token, pair.ordinal, pair.note.path, _gate_id(pair, config))
        review = judge(_rule_of(pair, config), _rule_input(pair, linker))
        blocks += [start_line(*names), render_block(review).rstrip("\n"), end_line(*names), ""]
    ArtifactStore(config).write_text(job.bundle_output_path, "\n".join(blocks))


def _rule_input(pair: ReviewPair, linker: Linker) -> RuleInput:
    text, note_path = pair.note_snapshot.text, pair.note.path
    links = []
    for link in extract_links(text):
        found = resolve_link(
            link.target,
            note_path=note_path,
            known=linker.known,
            stems=linker.stems,
            kind=link.kind,
        )
        links.append(RuleLink(link.target, link.line, found.path, found.external))
    return RuleInput(note_path=note_path, text=text, links=tuple(links))


def _rule_of(pair: ReviewPair, config: Config) -> str:
    gate_id = _gate_id(pair, config)
    return read_definition(path=pair.gate.path, gate_id=gate_id, text=pair.gate_snapshot.text).rule


def _gate_id(pair: ReviewPair, config: Config) -> str:
    return gate_id_of(pair.gate.path, gates_folder=config.gates_folder)
