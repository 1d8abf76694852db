"""A pool's summary as tables."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from luthier.core import plugins
from luthier.core.params import describe_domain
from luthier.report.console import FinePrint, cell, code_of, decimals_for, paragraph, stack, table

if TYPE_CHECKING:  # a command loads what it shows, and nothing else
    from luthier.features.consensus.mbr import Consensus
    from luthier.kbest.building.lists import Reading
    from luthier.kbest.inspect import FeatureSummary, PoolSummary
    from luthier.kbest.pool import Pool
    from luthier.kbest.rerank import Reranked
    from luthier.metrics.oracle import Oracle


def inspection_tables(summary: PoolSummary, most: int) -> Any:
    """Return a table of the lists and one of (at most `most`) features."""
    shown = summary.features[:most]
    caption = f"{summary.n_features - most:,} more features are not shown" if summary.n_features > most else ""
    features = table(
        f"{summary.n_features:,} features over {summary.n_hypotheses:,} hypotheses",
        ("feature", "stored", "kind", "lowest", "mean", "highest", "zeros", "remark"),
        [(f.name, f.storage, f.kind, f.low, f.mean, f.high, f"{f.zeros:.1%}", _remark(f)) for f in shown],
        caption=caption,
    )
    return stack(_lists(summary), features)


def _lists(summary: PoolSummary) -> Any:
    references = summary.n_references
    rows = [
        ("sentences", cell(summary.n_sentences)),
        ("  without hypotheses", cell(summary.n_empty)),
        ("hypotheses per sentence", _spread(summary.list_lengths)),
        ("words per hypothesis", _spread(summary.words)),
        ("repeated hypotheses", _share(summary.repeated_hypotheses, summary.n_hypotheses)),
        ("repeated texts", _share(summary.repeated_texts, summary.n_hypotheses)),
        ("references per sentence", f"{references['min']} to {references['max']}"),
        ("word types", cell(summary.vocabulary)),
        ("further columns", ", ".join(summary.columns) or "none"),
        ("groups of features", ", ".join(f"{name} ({n:,})" for name, n in summary.groups.items()) or "none"),
        ("statistics", ", ".join(summary.stats) or "none"),
        ("size", f"{summary.megabytes:,.1f} MB"),
    ]
    return table("lists", ("", ""), rows)


def _spread(values: dict[str, float]) -> str:
    return f"{values['min']:,} to {values['max']:,}, median {values['median']:,g}, mean {values['mean']:,.1f}"


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.1%})" if whole else "0"


def _remark(feature: FeatureSummary) -> str:
    if feature.constant:
        return "constant: cannot matter"
    if feature.constant_in_lists:
        return "the same within each list: cannot matter"
    return f"redundant: = {feature.relation} + a constant per sentence" if feature.relation else ""


def consensus_tables(found: Consensus, output: str) -> Any:
    """Return the features that were added and their ranges, or what was selected."""
    if found.features:
        rows = [(f.name, f.low, f.mean, f.high) for f in found.features]
        title = f"expected utilities of {found.pool.n_hypotheses:,} hypotheses"
        return table(title, ("feature", "lowest", "mean", "highest"), rows, caption=f"written to {output}")
    about = found.as_dict()
    lines = [("by", found.by), ("sentences", cell(found.pool.n_sentences)), ("output", output)]
    if found.selection is not None:
        mean = about["mean_utility"]
        lines[2:2] = [
            ("not the first of its list", cell(about["not_first"])),
            ("mean utility", "" if mean is None else f"{mean:.2f}"),
            ("pairs scored", _share(found.selection.scored, found.selection.pairs)),
        ]
    return table("consensus", ("", ""), lines)


# What was read, for people and for programs.

MOST_NAMES = 15


def reading_report(reading: Reading, pool: Pool, output: str) -> dict[str, Any]:
    """Return the account of a reading as plain data; `pool` is what was written in the end."""
    return {
        "output": output,
        "lists": [
            {"path": path, "format": reading.formats[path], "hypotheses": rows} for path, rows in reading.rows.items()
        ],
        "sentences": pool.n_sentences,
        "by_source": reading.by_source,
        "hypotheses": pool.n_hypotheses,
        "features": pool.n_features,
        "references": 0 if pool.references is None else len(pool.references.texts),
        "duplicates_dropped": reading.duplicates,
        "sentences_without_hypotheses": reading.empty_sentences,
        "roles": roles_of(reading, pool),
        "missing_filled": dict(reading.filled),
        "lines_left_out": dict(reading.faults.counts),
        "places_mended": dict(reading.faults.fixed),
        "first_of_each_kind": {kind: str(error) for kind, error in reading.faults.first.items()},
    }


def roles_of(reading: Reading, pool: Pool) -> dict[str, list[str]]:
    """Return which numbers are features, which are columns (scores of hypotheses), which were left out."""
    return {"feature": list(pool.features.names), "column": list(pool.columns), "ignored": list(reading.ignored)}


def reading_table(reading: Reading, pool: Pool, output: str) -> Any:
    """Return the same as sentences, and tables of what is out of the ordinary."""
    report = reading_report(reading, pool, output)
    lists = ", ".join(f"{item['path']} ({item['format']})" for item in report["lists"])
    apart = ", told apart by their sources" if reading.by_source else ""
    told = (
        f"{lists}: {report['hypotheses']:,} hypotheses of {report['sentences']:,} sentences{apart}, "
        f"{report['references']:,} references; written to {output}"
    )
    parts: list[Any] = [paragraph(told)]
    for role, names in report["roles"].items():
        if names:
            some = ", ".join(names[:MOST_NAMES]) + (" …" if len(names) > MOST_NAMES else "")
            parts.append(paragraph(f"{role}{'s' * (role != 'ignored')} ({len(names)}): {some}"))
    counts = [
        ("sentences without hypotheses", report["sentences_without_hypotheses"]),
        ("repeated hypotheses, dropped", report["duplicates_dropped"]),
    ]
    parts += [paragraph(f"{what}: {count:,}") for what, count in counts if count]
    each = [(item["path"], item["format"], item["hypotheses"]) for item in report["lists"]]
    parts.append(FinePrint(table("read", ("list", "format", "hypotheses"), each)))
    if reading.filled:
        parts.append(table("missing values, filled in", ("feature", "rows"), list(reading.filled.items())))
    faults = [
        (kind, count, what, str(reading.faults.first[kind]))
        for what, counts in (("left out", reading.faults.counts), ("fixed", reading.faults.fixed))
        for kind, count in counts.items()
    ]
    if faults:
        parts.append(table("faulty lines", ("kind", "lines", "", "the first of them"), faults))
    return stack(*parts)


# What re-ranking chose, as a table.


def rerank_table(rows: Sequence[Reranked]) -> Any:
    """Return a table with one row for each vector of weights."""
    return table(
        "re-ranked",
        ("weights", "written to", "sentences", "not the list's first", "mean score", "mean words"),
        [dataclasses.astuple(row) for row in rows],
    )


# Scores and oracles as tables.


def score_table(rows: Sequence[tuple[str, Mapping[str, float]]], signatures: Mapping[str, str]) -> Any:
    """Return a table of files × metrics; `signatures` maps each metric's label to what it is quoted with."""
    return table(
        "scores, 0 to 100",
        ("translations", *signatures),
        [(path, *(f"{scores[key]:.2f}" for key in signatures)) for path, scores in rows],
        caption=", ".join(f"{label}: {code_of(signature)}" for label, signature in signatures.items()),
        legend="\n".join(f"{label}: {signature}" for label, signature in signatures.items()),
    )


