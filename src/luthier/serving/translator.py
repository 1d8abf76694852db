"""Lines of many clients, one model: they wait in a queue of limited length, and are translated several at a time."""

from __future__ import annotations

import collections
import dataclasses
import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts
from luthier.jobs.trained_model import TranslationModel
from luthier.jobs.translate import Answer, Wanted, answer

MOST_WAITING = 64  # requests that have not begun; a hundred clients then wait a second or two
MOST_TOGETHER = 16  # lines of one batch: a short line waits for no more than these
REMEMBERED = 1000  # requests whose times the load figures are of


class Busy(Exception):
    """Too many wait; `seconds` is when to come again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many requests wait. hint: come again in {seconds} s")
        self.seconds = seconds


@dataclasses.dataclass(frozen=True, eq=False)
class _Job:
    lines: Sequence[str]
    wanted: Wanted
    answers: Future[list[Answer]]
    came: float


class Translator:
    """Answers requests one batch after another, in a thread of its own.

    Parameters
    ----------
    model : TranslationModel
    threads : int
        For the lines of a batch.
    seconds : float
        Most time for the search of one line, from when it begins.
    """

    def __init__(self, model: TranslationModel, *, threads: int = 1, seconds: float = 10.0) -> None:
        search = dataclasses.replace(model.settings.search, seconds=seconds)
        self._model = dataclasses.replace(model, settings=dataclasses.replace(model.settings, search=search))
        self._threads = threads
        self._jobs: collections.deque[_Job] = collections.deque()
        self._came = threading.Condition()
        self._times: collections.deque[tuple[float, float]] = collections.deque(maxlen=REMEMBERED)
        self._counts = {"answered": 0, "refused": 0, "lines": 0}
        threading.Thread(target=self._work, daemon=True).start()  # ends with the process: nothing is half written

    def ask(self, lines: Sequence[str], wanted: Wanted) -> Future[list[Answer]]:
        """Return where the answers will be.

        Raises
        ------
        Busy
            Where too many wait already.
        """
        job = _Job(lines, wanted, Future(), time.monotonic())
        with self._came:
            if len(self._jobs) >= MOST_WAITING:
                self._counts["refused"] += 1
                raise Busy(max(1, math.ceil(len(self._jobs) * self._mean_seconds())))
            self._jobs.append(job)
            self._came.notify()
        return job.answers

    def figures(self) -> dict[str, Any]:
        """Return what was done since the start, how many wait, and how long the last requests took, in seconds."""
        with self._came:
            counts, waiting, times = dict(self._counts), len(self._jobs), list(self._times)
        waited = [whole for whole, _ in times] or [0.0]
        shares = {"median": 50, "p95": 95, "most": 100}
        took = {name: round(float(np.percentile(waited, share)), 4) for name, share in shares.items()}
        return {**counts, "waiting": waiting, **took}

    def _mean_seconds(self) -> float:
        return float(np.mean([worked for _, worked in self._times])) if self._times else 0.0

    def _work(self) -> None:
        while True:
            batch = [job for job in self._next() if job.answers.set_running_or_notify_cancel()]  # some nobody waits for
            if not batch:
                continue
            begun = time.monotonic()
            outcomes = self._outcomes(batch)
            ended = time.monotonic()
            with self._came:  # counted first: who has the answer finds it in the figures
                self._counts["answered"] += len(batch)
                self._counts["lines"] += sum(len(job.lines) for job in batch)
                self._times.extend((ended - job.came, (ended - begun) / len(batch)) for job in batch)
            for job, outcome in zip(batch, outcomes, strict=True):
                if isinstance(outcome, Exception):
                    job.answers.set_exception(outcome)
                else:
                    job.answers.set_result(outcome)

    def _next(self) -> list[_Job]:
        """Return the next job, and those behind it that want the same, as far as they fit into a batch."""
        with self._came:
            while not self._jobs:
                self._came.wait()
            batch = [self._jobs.popleft()]
            room = MOST_TOGETHER - len(batch[0].lines)
            while self._jobs and self._jobs[0].wanted == batch[0].wanted and len(self._jobs[0].lines) <= room:
                batch.append(self._jobs.popleft())
                room -= len(batch[-1].lines)
            return batch

    def _outcomes(self, batch: list[_Job]) -> list[list[Answer] | Exception]:
        """Return the answers to jobs done together, or, where that fails, one by one: each has only its own fault."""
        try:
            found = iter(self._answers([line for job in batch for line in job.lines], batch[0].wanted))
        except Exception as error:
            if len(batch) == 1:
                return [error]
            return [outcome for job in batch for outcome in self._outcomes([job])]
        return [[next(found) for _ in job.lines] for job in batch]

    def _answers(self, lines: list[str], wanted: Wanted) -> list[Answer]:
        full = [line for line in lines if line.strip()]
        found = iter(answer(self._model, Texts.from_strings(full), wanted, threads=self._threads) if full else [])
        return [next(found) if line.strip() else Answer((("", 0.0),)) for line in lines]


def checked_lines(asked: Any, *, most_lines: int, most_words: int) -> list[str]:
    """Return the lines of a request, ``{"text": "…"}`` or ``{"lines": ["…", …]}``."""
    if not isinstance(asked, dict) or len({"text", "lines"} & asked.keys()) != 1:
        raise LuthierError('expected {"text": "…"} or {"lines": ["…"]}')
    lines = [asked["text"]] if "text" in asked else asked["lines"]
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise LuthierError("expected a text, or a list of texts")
    if not 1 <= len(lines) <= most_lines:
        raise LuthierError(f"expected 1 to {most_lines} lines, found {len(lines)}")
    for line in lines:
        if len(line.split()) > most_words:
            raise LuthierError(f"expected at most {most_words} words in a line, found {len(line.split())}")
        if "\n" in line or "\r" in line:
            raise LuthierError('expected one line, found a line end in it. hint: {"lines": […]} takes several')
    return lines
