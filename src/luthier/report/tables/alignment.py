"""What an alignment is like, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.alignment.agreement import Agreement
from luthier.alignment.summary import LinkCounts, Summary
from luthier.report.console import stack, table


def alignment_table(summary: Summary, files: Sequence[str]) -> Any:
    """Return the numbers of pairs and links of an alignment, and the likelihood pass by pass."""
    words = summary.source_words, summary.target_words
    counts = table(
        "word alignment",
        ("what", "number", "of source words", "of target words"),
        [
            ("sentence pairs", summary.pairs, None, None),
            ("left out: a side is empty", summary.empty, None, None),
            ("left out: too long", summary.long, None, None),
            ("words", sum(words), *words),
            *(
                (f"links, {name}", count, _share(count, words[0]), _share(count, words[1]))
                for name, count in _link_counts(summary)
            ),
        ],
        caption="\n".join([summary.method, *(f"written: {path}" for path in files)]),
    )
    if not summary.log_likelihoods[0]:
        return counts
    passes = table(
        "log-likelihood before each pass that trained",
        ("pass", "target from source", "source from target"),
        [
            (number, f"{forward:.1f}", f"{backward:.1f}")
            for number, (forward, backward) in enumerate(zip(*summary.log_likelihoods, strict=True), start=1)
        ],
    )
    return stack(counts, passes)


def _link_counts(counts: LinkCounts) -> list[tuple[str, int]]:
    return [
        ("target from source", counts.forward_links),
        ("source from target", counts.backward_links),
        (counts.how, counts.links),
    ]


def _share(count: int, words: int) -> str:
    return f"{count / max(words, 1):.3f}"


def joined_table(counts: LinkCounts, path: str) -> Any:
    """Return the numbers of links of two alignments and of what they became."""
    return table(
        f"links of {counts.pairs} sentence pairs",
        ("alignment", "links"),
        _link_counts(counts),
        caption=f"written: {path}",
    )


def agreement_table(found: Agreement) -> Any:
    """Return precision, recall and error rate of one alignment against another."""
    rates = (found.precision, found.recall, found.error_rate)
    return table(
        "agreement of links",
        ("links", "of the reference", "in both", "precision", "recall", "AER"),
        [(found.links, found.sure, found.sure_found, *(f"{rate:.4f}" for rate in rates))],
    )
