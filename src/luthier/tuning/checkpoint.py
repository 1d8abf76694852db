"""Finished runs on disk, so that an interrupted job goes on to the same end.

A run that was not finished is run again from its beginning: its generator of random numbers is its own,
so it takes the same way. Numbers are written so that they read back to the same bits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.errors import InputError, LuthierError
from luthier.core.io import open_output
from luthier.tuning.base import State

Saved = tuple[tuple[State, ...], tuple[float, ...]]


class Checkpoint:
    """The finished runs of one job; without a path it keeps nothing."""

    def __init__(self, path: str, identity: dict[str, Any], finished: dict[int, Saved]) -> None:
        self._path, self._identity, self.finished = path, identity, dict(finished)

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
                raise LuthierError("--resume needs --checkpoint FILE, to know what to resume")
            return cls("", identity, {})
        if not resume:
            if Path(path).exists():
                raise LuthierError(f"{path}: there is a checkpoint already. hint: --resume goes on from it")
            return cls(path, identity, {})
        if not Path(path).exists():
            return cls(path, identity, {})
        return cls(path, identity, _read(path, identity))

    def keep(self, number: int, states: Sequence[State], heldout_gains: Sequence[float]) -> None:
        """Add a finished run, and write all of them."""
        self.finished[number] = tuple(states), tuple(heldout_gains)
        if not self._path:
            return
        runs = {
            str(n): {"states": [_plain(state) for state in kept], "heldout": list(gains)}
            for n, (kept, gains) in sorted(self.finished.items())
        }
        with open_output(self._path) as file:
            file.write(json.dumps({"identity": self._identity, "runs": runs}).encode("utf-8"))


def _plain(state: State) -> dict[str, Any]:
    return {
        "weights": state.weights.tolist(), "gain": state.gain, "did": state.did, "objective": state.objective,
        "note": state.note,
    }  # fmt: skip


def _read(path: str, identity: dict[str, Any]) -> dict[int, Saved]:
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        runs = {
            int(number): (
                tuple(State(**{**state, "weights": np.array(state["weights"])}) for state in run["states"]),
                tuple(run["heldout"]),
            )
            for number, run in found["runs"].items()
        }
        of_job = dict(found["identity"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(expected="a checkpoint", found=f"something else ({error})", path=path) from None
    for name, value in identity.items():
        if of_job.get(name) != value:
            raise LuthierError(
                f"{path}: the checkpoint is of another job: its {name} is not the same. "
                "hint: run that job's command, or name another file"
            )
    return runs
