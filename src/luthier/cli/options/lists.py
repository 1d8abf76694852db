"""The lists of a command: a pool, a list of any format, or standard input; and how they are read."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from luthier.core.errors import LuthierError

if TYPE_CHECKING:
    from luthier.kbest.pool import Pool
    from luthier.kbest.shards.manifest import Manifest


# Options of every command that reads lists, and what they come to.

PARTS = ("id", "text", "list", "refs", "source")  # of tables and objects, which a user may call otherwise

T = TypeVar("T")


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be said about how lists are read."""
    group = parser.add_argument_group("reading")
    group.add_argument("--refs", nargs="+", default=[], metavar="R", help="references, one file each")
    group.add_argument("--source", metavar="S", help="source sentences")
    group.add_argument("--format", default="auto", metavar="F", help="see 'luthier list formats' (auto)")
    group.add_argument(
        "--format-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the format, such as columns=am,lm for kaldi; of tables and objects, what their parts are "
        "called: id=ID,text=TEXT,list=LIST,refs=REFS,source=SOURCE",
    )
    group.add_argument(
        "--group-by",
        choices=("source",),
        default="",
        help="rows of one source are one sentence (so it is, too, where a table has no id)",
    )
    group.add_argument("--scores", metavar="TSV", help="the list is plain text, its scores are here (format tsv)")
    group.add_argument("--per-sentence", metavar="N", help="lines per sentence of such a list")
    group.add_argument(
        "--manifest", metavar="JSON", help="manifest of speech data: ids, references and durations of the utterances"
    )
    _add_number_options(group)
    group.add_argument("--first-id", type=int, default=0, metavar="N", help="id of the first reference (0)")
    group.add_argument("--keyed", action="store_true", help="reference lines begin with their sentence id")
    group.add_argument("--any-order", action="store_true", help="sort by sentence instead of complaining")
    group.add_argument("--skip-bad", action="store_true", help="leave faulty lines out, count them, continue")
    group.add_argument(
        "--allow-empty", action="store_true", help="let half of the sentences, or more, have no hypotheses"
    )
    group.add_argument(
        "--unpack-any", action="store_true", help="read lists that unpack to over 256 MB and 1,000 times their size"
    )
    group.add_argument("--keep-duplicates", action="store_true", help="keep repeated hypotheses")
    group.add_argument(
        "--counts", default="", metavar="COLUMN", help="how often a hypothesis was drawn; repeats are added up (1 each)"
    )


def _add_number_options(group: argparse._ArgumentGroup) -> None:
    """Add what can be said about numbers: what they are, where more of them are, what is missing."""
    group.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME",
        help="this number is a score of the hypothesis (COMET, reward), to tune for as column:NAME, and no feature",
    )
    group.add_argument(
        "--feature",
        action="append",
        default=[],
        metavar="NAME",
        help="this number is a feature, whatever it is called",
    )
    group.add_argument(
        "--join",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="scores of the hypotheses: a number a line in the order of the list; a table with id and index; or a list "
        "with sources and scores, as COMET and MetricX write them; features unless --column names them",
    )
    group.add_argument("--ignore", action="append", default=[], metavar="NAME", help="leave out this column of a table")
    group.add_argument(
        "--missing",
        choices=("error", "zero", "worst", "mean"),
        default="error",
        help="what a feature counts in rows of a table that lack it, while most rows have it (error)",
    )


