"""The lists of a command: a pool, a list of any format, or standard input; and how they are read."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from luthier.cli.reading_options import add_feature_options, add_reading_options, read_options
from luthier.core.errors import LuthierError

if TYPE_CHECKING:
    from luthier.kbest.parts.manifest import Manifest
    from luthier.kbest.pool import Pool

STDIN = "-"
OF_LISTS = ("column", "ignore", "scores", "per_sentence", "format_option")
HELP = "a pool, or a list of any format; - is standard input"


def add_pool_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be said of lists that are given in place of a pool."""
    add_reading_options(parser)
    add_feature_options(parser.add_argument_group("features"))
    parser.add_argument(
        "--pool-scheme", action="append", default=[], metavar="S",
        help="pools may be fetched by URLs of this scheme, such as s3 or https (docs/scale.md); none may unless named",
    )  # fmt: skip


def pool_from(options: argparse.Namespace, path: str, refs: Sequence[str] | None = None) -> Pool:
    """Return the pool at `path`, or read it from a list, with the references that were named."""
    from luthier.kbest.storage import open_pool

    path, _ = _local(options, path)
    if _manifest_at(path):
        raise LuthierError(
            f"{path}: expected a pool, found one in parts. hint: this works on a whole pool; 'luthier shard --help' "
            "says what takes parts"
        )
    refs = options.refs if refs is None else refs
    if _is_pool(options, path) and not (refs or options.source or options.manifest):
        return _prepared(open_pool(path), options)
    from luthier.core.progress import notice
    from luthier.kbest.reading.lists import read_lists  # a pool does without all that reading takes

    reading = read_lists([path], refs, options.source, read_options(options))
    for name, form in reading.formats.items():
        if form != "pool":
            notice(f"read {name} ({form}): {reading.rows[name]:,} hypotheses of {reading.pool.n_sentences:,} sentences")
    return _prepared(reading.pool, options)


def pools_from(options: argparse.Namespace, path: str) -> Sequence[Pool] | Iterator[Pool]:
    """Return lists one stretch after another where that can be, so that they may be of any length."""
    manifest = manifest_from(options, path, with_features=True)
    if manifest is not None:
        from luthier.kbest.parts.part_files import open_part

        return (_prepared(open_part(manifest, n), options) for n in range(len(manifest.parts)))
    if _is_pool(options, _local(options, path)[0]):
        return [pool_from(options, path)]
    from luthier.kbest.reading.streaming import can_stream, stream_pools

    settings = read_options(options)
    if not (options.refs or options.source) and can_stream(path, settings):
        return (_with_features(pool, options) for pool in stream_pools(path, settings))
    return [pool_from(options, path)]


def manifest_from(options: argparse.Namespace, path: str, *, with_features: bool = False) -> Manifest | None:
    """Return the manifest at `path`, or in that folder; None if what is there is no pool in parts."""
    path, url = _local(options, path)
    place = _manifest_at(path)
    if not place:
        return None
    from luthier.kbest.parts.manifest import read_manifest
    from luthier.kbest.parts.part_files import check_files

    for name in (*OF_LISTS, "refs", "source", "manifest", *(() if with_features else ("add", "cost"))):
        if getattr(options, name):
            flag = f"--{name.replace('_', '-')}"
            raise LuthierError(f"{path}: {flag} is for whole pools and lists, and this is a pool in parts")
    manifest = read_manifest(place, url)
    check_files(manifest)
    return manifest


def _local(options: argparse.Namespace, path: str) -> tuple[str, str]:
    """Return where a file is on this host, and its URL: one that was named by a URL is fetched if need be."""
    from luthier.core.files.remote import check_url, fetch, scheme_of

    if not scheme_of(path):
        return path, ""
    check_url(path, options.pool_scheme)
    place = str(fetch(path))
    from luthier.kbest.parts.manifest import is_manifest
    from luthier.kbest.storage import is_pool

    if not (is_pool(place) or is_manifest(place)):
        raise LuthierError(f"{path}: expected a pool, found something else. hint: lists are read from files")
    return place, path


def _manifest_at(path: str) -> str:
    """Return where a manifest is: `path` itself, or the one in that folder; '' if there is none."""
    from luthier.kbest.parts.manifest import NAME, is_manifest

    if path == STDIN:
        return ""
    place = str(Path(path) / NAME) if Path(path).is_dir() else path
    return place if is_manifest(place) else ""


def _is_pool(options: argparse.Namespace, path: str) -> bool:
    from luthier.kbest.storage import is_pool

    if path == STDIN or not (path.endswith(".arrow") or is_pool(path)):
        return False
    for name in OF_LISTS:
        if getattr(options, name):
            raise LuthierError(f"{path}: --{name.replace('_', '-')} is for lists, and this is a pool")
    return True


def _with_features(pool: Pool, options: argparse.Namespace) -> Pool:
    from luthier.kbest.transforms import Transforms

    return Transforms(add=options.add, costs=options.cost).apply(pool)


def _prepared(pool: Pool, options: argparse.Namespace) -> Pool:
    """Return a pool with the features that were asked for, and those whose formulas come with weights."""
    from luthier.kbest.derived import with_derived
    from luthier.kbest.weights import read_weights

    if options.add or options.cost:
        pool = _with_features(pool, options)
    for path in _weight_files(options):
        pool = with_derived(pool, read_weights(path).derived)
    return pool


def _weight_files(options: argparse.Namespace) -> Iterator[str]:
    """Yield the files of weights that a command was given: one, several, or lists of several."""
    for name in ("weights", "start"):
        given = getattr(options, name, None)
        for item in given if isinstance(given, list) else [given]:
            files = item if isinstance(item, list) else [item]
            yield from (path for path in files if path not in (None, STDIN))
