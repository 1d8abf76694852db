"""A grammar's own file: mapped into memory, and every number checked that a kernel relies on."""

from __future__ import annotations

import os

import numpy as np

from luthier.core.arrays import Int64
from luthier.core.errors import InputError
from luthier.core.files.array_file import Arrays, is_array_file, open_arrays, save_arrays, wrong_column
from luthier.core.files.io import display_name
from luthier.corpus.texts import Texts
from luthier.grammar import _trie_kernels as kernels
from luthier.grammar.grammar import Grammar, Trie

KIND = "grammar 1"
COLUMNS = {
    "side_offsets": "<i8",
    "side_symbols": "<i4",
    "rule_offsets": "<i8",
    "target_offsets": "<i8",
    "target_symbols": "<i4",
    "feature_offsets": "<i8",
    "feature_ids": "<i4",
    "feature_values": "<f8",
    "link_offsets": "<i8",
    "links": "|u1",
    "sentence_offsets": "<i8",
    "sentence_sides": "<i4",
}
TRIE = {"keys": "<i8", "nodes": "<i4", "sides": "<i4", "roots": "<i4"}
TEXTS = ("source_words", "target_words", "feature_names")


def save_grammar(grammar: Grammar, path: str | os.PathLike[str]) -> None:
    """Write a grammar to its own file; a write that fails leaves what stood there before."""
    arrays: Arrays = {name: getattr(grammar, name) for name in COLUMNS}
    arrays |= {f"trie_{name}": getattr(grammar.trie, name) for name in TRIE}
    texts = (grammar.source_words, grammar.target_words, Texts.from_strings(grammar.feature_names))
    for name, column in zip(TEXTS, texts, strict=True):
        arrays |= {f"{name}_offsets": column.offsets, f"{name}_data": column.data}
    save_arrays(path, KIND, arrays, {})


def is_grammar_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a grammar as `save_grammar` writes it, of any version."""
    return is_array_file(path, KIND)


def open_grammar(path: str | os.PathLike[str]) -> Grammar:
    """Map a grammar into memory.

    Raises
    ------
    InputError
        Another kind or version of file, one that is cut off or changed, or with numbers that no grammar has.
    """
    arrays, _ = open_arrays(path, KIND)
    name = display_name(path)
    columns = COLUMNS | {f"trie_{column}": dtype for column, dtype in TRIE.items()}
    if wrong := wrong_column(arrays, {c: (dtype, 2 if c == "links" else 1) for c, dtype in columns.items()}):
        raise fault(name, wrong)
    source, target, names = (texts_of(arrays, column, name) for column in TEXTS)
    trie = Trie(*(arrays[f"trie_{column}"] for column in TRIE))
    grammar = Grammar(source, target, feature_names=tuple(names), trie=trie, **{c: arrays[c] for c in COLUMNS})
    check_grammar(grammar, name)
    return grammar


def texts_of(arrays: Arrays, column: str, name: str) -> Texts:
    """Return a column of texts, which must be UTF-8."""
    offsets, data = arrays.get(f"{column}_offsets"), arrays.get(f"{column}_data")
    if offsets is None or data is None or offsets.dtype.str != "<i8" or data.dtype.str != "|u1":
        raise fault(name, f"no column of texts {column!r}")
    check_offsets(offsets, len(data), column, name)
    try:
        data.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        raise fault(name, f"{column} that are not UTF-8") from None
    return Texts(offsets, data)


def check_offsets(offsets: Int64, size: int, column: str, name: str) -> None:
    """Raise unless offsets ascend from 0 to `size`."""
    if offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or offsets[-1] != size or (np.diff(offsets) < 0).any():
        raise fault(name, f"{column} out of range")


def check_grammar(grammar: Grammar, name: str) -> None:
    """Raise `InputError` for the first thing that a kernel could stumble over."""
    g = grammar
    for column, size in (
        ("side_offsets", len(g.side_symbols)),
        ("rule_offsets", g.n_rules),
        ("target_offsets", len(g.target_symbols)),
        ("feature_offsets", len(g.feature_ids)),
        ("link_offsets", len(g.links)),
        ("sentence_offsets", len(g.sentence_sides)),
    ):
        check_offsets(getattr(g, column), size, column, name)
    lengths = len(g.rule_offsets) == g.n_sides + 1 and len(g.feature_values) == len(g.feature_ids)
    lengths = lengths and len(g.feature_offsets) == len(g.link_offsets) == g.n_rules + 1 and g.links.shape[1] == 2
    if not lengths:
        raise fault(name, "columns of unequal length")
    for column, low, high in (
        ("side_symbols", -2, len(g.source_words)),
        ("target_symbols", -2, len(g.target_words)),
        ("feature_ids", 0, len(g.feature_names)),
        ("sentence_sides", 0, g.n_sides),
    ):
        values = getattr(g, column)
        if len(values) and not (low <= values.min() and values.max() < high):
            raise fault(name, f"{column} out of range")
    if not np.isfinite(g.feature_values).all():
        raise fault(name, "features that are not finite")
    row = kernels.bad_rule(
        g.side_offsets, g.side_symbols, g.rule_offsets, g.target_offsets, g.target_symbols, g.link_offsets, g.links
    )
    if row >= 0:
        raise fault(name, f"gaps or links that do not match in rule {row}")
    t = g.trie
    if len(t.keys) != len(t.nodes) or len(t.keys) & (len(t.keys) - 1) or not len(t.keys) or not len(t.roots):
        raise fault(name, "a trie of a wrong size")
    if not kernels.trie_is_whole(t.keys, t.nodes, t.sides, t.roots, g.side_offsets, g.side_symbols):
        raise fault(name, "a trie that does not fit its source sides")
    if len(t.roots) not in (1, g.n_sentences):
        raise fault(name, f"{len(t.roots)} roots for {g.n_sentences} sentences")


def fault(name: str, found: str) -> InputError:
    """Return the complaint about a damaged file."""
    return InputError(
        expected="a whole grammar file", found=found, path=name, hint="make it again: luthier engine extract"
    )
