"""Forests on disk: a folder with one file that is mapped into memory, every number checked when it is opened."""

from __future__ import annotations

import contextlib
import dataclasses
import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.array_file import Arrays, open_array_folder, save_arrays, wrong_column
from luthier.core.files.io import display_name, make_folder
from luthier.core.segments import check_offsets, offsets_from_counts
from luthier.corpus.texts import Texts
from luthier.decoding.forests.hypergraph import Hypergraph, RuleTable
from luthier.kbest.features import Features

KIND = "forests 1"
FILE = "forests.luthier"
COLUMNS = {
    "node_offsets": ("<i8", 1),
    "edge_offsets": ("<i8", 1),
    "tails": ("<i4", 2),
    "rules": ("<i4", 1),
    "state_features": ("<f8", 2),
    "labels": ("|u1", 1),
    "spans": ("<i4", 2),
    "target_offsets": ("<i8", 1),
    "target_symbols": ("<i4", 1),
    "dense": ("<f8", 2),
    "indptr": ("<i8", 1),
    "indices": ("<i4", 1),
    "values": ("<f8", 1),
    "weights": ("<f8", 1),
}
EDGE_COLUMNS, NODE_COLUMNS = ("tails", "rules", "state_features"), ("labels", "spans")
BY_FOREST = ("edge_offsets", *EDGE_COLUMNS, *NODE_COLUMNS)
TEXTS = ("words", "texts", "names", "state_names")


@dataclasses.dataclass(frozen=True, eq=False)
class Forests:
    """The forests of N sentences, their rules, and the weights they were found with.

    Attributes
    ----------
    forests : N forests
        One without nodes where a sentence has no translation.
    rules : RuleTable
    weights : (D,), in the order of ``rules.names``
    """

    forests: tuple[Hypergraph, ...]
    rules: RuleTable
    weights: Float64


def save_forests(
    forests: Iterable[Hypergraph], rules: RuleTable, weights: Float64, folder: str | os.PathLike[str]
) -> None:
    """Write forests into a folder, which is made if it is not there; what stands in no derivation is left out."""
    with ForestWriter(rules, weights, folder) as writer:
        for forest in forests:
            writer.add(forest)
        writer.finish()


class ForestWriter:
    """Writes forests into a folder one by one, and holds none of them.

    They wait in files without names, which are gone when the process is; `finish` puts them together.

    Parameters
    ----------
    rules : RuleTable
        Of all forests that will come; only rules that some derivation uses are written.
    weights : (D,), those of the search
    folder
        Made if it is not there.
    """

    def __init__(self, rules: RuleTable, weights: Float64, folder: str | os.PathLike[str]) -> None:
        if np.shape(weights) != (len(rules.names),):
            raise LuthierError(f"expected {len(rules.names)} weights of forests, found shape {np.shape(weights)}")
        self._rules, self._weights, self._folder = rules, np.asarray(weights, dtype=np.float64), Path(folder)
        self._used, self._node_counts, self._n_edges = np.zeros(len(rules), dtype=np.bool_), list[int](), 0
        self._stack, self._waiting = contextlib.ExitStack(), dict[str, IO[bytes]]()

    def __enter__(self) -> Self:
        make_folder(self._folder)
        with self._writing():
            for column in BY_FOREST:
                file = tempfile.TemporaryFile(dir=self._folder)
                self._waiting[column] = self._stack.enter_context(file)
            self._waiting["edge_offsets"].write(bytes(8))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, forest: Hypergraph) -> None:
        """Take the next forest; what stands in no derivation is left out."""
        forest.check_rules(self._rules)
        kept = forest.pruned()
        self._used[kept.rules] = True
        parts = {column: getattr(kept, column) for column in BY_FOREST}
        parts["edge_offsets"] = kept.edge_offsets[1:] + self._n_edges
        with self._writing():
            for column, part in parts.items():
                self._waiting[column].write(np.ascontiguousarray(part, dtype=COLUMNS[column][0]).tobytes())
        self._node_counts.append(kept.n_nodes)
        self._n_edges += kept.n_edges

    def finish(self) -> None:
        """Write the file of all forests that came."""
        rows = np.flatnonzero(self._used)
        rules = self._rules.take(rows)
        number = np.zeros(len(self._used), dtype=np.int32)
        number[rows] = np.arange(len(rows), dtype=np.int32)
        widths = {"tails": 2, "spans": 2, "state_features": len(rules.state_names)}
        with self._writing():
            parts = {column: _mapped(self._waiting[column], COLUMNS[column][0]) for column in BY_FOREST}
        for column, width in widths.items():
            parts[column] = parts[column].reshape(self._n_edges if column in EDGE_COLUMNS else -1, width)
        parts["rules"] = number[parts["rules"]]
        features = rules.features
        arrays: Arrays = {
            "node_offsets": offsets_from_counts(self._node_counts),
            **parts,
            "target_offsets": rules.target_offsets,
            "target_symbols": rules.target_symbols,
            "dense": features.dense,
            "indptr": features.indptr,
            "indices": features.indices,
            "values": features.values,
            "weights": self._weights,
        }
        columns = (rules.words, rules.texts, Texts.from_strings(features.names), Texts.from_strings(rules.state_names))
        for name, texts in zip(TEXTS, columns, strict=True):
            whole = Texts.concatenate([texts])  # its offsets begin at 0
            arrays |= {f"{name}_offsets": whole.offsets, f"{name}_data": whole.data}
        save_arrays(self._folder / FILE, KIND, arrays, {"costs": sorted(features.costs)})

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            place = display_name(self._folder)
            raise LuthierError(f"{place}: cannot write here: {why}. hint: name another place") from None


