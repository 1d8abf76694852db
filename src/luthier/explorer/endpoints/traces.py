"""States of tuners and loops, from the files that they write; and the response curves of bins."""

from __future__ import annotations

from luthier.core.errors import LuthierError
from luthier.explorer.sessions.request import LARGEST_NUMBER, CheckedRequest, changed_from_start
from luthier.explorer.sessions.responses import Reply
from luthier.explorer.sessions.session import Session, by_name
from luthier.features.curves import curves as curves_of_bins


def trace(session: Session, asked: CheckedRequest) -> Reply:
    """Return the states of a trace that the page does not have yet; none where its file is not there.

    The page says how many states of which generation of the file it `has`; where the file is another by now, it gets
    all of them.
    """
    seen = session.followed[_number(session, asked)].look()
    has = asked.whole("has", low=0, high=LARGEST_NUMBER, default=0)
    same = asked.whole("generation", low=0, high=LARGEST_NUMBER, default=seen.generation) == seen.generation
    first = min(has, len(seen.states)) if same else 0
    return Reply(
        {
            "waiting": seen.waiting,
            "generation": seen.generation,
            "first": first,
            "states": seen.states[first:],
            "more": seen.more,
        }
    )


def state(session: Session, asked: CheckedRequest) -> Reply:
    """Return the weights of one state."""
    number = _number(session, asked)
    followed = session.followed[number]
    seen = followed.look()
    chosen = asked.whole("state", low=0, high=LARGEST_NUMBER)
    generation = asked.whole("generation", low=0, high=LARGEST_NUMBER, default=seen.generation)
    line, place = followed.line_of(chosen, generation)
    return Reply({"weights": changed_from_start(session, session.trace_lines[number].weights(line, place))})


def curves(session: Session, asked: CheckedRequest) -> Reply:
    """Return the weights of bins against the values they represent, or against their order where no bins were given."""
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


def _number(session: Session, asked: CheckedRequest) -> int:
    if not session.traces:
        raise LuthierError("no traces were given")
    return asked.whole("trace", low=0, high=len(session.traces) - 1, default=0)
