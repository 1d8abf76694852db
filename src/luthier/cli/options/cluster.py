"""Where units of work run: `--cluster`, what may be said of it, and the engine that follows."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from luthier.core.errors import LuthierError

if TYPE_CHECKING:
    from luthier.core.tasks import Engine
    from luthier.distributed.engine import DaskCluster
    from luthier.kbest.pool import Pool
    from luthier.kbest.storage.pool_file import PoolFile

SILENCE = 60.0


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands whose work other processes or hosts can do."""
    group = parser.add_argument_group("cluster (docs/scale.md)")
    group.add_argument(
        "--cluster", metavar="WHERE", help="local:N, tcp://HOST:PORT, tls://HOST:PORT, or a scheduler's file"
    )
    add_connection_options(group)


def add_connection_options(group: argparse._ActionsContainer) -> None:
    """Add what may be said of the way to a cluster."""
    group.add_argument(
        "--cluster-silence",
        type=float,
        default=SILENCE,
        metavar="S",
        help="seconds without a sign of life after which a worker counts as dead (default: %(default)g)",
    )
    group.add_argument(
        "--cluster-insecure",
        action="store_true",
        help="allow tcp:// to other hosts: all who reach them are trusted",
    )
    group.add_argument("--cluster-ca", default="", metavar="F", help="tls: certificate of the authority")
    group.add_argument("--cluster-cert", default="", metavar="F", help="tls: our own certificate")
    group.add_argument("--cluster-key", default="", metavar="F", help="tls: our own key")


@contextlib.contextmanager
def cluster_from(options: argparse.Namespace, otherwise: Engine | None = None) -> Iterator[Engine | None]:
    """Yield the engine that was asked for, connected; without --cluster what there is otherwise."""
    if not options.cluster:
        yield otherwise
        return
    from luthier.distributed.address import REPLAY, ClusterAddress

    place = ClusterAddress.parse(options.cluster, insecure=options.cluster_insecure)
    if place.kind == REPLAY:
        from luthier.distributed.address import Replay

        yield Replay(place.text)
        return
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(connection(options, options.cluster))


def connection(options: argparse.Namespace, where: str) -> contextlib.AbstractContextManager[DaskCluster]:
    """Return the connection to a cluster."""
    try:
        from luthier.distributed.engine import connected
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("dask", "distributed"):
            raise
        raise LuthierError(
            "expected the library distributed for a cluster, found none. hint: pip install 'luthier[cluster]'"
        ) from None
    from luthier.distributed.address import REPLAY, Certificates, ClusterAddress

    place = ClusterAddress.parse(where, insecure=options.cluster_insecure)
    if place.kind == REPLAY:
        raise LuthierError(f"expected a cluster, found {where!r}, which is a unit of one")
    files = Certificates(options.cluster_ca, options.cluster_cert, options.cluster_key)
    return connected(place, silence=options.cluster_silence, certificates=files)


def file_of(path: str | None, pool: Pool | None) -> PoolFile | None:
    """Return the file that holds a pool just as it is, for workers to open; None if there is none."""
    from luthier.core.files.remote import fetch, scheme_of
    from luthier.kbest.storage.pool_file import PoolFile, is_pool, stored_digest

    if path is not None and pool is not None and scheme_of(path):
        place = fetch(path)
        return PoolFile(str(place), pool.digest(), path, place.name) if stored_digest(place) == pool.digest() else None
    if path is None or pool is None or not is_pool(path) or stored_digest(path) != pool.digest():
        return None
    return PoolFile.of(path)
