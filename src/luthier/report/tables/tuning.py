"""The closing tables of a tuning job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from luthier.core.arrays import Float64
from luthier.evaluation.bootstrap import Interval
from luthier.report.console import stack, table
from luthier.tuning.run import Result


class Replica(Protocol):
    """One replica's answer."""

    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def weights(self) -> Float64: ...  # noqa: D102
    @property
    def result(self) -> Result: ...  # noqa: D102
    @property
    def scores(self) -> dict[str, float | None]: ...  # noqa: D102
    @property
    def interval(self) -> Interval: ...  # noqa: D102


class Report(Protocol):
    """What the tables need of a job."""

    @property
    def tuner(self) -> str: ...  # noqa: D102
    @property
    def metric(self) -> str: ...  # noqa: D102
    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def start(self) -> Float64: ...  # noqa: D102
    @property
    def oracle(self) -> float: ...  # noqa: D102
    @property
    def replicas(self) -> Sequence[Replica]: ...  # noqa: D102
    @property
    def average(self) -> Float64 | None: ...  # noqa: D102


def tuning_tables(report: Report, written: Sequence[str]) -> Any:
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


def _score_row(report: Report, replica: Replica) -> tuple[Any, ...]:
    s, result, interval = replica.scores, replica.result, replica.interval
    change = _number(s["tune_after"], 0.0) - _number(s["tune_before"], 0.0)
    return (
        str(replica.seed),
        f"{_number(s['tune_before'], 0.0):.2f}",
        f"{_number(s['tune_after'], 0.0):.2f}",
        f"{change:+.2f} ({interval.low:+.2f} … {interval.high:+.2f})",
        None if s["heldout_before"] is None else f"{s['heldout_before']:.2f}",
        None if s["heldout_after"] is None else f"{s['heldout_after']:.2f}",
        f"{report.oracle:.2f}",
        len(result.traces),
        result.agreed,
        f"{result.seconds[0]:.1f}",
    )


def _notes(report: Report) -> str:
    """Return what the answers say of themselves, a line each."""
    notes = ((replica.seed, replica.result.note) for replica in report.replicas)
    return "".join(f"seed {seed}: {note}\n" for seed, note in notes if note)


def _number(value: float | None, default: float) -> float:
    return default if value is None else value


def tuning_report(report: Report, written: Sequence[str]) -> dict[str, Any]:
    """Return the same as plain data."""
    return {
        "tuner": report.tuner,
        "metric": report.metric,
        "start": dict(zip(report.names, report.start.tolist(), strict=True)),
        "oracle": report.oracle,
        "replicas": [
            {
                "seed": replica.seed,
                **replica.scores,
                "interval": [replica.interval.low, replica.interval.high],
                "runs": len(replica.result.traces),
                "agreed": replica.result.agreed,
                "note": replica.result.note,
                "interrupted": replica.result.interrupted,
                "cpu_seconds": replica.result.seconds[0],
                "weights": dict(zip(report.names, replica.weights.tolist(), strict=True)),
            }
            for replica in report.replicas
        ],
        "average": None if report.average is None else dict(zip(report.names, report.average.tolist(), strict=True)),
        "written": list(written),
    }
