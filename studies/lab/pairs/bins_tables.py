"""Tables and figures of learned bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from luthier.core.files.journal import Record
from luthier.evaluation.bootstrap import paired_interval
from luthier.features.bins_file import parse_bins
from luthier.features.curves import curves
from luthier.kbest.weights import Weights
from luthier.metrics.base import Metric
from luthier.report.figures.bins import draw_curves

from ..base import UNITS, markdown
from ..lines import unpack_statistics, unpack_text, unpack_weights


def learned_tables(metric: Metric, records: Sequence[Record]) -> list[str]:
    """Return what folds found, and what was judged."""
    parts = []
    for data in dict.fromkeys(record["data"] for record in records):
        own = [record for record in records if record["data"] == data]
        folded = [record for record in own if "loss" in record]
        parts += [f"## {data}, by folds of the tuning lists\n", _folded(folded)]
        for record in own:
            if "systems" in record:
                parts += [f"## {data}, judged\n", _judged(metric, record["systems"])]
    return parts


def _folded(records: Sequence[Record]) -> str:
    head = [
        "bins",
        "start, bits",
        "bins of all features",
        "of each",
        "ridge",
        "β",
        "rounds",
        "loss left out",
        "score left out",
        "CPU s",
    ]
    rows = []
    for record in records:
        sizes = [len(cut) - 1 for cut in record["cuts"]]
        cells = [record["where"], str(record["bits"]), str(sum(sizes)), ", ".join(map(str, sizes))]
        cells += [f"{record['ridge']:g}", f"{record['beta']:g}", str(record["rounds"]), f"{record['loss']:,.1f}"]
        rows.append([*cells, f"{record['score']:.2f}", f"{record['cpu_seconds']:.0f}"])
    return markdown(head, rows, (0, 3))


def _judged(metric: Metric, systems: Mapping[str, Any]) -> str:
    """Return the scores, and what the last, the learned one, adds to each of the others with its interval."""
    stats = {name: unpack_statistics(found["statistics"], len(metric.stat_names)) for name, found in systems.items()}
    *others, learned = systems
    rows = []
    for name, found in systems.items():
        cells = [name, str(found["bins"]), f"{found['tune']:.2f}", f"{found['heldout']:.2f}", "–", "–"]
        if name in others:
            low, high = paired_interval(metric, stats[name], stats[learned])
            cells[4:] = [f"{systems[learned]['heldout'] - found['heldout']:+.2f}", f"{low:+.2f} … {high:+.2f}"]
        rows.append(cells)
    return markdown(["system", "bins", "tuning lists", "unseen lists", "learned − it", "95 % interval"], rows, (0,))


def draw_learned(record: Record, path: Path) -> None:
    """Draw the weights of the learned bins, a panel for each feature."""
    *_, found = record["systems"].values()
    bins = parse_bins(unpack_text(found["made"], "bins"), UNITS)
    draw_curves(curves(bins, Weights(unpack_weights(found["weights"]))), path)
