"""Inspect a cluster: workers, versions, whether each can open a pool.

  luthier cluster check local:2
  luthier cluster check tcp://127.0.0.1:8786 pool.arrow

Other versions of luthier, Python or numerical libraries are an error, other processors a warning. Dask's own commands
start clusters; docs/scale.md has recipes.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from luthier.cli.options.cluster import add_connection_options, connection
from luthier.cli.output import Output

if TYPE_CHECKING:
    from luthier.kbest.storage.pool_file import PoolFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier cluster`."""
    parser.add_argument("action", choices=("check",), help="what to do")
    parser.add_argument(
        "cluster", metavar="WHERE", help="local:N, tcp://HOST:PORT, tls://HOST:PORT, a scheduler's file"
    )
    parser.add_argument("pool", metavar="POOL", nargs="?", help="a pool that every worker should open and re-rank")
    add_connection_options(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    """Ask every worker, show what they say; return 1 if one cannot be used."""
    import warnings

    from luthier.core.errors import LuthierWarning
    from luthier.jobs.cluster_check import check_cluster
    from luthier.report.tables.tuning import cluster_table

    pool = _pool(options)
    with connection(options, options.cluster) as cluster:
        check = check_cluster(cluster, pool)
    output.emit(check.as_dict(), lambda: cluster_table(check))
    if len(check.processors) > 1:
        told = f"workers have unlike processors ({', '.join(check.processors)}): results may differ in the last bit"
        warnings.warn(told, LuthierWarning, stacklevel=1)
    return 0 if check.fits else 1


def _pool(options: argparse.Namespace) -> PoolFile | None:
    from luthier.kbest.storage.pool_file import PoolFile

    return PoolFile.of(options.pool) if options.pool else None
