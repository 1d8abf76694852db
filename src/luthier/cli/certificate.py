"""What two commands show of a proof: ``luthier certify`` and ``luthier surface --best-only``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from luthier.cli.output import Output

if TYPE_CHECKING:
    from luthier.jobs.certify import Certified


def show_certificate(found: Certified, weights_out: str | None, output: Output) -> None:
    """Write the best weights, and show what is proven of them and of the start."""
    from luthier.core.files.written import Written
    from luthier.kbest.weights import write_weights
    from luthier.report.tables.landscape import certify_tables

    files = Written()
    if weights_out:
        with files.answer(weights_out):
            write_weights(found.weights, weights_out)
    tables = found.certificate, found.problem.names, found.start, found.start_score, files.paths
    output.emit({**found.as_dict(), "written": files.paths}, lambda: certify_tables(*tables))
    files.check()
