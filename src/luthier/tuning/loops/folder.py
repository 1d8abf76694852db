"""A loop's folder: what each turn decoded and tuned, written so that a killed loop goes on to the same bytes.

``iterations.jsonl`` has a line for the job, one for the start and one for each finished turn, each with its hash.
``weights/002.json`` are the weights that turn 2 tuned (000: the start), ``lists/002.arrow`` and ``heldout/002.arrow``
what was decoded with them. A line is written last, so what it names is there. Times are the only thing that differs
between runs; they stand in ``times.jsonl``.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import make_folder, regular
from luthier.core.files.journal import JournalWriter, Record, read_journal
from luthier.core.files.written import secondary
from luthier.core.settings import parse_json
from luthier.kbest.pool import Pool
from luthier.kbest.storage.pool_file import PoolFile, save_pool, verify_pool
from luthier.kbest.weights import read_weights, write_weights
from luthier.metrics.base import Metric
from luthier.tuning.loops.report import Iteration, LoopResult, Seconds, why_ended
from luthier.tuning.options import LoopOptions

TURNS, TIMES, ANSWER = "iterations.jsonl", "times.jsonl", "weights.json"
LISTS, HELDOUT, WEIGHTS = "lists", "heldout", "weights"
KIND = "tuning loop"


class LoopFolder:
    """The folder of one loop while it runs; a context manager that keeps other writers out."""

    def __init__(self, folder: str | os.PathLike[str], *, resume: bool, identity: Record) -> None:
        self.home = Path(folder)
        turns = self.home / TURNS
        if turns.exists() and not resume:
            raise LuthierError(f"{turns}: there is a loop already. hint: `resume` resumes it")
        make_folder(make_folder(self.home) / WEIGHTS)
        records, length = read_turns(turns) if turns.exists() else ([], 0)
        if records:
            _check_identity(turns, records[0], identity)
        self._resumed = bool(records)  # only then are lists that are there of this loop
        self.begun = len(records) > 1
        self.start_heldout = _start(turns, records[1]) if self.begun else None
        self.turns = [_turn(turns, number, record) for number, record in enumerate(records[2:], start=1)]
        self._writer = JournalWriter(turns, length)
        if not records:
            self._writer.append({"kind": KIND, "identity": identity})

    def __enter__(self) -> LoopFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def lists(self, part: str, number: int, digest: str = "") -> Pool | None:
        """Return what was decoded, if it is there; raise if it is not what a line says of it."""
        path = _list_path(self.home, part, number)
        if digest:
            return PoolFile(str(path), digest).open()
        if not self._resumed or not path.exists():
            return None
        try:
            return verify_pool(path)
        except InputError:  # of a turn that never ended: it is decoded again
            return None

    def keep_lists(self, part: str, number: int, pool: Pool) -> Pool:
        """Write what was decoded; return it as it will be read again."""
        path = _list_path(self.home, part, number)
        make_folder(path.parent)
        save_pool(pool, path)
        return PoolFile.of(path).open()

    def keep_weights(self, number: int, weights: Mapping[str, float]) -> None:
        """Write weights before anything is decoded with them."""
        write_weights(weights, _weights_path(self.home, number))

    def keep_start(self, heldout: float | None) -> None:
        """Write the line of the start: its score on the held-out set."""
        self._writer.append({"heldout": heldout})
        self.start_heldout, self.begun = heldout, True

    def keep_turn(self, turn: Iteration, took: Seconds) -> None:
        """Write a finished turn."""
        self._writer.append(turn.as_record())
        self.turns.append(turn)
        line = json.dumps({"number": turn.number, **dataclasses.asdict(took)})
        with secondary(self.home / TIMES), open(self.home / TIMES, "ab", buffering=0) as file:
            file.write(f"{line}\n".encode())

    def keep_answer(self, weights: Mapping[str, float]) -> None:
        """Write the answer."""
        write_weights(weights, self.home / ANSWER)


@dataclasses.dataclass(frozen=True)
class RecordedLists:
    """The lists that an earlier loop kept, as a function from weights to lists: no decoder is needed again.

    Attributes
    ----------
    folder : the earlier loop's
    part : "lists" or "heldout"
    """

    folder: str
    part: str = LISTS

    def __call__(self, weights: Mapping[str, float]) -> Pool:
        """Return the lists decoded with exactly these weights.

        Raises
        ------
        LuthierError
            If there are none: another tuner, seed or start needs the decoder itself.
        """
        home = Path(self.folder)
        found = sorted((home / WEIGHTS).glob("*.json"))
        if not found:
            raise LuthierError(f"{home}: expected the folder of a loop, found no weights in it")
        for path in found:
            if _counting(read_weights(regular(path))) == _counting(weights):
                number = int(path.stem) if path.stem.isdigit() else -1
                kept = _list_path(home, self.part, number)
                if kept.exists():
                    return verify_pool(kept)
        raise LuthierError(
            f"{home}: no lists were recorded for these weights. hint: recorded lists serve the tuner, seed, start and "
            "metric of the loop that made them; anything else needs the decoder"
        )


def _counting(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in weights.items() if value}


def read_result(folder: str | os.PathLike[str], tuner: str, metric: Metric, options: LoopOptions) -> LoopResult:
    """Return the result of a loop that has ended, from its folder alone: no lists are opened."""
    path = Path(folder) / TURNS
    records, _ = read_turns(path) if path.exists() else ([], 0)
    turns = [_turn(path, number, record) for number, record in enumerate(records[2:], start=1)]
    higher = metric.higher_is_better is True
    ends = [n for n in range(1, len(turns) + 1) if why_ended(turns[:n], options, higher_is_better=higher)]
    if not ends:
        raise LuthierError(f"{folder}: expected a loop that has ended, found {len(turns)} turns")
    kept = turns[: ends[0]]
    begin = read_weights(regular(_weights_path(Path(folder), 0))), _start(path, records[1])
    return LoopResult.of(tuner, metric, options, begin, kept, read_seconds(Path(folder), kept))


def read_seconds(home: Path, turns: Sequence[Iteration]) -> tuple[Seconds, ...]:
    """Return how long each turn took, where that is known: a process that was killed may not have said it."""
    found: dict[int, Seconds] = {}
    path = home / TIMES
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []:
        try:
            record = parse_json(line)
            number, parts = record.pop("number"), record.values()
            if all(part is None or (type(part) is float and math.isfinite(part)) for part in parts):
                found[number] = Seconds(**record)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
    return tuple(found.get(turn.number, Seconds()) for turn in turns)


def recorded_decoder(folder: str) -> str:
    """Return what the decoder of a recorded loop was, as its folder says."""
    path = Path(folder) / TURNS
    if not path.exists():
        raise LuthierError(f"{folder}: expected the folder of a loop, found no {TURNS} in it")
    records, _ = read_turns(path)
    return str(records[0]["identity"].get("decoder", "")) if records else ""


def read_turns(path: Path) -> tuple[list[Record], int]:
    """Return the lines of a loop, the first one about the job, and how many bytes are whole lines."""
    records, length = read_journal(path, "a turn of a loop as it was written")
    if records and (records[0].get("kind") != KIND or not isinstance(records[0].get("identity"), dict)):
        raise InputError(expected="a loop's turns", found="something else", path=str(path), line=1)
    return records, length


def _check_identity(path: Path, first: Record, identity: Record) -> None:
    for name, value in identity.items():
        if first["identity"].get(name) != value:
            raise LuthierError(
                f"{path}: this is another loop: its {name} is not the same. hint: name another folder, or run the "
                "loop that was begun here"
            )


def _start(path: Path, record: Record) -> float | None:
    score = record.get("heldout")
    if score is not None and not (isinstance(score, float) and math.isfinite(score)):
        raise InputError(expected="the score of the start", found=repr(score), path=str(path), line=2)
    return score


def _turn(path: Path, number: int, record: Record) -> Iteration:
    try:
        turn = Iteration.from_record(record)
        if turn.number != number:
            raise ValueError(f"the number {turn.number}")
    except (KeyError, TypeError, ValueError, LuthierError) as error:
        raise InputError(expected=f"turn {number}", found=f"{error}", path=str(path), line=number + 2) from None
    return turn


def _list_path(home: Path, part: str, number: int) -> Path:
    return home / part / f"{number:03d}.arrow"


def _weights_path(home: Path, number: int) -> Path:
    return home / WEIGHTS / f"{number:03d}.json"


def identity_of(**parts: Any) -> Record:
    """Return what must agree for a loop to go on, as JSON reads it back."""
    found: Record = json.loads(json.dumps(parts))
    return found
