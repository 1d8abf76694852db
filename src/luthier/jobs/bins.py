"""Bins: ``luthier.bins`` cuts, ``discretize`` and ``induce`` use them in grammars and pools, ``curves`` shows them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import STDIN, check_apart, check_writable, display_name, open_bytes, open_output
from luthier.core.html import Shown
from luthier.core.params import checked, names_of, path_of
from luthier.features.bins import Bins, Scope
from luthier.features.bins_file import read_bins
from luthier.features.curves import Curve
from luthier.features.curves import curves as fitted_curves
from luthier.features.fit_bins import BinOptions, bins_of_grammar, bins_of_grammars, bins_of_pool
from luthier.features.induction import induce_grammar, induce_pool
from luthier.features.rewrite_grammar import Rewriter, rewrite_grammar
from luthier.grammar.grammar import Grammar
from luthier.grammar.reader import HEAD_BYTES
from luthier.grammar.readers.cdec import Method as Cdec
from luthier.grammar.reading import AUTO, find_reader, read_grammar
from luthier.grammar.storage import is_grammar_file
from luthier.grammar.writing import whole_folder
from luthier.jobs.extract import TEXT_ENDINGS, write_output
from luthier.jobs.opening import AnyPath, AnyPool, pool_at
from luthier.kbest.features import unknown_names
from luthier.kbest.pool import Pool
from luthier.kbest.storage.pool_file import is_pool, open_pool, save_pool
from luthier.kbest.weights import read_weights

MOST_BITS = 16


@checked
def bins(
    source: AnyPool,
    features: str | Sequence[str] | Mapping[str, int | None],
    *,
    bits: int = 4,
    keep: str | Sequence[str] = (),
    induction: str = "indicator",
    conjoin: Sequence[tuple[str, str]] = (),
    exact: bool = False,
    by_use: bool = False,
    whole: bool = False,
) -> Bins:
    """Cut features of rules into bins of equal population.

    Parameters
    ----------
    source
        A grammar, a folder of grammars, or a pool with derivations: where it is, or a pool itself.
    features
        Names to cut, ``"TM,C_F=64"`` or a sequence of such; ``NAME=64`` asks for 64 bins.
    bits
        2 to the power of so many bins for a feature.
    keep
        Features that stay beside their bins.
    induction
        What a value fires: ``indicator``, ``overlapping`` or ``hat``.
    conjoin
        Pairs of features whose bins fire together, too.
    exact
        The cut of the least error, not the greedy fill.
    by_use, whole
        Of a pool: a rule counts once for each use; cut the values of whole hypotheses, not of rules.
    """
    if isinstance(bits, bool) or not isinstance(bits, int) or not 0 <= bits <= MOST_BITS:
        raise LuthierError(f"expected `bits` from 0 to {MOST_BITS}, found {bits!r}")
    names, numbers = _numbered(features)
    pairs = [(first, second) for first, second in conjoin]
    options = BinOptions(1 << bits, numbers, tuple(_split(keep)), induction, exact, pairs)
    scope: Scope = "global" if whole else "local"
    if isinstance(source, Pool):
        return bins_of_pool(source, names, options, scope=scope, by_use=by_use)
    path = path_of(source, "a grammar or a pool")
    of_pool = is_pool(path)
    if not of_pool and (by_use or whole):
        option = "by_use" if by_use else "global"
        raise InputError(
            expected="a pool", found="no pool", path=display_name(path), hint=f"`{option}` is for pools only"
        )
    if of_pool:
        made, kind = bins_of_pool(open_pool(path), names, options, scope=scope, by_use=by_use), "pool"
    elif Path(path).is_dir():
        grammars = (read_grammar(one) for one in _files(path) if _head(one))  # some sentences have no rules
        made, kind = bins_of_grammars(grammars, names, options), "folder of grammars"
    else:
        made, kind = bins_of_grammar(read_grammar(path), names, options), "grammar"
    return dataclasses.replace(made, origin={"path": display_name(path), "kind": kind, **made.origin})


def _split(names: str | Sequence[str]) -> list[str]:
    return [name for name in names.split(",") if name] if isinstance(names, str) else names_of(names, "features")


def _numbered(features: str | Sequence[str] | Mapping[str, int | None]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the names, and the number of bins of those that have one behind them."""
    if isinstance(features, Mapping):
        return tuple(features), {name: number for name, number in features.items() if number is not None}
    names: list[str] = []
    numbers: dict[str, int] = {}
    for item in _split(features):
        name, equals, number = item.rpartition("=")
        if equals and number.isascii() and number.isdigit():
            numbers[name] = int(number)
        names.append(name if name in numbers else item)
    if len(set(names)) != len(names) or not names:
        raise LuthierError(f"expected `features` of names that differ, found {features!r}")
    return tuple(names), numbers


