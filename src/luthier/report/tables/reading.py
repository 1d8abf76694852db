"""What was read, for people and for programs."""

from __future__ import annotations

from typing import Any

from luthier.kbest.pool import Pool
from luthier.kbest.reading.lists import Reading
from luthier.report.console import stack, table

MOST_NAMES = 15


def reading_report(reading: Reading, pool: Pool, output: str) -> dict[str, Any]:
    """Return the account of a reading as plain data; `pool` is what was written in the end."""
    return {
        "output": output,
        "lists": [
            {"path": path, "format": reading.formats[path], "hypotheses": rows} for path, rows in reading.rows.items()
        ],
        "sentences": pool.n_sentences,
        "hypotheses": pool.n_hypotheses,
        "features": pool.n_features,
        "references": 0 if pool.references is None else len(pool.references.texts),
        "duplicates_dropped": reading.duplicates,
        "sentences_without_hypotheses": reading.empty_sentences,
        "roles": roles_of(reading, pool),
        "missing_filled": dict(reading.filled),
        "lines_left_out": dict(reading.faults.counts),
        "places_mended": dict(reading.faults.mended),
        "first_of_each_kind": {kind: str(error) for kind, error in reading.faults.first.items()},
    }


def roles_of(reading: Reading, pool: Pool) -> dict[str, list[str]]:
    """Return which numbers are features, which are columns (scores of hypotheses), which were left out."""
    return {"feature": list(pool.features.names), "column": list(pool.columns), "ignored": list(reading.ignored)}


def reading_table(reading: Reading, pool: Pool, output: str) -> Any:
    """Return the same as tables."""
    report = reading_report(reading, pool, output)
    lists = table(
        "read",
        ("list", "format", "hypotheses"),
        [(item["path"], item["format"], item["hypotheses"]) for item in report["lists"]],
    )
    sums = [
        ("sentences", report["sentences"]),
        ("without hypotheses", report["sentences_without_hypotheses"]),
        ("hypotheses", report["hypotheses"]),
        ("repeated, dropped", report["duplicates_dropped"]),
        ("features", report["features"]),
        ("references", report["references"]),
    ]
    parts: list[Any] = [lists, table(f"written to {output}", ("", "count"), sums)]
    roles = [(role, ", ".join(names[:MOST_NAMES]) + (" …" if len(names) > MOST_NAMES else ""), len(names))
             for role, names in report["roles"].items() if names]  # fmt: skip
    parts.append(table("what the numbers are", ("role", "names", "count"), roles))
    if reading.filled:
        parts.append(table("missing values, filled in", ("feature", "rows"), list(reading.filled.items())))
    faults = [
        (kind, count, what, str(reading.faults.first[kind]))
        for what, counts in (("left out", reading.faults.counts), ("mended", reading.faults.mended))
        for kind, count in counts.items()
    ]
    if faults:
        parts.append(table("faulty lines", ("kind", "lines", "", "the first of them"), faults))
    return stack(*parts)
