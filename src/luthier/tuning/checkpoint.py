"""Finished runs on disk, so that an interrupted job goes on to the same end.

A run that was not finished is run again from its beginning: its generator of random numbers is its own,
so it takes the same way. Numbers are written so that they read back to the same bits. A finished run is
one more line; the first line says of which job they are.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.errors import InputError, LuthierError, LuthierWarning
from luthier.core.files.journal import JournalWriter, Record, read_journal
from luthier.core.settings import typed
from luthier.tuning.base import State

Saved = tuple[tuple[State, ...], tuple[float, ...]]
KIND = "checkpoint of a tuner"


class Checkpoint:
    """The finished runs of one job; without a path it keeps nothing."""

    def __init__(self, path: str, identity: dict[str, Any], finished: dict[int, Saved], length: int = 0) -> None:
        self._path, self._identity, self.finished = path, identity, finished
        self._is_new, self._complained = not length, False
        self._writer = JournalWriter(path, length) if path else None

    @classmethod
    def open(cls, path: str, *, resume: bool, identity: dict[str, Any]) -> Checkpoint:
        """Return the checkpoint at `path`, with what it holds if `resume`.

        Raises
        ------
        LuthierError
            If there is nothing to resume, if it is of another job, or if one would be overwritten.
        """
        if not path:
            if resume:
                raise LuthierError("to resume a job needs a checkpoint file, to know what to resume")
            return cls("", identity, {})
        if Path(path).exists() and not resume:
            raise LuthierError(f"{path}: there is a checkpoint already. hint: `resume` goes on from it")
        if not Path(path).exists():
            return cls(path, identity, {})
        return cls(path, identity, *_read(path, identity))

    def keep(self, number: int, states: Sequence[State], heldout_gains: Sequence[float]) -> None:
        """Add a finished run. The first that cannot be written is a warning: the job itself goes on."""
        self.finished[number] = tuple(states), tuple(heldout_gains)
        if self._writer is None:
            return
        run = {"run": number, "states": [_plain(state) for state in states], "heldout": list(heldout_gains)}
        try:
            self._writer.append(*([{"kind": KIND, "identity": self._identity}] if self._is_new else []), run)
            self._is_new = False
        except (OSError, LuthierError) as error:
            if not self._complained:
                reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
                message = f"the checkpoint {self._path} lacks run {number}, and perhaps later ones: {reason}"
                warnings.warn(message, LuthierWarning, stacklevel=2)
            self._complained = True

    def close(self) -> None:
        """Let others go on from it."""
        if self._writer is not None:
            self._writer.close()


def _plain(state: State) -> dict[str, Any]:
    return {
        "weights": state.weights.tolist(),
        "gain": state.gain,
        "did": state.did,
        "objective": state.objective,
        "note": state.note,
        "record": dict(state.record),
    }


def _read(path: str, identity: dict[str, Any]) -> tuple[dict[int, Saved], int]:
    try:
        records, length = read_journal(path, "a checkpoint")
    except OSError as error:
        raise InputError(expected="a checkpoint", found=(error.strerror or str(error)).lower(), path=path) from None
    if not records or records[0].get("kind") != KIND or not isinstance(records[0].get("identity"), dict):
        raise InputError(expected="a checkpoint", found="something else", path=path)
    for name, value in identity.items():
        if records[0]["identity"].get(name) != value:
            raise LuthierError(
                f"{path}: the checkpoint is of another job: its {name} is not the same. "
                "hint: run that job's command, or name another file"
            )
    finished: dict[int, Saved] = {}
    for line, record in enumerate(records[1:], start=2):
        try:
            number, saved = _run_of(record, identity)
        except (InputError, ValueError) as error:
            raise InputError(expected="a finished run", found=str(error).rstrip("."), path=path, line=line) from None
        finished[number] = saved
    return finished, length


@dataclasses.dataclass(frozen=True)
class _StoredState:
    """A `State` as a line has it."""

    weights: tuple[float, ...]
    gain: float
    did: str
    objective: int | float | None
    note: str
    record: dict[str, int | float]


@dataclasses.dataclass(frozen=True)
class _StoredRun:
    """A finished run as a line has it."""

    run: int
    states: tuple[_StoredState, ...]
    heldout: tuple[float, ...]


def _run_of(record: Record, identity: dict[str, Any]) -> tuple[int, Saved]:
    """Return number, states and held-out gains of a kept run; raise where they cannot be of this job."""
    kept: _StoredRun = typed(record, _StoredRun)
    if not 0 <= kept.run <= identity["restarts"]:
        raise ValueError(f"a run numbered {kept.run!r}")
    if not kept.states or len(kept.heldout) != (len(kept.states) if identity["heldout"] else 0):
        raise ValueError(f"{len(kept.states)} states and {len(kept.heldout)} held-out gains")
    if any(len(state.weights) != len(identity["start"]) for state in kept.states):
        raise ValueError("weights of other features")
    numbers = [*kept.heldout, *(number for state in kept.states for number in (state.gain, *state.weights))]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a number that is not finite")
    states = tuple(State(**{**vars(state), "weights": np.array(state.weights)}) for state in kept.states)
    return kept.run, (states, kept.heldout)