def add_transform_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be done to features and lists on the way."""
    group = parser.add_argument_group("features and lists")
    group.add_argument("--select", action="append", default=[], metavar="NAME", help="keep this feature only")
    group.add_argument("--drop", action="append", default=[], metavar="NAME", help="leave a feature out")
    group.add_argument("--rename", action="append", default=[], metavar="OLD=NEW", help="rename a feature")
    group.add_argument("--scale", action="append", default=[], metavar="NAME=X", help="multiply a feature")
    add_feature_options(group)
    group.add_argument("--cap", type=int, metavar="K", help="keep the first K hypotheses of each list")


def add_feature_options(group: argparse._ArgumentGroup) -> None:
    """Add what can be said about features wherever lists are read."""
    group.add_argument(
        "--add",
        action="append",
        default=[],
        metavar="NAME=FORMULA",
        help="one more feature: words, chars, or a formula of names, numbers, + - * / **, min, max, log, exp, "
        "such as 'lp=logprob/words**0.6'",
    )
    group.add_argument(
        "--cost",
        action="append",
        default=[],
        metavar="NAME",
        help="the feature is a cost: lower is better (values stay as they are)",
    )


def read_options(options: argparse.Namespace) -> Any:
    """Return the `ReadOptions` of parsed arguments."""
    from luthier.core import plugins
    from luthier.kbest.building.lists import AUTO, ReadOptions
    from luthier.kbest.reading.reader import PACKAGE

    parts = [part for item in options.format_option for part in re.split(rf",(?=(?:{'|'.join(PARTS)})=)", item)]
    given = pairs(parts, str, "--format-option", first=True)
    if options.per_sentence and options.format == "nemo":
        given["beams"] = options.per_sentence
    elif options.scores or options.per_sentence:
        if options.format not in (AUTO, "tsv"):
            raise LuthierError("--scores and --per-sentence are for the formats tsv and nemo")
        options.format = "tsv"
        tsv = {"scores": options.scores, "per_sentence": options.per_sentence}
        given |= {name: value for name, value in tsv.items() if value}
    if options.format == AUTO and not {*given} <= {*PARTS}:
        raise LuthierError("--format-option needs --format, so that it is clear whose option it is")
    typed: dict[str, Any] = dict(given)
    if given and options.format != AUTO:
        from luthier.cli.options.fields import convert_fields

        typed = convert_fields(plugins.load(PACKAGE, options.format), given, options.format)
    return ReadOptions(
        format=options.format,
        format_options=typed,
        group_by=options.group_by,
        first_id=options.first_id,
        keyed=options.keyed,
        any_order=options.any_order,
        skip_bad=options.skip_bad,
        keep_duplicates=options.keep_duplicates,
        columns=options.column,
        ignore=options.ignore,
        features=options.feature,
        counts=options.counts,
        join=options.join,
        missing=options.missing,
        fill=_fill(options),
        allow_empty=options.allow_empty,
        manifest=options.manifest or "",
        costs=getattr(options, "cost", ()),
        unpack_any=options.unpack_any,
    )


def _fill(options: argparse.Namespace) -> dict[str, float]:
    """Return what missing features count by the files of weights, where these agree."""
    from luthier.kbest.weights import read_weights

    found: dict[str, float] = {}
    others: set[str] = set()
    for path in _weight_files(options):
        for name, value in read_weights(path).missing.items():
            others |= {name} if found.setdefault(name, value) != value else set()
    return {name: value for name, value in found.items() if name not in others}


def transforms(options: argparse.Namespace) -> Any:
    """Return the `Transforms` of parsed arguments."""
    from luthier.kbest.merge import Transforms

    return Transforms(
        select=options.select,
        drop=options.drop,
        rename=pairs(options.rename, str, "--rename"),
        scale=pairs(options.scale, float, "--scale"),
        add=options.add,
        costs=options.cost,
        cap=options.cap,
    )


def pairs(items: Sequence[str], kind: Callable[[str], T], option: str, *, first: bool = False) -> dict[str, T]:
    """Return ``NAME=VALUE`` items as a dictionary, the value read by `kind`.

    Names may contain ``=``; if the `first` one ends the name, values may.
    """
    found: dict[str, T] = {}
    for item in items:
        name, equals, value = item.partition("=") if first else item.rpartition("=")
        try:
            converted = kind(value)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise LuthierError(f"expected {option} NAME=VALUE, found {item!r}")
        if name in found:
            raise LuthierError(f"{option} names {name!r} twice")
        found[name] = converted
    return found


STDIN = "-"
WHOLE = ("refs", "source", "any_order", "manifest", "missing", "join", "group_by")  # what needs the whole list
OF_LISTS = ("column", "ignore", "scores", "per_sentence", "format_option", "group_by")
HELP = "a pool, or a list of any format; - is standard input"


def add_pool_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be said of lists that are given in place of a pool."""
    add_reading_options(parser)
    add_feature_options(parser.add_argument_group("features"))
    parser.add_argument(
        "--pool-scheme",
        action="append",
        default=[],
        metavar="S",
        help="pools may be fetched by URLs of this scheme, such as s3 or https (docs/scale.md); none may unless named",
    )


def pool_from(options: argparse.Namespace, paths: str | Sequence[str], refs: Sequence[str] | None = None) -> Pool:
    """Return the pool at a path, or read it from lists, with the references that were named."""
    if isinstance(paths, str):
        return _pool_at(options, paths, refs)
    if len(paths) == 1:
        return _pool_at(options, paths[0], refs)
    return _read(options, [_local(options, path)[0] for path in paths], options.refs if refs is None else refs)


def _pool_at(options: argparse.Namespace, path: str, refs: Sequence[str] | None) -> Pool:
    from luthier.jobs.opening import manifest_path
    from luthier.kbest.storage.pool_file import open_pool

    path, _ = _local(options, path)
    if manifest_path(path):
        raise LuthierError(
            f"{path}: expected a pool, found a sharded one. hint: this works on a whole pool; 'luthier data shard "
            "--help' "
            "says what takes shards"
        )
    refs = options.refs if refs is None else refs
    if _is_pool(options, path) and not (refs or options.source or options.manifest or options.join):
        return _prepared(open_pool(path), options)
    return _read(options, [path], refs)


