"""What an alignment is like, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Group
from rich.text import Text

from luthier.alignment.summary import Agreement, LinkCounts, Summary
from luthier.decoding.decoded import DecodingSummary
from luthier.decoding.trace import Trace
from luthier.features.bins import Bins
from luthier.features.curves import Curve
from luthier.grammar.extraction.extract import Extracted
from luthier.lm.estimate import Estimate
from luthier.lm.model import Perplexity
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


# What an extraction gave, as a table.


def extraction_table(result: Extracted) -> Any:
    """Return a table of the sizes of a model and its grammar."""
    rows = [("sentence pairs", f"{result.pairs:,}")]
    if result.left_out is not None:
        rows.append(("left out, empty or too long", f"{result.left_out:,}"))
    if result.model is not None:
        rows.append(("model", result.model))
    if result.output is not None:
        rows += [
            ("sentences", f"{result.sentences:,}"),
            ("without a rule", f"{result.without_rules:,}"),
            ("source sides", f"{result.source_sides:,}"),
            ("rules", f"{result.rules:,}"),
            ("written to", result.output),
        ]
    if result.in_corpus is not None:
        rows.insert(-1, ("left out of the corpus", f"{result.in_corpus:,}"))
    return table("rules", ("", ""), rows)


# Language models and their perplexities as tables.


def estimate_table(made: Estimate, path: str) -> Any:
    """Return a table of what an estimated model, written to `path`, has, order by order."""
    rows = [
        (n, count, pruned, *(f"{value:.4f}" for value in own.values), "" if own.estimated else "fallback")
        for n, (count, pruned, own) in enumerate(zip(made.model.counts, made.pruned, made.discounts, strict=True), 1)
    ]
    return table(
        f"language model of {made.n_sentences:,} sentences, {made.n_words:,} words",
        ("order", "n-grams", "pruned", "D1", "D2", "D3+", ""),
        rows,
        caption=f"written to {path}",
    )


def perplexity_table(found: Perplexity) -> Any:
    """Return a table of a text's perplexity."""

    def shown(value: float | None) -> str:
        return "beyond any number" if value is None else f"{value:.4f}"

    rows = [
        ("sentences", f"{found.n_sentences:,}"),
        ("words", f"{found.n_words:,}"),
        ("unknown words", f"{found.n_unknown:,}"),
        ("log10 probability", f"{found.log10_prob:.4f}"),
        ("perplexity", shown(found.with_unknown)),
        ("perplexity without unknown words", shown(found.without_unknown)),
    ]
    return table("perplexity, ends of sentences counted", ("of the text", "value"), rows)


# What a decoder did, as tables: a run, and one sentence cell by cell.


def decoding_table(result: DecodingSummary) -> Any:
    """Return a table of a run, or of its trace."""
    if result.trace is not None:
        return trace_tables(result.trace)
    rows = [
        ("sentences", f"{result.sentences:,}"),
        ("source words", f"{result.words:,}"),
        ("hypotheses", f"{result.hypotheses:,}"),
        ("pops", f"{result.pops:,}"),
        ("seconds of search", f"{result.seconds:.2f}"),
    ]
    if result.output is not None:
        rows.append(("written to", result.output))
    return table("decoding", ("", ""), rows)


def trace_tables(trace: Trace) -> Any:
    """Return the cells of a chart with their best items, and the winning tree below them."""
    heads = ("cell", "source", "items", "edges", "score", "best item")
    rows = [
        (f"{c.label} {c.first}:{c.last}", c.source, f"{c.items:,}", f"{c.edges:,}", f"{c.score:.3f}", c.best)
        for c in trace.cells
    ]
    tree = "\n".join(f"{'  ' * line.depth}{line.first}:{line.last}  {line.rule}" for line in trace.tree)
    return Group(
        table("cells that a translation of the sentence uses", heads, rows), Text("the winning tree"), Text(tree)
    )


# Bins as a table.


def bins_table(bins: Bins) -> Any:
    """Return a line for each feature: its values, bins and how even they are."""
    rows = [
        (
            f.feature,
            f.n_values,
            int(f.populations.sum()),
            len(f),
            f.lows[0].item(),
            f.highs[-1].item(),
            int(f.populations.min()),
            int(f.populations.max()),
            f"{f.error:.1%}",
            f.keep,
        )
        for f in bins.features
    ]
    columns = (
        "feature",
        "values",
        "instances",
        "bins",
        "lowest",
        "highest",
        "fewest in one",
        "most in one",
        "error",
        "kept",
    )
    counted = f"counted {bins.origin['counted']}; " if "counted" in bins.origin else ""
    how = "the least error there is" if bins.exact else "filled from the left"
    caption = f"{counted}{how}; error: mean distance of a bin's capped population from one bin's worth"
    return table(f"{len(bins.names):,} bins of {len(bins.features):,} features", columns, rows, caption=caption)


# The learned shape of features, as tables.

COLUMNS = ("bin", "lowest", "highest", "instances", "weight", "fitted", "remark")


def curve_tables(curves: Sequence[Curve], most: int) -> Any:
    """Return a table for each feature, with at most `most` of its bins."""
    return stack(*(_curve_table(curve, most) for curve in curves))


def _curve_table(curve: Curve, most: int) -> Any:
    bins, fitted = curve.bins, curve.fitted
    rows = [
        (
            bins.names[j],
            bins.lows[j].item(),
            bins.highs[j].item(),
            int(bins.populations[j]),
            curve.weights[j].item(),
            None if np.isnan(fitted[j]) else fitted[j].item(),
            _remark(curve, j),
        )
        for j in range(min(most, len(bins)))
    ]
    more = f"{len(bins) - most:,} more bins are not shown. " if len(bins) > most else ""
    return table(f"{bins.feature}: {_shape(curve)}", COLUMNS, rows, caption=more + _fits(curve))


def _remark(curve: Curve, j: int) -> str:
    if j == 0 or not curve.against[j - 1]:
        return ""
    return "falls" if curve.rises else "rises"


def _shape(curve: Curve) -> str:
    way = "rises" if curve.rises else "falls"
    count = int(curve.against.sum())
    return f"{way} throughout" if not count else f"{way}, but for {count} of {len(curve.against)} steps"


def _fits(curve: Curve) -> str:
    if curve.log is None or curve.line is None:
        return "fewer than three bins above 0: no curve fitted"
    log, line = curve.log, curve.line
    return f"{log.a:.4g} {log.b:+.4g} log x, R² {log.r2:.3f}; {line.a:.4g} {line.b:+.4g} x, R² {line.r2:.3f}"
