"""Reading lists into a pool: formats found by content, several files merged, faults reported once."""

from __future__ import annotations

import codecs
import dataclasses
import io
import itertools
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from luthier import __version__
from luthier.core import plugins
from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError, LuthierWarning, excerpt, warn
from luthier.core.files.io import STDIN, display_name, open_bytes
from luthier.core.files.streams import DAMAGE, damage_error, unpacking_any
from luthier.core.params import names_of, path_of, paths_of
from luthier.core.segments import segment_of_rows
from luthier.corpus.lines import empty_error
from luthier.kbest.building.builder import PoolBuilder
from luthier.kbest.building.feature_rows import ERROR, POLICIES, Filling
from luthier.kbest.building.joining import Rows, join_scores, with_scores
from luthier.kbest.building.sentences import read_sentence_table
from luthier.kbest.building.speech_manifest import DURATION, read_manifest
from luthier.kbest.merge import drop_duplicates, merge
from luthier.kbest.pool import Pool
from luthier.kbest.reading.column_roles import MEANINGS, NamedReader, Roles
from luthier.kbest.reading.line_errors import LineErrors
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import HEAD_BYTES, PACKAGE, Reader, Source
from luthier.kbest.storage.pool_file import is_pool, open_pool

AUTO = "auto"
TELLING = 10  # sentences with hypotheses from which on a lack of others is suspicious


@dataclasses.dataclass(frozen=True)
class ReadOptions:
    """How lists are read.

    Attributes
    ----------
    format : a reader's name, or "auto"
    format_options : parameters of the reader
    group_by : "source": rows of one source are one sentence, whatever their ids
    first_id : id of the first line of references and sources
    keyed : reference and source lines begin with their sentence id
    any_order : sort by sentence instead of complaining
    skip_bad : leave out faulty lines, count them, go on
    keep_duplicates : keep hypotheses that repeat one before them, word for word and feature for feature
    columns : names of numbers that are scores of hypotheses, and no features
    ignore : names that are left out
    features : names of numbers that are features, whatever they are called
    counts : the column with how often a hypothesis was drawn: 1 where the lists have none; repeats are added up
    join : files of scores, FILE or NAME=FILE, that are joined to the hypotheses before repeats are dropped
    missing : what is done about missing values of dense features of tables: "error", "zero", "worst" or "mean"
    fill : what single features count where they are missing, by name, whatever `missing` says
    costs : features of which lower values are better, for "worst"
    allow_empty : let half of the sentences, or more, have no hypotheses
    manifest : a manifest of speech data, for ids, references and the column "duration"
    unpack_any : read compressed files that unpack to more than 256 MB and 1,000 times their size
    """

    format: str = AUTO
    format_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    group_by: str = ""
    first_id: int = 0
    keyed: bool = False
    any_order: bool = False
    skip_bad: bool = False
    keep_duplicates: bool = False
    columns: Sequence[str] = ()
    ignore: Sequence[str] = ()
    features: Sequence[str] = ()
    counts: str = ""
    join: Sequence[str] = ()
    missing: str = ERROR
    fill: Mapping[str, float] = dataclasses.field(default_factory=dict)
    costs: Sequence[str] = ()
    allow_empty: bool = False
    manifest: str = ""
    unpack_any: bool = False

    def __post_init__(self) -> None:
        for name in ("columns", "ignore", "features", "join", "costs"):
            object.__setattr__(self, name, tuple(names_of(getattr(self, name), name)))
        if not isinstance(self.format, str) or not isinstance(self.format_options, Mapping):
            raise LuthierError("expected the name of a format, and its options by name")
        if self.group_by not in ("", "source"):
            raise LuthierError(f"expected sentences to be told apart by their source, found {self.group_by!r}")
        if isinstance(self.first_id, bool) or not isinstance(self.first_id, int):
            raise LuthierError(f"expected a whole number as the id of the first line, found {self.first_id!r}")
        object.__setattr__(self, "manifest", path_of(self.manifest, "a manifest"))
        if self.missing not in POLICIES:
            raise LuthierError(f"expected missing values as {', '.join(POLICIES)}, found {self.missing!r}")
        known = self.roles
        roles = {"a column": known.columns, "be ignored": known.ignored, "be a feature": known.features}
        for (one, some), (other, others) in itertools.combinations(roles.items(), 2):
            if some & others:
                raise LuthierError(f"{min(some & others)!r} cannot be {one.removeprefix('be ')} and {other}")

    @property
    def roles(self) -> Roles:
        """What was said of numbers."""
        names = {*self.columns, self.counts} - {""}, self.ignore, self.features
        return Roles(frozenset(names[0]), frozenset(names[1]), frozenset(names[2]), self.counts)


