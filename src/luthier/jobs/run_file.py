"""``NAME.run.json``: what a run is and came to, beside its answer; the explorer's table of runs reads nothing else.

It is written with the first state of a run, about every second while it goes on, and at its end. A run that was killed
leaves a file that says "running", with the number of a process that is no more.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from luthier import __version__
from luthier.core.files.io import STDIN, open_output
from luthier.core.files.written import secondary
from luthier.kbest.pool import Pool
from luthier.metrics.base import Metric
from luthier.tuning.answer import Watch, unwatched
from luthier.tuning.base import State
from luthier.tuning.validation.report import TuningReport

if TYPE_CHECKING:
    from luthier.tuning.loops.report import Iteration, LoopResult

SUFFIX = ".run.json"
RUNNING, DONE, INTERRUPTED, FAILED = "running", "done", "interrupted", "failed"
SECONDS = 1.0  # between two writings of a run that goes on


def run_path(answer: str | os.PathLike[str]) -> str:
    """Return where the record of a run stands, beside its answer; '' where the answer is no file.

    >>> run_path("weights.txt"), run_path("-")
    ('weights.run.json', '')
    """
    target = Path(os.path.realpath(answer))
    if str(answer) == STDIN or not (target.is_file() or not target.exists()):
        return ""
    return str(Path(answer).with_suffix(SUFFIX))


class RunFile:
    """The record of one run while it goes on; a context manager.

    Parameters
    ----------
    answer : the file of weights it will write, or None: then nothing is recorded
    kind : ``tune``, ``loop`` or ``train``; a ``tune`` that ends without an answer leaves the record that was there
    """

    def __init__(self, answer: str | os.PathLike[str] | None, kind: str, **about: Any) -> None:
        self.path = run_path(answer) if answer is not None else ""
        self._lock = threading.Lock()
        self._begun, self._settled, self._written = False, False, -np.inf
        self._states, self._best = 0, -np.inf
        self._before: bytes | None = None
        self._record: dict[str, Any] = {
            "kind": kind,
            "version": __version__,
            "state": RUNNING,
            "began": _now(),
            "ended": None,
            "process": os.getpid(),
            "machine": socket.gethostname(),
            **about,
        }

    def note(self, **about: Any) -> None:
        """Add to what is known; nothing is written before the first state."""
        self._record |= about

    def begin(self) -> None:
        """Write what is known of a run that has begun."""
        with self._lock:
            self._write()

    def watch(self, seed: int) -> Watch:  # noqa: ARG002 - all seeds are one run
        """Return who is told of the states of a seed."""
        return self._tell if self.path else unwatched

    def _tell(self, run: int, step: int, state: State, heldout: float | None) -> None:  # noqa: ARG002
        with self._lock:
            self._states += 1
            self._best = max(self._best, state.gain)
            if time.monotonic() - self._written > SECONDS:
                self._record["so_far"] = {"states": self._states, "gain": float(self._best)}
                self._write()

    def finish(self, state: str = DONE, **about: Any) -> None:
        """Write how it ended."""
        known = {name: value for name, value in self._record.items() if name not in ("process", "machine", "so_far")}
        self._record = {**known, **about, "state": state, "ended": _now()}
        with self._lock:
            self._write()
        self._settled = True

    def __enter__(self) -> RunFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        going_on = self._record["state"] == RUNNING
        if self._settled or (going_on and not self._begun):
            return
        if not going_on:  # Ctrl-C came while its end was written
            self._write()
        elif self._record["kind"] != "tune":
            self.finish(INTERRUPTED if kind is not None and issubclass(kind, KeyboardInterrupt) else FAILED)
        elif self.path:
            with secondary(self.path):
                if self._before is None:
                    Path(self.path).unlink(missing_ok=True)  # Ctrl-C may have come before it was there
                else:
                    with open_output(self.path) as file:
                        file.write(self._before)

    def _write(self) -> None:
        if not self.path:
            return
        if not self._begun:
            with contextlib.suppress(OSError):
                self._before = Path(self.path).read_bytes()
        self._begun, self._written = True, time.monotonic()
        text = json.dumps(self._record, indent=1, ensure_ascii=False, default=float)
        written = False
        with secondary(self.path):
            with open_output(self.path) as file:
                file.write(text.encode("utf-8", "replace") + b"\n")
            written = True
        if not written:  # what cannot be written once is not tried again
            self.path = ""


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")


def about_lists(name: str, source: Any) -> dict[str, Any]:
    """Return which lists a run is about: their name, and the digest by which they are found again."""
    found: dict[str, Any] = {"name": Path(name).name}
    if isinstance(source, Pool):
        found |= {"digest": source.digest(), "sentences": source.n_sentences, "hypotheses": source.n_hypotheses}
    return found


def about_metric(metric: Metric) -> dict[str, Any]:
    """Return which metric a run is tuned for."""
    return {"metric": metric.label, "signature": metric.signature, "higher_is_better": metric.higher_is_better}


def about_tuning(report: TuningReport, answers: Sequence[str], *, normalized: bool) -> dict[str, Any]:
    """Return what a tuning job came to; weights are those of the files, which may be of length Σ|w| = 1."""
    first, folds, resampled = report.replicas[0], report.folds, report.resampled
    scores: dict[str, Any] = {
        "baseline": report.baseline, "before": report.before, "tuned": report.after, "interval": list(report.interval),
    }  # fmt: skip
    unseen = None
    if folds is not None:
        alone = next((rival for rival in folds.rivals[1:]), None)
        unseen = {
            "by": f"{folds.n_folds} folds", "sentences": len(folds.folds), "score": folds.score,
            "before": folds.baseline, "interval": list(folds.difference_interval),
            "alone": None if alone is None else {"name": alone.name, "score": alone.score},
        }  # fmt: skip
    elif report.heldout_after is not None:
        known, there = report.baselines, report.heldout_baselines
        best = None if known is None or there is None else known.best_alone
        held = first.heldout_interval
        unseen = {
            "by": "held-out", "sentences": first.n_heldout, "score": report.heldout_after,
            "before": report.heldout_before, "interval": None if held is None else list(held),
            "alone": None if best is None or there is None
            else {"name": best.name, "score": there.named(best.name).score},
        }  # fmt: skip
    found: dict[str, Any] = {
        "tuner": report.tuner, "scores": scores, "unseen": unseen, "answers": [Path(path).name for path in answers],
    }  # fmt: skip
    if resampled is not None:
        size = float(np.abs(resampled.answer).sum()) if normalized else 1.0
        ends = resampled.intervals / (size or 1.0)
        found["resampled"] = dict(zip(resampled.names, ends.tolist(), strict=True))
    return found


def about_loop(result: LoopResult) -> dict[str, Any]:
    """Return what a loop came to: the lists of its last turn are those that its answer is looked at with."""
    from luthier.tuning.loops.folder import ANSWER, LISTS

    last: Iteration | None = result.iterations[-1] if result.iterations else None
    answer = next((turn for turn in result.iterations if turn.number == result.chosen), last)
    found: dict[str, Any] = {"tuner": result.tuner, "answers": [ANSWER], "turns": len(result.iterations)}
    if last is not None and answer is not None:
        name = f"{LISTS}/{last.number - 1:03d}.arrow"
        found["lists"] = {"name": name, "digest": last.lists, "hypotheses": last.hypotheses}
        before = result.iterations[0].decoded
        found["scores"] = {"baseline": "start", "before": before, "tuned": answer.after, "interval": None}
    held = result.start_heldout if answer is None else answer.heldout
    if held is not None:
        found["unseen"] = {"by": "held-out", "score": held, "before": result.start_heldout, "interval": None}
    return found


def loop_run(folder: str | os.PathLike[str], kind: str, metric: Metric, tuner: str, seed: int) -> RunFile:
    """Return the record of a loop, in its folder beside its answer."""
    from luthier.tuning.loops.folder import ANSWER

    return RunFile(Path(folder) / ANSWER, kind, tuner=tuner, seed=seed, **about_metric(metric))