def oracle_table(results: Mapping[str, Sequence[Oracle]]) -> Any:
    """Return a table for each metric (by signature): selections, scores, passes of the greedy ones."""
    return stack(
        *(
            table(
                "what the lists hold",
                ("selection", "score", "after each pass"),
                [_oracle_row(row, decimals_for([oracle.score for oracle in rows])) for row in rows],
                caption=code_of(signature),
                legend=signature,
            )
            for signature, rows in results.items()
        )
    )


def _oracle_row(row: Oracle, digits: int) -> tuple[str, str, str]:
    passes = " → ".join(f"{score:.{digits}f}" for score in row.passes) if len(row.passes) > 1 else ""
    return row.selection, f"{row.score:.{digits}f}", passes


# Plug-ins of a package with their options, told by their declarations.


@dataclasses.dataclass(frozen=True)
class Option:
    """A field of a plug-in, as its declaration tells it."""

    name: str
    domain: str
    default: object
    help: str


@dataclasses.dataclass(frozen=True)
class Description:
    """A plug-in with its options."""

    name: str
    help: str
    options: tuple[Option, ...]


def describe_plugins(package: str, names: Sequence[str] = ()) -> list[Description]:
    """Return name, help and options of plug-ins of a package: of those that are named, or of all."""
    found, known = [], plugins.available(package)
    for name in names or known:
        method = plugins.load(package, name)
        hints = typing.get_type_hints(method)
        options = (
            Option(
                field.name, describe_domain(hints[field.name], field.metadata), field.default, field.metadata["help"]
            )
            for field in dataclasses.fields(method)
        )
        found.append(Description(name, known[name].help, tuple(options)))
    return found


def names_table(kind: str, found: Mapping[str, plugins.Plugin], caption: str) -> Any:
    """Return a table of names and what they are."""
    return table(kind, ("name", "what it is"), [(name, one.help) for name, one in found.items()], caption=caption)


def options_table(item: Description) -> Any:
    """Return what a plug-in is, and a table of its options."""
    about = paragraph(f"{item.name}: {item.help}")
    if not item.options:
        return stack(about, paragraph("no options"))
    rows = [(o.name, str(o.default), o.domain, o.help) for o in item.options]
    return stack(about, table("", ("option", "default", "allowed", "what it does"), rows))
