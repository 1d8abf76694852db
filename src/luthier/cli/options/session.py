"""Options of commands that open the explorer's session: lists, a metric, weights, traces."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from luthier.cli.options.lists import HELP, add_pool_options, pool_from
from luthier.cli.options.weights import add_metric_options, metric_from
from luthier.core.errors import LuthierError

if TYPE_CHECKING:
    from luthier.explorer.sessions.session import Session
    from luthier.explorer.sessions.workspace import Workspace


def add_session_arguments(parser: argparse.ArgumentParser, *, folders: bool = False) -> None:
    """Declare what is looked at."""
    if folders:
        parser.add_argument("pool", metavar="POOL", nargs="+", help=f"{HELP}; or folders to look for runs in")
    else:
        parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument("--weights", nargs="+", default=[], metavar="W", help="files of weights, the start first")
    parser.add_argument(
        "--trace", nargs="+", default=[], metavar="T", help="files of 'luthier tune --trace', or loops' folders"
    )
    parser.add_argument("--bins", metavar="BINS", help="a file of 'luthier engine bins', for response curves")
    parser.add_argument("--heldout", metavar="POOL", help="unseen sentences, shown beside: a pool or a list")
    parser.add_argument("--heldout-refs", nargs="+", default=[], metavar="R", help="references of the held-out list")
    add_metric_options(parser, "bleu")
    add_pool_options(parser)


def session_from(options: argparse.Namespace) -> Session:
    """Return what the options name, opened."""
    from pathlib import Path

    from luthier.explorer.sessions.session import Session, read_named
    from luthier.features.bins_file import read_bins

    metric = metric_from(options)
    if not isinstance(options.pool, str):
        if len(options.pool) > 1:
            raise LuthierError(f"expected one pool, or folders, found {len(options.pool)}. hint: 'luthier pool' merges")
        (options.pool,) = options.pool
    pool = pool_from(options, options.pool)
    bins = read_bins(options.bins) if options.bins else None
    title = "standard input" if options.pool == "-" else Path(options.pool).name
    heldout = pool_from(options, options.heldout, options.heldout_refs) if options.heldout else None
    return Session(
        pool,
        metric,
        read_named(options.weights, pool),
        title=title,
        traces=options.trace,
        bins=bins,
        heldout=heldout,
        seed=options.seed,
        threads=options.threads,
    )


def workspace_from(options: argparse.Namespace) -> Workspace | None:
    """Return the folders of runs that were named; None where lists were."""
    from pathlib import Path

    paths = options.pool
    if not all(Path(path).is_dir() for path in paths) or (len(paths) == 1 and _is_list(options, paths[0])):
        return None
    given = [f"--{name}" for name in ("weights", "trace", "bins", "heldout") if getattr(options, name)]
    if given:
        raise LuthierError(f"folders of runs bring their own, found {', '.join(given)}. hint: name a pool instead")
    from luthier.explorer.sessions.folders import Folders
    from luthier.explorer.sessions.workspace import Workspace

    folders = Folders(paths)
    return Workspace(None, folders, metric_from(options), seed=options.seed, threads=options.threads)


def _is_list(options: argparse.Namespace, path: str) -> bool:
    """Return whether a folder is a list by itself, as ESPnet, Kaldi and SRILM write them, or a sharded pool."""
    from luthier.core.plugins import available, load
    from luthier.jobs.opening import manifest_path
    from luthier.kbest.reading.reader import PACKAGE

    if options.format != "auto" or manifest_path(path):
        return True
    from pathlib import Path

    return any(load(PACKAGE, name).recognizes_folder(Path(path)) > 0 for name in available(PACKAGE))
