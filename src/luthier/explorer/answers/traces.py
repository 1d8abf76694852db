"""States of tuners, from the files that `luthier tune` writes; and the response curves of bins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.json_text import parse_json
from luthier.corpus.lines import read_lines
from luthier.explorer.asked import Asked, changed_from_start
from luthier.explorer.replies import Reply
from luthier.explorer.session import Session, by_name
from luthier.features.curves import curves as curves_of_bins

MOST_STATES = 100_000


def trace(session: Session, asked: Asked) -> Reply:
    """Return gain and held-out gain of every state of a trace; none yet where its file is not there."""
    states = _states(session, asked)
    return Reply(
        {
            "waiting": states is None,
            "states": [
                {key: state.get(key) for key in ("seed", "restart", "step", "gain", "heldout_gain", "did")}
                for state in states or ()
            ],
        }
    )


def state(session: Session, asked: Asked) -> Reply:
    """Return the weights of one state."""
    states = _states(session, asked) or ()
    chosen = states[asked.whole("state", low=0, high=len(states) - 1)]
    return Reply({"weights": changed_from_start(session, np.array(chosen["weights"], dtype=np.float64))})


def curves(session: Session, asked: Asked) -> Reply:
    """Return the weights of bins against the values they stand for, or against their order where no bins were given."""
    weights = by_name(session, asked.weights(session))
    if session.bins is not None:
        return Reply({"curves": [curve.as_dict() for curve in curves_of_bins(session.bins, weights)]})
    return Reply(
        {
            "curves": [
                {
                    "feature": group.name,
                    "bins": [{"name": column, "mean": None, "weight": weights[column]} for column in group.columns],
                }
                for group in session.problem.pool.features.groups
            ]
        }
    )


def _states(session: Session, asked: Asked) -> Sequence[dict[str, Any]] | None:
    if not session.traces:
        raise LuthierError("no traces were given")
    path = session.traces[asked.whole("trace", low=0, high=len(session.traces) - 1, default=0)]
    try:
        told = Path(path).stat()
    except OSError:
        return None
    key = "trace", path, told.st_mtime_ns, told.st_size
    return session.kept(key, lambda: read_trace(path, session.problem.n_features))


def read_trace(path: str, n_features: int) -> tuple[dict[str, Any], ...]:
    """Return the states of a file of `luthier tune`, each checked."""
    states: list[dict[str, Any]] = []
    for number, line in enumerate(read_lines(path), start=1):
        if len(states) >= MOST_STATES:
            raise InputError(expected=f"at most {MOST_STATES:,} states", found="more", path=path)
        try:
            found = parse_json(line)
        except ValueError as error:
            raise InputError(expected="a line of JSON", found=str(error), path=path, line=number) from None
        if not isinstance(found, dict) or not _numbers(found.get("weights")) or not _numbers([found.get("gain")]):
            raise InputError(expected="a state with gain and weights", found="another", path=path, line=number)
        if len(found["weights"]) != n_features:
            raise InputError(
                expected=f"{n_features} weights", found=str(len(found["weights"])), path=path, line=number,
                hint="is this a trace of other lists?",
            )  # fmt: skip
        heldout = found.get("heldout_gain")
        if heldout is not None and not _numbers([heldout]):
            raise InputError(expected="a held-out gain or none", found=repr(heldout), path=path, line=number)
        found["did"] = str(found.get("did", ""))[:200]
        states.append(found)
    return tuple(states)


def _numbers(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(v, int | float) and not isinstance(v, bool) and np.isfinite(v) for v in values
    )
