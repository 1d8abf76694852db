"""The closing tables of a tuning job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.landscape.list_problem import ListProblem
from luthier.landscape.parted.problem import PartedProblem
from luthier.report.console import FEW, decimals_for, stack, table
from luthier.tuning.tuned import Tuned, TuningReport


def tuning_tables(report: TuningReport, written: Sequence[str], searched: Any = None) -> Any:
    """Return scores before and after, the weights, and the files written; first the curve of a constant, if any."""
    scores = table(
        "tuned",
        ("seed", "before", "after", "Δ, 95 % interval", "held out: before", "after", "Δ", "oracle",
         "runs", "that agree", "CPU s"),
        [_score_row(report, replica) for replica in report.replicas],
        caption=f"{report.metric}\n{report.tuner}\n{_notes(report)}"
        "intervals are by paired bootstrap; on the tuning sentences themselves it is flattering\n" + _verdict(report),
    )  # fmt: skip
    headings = ("feature", "start", *(f"seed {replica.seed}" for replica in report.replicas))
    columns = [report.start, *(replica.weights for replica in report.replicas)]
    if report.average is not None:
        headings, columns = (*headings, "average"), [*columns, report.average]
    weights = table(
        "weights", headings, [(name, *(float(c[d]) for c in columns)) for d, name in enumerate(report.names[:40])],
        caption=f"{len(report.names) - 40} more in the files" if len(report.names) > 40 else "",
    )  # fmt: skip
    files = table("written", ("file",), [(path,) for path in written])
    return stack(*([] if searched is None else [_curve(searched)]), scores, weights, files)


def _curve(searched: Any) -> Any:
    """Return the curve of a constant that was searched (`luthier.pipelines.searching.Searched`)."""
    best = searched.best
    return table(
        f"{searched.name}, with the weights tuned at each value", (searched.name, "tuned", "held out", "best"),
        [(point.value, point.tuned, point.heldout, point is best) for point in searched.points],
        caption=f"{searched.name} = {best.value:g} is the best of {len(searched.points)} values",
    )  # fmt: skip


def _score_row(report: TuningReport, replica: Tuned) -> tuple[Any, ...]:
    s, result = replica.scores, replica.result
    digits = decimals_for([*s.values(), report.oracle])
    return (
        str(replica.seed),
        f"{_number(s['tune_before'], 0.0):.{digits}f}",
        f"{_number(s['tune_after'], 0.0):.{digits}f}",
        _change(s["tune_before"], s["tune_after"], replica.interval, digits),
        None if s["heldout_before"] is None else f"{s['heldout_before']:.{digits}f}",
        None if s["heldout_after"] is None else f"{s['heldout_after']:.{digits}f}",
        _change(s["heldout_before"], s["heldout_after"], replica.heldout_interval, digits),
        None if report.oracle is None else f"{report.oracle:.{digits}f}",
        len(result.traces),
        result.agreed,
        f"{result.seconds[0]:.1f}",
    )


def _change(before: float | None, after: float | None, interval: tuple[float, float] | None, digits: int) -> str | None:
    if before is None or after is None or interval is None:
        return None
    return f"{after - before:+.{digits}f} ({interval[0]:+.{digits}f} … {interval[1]:+.{digits}f})"


def _verdict(report: TuningReport) -> str:
    """Say whether the change of the first answer is more than chance, on held-out sentences if there are any."""
    first = report.replicas[0]
    held = first.heldout_interval is not None
    low, high = first.heldout_interval or first.interval
    where = "held-out" if held else "tuning"
    n = report.problem.n_sentences if isinstance(report.problem, ListProblem | PartedProblem) else FEW
    n = first.n_heldout if held else n
    if n < FEW:
        told = "1 sentence is" if n == 1 else f"{n} sentences are"
        return f"{told} too few to tell a change from chance"
    if low <= 0.0 <= high:
        return f"the change is no more than chance on these {where} sentences: the interval holds 0"
    return f"the change is more than chance on these {where} sentences: the interval does not hold 0"


def _notes(report: TuningReport) -> str:
    """Return what the answers say of themselves, a line each."""
    notes = ((replica.seed, replica.result.note) for replica in report.replicas)
    return "".join(f"seed {seed}: {note}\n" for seed, note in notes if note)


def _number(value: float | None, default: float) -> float:
    return default if value is None else value
