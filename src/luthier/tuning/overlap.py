"""Which sentences of two pools are the same, by their texts: unseen sentences must be unseen."""

from __future__ import annotations

import hashlib

import numpy as np

from luthier.core.arrays import Int64
from luthier.core.errors import excerpt
from luthier.corpus.texts import Texts
from luthier.kbest.pool import Pool


def fingerprints(pool: Pool, kind: str | None = None) -> list[bytes]:
    """Return a fingerprint of each sentence: of its source, else of its references, else of its hypotheses.

    `kind` says which of the three (``source``, ``references``, ``hypotheses``), where two pools are to be compared.
    """
    texts, offsets = _texts(pool, kind or kind_of(pool))
    data, spans = texts.data, texts.offsets
    found = []
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        # lengths too: "a b" and "c" are not "a" and "b c"
        sizes = (spans[first : last + 1] - spans[first]).tobytes()
        found.append(hashlib.blake2b(data[spans[first] : spans[last]].tobytes() + sizes, digest_size=16).digest())
    return found


def kind_of(*pools: Pool) -> str:
    """Return by which texts the sentences of these pools can be told apart."""
    if all(pool.sources is not None for pool in pools):
        return "source"
    return "references" if all(pool.references is not None for pool in pools) else "hypotheses"


def overlap_note(tuning: Pool, heldout: Pool) -> str:
    """Say how many held-out sentences are among the tuning sentences, with one of them; nothing where none is."""
    kind = kind_of(tuning, heldout)
    known = set(fingerprints(tuning, kind))
    twice = [i for i, key in enumerate(fingerprints(heldout, kind)) if key in known]
    if not twice:
        return ""
    texts, offsets = _texts(heldout, kind)
    first = texts[int(offsets[twice[0]])] if offsets[twice[0]] < offsets[twice[0] + 1] else ""
    return (
        f"{len(twice)} of {heldout.n_sentences} held-out sentences are tuning sentences too, by their {kind}: "
        f"they are not unseen, and flatter. The first is {excerpt(first.encode())}"
    )


def _texts(pool: Pool, kind: str) -> tuple[Texts, Int64]:
    """Return the texts of a kind, and which are those of each sentence."""
    if kind == "source" and pool.sources is not None:
        return pool.sources, np.arange(pool.n_sentences + 1)
    if kind == "references" and pool.references is not None:
        return pool.references.texts, pool.references.offsets
    return pool.texts, pool.offsets
