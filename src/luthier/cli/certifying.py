"""What commands that prove something of weights show and write in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from luthier.cli.output import Output

if TYPE_CHECKING:
    from luthier.core.arrays import Float64
    from luthier.landscape.certified.certificate import Certificate
    from luthier.landscape.list_problem import ListProblem


def show_certificate(
    found: Certificate, problem: ListProblem, start: Float64, weights_out: str | None, output: Output
) -> None:
    """Write the best weights where asked to, and show what is proven of them and of the start, (D,)."""
    from luthier.core.files.written import Written
    from luthier.kbest.derived import derived_of
    from luthier.kbest.weights import Weights, write_weights
    from luthier.report.tables.certify import certify_tables

    files = Written()
    written = files.paths
    if weights_out:
        with files.answer(weights_out):
            write_weights(Weights.from_vector(problem.names, found.weights, derived_of(problem.pool)), weights_out)
    score = float(problem.metric.score(problem.stats[problem.select(start)].sum(axis=0)))
    about = {"start_score": score, **found.as_dict(), "names": list(problem.names), "written": written}
    output.emit(about, lambda: certify_tables(found, problem.names, start, score, written))
    files.check()