READ_SETTINGS = tuple(field.name for field in dataclasses.fields(ReadOptions))


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """A pool, and what there is to say about how it was read."""

    pool: Pool
    faults: LineErrors
    formats: Mapping[str, str]
    rows: Mapping[str, int]
    duplicates: int
    empty_sentences: int
    filled: Mapping[str, int] = dataclasses.field(default_factory=dict)  # missing values filled in, by feature
    ignored: Sequence[str] = ()
    by_source: bool = False


def read_pool(
    lists: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    *,
    refs: Sequence[str | os.PathLike[str]] | str | os.PathLike[str] = (),
    source: str | os.PathLike[str] | None = None,
    options: ReadOptions | None = None,
    **settings: Any,
) -> Pool:
    """Read K-best lists, of one or several runs of a decoder, into one pool.

    Parameters
    ----------
    lists
        Files of any known format, plain, gz or zst; ``-`` is standard input; a saved pool is a list too.
    refs, source
        Plain text, a line per sentence.
    settings
        As the command line has them, by the names of `ReadOptions`: ``columns=["comet"]``, ``format="moses"``,
        ``keyed=True``, ``missing="worst"``, ``skip_bad=True``; or all of them in `options`.

    Raises
    ------
    InputError
        At the first fault, with file and line, unless ``options.skip_bad``.
    """
    if options is not None and (settings or not isinstance(options, ReadOptions)):
        raise LuthierError("expected settings by name, or options=ReadOptions(…) with all of them")
    if unknown := [name for name in settings if name not in READ_SETTINGS]:
        raise LuthierError(f"read_pool has no setting {unknown[0]!r}. it has: {', '.join(READ_SETTINGS)}")
    source = None if source is None else path_of(source, "a file of sources")
    files = paths_of(lists, "a list"), paths_of(refs, "a file of references")
    return read_lists(*files, source, options or ReadOptions(**settings)).pool


def read_lists(paths: Sequence[str], refs: Sequence[str], source: str | None, options: ReadOptions) -> Reading:
    """Read as `read_pool` does, and return the account of it as well."""
    with unpacking_any(allowed=options.unpack_any):
        return _read_lists(paths, refs, source, options)


def _read_lists(paths: Sequence[str], refs: Sequence[str], source: str | None, options: ReadOptions) -> Reading:
    if not paths:
        raise LuthierError("expected at least one list to read")
    if [*paths, *refs, source].count(STDIN) > 1:
        raise LuthierError("standard input (-) can be read only once")
    faults = LineErrors(skip=options.skip_bad)
    manifest = read_manifest(options.manifest) if options.manifest else None
    if manifest is not None and (refs or source):
        raise LuthierError("a manifest has the references: give it or files of references and sources, not both")
    known = read_sentence_table(refs, source, first_id=options.first_id, keyed=options.keyed)
    known = known if manifest is None else manifest.table()
    names, local_names, roles = NameTable(), NameTable(), options.roles
    filling = Filling(options.missing, frozenset(options.costs), options.fill)
    builder = PoolBuilder(
        known, names, any_order=options.any_order, roles=roles, filling=filling, join=_joining(options)
    )
    formats: dict[str, str] = {}
    rows: dict[str, int] = {}
    pools: list[Pool] = []
    place = 0  # of the lists among the pools: where the first of them was named
    last: Source | None = None
    for path in paths:
        if options.format == AUTO and path != STDIN and is_pool(path):
            pools.append(open_pool(path))
            formats[path], rows[path] = "pool", pools[-1].n_hypotheses
            continue
        place = len(pools) if last is None else place
        with opened_list(path, unpack_any=options.unpack_any) as (head, stream):
            name, reader = choose_reader(head, path, options)
            last = Source(path, faults, names, local_names, stream, roles.ignored, by_source=bool(options.group_by))
            formats[path], rows[path] = name, builder.add(reader, last)
    if last is not None:
        if sum(rows.values()) == 0:
            raise InputError(
                expected="at least one usable hypothesis",
                found="none",
                path=last.name,
                hint="; ".join(f"line {e.line}: expected {e.expected}, found {e.found}" for e in faults.first.values()),
            )
        pools.insert(place, builder.build(last, keep_duplicates=options.keep_duplicates))
    elif known is not None:  # references or sources for pools that stand already
        pools.append(builder.build(Source(paths[-1], faults, names, local_names), keep_duplicates=True))
    if options.join and "pool" in formats.values():
        if len(pools) > 1:
            raise LuthierError("expected lists, or one pool, to join scores to, found a pool among several files")
        pools = [add_scores(pools[0], options.join, options.columns)]
    pool = merge(pools) if len(pools) > 1 else pools[0]
    if manifest is not None and manifest.durations is not None:
        durations = manifest.durations[segment_of_rows(pool.offsets)]
        pool = dataclasses.replace(pool, columns={**pool.columns, DURATION: durations})
    _check_roles(pool, options)
    reading = _finish(pool, faults, formats, rows, options)
    left_out = dict.fromkeys([*options.ignore, *sorted(roles.left_out)])
    return dataclasses.replace(reading, filled=builder.filled, ignored=tuple(left_out), by_source=builder.by_source)


