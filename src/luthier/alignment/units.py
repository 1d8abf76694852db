"""Aligning as units of work, for a cluster: a chain in one direction, or a part of the text in one direction and pass.

The command numbers the cells of the whole text, adds up and re-estimates. A worker has the words alone, and numbers the
cells of the part it works on; so a part's types have numbers of their own, which the command knows too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from luthier.alignment.base import Aligner, ChainAligner, EmAligner, Expectation, OneWay, Sums, parts_of
from luthier.alignment.bitext import Bitext
from luthier.alignment.cells import Cells, Direction, directions, number_tokens
from luthier.alignment.table import Parameters, uniform
from luthier.core.arrays import Int32, Int64
from luthier.core.errors import LuthierError
from luthier.core.progress import Advance
from luthier.core.tasks import Engine, Shared, each_result, held
from luthier.corpus.texts import Tokens

# What comes of a direction: parameters, the log-likelihoods of its steps, links.
Trained = tuple[Parameters, list[float], OneWay]


@dataclasses.dataclass(frozen=True, eq=False)
class Words:
    """What workers have of a text: the words of the pairs that are kept, and how long sentences are on each side."""

    source: Tokens
    target: Tokens
    n_sources: int
    n_targets: int
    lengths: tuple[Int64, Int64]

    @classmethod
    def of(cls, bitext: Bitext, ways: Sequence[Direction]) -> Words:
        """Return the words of a parallel text."""
        sides = bitext.source.take(bitext.kept), bitext.target.take(bitext.kept)
        return cls(*sides, len(bitext.source_words), len(bitext.target_words), (ways[0].lengths, ways[1].lengths))

    def cells(self, first: int, last: int) -> Cells:
        """Return the cells of the pairs ``first:last``, with types of their own."""
        rows = np.arange(first, last)
        return number_tokens(self.source.take(rows), self.target.take(rows), self.n_sources, self.n_targets)


@dataclasses.dataclass(frozen=True, eq=False)
class ChainUnit:
    """A chain in one direction, of the whole text."""

    method: ChainAligner
    side: int
    chain: int


@dataclasses.dataclass(frozen=True, eq=False)
class PartUnit:
    """A part of the text in one direction: what pass `number` expects under parameters, or, with None, its links."""

    method: EmAligner
    side: int
    first: int
    last: int
    number: int | None
    parameters: Parameters = dataclasses.field(repr=False)


@functools.lru_cache(maxsize=2)
def _ways(words: Words, first: int, last: int) -> tuple[Direction, Direction]:
    """Return a part read both ways; a worker keeps the last two, for the other direction and the next pass."""
    found = directions(words.cells(first, last))
    one, other = (dataclasses.replace(way, lengths=own) for way, own in zip(found, words.lengths, strict=True))
    return one, other


def draw_chain(words: Words, unit: ChainUnit) -> Any:
    """Return what a chain has come to."""
    return unit.method.draw(_ways(words, 0, len(words.source))[unit.side], unit.chain)


def expect_part(words: Words, unit: PartUnit) -> Expectation | OneWay:
    """Return what a pass expects in a part, or its links."""
    way = _ways(words, unit.first, unit.last)[unit.side]
    if unit.number is None:
        return unit.method.link(way, unit.parameters)
    return unit.method.expect(way, unit.parameters, unit.number)


class _PartUnits(Mapping[int, PartUnit]):
    """The units of a pass by their numbers, those of a direction one behind another; each is made when it is sent."""

    def __init__(self, count: int, make: Callable[[int, int], PartUnit]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return 2 * self._count

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __getitem__(self, number: int) -> PartUnit:
        return self._make(*divmod(number, self._count))


def train_units(
    bitext: Bitext, cells: Cells, method: Aligner, engine: Engine, advance: Advance
) -> tuple[Trained, Trained]:
    """Train both directions of a text by units; what comes of it has the bytes of one machine."""
    ways = directions(cells)
    with held(engine, Shared(Words.of(bitext, ways))) as given:
        if isinstance(method, ChainAligner):
            return _train_chains(ways, method, engine, given, advance)
        if isinstance(method, EmAligner):
            return _Parts(ways, cells, method, engine, given).train(advance)
    raise LuthierError(f"expected an aligner of chains or of passes for a cluster, found {method.name}")


def _train_chains(
    ways: tuple[Direction, Direction], method: ChainAligner, engine: Engine, given: Shared, advance: Advance
) -> tuple[Trained, Trained]:
    count = method.chains
    units = {side * count + chain: ChainUnit(method, side, chain) for side in range(2) for chain in range(count)}
    sides: list[Trained] = []
    with contextlib.closing(each_result(draw_chain, given, units, engine)) as drawn:
        for way in ways:
            parameters, links = uniform(way, method.start()), None
            for step in method.average(way, itertools.islice(drawn, count)):
                parameters, links = step.parameters, step.links
                advance(1)
            sides.append((parameters, [], links or method.link(way, parameters)))
    return sides[0], sides[1]


class _Parts:
    """Passes over the parts of a text."""

    def __init__(
        self, ways: tuple[Direction, Direction], cells: Cells, method: EmAligner, engine: Engine, given: Shared
    ) -> None:
        self.ways, self.method, self.engine, self.given = ways, method, engine, given
        self.parts = parts_of(ways[0])
        self.types: list[Int32] = [
            given.value.cells(*part).find_in(cells.type_offsets, cells.type_targets).astype(np.int32)
            for part in self.parts
        ]

    def train(self, advance: Advance) -> tuple[Trained, Trained]:
        """Return what comes of both directions."""
        method = self.method
        parameters = [uniform(way, method.start()) for way in self.ways]
        likelihoods: tuple[list[float], list[float]] = [], []
        for number in range(method.training_passes):
            sums = [Sums(way) for way in self.ways]
            for place, found in enumerate(self._results(parameters, number)):
                side, part = divmod(place, len(self.parts))
                sums[side].add(found, self.types[part])
            for side, way in enumerate(self.ways):
                parameters[side] = method.step(way, parameters[side], sums[side].expectation(), number).parameters
                likelihoods[side].append(sums[side].log_likelihood)
                advance(1)
        links = self._links(parameters)
        one, other = ((parameters[side], likelihoods[side], links[side]) for side in range(2))
        return one, other

    def _links(self, parameters: Sequence[Parameters]) -> list[OneWay]:
        found, count = list(self._results(parameters, None)), len(self.parts)
        return [
            OneWay(
                np.concatenate([one.links for one in found[side * count : (side + 1) * count]]),
                np.concatenate([one.scores for one in found[side * count : (side + 1) * count]]),
            )
            for side in range(2)
        ]

    def _results(self, parameters: Sequence[Parameters], number: int | None) -> Iterator[Any]:
        def make(side: int, part: int) -> PartUnit:
            mine = dataclasses.replace(
                parameters[side], probabilities=parameters[side].probabilities[self.types[part]], unseen=np.zeros(0)
            )
            return PartUnit(self.method, side, *self.parts[part], number, mine)

        return each_result(expect_part, self.given, _PartUnits(len(self.parts), make), self.engine)
