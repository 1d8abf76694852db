"""From weights and a space to a certificate: how far the weights are from the best there are."""

from __future__ import annotations

import dataclasses
import threading

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.files.written import secondary
from luthier.core.params import param, validate
from luthier.core.threads import one_blas_thread, stopping_gently
from luthier.landscape.certified.box import Boxes
from luthier.landscape.certified.certificate import Certificate
from luthier.landscape.certified.saved_search import load_search, save_search
from luthier.landscape.certified.search import Search
from luthier.landscape.certified.space import Space
from luthier.landscape.list_problem import ListProblem

SAVED_EVERY = 20_000  # boxes


@dataclasses.dataclass(frozen=True)
class CertifyOptions:
    """How long to search, and where to keep the search."""

    gap: float = param(0.01, low=0.0, help="stop when no weights can gain more than this over the best, in the score")
    limit: int = param(100_000, low=1, help="boxes to look at, at most")
    checkpoint: str = param("", help="file that keeps the search, for going on with it")
    resume: bool = param(False, help="go on with the search that the checkpoint keeps")
    threads: int = param(1, low=1, help="threads")

    def __post_init__(self) -> None:
        validate(self)
        if self.resume and not self.checkpoint:
            raise LuthierError("expected the file of a search to go on with, found none. hint: give `checkpoint`")


def certify(problem: ListProblem, space: Space, weights: Float64, options: CertifyOptions | None = None) -> Certificate:
    """Return the best weights of a space, with a bound on all of them; `weights`, (D,), are where it begins.

    They need not lie in the space: then they are the best found only until something in it is better. Ctrl-C stops
    the search after its present batch.
    """
    options = options or CertifyOptions()
    stop = threading.Event()
    with one_blas_thread(), stopping_gently(stop):
        boxes = Boxes(problem, space)
        if options.resume:
            search = load_search(options.checkpoint, boxes, gap=options.gap, threads=options.threads)
        else:
            search = Search.begin(boxes, weights, gap=options.gap, threads=options.threads)
        saved = search.standing.boxes
        for _ in search.batches(options.limit, stop):
            if options.checkpoint and search.standing.boxes >= saved + SAVED_EVERY:
                with secondary(options.checkpoint):
                    save_search(options.checkpoint, search)
                saved = search.standing.boxes
        if options.checkpoint:
            with secondary(options.checkpoint):
                save_search(options.checkpoint, search)
    return search.certificate(stopped=stop.is_set())