def _joining(options: ReadOptions) -> Callable[[Rows], Mapping[str, Float64]] | None:
    """Return what finds the scores of hypotheses in files, if there are any."""
    if not options.join:
        return None
    return lambda rows: join_scores(options.join, rows, _read_scored)


def _read_scored(path: str) -> Pool:
    """Read a list for its scores; it keeps what repeats, and complains of nothing that scores do not need."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LuthierWarning)
        return read_lists([path], [], None, ReadOptions(keep_duplicates=True, any_order=True)).pool


def add_scores(pool: Pool, files: Sequence[str], columns: Sequence[str] = ()) -> Pool:
    """Return a pool with the scores of files, in its own order or by keys; those in `columns` are no features."""
    found = join_scores(files, Rows.of(pool), _read_scored)
    unknown = [name for name in columns if name not in found]
    if unknown:
        raise LuthierError(f"no number is called {unknown[0]!r}. known: {', '.join(found)}")
    return with_scores(pool, found, columns).noting("join", files=list(files))


def _check_roles(pool: Pool, options: ReadOptions) -> None:
    """Complain of names that were given a role and that nothing has; warn of lists without features."""
    unknown = [name for name in options.columns if name not in pool.columns]
    unknown += [name for name in options.features if name not in pool.features.names]
    if unknown:
        raise LuthierError(f"no number is called {unknown[0]!r}. known: {', '.join(pool.features.names[:12])}")
    if not pool.n_features:
        warn(
            "the lists have no features: there is nothing to weigh. hint: numbers are features unless a 'features' "
            "object stands beside them, or `column` or `ignore` names them",
            stacklevel=4,
        )


def _finish(
    pool: Pool, faults: LineErrors, formats: dict[str, str], rows: dict[str, int], options: ReadOptions
) -> Reading:
    if not options.keep_duplicates and "pool" in formats.values():
        pool = drop_duplicates(pool)  # lists among themselves have lost theirs; pools may repeat them
    duplicates = sum(rows.values()) - pool.n_hypotheses
    lists = [{"path": display_name(path), "format": formats[path], "hypotheses": rows[path]} for path in rows]
    provenance = {
        **pool.provenance,
        "lists": [*pool.provenance.get("lists", []), *(item for item in lists if item["format"] != "pool")],
        "luthier": __version__,
    }
    pool = dataclasses.replace(pool, provenance=provenance)
    empty = int(np.count_nonzero(pool.list_lengths == 0))
    full = pool.n_sentences - empty
    if full >= TELLING and empty >= full and not options.allow_empty:
        raise InputError(
            expected="hypotheses for most references",
            found=f"{full:,} sentences with hypotheses for {pool.n_sentences:,} references",
            path=display_name(next(iter(rows))),
            kind="length",
            hint="several references of a sentence are several files (`refs` a b); if the list is only a part, "
            "say `allow_empty`",
        )
    if empty:
        first = int(np.argmax(pool.list_lengths == 0))
        warn(
            f"{empty} of {pool.n_sentences} sentences have no hypotheses "
            f"(the first is {pool.sentence_ids[first]!r}); they are kept, empty",
            stacklevel=4,
        )
    return Reading(pool, faults, formats, rows, duplicates, empty)


@contextmanager
def opened_list(path: str, *, unpack_any: bool = False) -> Iterator[tuple[bytes, io.BufferedReader | None]]:
    """Yield the first bytes of a file, and the whole of it as a stream; nothing of a folder: its reader opens it."""
    if Path(path).is_dir():
        yield b"", None
        return
    with ExitStack() as stack:
        with unpacking_any(allowed=unpack_any):
            stream = stack.enter_context(open_bytes(path))
        try:
            head = stream.peek(HEAD_BYTES)[:HEAD_BYTES]
        except DAMAGE as error:
            raise damage_error(error, display_name(path), 1) from None
        if not head:
            raise empty_error(display_name(path))
        yield head, stream


def choose_reader(head: bytes, path: str, options: ReadOptions) -> tuple[str, Reader]:
    """Return the reader that was named, or the one that recognises the file, or the folder, most surely."""
    if options.format != AUTO:
        method = plugins.load(PACKAGE, options.format)
        return options.format, make_reader(options.format, method, _parameters(method, options))
    found = {name: plugins.load(PACKAGE, name) for name in plugins.available(PACKAGE)}
    folder = Path(path) if Path(path).is_dir() else None
    sureness = {
        name: method.recognizes(head) if folder is None else method.recognizes_folder(folder)
        for name, method in found.items()
    }
    if options.format_options:
        sureness = {name: _sureness(name, found[name], head, options) for name in found}
    best = max(sureness, key=lambda name: sureness[name])
    if sureness[best] <= 0 and folder is not None:
        raise InputError(
            expected="a folder of lists of ESPnet, Kaldi or SRILM, or a file",
            found="another folder",
            path=path,
            kind="format",
            hint="the list is the folder in which 1best_recog, words_text or the n-best files stand",
        )
    if sureness[best] <= 0:
        raise InputError(
            expected="a list in a known format",
            found=f"a file that begins with {excerpt(head)}",
            path=display_name(path),
            line=1,
            kind="format",
            hint=_likely_cause(head)
            or f"name its format with `format` ({', '.join(found)}); 'luthier list formats' explains them; "
            "plain lines of text need their scores: `scores` TSV `per_sentence` N",
        )
    reader = make_reader(best, found[best], _parameters(found[best], options))
    if options.group_by and not isinstance(reader, NamedReader):
        raise LuthierError(
            f"sentences are grouped by source in tables and objects; a list of {best} has ids of its own"
        )
    return best, reader


def _sureness(name: str, method: Any, head: bytes, options: ReadOptions) -> int:
    """Return how sure a reader is that takes the names given; it need not find the usual ones."""
    given = options.format_options
    if not issubclass(method, NamedReader) or not method.may_be(head):
        return 0
    if "list" in given and name in ("jsonl", "tsv"):
        return 0
    return 1 + max(int(method.recognizes(head)), 10 if name != "nested" or "list" in given else 1)


def _likely_cause(head: bytes) -> str:
    """Return what to do about a file that no reader takes, where its first line tells; else nothing."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "it is UTF-16, as some programs of Windows write; convert it with: iconv -f utf-16 -t utf-8"
    first = head.partition(b"\n")[0].decode("utf-8", "replace").strip()
    for mark, name in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
        words = [word.strip().strip('"') for word in first.split(mark)]
        known = [word for word in words if any(word.lower() in names for names in MEANINGS.values())]
        if len(words) > 1 and known and mark == ";":
            return f"its columns are separated by {name}; write a CSV with commas, or a TSV with tabs"
        if len(words) > 1 and any(word != word.lower() for word in known):
            return f"columns are called in small letters here: {', '.join(word.lower() for word in known)}"
    own = "if its parts have names of their own, say them: `format_option` id=ID,text=TEXT,list=LIST"
    return own if first.startswith(("{", "[")) or "\t" in first else ""


def _parameters(method: Any, options: ReadOptions) -> dict[str, Any]:
    """Return the parameters of a reader: those given, and the manifest if it takes one."""
    takes = options.manifest and "manifest" in {field.name for field in dataclasses.fields(method)}
    return {**options.format_options, **({"manifest": options.manifest} if takes else {})}


def make_reader(name: str, method: Any, parameters: Mapping[str, Any]) -> Reader:
    """Return a reader with its options set; an option it does not have is an error."""
    known = {field.name for field in dataclasses.fields(method)}
    for option in parameters:
        if option not in known:
            has = f"it has: {', '.join(sorted(known))}" if known else "it has none"
            raise LuthierError(f"the format {name!r} has no option {option!r}. {has}")
    reader: Reader = method(**parameters)
    return reader
