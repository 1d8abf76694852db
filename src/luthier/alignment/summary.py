"""An alignment in numbers: pairs, words, links, the likelihood of each pass."""

from __future__ import annotations

import dataclasses

from luthier.alignment.aligner import Alignment
from luthier.alignment.links import Links


@dataclasses.dataclass(frozen=True)
class LinkCounts:
    """How many links two directions have, and the alignment made of them.

    Attributes
    ----------
    how : str
        The way to symmetrize.
    pairs : int
        Sentence pairs.
    forward_links, backward_links, links : int
    """

    how: str
    pairs: int
    forward_links: int
    backward_links: int
    links: int


@dataclasses.dataclass(frozen=True)
class Summary(LinkCounts):
    """The same of a text that was aligned here.

    Attributes
    ----------
    method : str
        The aligner with all its parameters.
    aligned, empty, long : int
        Pairs that were aligned; left out for an empty side; left out for their length.
    source_words, target_words : int
    log_likelihoods : two tuples of float
        Of the text before each pass that trained, forward and backward.
    """

    method: str
    aligned: int
    empty: int
    long: int
    source_words: int
    target_words: int
    log_likelihoods: tuple[tuple[float, ...], tuple[float, ...]]


def count_links(forward: Links, backward: Links, links: Links, how: str) -> LinkCounts:
    """Return the numbers of links of two alignments and of what they became."""
    return LinkCounts(how, len(links), len(forward.source), len(backward.source), len(links.source))


def summarize(alignment: Alignment, links: Links, how: str) -> Summary:
    """Return an alignment in numbers; `links` are what `how` made of its two directions."""
    counts, text = count_links(alignment.forward, alignment.backward, links, how), alignment.bitext
    return Summary(
        **dataclasses.asdict(counts), method=alignment.model.method.spec,
        aligned=len(text.kept), empty=text.empty, long=text.long,
        source_words=len(text.source.ids), target_words=len(text.target.ids), log_likelihoods=alignment.likelihoods,
    )  # fmt: skip