def _mapped(file: IO[bytes], dtype: str) -> npt.NDArray[Any]:
    """Return what waits in a file as an array that is read when it is used."""
    file.flush()
    size = os.fstat(file.fileno()).st_size
    return np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b"", dtype=dtype)


def open_forests(folder: str | os.PathLike[str]) -> Forests:
    """Map forests into memory.

    Raises
    ------
    InputError
        No forests in the folder, those of another version, cut off or changed, or with numbers that no forest has.
    """
    name = display_name(Path(folder, FILE))
    hint = "make it: 'luthier engine decode' with `forests`"
    arrays, about = open_array_folder(folder, FILE, KIND, holds="forests", hint=hint)
    if wrong := wrong_column(arrays, COLUMNS):
        raise _fault(name, wrong)
    try:
        rules = _rules(arrays, about)
        forests = tuple(_forests(arrays))
        for forest in forests:
            forest.check_rules(rules)
    except LuthierError as error:  # what the arrays say of themselves
        raise _fault(name, f"something else ({error})") from None
    except UnicodeDecodeError:
        raise _fault(name, "texts that are not UTF-8") from None
    weights = arrays["weights"]
    if len(weights) != len(rules.names) or not np.isfinite(weights).all():
        raise _fault(name, "weights that are not those of its features")
    return Forests(forests, rules, weights)


def _rules(arrays: Arrays, about: dict[str, Any]) -> RuleTable:
    words, texts, names, state_names = (_texts(arrays, column) for column in TEXTS)
    costs = about.get("costs")
    if not isinstance(costs, list) or not all(type(cost) is str for cost in costs):
        raise LuthierError("no names of costs")
    features = Features(
        tuple(names), arrays["dense"], arrays["indptr"], arrays["indices"], arrays["values"], frozenset(costs)
    )
    return RuleTable(arrays["target_offsets"], arrays["target_symbols"], words, features, texts, tuple(state_names))


def _texts(arrays: Arrays, column: str) -> Texts:
    offsets, data = arrays.get(f"{column}_offsets"), arrays.get(f"{column}_data")
    if offsets is None or data is None or offsets.dtype.str != "<i8" or data.dtype.str != "|u1":
        raise LuthierError(f"no column of texts {column!r}")
    texts = Texts(offsets, data)
    for _ in texts:  # each of them is decoded: a text may not begin within a character
        pass
    return texts


def _forests(arrays: Arrays) -> list[Hypergraph]:
    nodes, edges = arrays["node_offsets"], arrays["edge_offsets"]
    check_offsets(nodes, len(edges) - 1, "nodes of forests")
    check_offsets(edges, len(arrays["rules"]), "edges of forests")
    if any(len(arrays[column]) != len(arrays["rules"]) for column in EDGE_COLUMNS):
        raise LuthierError("columns of edges of unequal length")
    if any(len(arrays[column]) != len(edges) - 1 for column in NODE_COLUMNS):
        raise LuthierError("columns of nodes of unequal length")
    found = []
    for first, last in zip(nodes[:-1].tolist(), nodes[1:].tolist(), strict=True):
        low, high = int(edges[first]), int(edges[last])
        by_edge = {column: arrays[column][low:high] for column in EDGE_COLUMNS}
        by_node = {column: arrays[column][first:last] for column in NODE_COLUMNS}
        found.append(Hypergraph(edge_offsets=edges[first : last + 1] - low, **by_edge, **by_node))
    return found


def _fault(name: str, found: str) -> InputError:
    return InputError(
        expected="whole forests", found=found, path=name, hint="make them again: 'luthier engine decode' with `forests`"
    )
