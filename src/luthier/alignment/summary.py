"""An alignment in numbers: pairs, words, links, the likelihood of each pass."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.alignment._link_kernels import BOTH
from luthier.alignment.aligner import Alignment
from luthier.alignment.links import Links
from luthier.alignment.symmetrize import symmetrize, unite

# How well one alignment agrees with another: precision, recall, alignment error rate (Och and Ney 2003).


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Counts of links, and what follows from them.

    Attributes
    ----------
    links, sure, possible : int
        How many links there are: of the judged alignment A, the reference S, and P, which contains S.
    sure_found, possible_found : int
        |A ∩ S| and |A ∩ P|.
    """

    links: int
    sure: int
    possible: int
    sure_found: int
    possible_found: int

    @property
    def precision(self) -> float:
        """|A ∩ P| / |A|; 1 without links, for none is wrong."""
        return self.possible_found / self.links if self.links else 1.0

    @property
    def recall(self) -> float:
        """|A ∩ S| / |S|; 1 without links to find."""
        return self.sure_found / self.sure if self.sure else 1.0

    @property
    def error_rate(self) -> float:
        """AER: 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), 0 where there are no links at all [och2003a]."""
        both = self.links + self.sure
        return 1.0 - (self.sure_found + self.possible_found) / both if both else 0.0


def compare_links(links: Links, reference: Links, possible: Links | None = None) -> Agreement:
    """Return how `links` agree with a reference, whose links are sure; `possible` adds doubtful ones."""
    wide = reference if possible is None else symmetrize(reference, possible, "union")
    return Agreement(
        len(links.source),
        len(reference.source),
        len(wide.source),
        sure_found=_common(links, reference),
        possible_found=_common(links, wide),
    )


def _common(first: Links, second: Links) -> int:
    return int(np.count_nonzero(unite(first, second)[-1] == BOTH))


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
        **dataclasses.asdict(counts),
        method=alignment.model.method.spec,
        aligned=len(text.kept),
        empty=text.empty,
        long=text.long,
        source_words=len(text.source.ids),
        target_words=len(text.target.ids),
        log_likelihoods=alignment.likelihoods,
    )
