"""The closing tables of a tuning job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.distributed.checked import ClusterCheck, WorkerCheck
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.sharded_problem import PartedProblem
from luthier.report.console import FEW, as_text, decimals_for, stack, table
from luthier.tuning.chosen import Chosen, Tried
from luthier.tuning.report import Tuned, TuningReport


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
    """Return the curve of a constant that was searched (`luthier.jobs.length_penalty.Searched`)."""
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


# The table of a choice: every point that was tried, the chosen one marked.


def chosen_tables(chosen: Chosen, written: Sequence[str]) -> Any:
    """Return the points with their scores, and the files."""
    points = table(
        "points",
        (*chosen.axes, "features", "tuned", "held out", "β a pair", "CPU s", ""),
        [_row_choosing(point, chosen) for point in chosen.points],
        caption=f"{chosen.metric}\n{chosen.method}; chosen by re-ranking the held-out lists, without decoding:\n"
        "the score of the best of many points flatters it",
    )
    return stack(points, table("written", ("file",), [(path,) for path in written]))


def _row_choosing(point: Tried, chosen: Chosen) -> tuple[Any, ...]:
    marks = ["chosen"] * (point is chosen.best) + ["did not converge"] * ("did not converge" in point.note)
    each = point.record.get("beta_per_pair")
    return (
        *(point.values[name] for name in chosen.axes), point.features, f"{point.tuned:.2f}", f"{point.heldout:.2f}",
        None if each is None else f"{each:.3g}", f"{point.cpu_seconds:.1f}", ", ".join(marks),
    )  # fmt: skip


# The workers of a cluster as a table.


def cluster_table(check: ClusterCheck) -> Any:
    """Return a row for each worker, and below why those cannot be used that cannot."""
    columns = ("worker", "host", "processor", "cores", "memory", "pool opened in", "re-ranks a second")
    rows = [_row(worker) for worker in check.workers if worker.machine]
    same = ", ".join(f"{name} {value}" for name, value in check.versions)
    faults = [as_text(f"{worker.address}: {worker.fault}") for worker in check.workers if worker.fault]
    return stack(table("Cluster", columns, rows, caption=f"all of them: {same}"), *faults)


def _row(worker: WorkerCheck) -> list[str]:
    machine = worker.machine
    assert machine is not None
    opened = "" if worker.open_seconds is None else f"{worker.open_seconds:.2f} s"
    rate = "" if worker.rerank_rate is None else f"{worker.rerank_rate / 1e6:.1f} M"
    memory = f"{machine.memory / 1e9:.0f} GB" if machine.memory else ""
    return [worker.address, machine.where, machine.processor, str(machine.cores), memory, opened, rate]
