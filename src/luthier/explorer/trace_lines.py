"""Lines of files that hold states: those of `luthier tune`, and the turns that a loop's folder keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import InputError
from luthier.core.files.json_text import parse_json
from luthier.core.files.sealed_lines import SEAL, SEAL_LENGTH, unseal
from luthier.explorer.following import Shown, file_of_trace
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.iterations import Iteration
from luthier.tuning.loop_folder import KIND

LONGEST_WORDS = 200


class TraceLines:
    """Reads the lines of one file, for lists of certain features.

    A loop's lines carry hashes, weights by name, and scores in place of gains. A feature without a weight counts 0, as
    it does in the loop.
    """

    def __init__(self, path: str, problem: ListProblem) -> None:
        self.path, self._problem = path, problem

    def shown(self, line: bytes, number: int) -> Shown | None:
        """Return what the page shows of a state; None for a line about the job itself."""
        record = self._record(line, number)
        if _is_loop(line):
            return self._turn(record, number)
        self._weights(record, number)
        heldout = record.get("heldout_gain")
        if heldout is not None and not _numbers([heldout]):
            raise self._complaint("a held-out gain or none", repr(heldout), number)
        counted = {key: value if type(value := record.get(key)) is int else 0 for key in ("seed", "restart", "step")}
        did = str(record.get("did", ""))[:LONGEST_WORDS]
        return {**counted, "gain": record["gain"], "heldout_gain": heldout, "did": did}

    def weights(self, line: bytes, number: int) -> Float64:
        """Return the weights of a state, (D,)."""
        record = self._record(line, number)
        if not _is_loop(line):
            return self._weights(record, number)
        named = self._iteration(record, number).weights
        return np.array([named.get(name, 0.0) for name in self._problem.names], dtype=np.float64)

    def _record(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            found = unseal(line) if _is_loop(line) else parse_json(line)
        except ValueError as error:
            raise self._complaint("a line of JSON", str(error), number) from None
        if not isinstance(found, dict):
            raise self._complaint("a state with gain and weights", "another value", number)
        return found

    def _weights(self, record: dict[str, Any], number: int) -> Float64:
        if not _numbers(record.get("weights")) or not _numbers([record.get("gain")]):
            raise self._complaint("a state with gain and weights", "another", number)
        weights = np.array(record["weights"], dtype=np.float64)
        if len(weights) != self._problem.n_features:
            raise self._complaint(
                f"{self._problem.n_features} weights", str(len(weights)), number, "is this a trace of other lists?"
            )
        return weights

    def _turn(self, record: dict[str, Any], number: int) -> Shown | None:
        metric = self._problem.metric
        if number == 1:
            tuned_for = record.get("identity", {}).get("metric") if isinstance(record.get("identity"), dict) else None
            if record.get("kind") != KIND or tuned_for != metric.signature:
                raise self._complaint(f"a loop that tunes for {metric.signature}", f"{tuned_for}", number)
            return None
        if number == 2:  # the start: its score on the held-out set
            return None
        turn = self._iteration(record, number)
        heldout = None if turn.heldout is None else float(metric.gain(np.array(turn.heldout)))
        return {
            "seed": 0, "restart": 0, "step": turn.number, "gain": float(metric.gain(np.array(turn.after))),
            "heldout_gain": heldout,
            "did": f"turn {turn.number}: {turn.new:,} new hypotheses, {metric.name} {turn.decoded:.2f} decoded",
        }  # fmt: skip

    def _iteration(self, record: dict[str, Any], number: int) -> Iteration:
        try:
            return Iteration.from_record(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._complaint("a turn of a loop", str(error), number) from None

    def _complaint(self, expected: str, found: str, number: int, hint: str = "") -> InputError:
        return InputError(expected=expected, found=found, path=file_of_trace(self.path), line=number, hint=hint)


def _is_loop(line: bytes) -> bool:
    """Return whether a line has the hash of those that a loop keeps."""
    return SEAL.fullmatch(line[-SEAL_LENGTH:]) is not None


def _numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(v) in (int, float) for v in values) and _finite(values)


def _finite(values: list[float]) -> bool:
    try:
        return bool(np.isfinite(np.array(values, dtype=np.float64)).all())
    except OverflowError:
        return False