@dataclasses.dataclass(frozen=True, eq=False)
class Induced(Shown):
    """A pool with the columns of bins, and the bins."""

    pool: Pool
    bins: Bins

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, without the pool."""
        fired = {group.name: len(group.columns) for group in self.bins.groups}
        return {"features": self.pool.n_features, "bins": fired}


@checked
def induce(pool: AnyPool, bins: Bins | AnyPath, *, output: AnyPath | None = None) -> Induced:
    """Add the columns of bins to a pool, from the rules in its derivations.

    `pool` is a pool or its file, `bins` are bins or a file of them; the new pool is saved where `output` says.
    """
    made = bins if isinstance(bins, Bins) else read_bins(bins)
    if output is not None:
        check_writable(output)
        check_apart(output, *(path for path in (pool, bins) if isinstance(path, str | os.PathLike)))
    try:
        induced = induce_pool(pool_at(pool), made)
    except LuthierError as error:
        raise LuthierError(f"{pool}: {error}" if isinstance(pool, str | os.PathLike) else str(error)) from None
    if output is not None:
        save_pool(induced, output)
    return Induced(induced, made)


@dataclasses.dataclass(frozen=True, eq=False)
class Curves(Shown):
    """What a model learned of each feature, and the bins it was cut into."""

    curves: tuple[Curve, ...]
    bins: Bins

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"curves": [curve.as_dict() for curve in self.curves]}


@checked
def curves(
    weights: Mapping[str, float] | AnyPath, bins: Bins | AnyPath, *, features: str | Sequence[str] = ()
) -> Curves:
    """Find the learned shape: the weights of bins against the values they represent.

    `weights` are those of the bins by name, or a file; `bins` are bins or a file of them; only these `features`.
    """
    made = bins if isinstance(bins, Bins) else read_bins(bins)
    named = read_weights(weights) if isinstance(weights, str | os.PathLike) else weights
    found, wanted = fitted_curves(made, named), _split(features)
    known = [curve.bins.feature for curve in found]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        where = "" if isinstance(bins, Bins) else f"{bins}: "
        raise LuthierError(f"{where}{unknown_names(unknown, known)}")
    return Curves(tuple(curve for curve in found if not wanted or curve.bins.feature in wanted), made)


def _files(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the files of a folder of grammars in a fixed order; hidden ones are none."""
    files = sorted(path for path in Path(folder).iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise InputError(expected="a folder of grammars", found="no file in it", path=display_name(folder))
    yield from files


@dataclasses.dataclass(frozen=True)
class Discretized(Shown):
    """A grammar with bins: its rules, the features that have bins, the columns of these, and its path."""

    rules: int
    features: tuple[str, ...]
    columns: int
    output: str

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return dataclasses.asdict(self)


@checked
def discretize(grammar: AnyPath, bins: AnyPath, output: AnyPath) -> Discretized:
    """Write a grammar, or a folder of grammars, with bins in place of features.

    All three are files or folders. Text in cdec's format is rewritten line by line in the memory of a block. Our own
    file, and text of other formats, are opened, and written as the name of the output says: our own file, or text.
    """
    source, target, made = path_of(grammar, "a grammar"), path_of(output), read_bins(bins)
    if Path(source).is_dir():
        rules = _discretize_folder(source, made, target)
    else:
        check_writable(target)
        check_apart(target, source, bins)
        rules = _discretize_file(source, made, target)
    return Discretized(rules, tuple(feature.feature for feature in made.features), len(made.names), target)


def _discretize_folder(source: str, bins: Bins, output: str) -> int:
    rewriter = Rewriter(bins)
    with whole_folder(output) as temporary:
        for path in _files(source):
            with open_output(temporary / path.name) as file:
                if _head(path):
                    rewrite_grammar(path, rewriter, file)
        rewriter.finish(display_name(source))
    return rewriter.n_rules


def _discretize_file(source: str, bins: Bins, output: str) -> int:
    as_text = output == STDIN or output.endswith(TEXT_ENDINGS)
    if as_text and (source == STDIN or _is_cdec(source)):
        rewriter = Rewriter(bins)
        with open_output(output) as file:
            rewrite_grammar(source, rewriter, file)
            rewriter.finish(display_name(source))
        return rewriter.n_rules
    grammar = _with_bins(read_grammar(source), bins, source)
    write_output(grammar, output)
    return grammar.n_rules


def _with_bins(grammar: Grammar, bins: Bins, source: str) -> Grammar:
    try:
        return induce_grammar(grammar, bins)
    except LuthierError as error:
        raise LuthierError(f"{display_name(source)}: {error}") from None


def _is_cdec(source: str) -> bool:
    return not is_grammar_file(source) and isinstance(find_reader(_head(source), AUTO, display_name(source)), Cdec)


def _head(path: str | os.PathLike[str]) -> bytes:
    """Return the first bytes of a file."""
    with open_bytes(path) as stream:
        return stream.peek(HEAD_BYTES)[:HEAD_BYTES]