def _read(options: argparse.Namespace, paths: Sequence[str], refs: Sequence[str]) -> Pool:
    from luthier.core.progress import notice
    from luthier.kbest.building.lists import read_lists  # a pool does without all that reading takes

    reading = read_lists(paths, refs, options.source, read_options(options))
    for name, form in reading.formats.items():
        if form != "pool":
            told = f"read {name} ({form}): {reading.rows[name]:,} hypotheses of {reading.pool.n_sentences:,} sentences"
            notice(told + (", told apart by their sources" if reading.by_source else ""))
    return _prepared(reading.pool, options)


def pools_from(options: argparse.Namespace, path: str) -> Sequence[Pool] | Iterator[Pool]:
    """Return lists one stretch after another where that can be, so that they may be of any length."""
    if path == STDIN:
        return _live(options)
    manifest = manifest_from(options, path, with_features=True)
    if manifest is not None:
        from luthier.kbest.shards.shard import open_shard

        return (_prepared(open_shard(manifest, n), options) for n in range(len(manifest.parts)))
    if _is_pool(options, _local(options, path)[0]):
        return [pool_from(options, path)]
    from luthier.kbest.building.streaming import can_stream, stream_pools

    settings = read_options(options)
    if not (options.refs or options.source) and can_stream(path, settings):
        return (_with_features(pool, options) for pool in stream_pools(path, settings))
    return [pool_from(options, path)]


def _live(options: argparse.Namespace) -> Iterator[Pool]:
    """Return the lists of standard input, each as soon as it is complete."""
    import sys

    from luthier.jobs.rerank import needed_features
    from luthier.kbest.building.live import live_pools

    for name in WHOLE:
        if getattr(options, name) and getattr(options, name) != "error":
            raise LuthierError(
                f"--{name.replace('_', '-')} needs the whole list, and standard input is answered sentence by "
                "sentence. hint: write the list to a file"
            )
    arriving: Any = sys.stdin.buffer
    needed = needed_features(list(_weight_files(options)), options.add)
    pools = live_pools(arriving, read_options(options), needed)
    return (_with_features(pool, options) for pool in pools)


def manifest_from(options: argparse.Namespace, path: str, *, with_features: bool = False) -> Manifest | None:
    """Return the manifest at `path`, or in that folder; None if what is there is no sharded pool."""
    from luthier.jobs.opening import manifest_path

    path, url = _local(options, path)
    place = manifest_path(path)
    if not place:
        return None
    from luthier.kbest.shards.manifest import read_manifest
    from luthier.kbest.shards.shard import check_files

    whole = (*OF_LISTS, "counts", "join", "refs", "source", "manifest", *(() if with_features else ("add", "cost")))
    for name in whole:
        if getattr(options, name):
            flag = f"--{name.replace('_', '-')}"
            raise LuthierError(f"{path}: {flag} is for whole pools and lists, and this is a sharded pool")
    manifest = read_manifest(place, url)
    check_files(manifest)
    return manifest


def _local(options: argparse.Namespace, path: str) -> tuple[str, str]:
    """Return where a file is on this host, and its URL: one that was named by a URL is fetched if need be."""
    if "://" not in path:
        return path, ""
    from luthier.core.files.remote import check_url, fetch, scheme_of

    if not scheme_of(path):
        return path, ""
    check_url(path, options.pool_scheme)
    place = str(fetch(path))
    from luthier.kbest.shards.manifest import is_manifest
    from luthier.kbest.storage.pool_file import is_pool

    if not (is_pool(place) or is_manifest(place)):
        raise LuthierError(f"{path}: expected a pool, found something else. hint: lists are read from files")
    return place, path


def _is_pool(options: argparse.Namespace, path: str) -> bool:
    from luthier.kbest.storage.pool_file import is_pool

    if path == STDIN or not (path.endswith(".arrow") or is_pool(path)):
        return False
    for name in OF_LISTS:
        if getattr(options, name) and not (name == "column" and options.join):
            raise LuthierError(f"{path}: --{name.replace('_', '-')} is for lists, and this is a pool")
    return True


def _with_features(pool: Pool, options: argparse.Namespace) -> Pool:
    from luthier.kbest.merge import Transforms

    return Transforms(add=options.add, costs=options.cost).apply(pool)


def _prepared(pool: Pool, options: argparse.Namespace) -> Pool:
    """Return a pool with the features that were asked for, and those whose formulas come with weights."""
    from luthier.kbest.derived import with_derived
    from luthier.kbest.weights import read_weights

    if options.counts and options.counts not in pool.columns:
        known = ", ".join(pool.columns) or "none"
        raise LuthierError(f"there is no column {options.counts!r} to count by. known: {known}")
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
