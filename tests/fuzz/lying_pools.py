"""Pools that lie: one array or one line of the metadata changed, the Arrow file around it whole."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner, tokenize
from luthier.kbest.derivations import Derivations, Tree
from luthier.kbest.features import Features
from luthier.kbest.groups import FeatureGroup
from luthier.kbest.pool import Pool, References, Statistics

WORDS = ["the", "cat", "sät", "on", "a", "mat", "日本", "there", ",", "."]


def whole_pool(seed=0, *, sentences=6, rows=12):
    """Return a pool that has every part a pool can have, with dense and sparse features."""
    rng = np.random.default_rng(seed)
    m = sentences * rows
    vocab = Interner()

    def sentence():
        return " ".join(rng.choice(WORDS, rng.integers(1, 12)))

    texts = Texts.from_strings(sentence() for _ in range(m))
    references = Texts.from_strings(sentence() for _ in range(2 * sentences))
    sparse = np.sort(rng.random((m, 9)).argsort(axis=1)[:, :3]).astype(np.int32)  # three different columns a row
    features = Features(
        ("lm", "tm", "length", *(f"s{i}" for i in range(9))),
        rng.normal(size=(m, 3)), np.arange(m + 1) * 3, sparse.reshape(-1), rng.normal(size=3 * m),
        frozenset({"length"}), (FeatureGroup("s", ("s1", "s0", "s2")),),
    )  # fmt: skip
    rules = Features(("p", "q"), rng.normal(size=(5, 1)), np.arange(6), np.zeros(5, np.int32), rng.normal(size=5))
    derivations = Derivations(
        np.arange(m + 1) * 2, rng.integers(0, 5, 2 * m).astype(np.int32),
        Texts.from_strings(f"X → r{i}" for i in range(5)), rules,
        Tree(np.tile([-1, 0], m), np.tile([[0, 4], [1, 3]], (m, 1))),
    )  # fmt: skip
    tokens, reference_tokens = tokenize(texts, vocab), tokenize(references, vocab)
    return Pool(
        offsets=np.arange(sentences + 1) * rows,
        features=features,
        sentence_ids=Texts.from_strings(f"utt-{i}" for i in range(sentences)),
        texts=texts,
        tokens=tokens,
        vocab=vocab.texts(),
        references=References(np.arange(sentences + 1) * 2, references, reference_tokens),
        sources=Texts.from_strings(sentence() for _ in range(sentences)),
        derivations=derivations,
        columns={"comet": rng.normal(size=m)},
        stats={"given": Statistics(("edits", "length"), rng.integers(0, 9, (m, 2)))},
        provenance={"lists": [{"path": "x", "format": "moses", "hypotheses": m}], "operations": []},
    )


def read_raw(path):
    """Return the arrays and the metadata of a pool's file, as anybody with Arrow can."""
    with pa.OSFile(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    arrays = {name: table[name].chunk(0).values.to_numpy().copy() for name in table.column_names}
    return arrays, json.loads(table.schema.metadata[b"luthier.meta"])


def write_raw(path, arrays, meta):
    """Write a pool's file from arrays and metadata that need not agree."""
    cells = []
    for array in arrays.values():
        flat = pa.array(array)
        cells.append(pa.LargeListArray.from_arrays(pa.array([0, len(flat)], pa.int64()), flat))
    raw = meta if isinstance(meta, str) else json.dumps(meta)
    schema = pa.schema(
        [pa.field(name, cell.type) for name, cell in zip(arrays, cells, strict=True)],
        metadata={"luthier.pool": "1", "luthier.meta": raw},
    )
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.record_batch(cells, schema=schema))


def with_number(arrays, name, at, value):
    """Change one number of one array."""
    arrays[name][at] = value


def without(arrays, name):
    """Take an array out."""
    del arrays[name]


def shorter(arrays, name):
    """Take the last number of an array off."""
    arrays[name] = arrays[name][:-1]


def of_type(arrays, name, dtype):
    """Give an array another type."""
    arrays[name] = arrays[name].astype(dtype)
