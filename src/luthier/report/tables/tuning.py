"""The closing tables of a tuning job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.report.console import stack, table
from luthier.tuning.tuned import Tuned, TuningReport


def tuning_tables(report: TuningReport, written: Sequence[str]) -> Any:
    """Return scores before and after, the weights, and the files written."""
    scores = table(
        "tuned",
        ("seed", "before", "after", "Δ, 95 % interval", "held out: before", "after", "oracle",
         "runs", "that agree", "CPU s"),
        [_score_row(report, replica) for replica in report.replicas],
        caption=f"{report.metric}\n{report.tuner}\n{_notes(report)}"
        "the interval is of the change on the tuning sentences themselves, by paired bootstrap: it is flattering",
    )  # fmt: skip
    headings = ("feature", "start", *(f"seed {replica.seed}" for replica in report.replicas))
    columns = [report.start, *(replica.weights for replica in report.replicas)]
    if report.average is not None:
        headings, columns = (*headings, "average"), [*columns, report.average]
    weights = table(
        "weights", headings, [(name, *(float(c[d]) for c in columns)) for d, name in enumerate(report.names[:40])],
        caption=f"{len(report.names) - 40} more in the files" if len(report.names) > 40 else "",
    )  # fmt: skip
    return stack(scores, weights, table("written", ("file",), [(path,) for path in written]))


def _score_row(report: TuningReport, replica: Tuned) -> tuple[Any, ...]:
    s, result, (low, high) = replica.scores, replica.result, replica.interval
    change = _number(s["tune_after"], 0.0) - _number(s["tune_before"], 0.0)
    return (
        str(replica.seed),
        f"{_number(s['tune_before'], 0.0):.2f}",
        f"{_number(s['tune_after'], 0.0):.2f}",
        f"{change:+.2f} ({low:+.2f} … {high:+.2f})",
        None if s["heldout_before"] is None else f"{s['heldout_before']:.2f}",
        None if s["heldout_after"] is None else f"{s['heldout_after']:.2f}",
        None if report.oracle is None else f"{report.oracle:.2f}",
        len(result.traces),
        result.agreed,
        f"{result.seconds[0]:.1f}",
    )


def _notes(report: TuningReport) -> str:
    """Return what the answers say of themselves, a line each."""
    notes = ((replica.seed, replica.result.note) for replica in report.replicas)
    return "".join(f"seed {seed}: {note}\n" for seed, note in notes if note)


def _number(value: float | None, default: float) -> float:
    return default if value is None else value
