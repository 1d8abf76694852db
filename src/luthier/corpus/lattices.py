"""Lattices of source words, a line each, in Python's lattice format (PLF).

A line has a tuple of arcs for each node but the last, ``((('a', 0.1, 1), ('b', 0.2, 2),), (('c', 0, 1),),)``: a word, a
cost, and how many nodes further on the arc ends.
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np

from luthier.core.arrays import Float64, Int32
from luthier.core.errors import InputError, LuthierError, excerpt
from luthier.corpus.texts import Texts

MOST_NODES, MOST_ARCS, LARGEST_COST = 1000, 10_000, 1e100
UNREACHABLE = 1 << 20  # more than any number of words on the way between two nodes
NO_WORD = "*EPS*"
BEGINNING = re.compile(r"\s*\(\s*\(\s*\(\s*['\"]")
MARK = re.compile(r"\s*([(),])")
ARC = re.compile(
    r"""\s*\(\s*(?:'([^'\\]*(?:\\.[^'\\]*)*)'|"([^"\\]*(?:\\.[^"\\]*)*)")\s*,"""
    r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*,\s*([-+]?\d{1,9})\s*,?\s*\)",
    re.ASCII,
)
ESCAPE = re.compile(r"\\(.)")


@dataclasses.dataclass(frozen=True, eq=False)
class Lattice:
    """A words on arcs between the nodes 0, 1, … n; arcs lead forward, and some way leads from 0 to n.

    Attributes
    ----------
    n : int
    words : A str
    starts, stops : (A,) int32
        The nodes of each arc; by stop, then by start, then as they were written.
    costs : (A,) float64
    """

    n: int
    words: tuple[str, ...]
    starts: Int32
    stops: Int32
    costs: Float64

    def distances(self) -> Int32:
        """Return how many words the shortest way between two nodes has, (n+1, n+1); `UNREACHABLE` or more for none."""
        found = np.full((self.n + 1, self.n + 1), UNREACHABLE, dtype=np.int32)
        np.fill_diagonal(found, 0)
        for start, stop in zip(self.starts.tolist(), self.stops.tolist(), strict=True):
            np.minimum(found[:, stop], found[:, start] + 1, out=found[:, stop])
        return found

    def longest_needed(self) -> int:
        """Return the least length such that arcs of at most that length lead to the end."""
        least = [0] + [self.n + 1] * self.n
        for start, stop in zip(self.starts.tolist(), self.stops.tolist(), strict=True):
            least[stop] = min(least[stop], max(least[start], stop - start))
        return least[-1]

    def steps(self) -> list[str]:
        """Return what may be said at each node but the last: the words of its arcs, ``a|b``."""
        found: list[list[str]] = [[] for _ in range(self.n)]
        for word, start in zip(self.words, self.starts.tolist(), strict=True):
            found[start].append(word)
        return ["|".join(words) for words in found]


def is_lattice(text: str) -> bool:
    """Return whether a line begins as lattices do.

    >>> is_lattice("((('a', 0, 1),),)"), is_lattice("( ( a ) )")
    (True, False)
    """
    return BEGINNING.match(text) is not None


def read_lattices(texts: Texts, name: str = "sentences") -> dict[int, Lattice]:
    """Return the lattices among lines by their rows; an `InputError` has the line, of the file `name`."""
    found = {}
    for row, text in enumerate(texts):
        if is_lattice(text):
            try:
                found[row] = parse_lattice(text)
            except InputError as error:
                raise InputError(
                    expected=error.expected,
                    found=error.found,
                    path=name,
                    line=row + 1,
                    hint=error.hint or "a line that begins with ((( and a quotation mark is a lattice (PLF)",
                    kind="lattice",
                ) from None
    return found


def refuse_lattices(texts: Texts) -> None:
    """Raise for a line that looks like a lattice, where it would be taken for one long unknown word."""
    for row, text in enumerate(texts):
        if is_lattice(text):
            raise LuthierError(
                f"expected words in sentence {row}, found a lattice (PLF): {excerpt(text.encode())}. hint: lattices "
                "are read where rules are given: luthier engine decode with `grammar`"
            )


def parse_lattice(text: str) -> Lattice:
    """Return the lattice of a line.

    >>> parse_lattice("((('a', 0.5, 2), ('b', 1, 1),), (('c', 0, 1),),)").words
    ('b', 'a', 'c')
    """
    at = _mark(text, 0, "(", "a lattice (PLF)")
    arcs: list[tuple[int, int, str, float]] = []
    n = 0
    while not _follows(text, at, ")"):
        at = _mark(text, at, "(", f"the arcs of node {n}")
        while not _follows(text, at, ")"):
            arc, at = _arc(text, at, n)
            arcs.append(arc)
        at = _behind(text, _mark(text, at, ")", ""), f"the arcs of node {n}")
        n += 1
        if n > MOST_NODES or len(arcs) > MOST_ARCS:
            most = f"a lattice of at most {MOST_NODES:,} nodes and {MOST_ARCS:,} arcs"
            raise InputError(expected=most, found="more", hint="prune it")
    at = _mark(text, at, ")", "the end of the lattice")
    if text[at:].strip():
        raise InputError(expected="nothing behind the lattice", found=_rest(text, at))
    return _checked(n, arcs)


def _arc(text: str, at: int, node: int) -> tuple[tuple[int, int, str, float], int]:
    """Return an arc of a node, (stop, start, word, cost), and where the text goes on behind it."""
    found = ARC.match(text, at)
    if found is None:
        raise InputError(expected=f"an arc ('word', cost, length) of node {node}", found=_rest(text, at))
    single, double, cost, length = found.groups()
    if int(length) < 1:
        raise InputError(expected=f"an arc of node {node} that leads on by 1 node or more", found=length)
    if not abs(float(cost)) <= LARGEST_COST:
        raise InputError(expected=f"a cost of at most {LARGEST_COST:g} of an arc of node {node}", found=cost)
    word = _word(single if double is None else double, node)
    return (node + int(length), node, word, float(cost)), _behind(text, found.end(), f"an arc of node {node}")


def _word(quoted: str, node: int) -> str:
    for escaped in ESCAPE.findall(quoted):
        if escaped not in "\\'\"":
            raise InputError(
                expected=f"only quotation marks and backslashes behind a backslash on an arc of node {node}",
                found=excerpt(f"\\{escaped}".encode()),
            )
    word = ESCAPE.sub(r"\1", quoted)
    if len(word.split()) != 1 or word.split()[0] != word or word == NO_WORD:
        raise InputError(
            expected=f"one word on an arc of node {node}",
            found=excerpt(word.encode()),
            hint="take arcs without a word out of the lattice",
        )
    return word


def _behind(text: str, at: int, what: str) -> int:
    """Return the place behind the comma at `at`, which the last of its row does not need."""
    return at if _follows(text, at, ")") else _mark(text, at, ",", f"behind {what}")


def _follows(text: str, at: int, mark: str) -> bool:
    found = MARK.match(text, at)
    return found is not None and found.group(1) == mark


def _mark(text: str, at: int, mark: str, what: str) -> int:
    """Return the place behind a mark; raise where something else stands."""
    found = MARK.match(text, at)
    if found is None or found.group(1) != mark:
        raise InputError(expected=f"{mark!r}, {what}", found=_rest(text, at))
    return found.end()


def _rest(text: str, at: int) -> str:
    return excerpt(text[at:].strip().encode()) if text[at:].strip() else "the end"


def _checked(n: int, arcs: list[tuple[int, int, str, float]]) -> Lattice:
    """Return the lattice of arcs, once each ends at a node and some way leads to the last."""
    reached = [True] + [False] * n
    for stop, start, word, _ in arcs:  # by their starts: those that lead to a node are known before it
        if stop > n:
            raise InputError(
                expected=f"an arc of node {start} that ends at node {n}, the last, or before",
                found=f"{excerpt(word.encode())}, which ends at node {stop}",
            )
        reached[stop] = reached[stop] or reached[start]
    if not reached[n]:
        raise InputError(expected="arcs that lead to the last node", found=f"none from node {_last(reached)} on")
    arcs.sort(key=lambda arc: arc[:2])
    stops, starts, words, costs = zip(*arcs, strict=True)
    return Lattice(n, words, np.array(starts, np.int32), np.array(stops, np.int32), np.array(costs, np.float64))


def _last(reached: list[bool]) -> int:
    return max(node for node, known in enumerate(reached) if known)
