"""The explorer in a notebook: ``luthier.explore(pool)`` shows the report's page, and can start the live one."""

from __future__ import annotations

import html
import threading
from collections.abc import Mapping, Sequence

from luthier.core.arrays import frozen
from luthier.core.params import DEFAULT_SEED
from luthier.explorer.report_file import report_page, write_report
from luthier.explorer.server import Server
from luthier.explorer.sessions.session import Named, Session
from luthier.jobs.opening import AnyPool, AnyWeights, cores, formulas_of, pool_at
from luthier.kbest.derived import with_derived
from luthier.kbest.weights import read_weights, vector_of
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric

# No `allow-same-origin`: the frame is nobody's origin, so its scripts see nothing of the notebook.
SANDBOX = "allow-scripts allow-downloads allow-modals"


class Explorer:
    """Lists in the explorer: shown by a notebook, saved as a file, or served live on this machine."""

    def __init__(self, session: Session, pairs: Sequence[tuple[int, int]], height: int) -> None:
        self._session, self._pairs, self._height = session, tuple(pairs), height
        self._server: Server | None = None
        self._page = ""

    def __repr__(self) -> str:
        """Return a short sentence."""
        scores = zip(self._session.named, self._session.scores, strict=True)
        said = ", ".join(f"{item.name} {score:.2f}" for item, score in scores)
        return (
            f"<{self._session.problem.metric.label}: {said}; .save(path) writes the page, .serve() opens the live one>"
        )

    def _repr_html_(self) -> str:
        """Return the page in a frame that can reach nothing, with its data inside, and a link to the live one."""
        self._page = self._page or report_page(self._session, self._pairs)
        link = "live: <code>.serve()</code> returns an address where weights can be dragged"
        if self._server is not None:
            address = html.escape(self._server.address)
            link = f'live on this machine: <a href="{address}" target="_blank" rel="noopener">{address}</a>'
        frame = (
            f'<iframe sandbox="{SANDBOX}" style="width:100%;height:{self._height}px;border:1px solid #ccc" '
            f'title="Luthier explorer" srcdoc="{html.escape(self._page)}"></iframe>'
        )
        return f"{frame}<div>{link}</div>"

    def save(self, path: str) -> None:
        """Write the page into a file that opens from disk."""
        write_report(self._session, path, self._pairs)

    def serve(self, port: int = 0) -> str:
        """Start the live explorer in the background, unless it runs; return its address, which holds the token."""
        if self._server is None:
            self._server = Server(self._session, port)
            threading.Thread(target=self._server.run, daemon=True).start()
        return self._server.address

    def stop(self) -> None:
        """End the live explorer."""
        if self._server is not None:
            self._server.stop()
            self._server = None


def explore(
    pool: AnyPool,
    metric: str | Metric = "bleu",
    *,
    weights: Mapping[str, AnyWeights] | Sequence[AnyWeights] | AnyWeights | None = None,
    heldout: AnyPool | None = None,
    pair: Sequence[tuple[str, str]] = (),
    height: int = 820,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
) -> Explorer:
    """Show lists in the explorer: in a notebook the report's page, without a server; `.serve()` starts the live one.

    Parameters
    ----------
    pool, metric
        Lists, or where they are; a metric or its name.
    weights
        One or several: by name, vectors or files; ``{"tuned": w, "start": v}`` names them. The first is the start.
    heldout
        Unseen lists, shown beside.
    pair
        Pairs of features to show a surface over.
    height
        Of the frame, in pixels.

    Examples
    --------
    >>> from luthier import pool_from_frame
    >>> frame = {"id": [0, 0], "hyp": ["a", "b"], "lm": [1.0, 2], "tm": [2.0, 1], "q": [0.2, 0.5]}
    >>> explore(pool_from_frame(frame, columns=["q"]), "column:q", weights={"lm": 1.0, "tm": 0.0})
    <column:q: weights 0.50; .save(path) writes the page, .serve() opens the live one>
    """
    lists = pool_at(pool)
    given = _named(weights)
    for own in given.values():
        lists = with_derived(lists, formulas_of(own))
    names = lists.features.names
    vectors = [
        Named(name, frozen(read_weights(own).vector(names) if isinstance(own, str) else vector_of(own, names)))
        for name, own in given.items()
    ]
    unseen = None if heldout is None else pool_at(heldout)
    session = Session(
        lists, as_metric(metric), vectors, title="lists", heldout=unseen, seed=seed, threads=cores(threads)
    )
    pairs = [(session.problem.index(first), session.problem.index(second)) for first, second in pair]
    return Explorer(session, pairs, height)


def _named(weights: object) -> dict[str, AnyWeights]:
    """Return weights by name: those of a mapping of weights, or numbered ones."""
    if weights is None:
        return {}
    if isinstance(weights, Mapping) and all(not isinstance(value, int | float) for value in weights.values()):
        return dict(weights)
    if isinstance(weights, list | tuple) and not all(isinstance(value, int | float) for value in weights):
        return {_name(own, i): own for i, own in enumerate(weights, start=1)}
    return {_name(weights, 0): weights}  # type: ignore[dict-item]


def _name(own: object, number: int) -> str:
    if isinstance(own, str):
        return own
    return f"weights {number}" if number else "weights"
