"""Studies of capacity as Markdown: reach of the oracle, gains on both sides, agreement of tuners, counts of cones."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from luthier.core.files.journal import Record

ORACLE = "oracle"


def cone_table(records: Sequence[Record]) -> str:
    """Return numbers of cones and CPU seconds by dimensions, sentences and hypotheses."""
    rows = []
    for own in _groups(records, ("space", "sentences", "features")):
        first = own[0]
        complete = all(record["complete"] for record in own)
        counts = [record["cones"] for record in own]
        rows.append([
            str(first["columns"]), str(first["sentences"]), first["features"],
            f"{np.mean(counts):,.0f}" if complete else f"≥ {max(counts):,}", f"{_mean(own, 'cpu_seconds'):.2f}",
        ])  # fmt: skip
    return _markdown(["D", "sentences", "hypotheses", "selections that weights can make", "CPU s"], rows, texts=())


def oracle_table(records: Sequence[Record]) -> str:
    """Return on how many draws of sentences some weights select the oracle, features by sentences."""
    sizes = sorted({record["sentences"] for record in records})
    rows = []
    for own in _groups(records, ("features",)):
        cells = []
        for size in sizes:
            some = [record for record in own if record["sentences"] == size]
            share = 100 * np.mean([r["followed"] / len(r["selected"]) for r in some]) if some else 0.0
            cells.append(f"{sum(r['feasible'] for r in some)} of {len(some)}, {share:.0f} %" if some else "–")
        largest = max(record["columns"] for record in own)
        rows.append([own[0]["features"], f"{largest:,}", *cells])
    note = (
        "\nDraws of sentences on which some weights select the oracle, and the share of sentences on which weights "
        "that were found do. D: weights that select anything, largest draw.\n"
    )
    return _markdown(["features", "D", *(f"{size} sentences" for size in sizes)], rows, texts=(0,)) + note


def tuning_table(records: Sequence[Record]) -> str:
    """Return what tuners gain on their own sentences and on the test, means over draws and their deviation."""
    rows = []
    for own in _groups(records, ("features", "space", "sentences", "tuner")):
        first = own[0]
        gain = [record["tuned"] - record["before"] for record in own]
        test = [record["test"] - record["test_before"] for record in own]
        rows.append([
            first["features"], f"{_mean(own, 'columns'):,.0f}", first["space"], str(first["sentences"]), first["tuner"],
            f"{_mean(own, 'tuned'):.2f}", _spread(gain), f"{_mean(own, 'test'):.2f}", _spread(test),
            f"{np.mean(gain) - np.mean(test):.2f}", str(len(own)), f"{_mean(own, 'cpu_seconds'):.1f}",
        ])  # fmt: skip
    head = ["features", "D", "space", "sentences", "tuner", "tuned", "gain", "test", "gain on test", "lost", "draws",
            "CPU s"]  # fmt: skip
    note = "\nGains over the start, with their standard deviation over draws. lost: the gain that test does not have.\n"
    return _markdown(head, rows, texts=(0, 2, 4)) + note


def agreement_table(records: Sequence[Record]) -> str:
    """Return the share of sentences for which two tuners select the same, and each the oracle's choice."""
    rows = []
    for own in _groups(records, ("features", "space", "sentences")):
        shares = agreements(own)
        if not shares:
            continue
        pairs = [share for names, share in shares.items() if ORACLE not in names]
        oracle = [share for names, share in shares.items() if ORACLE in names]
        lowest = min((share, names) for names, share in shares.items() if ORACLE not in names)
        largest = max(record["columns"] for record in own)
        rows.append([
            own[0]["features"], f"{largest:,}", str(own[0]["sentences"]), f"{100 * np.mean(pairs):.0f} %",
            f"{100 * lowest[0]:.0f} % ({', '.join(lowest[1])})",
            f"{100 * np.mean(oracle):.0f} %" if oracle else "–",
        ])  # fmt: skip
    head = ["features", "D", "sentences", "two tuners agree", "least", "agree with the oracle"]
    return _markdown(head, rows, texts=(0,)) + "\nShares of tuning sentences, means over pairs of tuners and draws.\n"


def agreements(records: Sequence[Record]) -> dict[tuple[str, str], float]:
    """Return the share of sentences on which two tuners select the same row, mean over draws, by their names."""
    chosen = {(record["replica"], record["tuner"]): np.array(record["selected"]) for record in records}
    tuners = sorted({record["tuner"] for record in records})
    replicas = sorted({record["replica"] for record in records})
    found = {}
    for pair in itertools.combinations(tuners, 2):
        both = [[chosen[r, name] for name in pair] for r in replicas if all((r, name) in chosen for name in pair)]
        if both:
            found[pair] = float(np.mean([np.mean(one == other) for one, other in both]))
    return found if any(ORACLE not in pair for pair in found) else {}


def _groups(records: Iterable[Record], names: tuple[str, ...]) -> list[list[Record]]:
    """Return records by what they have in common, in the order in which that first appears."""
    found: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        found.setdefault(tuple(record[name] for name in names), []).append(record)
    return list(found.values())


def _mean(records: Sequence[Record], name: str) -> float:
    return float(np.mean([record[name] for record in records]))


def _spread(values: Sequence[float]) -> str:
    mean = f"{np.mean(values):+.2f}"
    return f"{mean} ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else mean


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, texts: tuple[int, ...]) -> str:
    marks = ["---" if column in texts else "--:" for column in range(len(head))]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, marks, *rows])
