"""The closing tables of a tuning job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from luthier.landscape.list_problem import ListProblem
from luthier.landscape.sharded_problem import ShardedProblem
from luthier.metrics.several import Constrained
from luthier.report.console import FEW, FinePrint, as_text, code_of, decimals_for, paragraph, stack, table, written_text
from luthier.tuning.validation.baselines import FIRST, Baselines, Choice
from luthier.tuning.validation.report import Tuned, TuningReport
from luthier.tuning.validation.resampling import CONFIDENCE
from luthier.tuning.validation.weight_shares import size_of, unit_weights, weight_shares

if TYPE_CHECKING:
    from luthier.distributed.check import ClusterCheck, WorkerCheck
    from luthier.tuning.sweep import Chosen, Tried

MOST_ALONE = 8  # scorers alone that the table shows
MOST_FEATURES = 40
MOST_NAMED = 10


def tuning_tables(report: TuningReport, written: Sequence[str], searched: Any = None, kept: str = "") -> Any:
    """Return the answer, its weights, and the files written; in fine print all runs, baselines, and weights of each.

    `kept` says why the files have weights of another size than the table; '' where they have the same numbers.
    """
    scores = table(
        "tuned",
        (
            "seed",
            "baseline",
            "tuned",
            "Δ, 95 % interval",
            "held out: baseline",
            "tuned",
            "Δ",
            "oracle",
            "runs",
            "that agree",
            "CPU s",
        ),
        [_score_row(report, replica) for replica in report.replicas],
        caption=f"{report.metric}\n{report.tuner}\n{_named_baseline(report)}"
        "intervals are by paired bootstrap; on the tuning sentences themselves it is flattering",
    )
    beside = [] if report.baselines is None else [_baselines(report, report.baselines)]
    weights = _weights(report, kept)
    curve = [] if searched is None else [_curve(searched)]
    short = [] if report.resampled is not None or report.average is not None else [_named_weights(report)]
    told = [paragraph(line) for line in (_notes(report) + _verdict(report)).splitlines()]
    fine = stack(scores, *beside, *([weights] if short else []))
    shown = [*([_parts(report)] if report.parts else []), *(short or [weights]), *_other_metrics(report)]
    return stack(*curve, answer_table(report), *told, *shown, FinePrint(fine), written_text(written))


def answer_table(report: TuningReport) -> Any:
    """Return what tuning adds to what needs none: on unseen sentences where there are any, else on the tuning ones."""
    first = report.replicas[0]
    folds, baselines = report.folds, report.heldout_baselines or report.baselines
    adds = "tuned adds, 95 % interval"
    if folds is not None:
        digits = decimals_for([folds.score, *(rival.score for rival in folds.rivals)])
        rows: list[tuple[Any, ...]] = [
            _rival_row(rival.name, rival.score, rival.difference, rival.interval, digits) for rival in folds.rivals
        ]
        if folds.baseline not in [rival.score for rival in folds.rivals]:
            name, interval = "best baseline of each fold", folds.difference_interval
            rows.append(_rival_row(name, folds.baseline, folds.difference, interval, digits))
        rows.append(("tuned", f"{folds.score:.{digits}f}", None))
        where = f"on {len(folds.folds):,} sentences, none seen by its weights ({folds.n_folds} folds)"
        return table(where, ("", code_of(report.metric), adds), rows)
    held = first.n_heldout > 0
    names = ("heldout_baseline", "heldout_after") if held else ("tune_baseline", "tune_after")
    before, after = (_number(first.scores[name], 0.0) for name in names)
    digits = decimals_for([before, after])
    rows = []
    if baselines is not None and first.baseline != FIRST:
        rows.append((FIRST, f"{baselines.named(FIRST).score:.{digits}f}", None))
    interval = first.heldout_interval if held and first.heldout_interval is not None else first.interval
    rows.append(_rival_row(f"best baseline: {first.baseline}", before, after - before, interval, digits))
    for replica in report.replicas:
        label = "tuned" if len(report.replicas) == 1 else f"tuned, seed {replica.seed}"
        rows.append((label, f"{_number(replica.scores[names[1]], 0.0):.{digits}f}", None))
    if report.oracle is not None and not held:
        rows.append(("oracle", f"{report.oracle:.{digits}f}", None))
    where = f"on {first.n_heldout:,} held-out sentences" if held else "on the sentences it was tuned on, which flatters"
    return table(where, ("", code_of(report.metric), adds), rows)


def _other_metrics(report: TuningReport) -> list[Any]:
    """Say what the weights do to other metrics on unseen sentences, where that is more than chance."""
    told = [f"{one.metric} {one.verdict}" for one in (report.folds.others if report.folds else ())]
    sure = [words for words in told if not words.endswith("cannot be told")]
    return [paragraph(f"other metrics, on the same sentences: {', '.join(sure)}")] if sure else []


def _rival_row(
    name: str, score: float, difference: float, interval: tuple[float, float], digits: int
) -> tuple[str, str, str]:
    low, high = interval
    return name, f"{score:.{digits}f}", f"{difference:+.{digits}f} ({low:+.{digits}f} … {high:+.{digits}f})"


def _named_weights(report: TuningReport) -> Any:
    """Return the weights of the first answer in a line, those of most effect first."""
    shares = sorted(weight_shares(report), key=lambda share: -share.share)
    named = ", ".join(f"{share.name} {share.weight:.3g}" for share in shares[:MOST_NAMED])
    more = f", and {len(shares) - MOST_NAMED} more" if len(shares) > MOST_NAMED else ""
    return paragraph(f"weights, by their effect: {named}{more}")


def _parts(report: TuningReport) -> Any:
    """Return the score of each of several metrics on the tuning sentences."""
    metric, note = report.problem.metric, ""
    if isinstance(metric, Constrained):
        note = f"scores beyond {metric.parts[0].gain(np.array(metric.floor)):.0f} say by how much limits are broken"
    return table("each metric on the tuning sentences", ("metric", "start", "tuned"), report.parts, caption=note)


def _weights(report: TuningReport, kept: str) -> Any:
    """Return the weights, their sizes summing to 1, with shares of the effect, and intervals where there are any."""
    headings = ["feature", "start", *(f"seed {replica.seed}" for replica in report.replicas)]
    columns = [report.start, *(replica.weights for replica in report.replicas)]
    if report.average is not None:
        headings, columns = [*headings, "average"], [*columns, report.average]
    units = [unit_weights(column) for column in columns]
    resampled = report.resampled is not None
    rows = []
    for d, share in enumerate(weight_shares(report)[:MOST_FEATURES]):
        row = [share.name, *(float(unit[d]) for unit in units), f"{share.share:.1f} %"]
        if resampled:
            low, high = share.interval or (0.0, 0.0)
            row += [f"{low:+.3g} … {high:+.3g}", "cannot be told from 0" if share.may_be_zero else ""]
        rows.append(row)
    headings += ["share of effect", *((f"{CONFIDENCE:.0%} interval", "") if resampled else ())]
    notes = ["sizes sum to 1; the share of effect is |w|·spread, of the first answer"]
    if kept:
        size = size_of(report.replicas[0].weights)
        notes.append(f"the file has weights of another size (as found, they sum to {size:.5g}): {kept}")
    if len(report.names) > MOST_FEATURES:
        notes.append(f"{len(report.names) - MOST_FEATURES} more in the files")
    return table("weights", headings, rows, caption="\n".join(notes))


def _named_baseline(report: TuningReport) -> str:
    """Say what the answers are compared with."""
    if report.baselines is None:
        return "the baseline is the start\n"
    return f"the baseline is {report.baselines.best_name!r}, the best of those below on the tuning sentences\n"


def _baselines(report: TuningReport, found: Baselines) -> Any:
    """Return what can be had without tuning, on the tuning set and on the held-out set, and the first answer."""
    held = report.heldout_baselines
    shown = _shown(found)
    first = report.replicas[0]
    rows = [(c.name, c.score, None if held is None else held.named(c.name).score) for c in shown]
    rows.insert(-1, ("tuned", _number(first.scores["tune_after"], 0.0), first.scores["heldout_after"]))
    digits = decimals_for([score for _, *scores in rows for score in scores])
    cells = [(name, *(None if s is None else f"{s:.{digits}f}" for s in scores)) for name, *scores in rows]
    left = len(found.choices) - len(shown)
    notes = [f"{left} more scorers alone in the JSON"] if left else []
    return table("without tuning", ("", "tuning", "held out"), cells, caption="\n".join([*notes, *_first_wins(report)]))


def _shown(found: Baselines) -> list[Choice]:
    """Return all choices, of scorers alone the best few."""
    metric = found.problem.metric
    alone = [c for c in found.choices if c.name.endswith(" alone")]
    alone.sort(key=lambda c: -float(metric.gain(np.array(c.score))))
    dropped = {c.name for c in alone[MOST_ALONE:]} - {found.best_name}
    return [c for c in found.choices if c.name not in dropped]


def _first_wins(report: TuningReport) -> list[str]:
    """Say so where the order of the lists is better than the start."""
    if report.baselines is None:
        return []
    metric, first = report.baselines.problem.metric, report.baselines.named(FIRST).score
    start = _number(report.replicas[0].scores["tune_before"], first)
    if not metric.gain(np.array(first)) > metric.gain(np.array(start)):
        return []
    digits = decimals_for([first, start])
    return [f"the first of each list, {first:.{digits}f}, is better than the start, {start:.{digits}f}"]


def _curve(searched: Any) -> Any:
    """Return the curve of a constant that was searched (`luthier.jobs.length_penalty.Searched`)."""
    best = searched.best
    return table(
        f"{searched.name}, with the weights tuned at each value",
        (searched.name, "tuned", "held out", "best"),
        [(point.value, point.tuned, point.heldout, point is best) for point in searched.points],
        caption=f"{searched.name} = {best.value:g} is the best of {len(searched.points)} values",
    )


def _score_row(report: TuningReport, replica: Tuned) -> tuple[Any, ...]:
    s, result = replica.scores, replica.result
    digits = decimals_for([*s.values(), report.oracle])
    return (
        str(replica.seed),
        f"{_number(s['tune_baseline'], 0.0):.{digits}f}",
        f"{_number(s['tune_after'], 0.0):.{digits}f}",
        _change(s["tune_baseline"], s["tune_after"], replica.interval, digits),
        None if s["heldout_baseline"] is None else f"{s['heldout_baseline']:.{digits}f}",
        None if s["heldout_after"] is None else f"{s['heldout_after']:.{digits}f}",
        _change(s["heldout_baseline"], s["heldout_after"], replica.heldout_interval, digits),
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
    """Say whether the first answer adds to the baseline by more than chance, on unseen sentences if there are any."""
    first, folds = report.replicas[0], report.folds
    if folds is not None and len(folds.folds) >= FEW:
        return _told(folds.difference_interval, "unseen", report)
    held = first.heldout_interval is not None
    low, high = first.heldout_interval or first.interval
    where = "held-out" if held else "tuning"
    n = report.problem.n_sentences if isinstance(report.problem, ListProblem | ShardedProblem) else FEW
    n = first.n_heldout if held else n
    if n < FEW:
        told = "1 sentence is" if n == 1 else f"{n} sentences are"
        return f"{told} too few to tell a change from chance"
    return _told((low, high), where, report)


def _told(interval: tuple[float, float], where: str, report: TuningReport) -> str:
    low, high = interval
    if low <= 0.0 <= high:
        return f"the change from the best baseline is no more than chance on these {where} sentences: it may be 0"
    better = (low > 0.0) == bool(report.problem.metric.higher_is_better)
    told = f"the answer is {'better' if better else 'worse'} than the best baseline"
    return f"{told} by more than chance on these {where} sentences: the interval does not hold 0"


def _notes(report: TuningReport) -> str:
    """Return what the answers say of themselves, a line each."""
    notes = ((replica.seed, replica.result.note) for replica in report.replicas)
    several = len(report.replicas) > 1
    return "".join(f"seed {seed}: {note}\n" if several else f"{note}\n" for seed, note in notes if note)


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
    return stack(points, written_text(written))


def _row_choosing(point: Tried, chosen: Chosen) -> tuple[Any, ...]:
    marks = ["chosen"] * (point is chosen.best) + ["did not converge"] * ("did not converge" in point.note)
    each = point.record.get("beta_per_pair")
    return (
        *(point.values[name] for name in chosen.axes),
        point.features,
        f"{point.tuned:.2f}",
        f"{point.heldout:.2f}",
        None if each is None else f"{each:.3g}",
        f"{point.cpu_seconds:.1f}",
        ", ".join(marks),
    )


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
