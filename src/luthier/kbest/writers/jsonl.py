"""JSON Lines: one object per hypothesis, with id, hyp, features, source, refs, derivation, columns."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError, excerpt
from luthier.core.files.io import open_output
from luthier.kbest.derivations import Derivations
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.kbest.reading.arrow_columns import texts_of
from luthier.kbest.reading.column_roles import MEANINGS
from luthier.kbest.reading.json_tape import FINE, read_tape
from luthier.kbest.storage.writer import (
    Writer,
    check_columns,
    data_of,
    integer_ids,
    joined,
    joined_lists,
    numbers_as_text,
    row_blocks,
    sentence_of_rows,
    text_array,
)

TAKEN = (*(name for names in MEANINGS.values() for name in names), "absent")


@dataclasses.dataclass(frozen=True)
class Method(Writer):
    """One object per line; what a hypothesis does not have, its object does not have.

    The source and the references stand in every line of a sentence, so that each line can be used
    alone. Columns are numbers at the top of the object, left out where they are NaN.
    """

    endings: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")

    def write(self, pool: Pool, path: str | os.PathLike[str]) -> None:
        """Write a pool's lists to `path`."""
        check_columns(pool, TAKEN)
        heads, tails = _sentence_parts(pool)
        rules = None if pool.derivations is None else _rule_objects(pool.derivations)
        sentences = sentence_of_rows(pool)
        # so that a reader does not take sparse features for dense ones with missing values
        end = ', "absent": "zero"}\n' if pool.features.n_dense < pool.n_features else "}\n"
        with open_output(path) as out:
            for first, last in row_blocks(pool):
                chosen = pa.array(sentences[first:last])
                parts: list[pa.Array | str] = [heads.take(chosen)]
                parts += [quoted(text_array(pool.texts, first, last)), ', "features": ']
                parts += [_feature_objects(pool.features, first, last), tails.take(chosen)]
                if pool.derivations is not None:
                    parts += [', "derivation": ', _derivations(pool.derivations, rules, first, last)]
                for name, column in pool.columns.items():
                    parts.append(_column(name, column[first:last]))
                out.write(data_of(joined(*parts, end)))


def contribution_lines(pool: Pool, weights: Float64, scores: Float64) -> Iterator[memoryview]:
    """Yield, as the bytes of lines, objects with id, hyp, score and contributions: weight times value of each feature.

    `weights` are (D,), `scores` those of all rows, (M,).
    """
    features = pool.features
    parts = dataclasses.replace(
        features,
        dense=features.dense * weights[: features.n_dense],
        values=features.values * weights[features.n_dense :][features.indices],
    )
    heads = _heads(pool)
    sentences = sentence_of_rows(pool)
    for first, last in row_blocks(pool):
        hypotheses = quoted(text_array(pool.texts, first, last))
        yield data_of(
            joined(
                heads.take(pa.array(sentences[first:last])),
                hypotheses,
                ', "score": ',
                _numbers(scores[first:last]),
                ', "contributions": ',
                _feature_objects(parts, first, last),
                _other_members(pool, first, last),
                "}\n",
            )
        )


def _other_members(pool: Pool, first: int, last: int) -> pa.Array | str:
    """Return the other keys of each row's object behind a comma; nothing where there are none."""
    if pool.other_keys is None:
        return ""
    kept, which = np.unique(pool.other_keys.ids[first:last], return_inverse=True)
    texts = text_array(pool.other_keys.texts.take(kept))
    whole = texts_of(joined("{", texts, "}"))
    wrong = np.flatnonzero(read_tape(whole.data, whole.offsets[:-1], whole.offsets[1:]).status != FINE)
    if len(wrong):  # in a pool that somebody else wrote
        found = excerpt(whole[int(wrong[0])].encode(), 60)
        raise LuthierError(f"expected members of a JSON object among other keys, found {found}")
    return pc.if_else(pc.equal(texts, ""), "", joined(", ", texts)).take(pa.array(which.reshape(-1)))


def quoted(texts: pa.Array) -> pa.Array:
    r"""Return each text as a JSON string: quotes, backslashes and control characters escaped.

    >>> quoted(pa.array(['say "é"', "a\tb"])).to_pylist()
    ['"say \\"é\\""', '"a\\u0009b"']
    """
    for sign in ("\\", '"'):  # backslashes first: the quotes' own must not be doubled
        if pc.any(pc.match_substring(texts, sign)).as_py():
            texts = pc.replace_substring(texts, sign, "\\" + sign)
    if pc.any(pc.match_substring_regex(texts, r"[\x00-\x1f]")).as_py():
        for code in range(32):
            texts = pc.replace_substring(texts, chr(code), f"\\u{code:04x}")
    return joined('"', texts, '"')


def _numbers(values: Float64) -> pa.Array:
    """Return each number as JSON text; −0 with a decimal point, or it would read back as an integer."""
    texts = numbers_as_text(values)
    return pc.if_else(pc.equal(texts, "-0"), "-0.0", texts)


def _feature_objects(features: Features, first: int, last: int) -> pa.Array:
    """Return the features of each row as a JSON object."""
    keys = [json.dumps(name, ensure_ascii=False) + ": " for name in features.names]
    parts: list[pa.Array | str] = ["{"]
    for d in range(features.n_dense):
        parts += [(", " if d else "") + keys[d], _numbers(features.dense[first:last, d])]
    bounds = features.indptr[first : last + 1]
    entries = slice(bounds[0], bounds[-1])
    names = pa.array(keys[features.n_dense :], pa.string())
    pairs = joined(names.take(pa.array(features.indices[entries])), _numbers(features.values[entries]))
    if features.n_dense:
        parts.append(pc.if_else(pa.array(np.diff(bounds) > 0), ", ", ""))
    return joined(*parts, joined_lists(pairs, bounds - bounds[0], ", "), "}")


def _heads(pool: Pool) -> pa.Array:
    """Return what stands before the hypothesis, for each of N sentences."""
    ids = text_array(pool.sentence_ids)
    return joined('{"id": ', pc.if_else(integer_ids(pool), ids, quoted(ids)), ', "hyp": ')


def _sentence_parts(pool: Pool) -> tuple[pa.Array, pa.Array]:
    """Return what stands before the hypothesis and behind its features, for each of N sentences."""
    tails = pa.array([""] * pool.n_sentences, pa.string())
    if pool.sources is not None:
        tails = joined(', "source": ', quoted(text_array(pool.sources)))
    if pool.references is not None:
        lists = joined_lists(quoted(text_array(pool.references.texts)), pool.references.offsets, ", ")
        tails = joined(tails, ', "refs": [', lists, "]")
    return _heads(pool), tails


def _rule_objects(derivations: Derivations) -> pa.Array:
    rules = quoted(text_array(derivations.texts))
    features = _feature_objects(derivations.features, 0, len(derivations.features))
    return joined('{"rule": ', rules, ', "features": ', features, "}")


def _derivations(derivations: Derivations, rules: pa.Array, first: int, last: int) -> pa.Array:
    bounds = derivations.offsets[first : last + 1]
    used = rules.take(pa.array(derivations.rules[bounds[0] : bounds[-1]]))
    return joined("[", joined_lists(used, bounds - bounds[0], ", "), "]")


def _column(name: str, values: Float64) -> pa.Array:
    pairs = joined(f", {json.dumps(name, ensure_ascii=False)}: ", _numbers(values))
    return pc.if_else(pa.array(np.isnan(values)), "", pairs)
