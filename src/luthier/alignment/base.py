"""What an aligner is: steps that train on one direction of a parallel text, and its links.

A file ``alignment/methods/<name>.py`` holds one aligner as a frozen dataclass `Method(Aligner)`; its
docstring's first line is the help line, its fields, declared by `luthier.core.params.param`, are the options.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from luthier.alignment.cells import Direction
from luthier.alignment.table import Parameters, reestimate, uniform
from luthier.core.arrays import Float64, Int32
from luthier.core.params import param, validate
from luthier.core.plugins import load
from luthier.core.segments import segment_blocks
from luthier.core.threads import map_in_order

PACKAGE = "luthier.alignment.methods"
DEFAULT = "diagonal"


@dataclasses.dataclass(frozen=True, eq=False)
class Expectation:
    """What a pass over the text found, with K types and W predicted words.

    Attributes
    ----------
    counts : (K,) float64
        Expected number of uses of each type.
    null_counts : (W,) float64
        Expected number of times each predicted word has no link.
    own : float64 array
        What the method counts besides.
    log_likelihood : float
        Of the text, under the parameters the pass began with.
    """

    counts: Float64
    null_counts: Float64
    own: Float64
    log_likelihood: float


class Sums:
    """Expectations of the parts of a text, added up in the order of the parts: so the sums have the same bits."""

    def __init__(self, direction: Direction) -> None:
        self.counts, self.null_counts = np.zeros(len(direction.given_of_type)), np.zeros(direction.n_predicted)
        self.own, self.log_likelihood = np.zeros(()), 0.0

    def add(self, found: Expectation, types: Int32 | None = None) -> None:
        """Add those of the next part; `types` are the numbers of its types, where they are not those of all."""
        if types is None:
            self.counts += found.counts
        else:
            self.counts[types] += found.counts
        self.null_counts += found.null_counts
        self.own = self.own + found.own
        self.log_likelihood += found.log_likelihood

    def expectation(self) -> Expectation:
        """Return that of the whole text."""
        return Expectation(self.counts, self.null_counts, self.own, self.log_likelihood)


@dataclasses.dataclass(frozen=True, eq=False)
class OneWay:
    """Links of one direction.

    Attributes
    ----------
    links : (T,) int32
        The given place of each predicted word of the text, −1 for none.
    scores : (P,) float64
        Natural logarithm of the probability of each predicted sentence.
    """

    links: Int32
    scores: Float64


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """A step that trained: what a pass found, and the parameters that follow; the links where it has them already."""

    expectation: Expectation | None
    parameters: Parameters
    links: OneWay | None = None


@dataclasses.dataclass(frozen=True)
class Aligner(abc.ABC):
    """Base of all aligners; `draws` says whether links are drawn, so that they depend on the order of pairs."""

    draws: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate(self)

    @property
    @abc.abstractmethod
    def training_passes(self) -> int:
        """Number of steps that training has."""

    def start(self) -> Float64:
        """Return the method's own parameters at the start."""
        return np.zeros(0)

    def own_size(self, n_given: int) -> int:  # noqa: ARG002
        """Return how many numbers the method's own parameters are, for so many given words."""
        return len(self.start())

    @abc.abstractmethod
    def train(self, direction: Direction, threads: int = 1) -> Iterator[Step]:
        """Yield the parameters after each step, the last being the answer, which no number of threads changes."""

    @abc.abstractmethod
    def link(self, direction: Direction, parameters: Parameters) -> OneWay:
        """Return the links of one direction."""

    @property
    def name(self) -> str:
        """The aligner's public name: that of its file."""
        return type(self).__module__.rsplit(".", 1)[-1].replace("_", "-")

    @property
    def spec(self) -> str:
        """The aligner with all its parameters."""
        values = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self))
        return f"{self.name}({', '.join(values)})"


@dataclasses.dataclass(frozen=True)
class ChainAligner(Aligner):
    """Base of aligners that average chains; each chain in one direction can be drawn by itself."""

    draws = True
    chains: int = param(3, low=1, high=100, help="chains of links that are averaged, each with its own seed")

    @property
    def training_passes(self) -> int:
        """Number of steps: one a chain."""
        return self.chains

    @abc.abstractmethod
    def draw(self, direction: Direction, chain: int) -> Any:
        """Return what a chain has come to."""

    @abc.abstractmethod
    def average(self, direction: Direction, drawn: Iterable[Any]) -> Iterator[Step]:
        """Yield the parameters after each chain; chains come in the order of their numbers."""

    def train(self, direction: Direction, threads: int = 1) -> Iterator[Step]:
        """Yield the parameters after each chain."""
        yield from self.average(
            direction, map_in_order(lambda chain: self.draw(direction, chain), range(self.chains), threads)
        )


@dataclasses.dataclass(frozen=True)
class EmAligner(Aligner):
    """Base of aligners that train by passes of expectation and maximisation."""

    passes: int = param(5, low=1, high=1000, help="passes over the text; the last only aligns")
    alpha: float = param(0.01, low=0.0, high=1000.0, help="Dirichlet prior of a translation; 0 is plain EM")

    @property
    def training_passes(self) -> int:
        """Number of passes that change the parameters."""
        return self.passes - 1

    @abc.abstractmethod
    def expect(self, direction: Direction, parameters: Parameters, number: int) -> Expectation:
        """Return what pass `number`, from 0, finds in a text or in a part of it."""

    def maximize(self, direction: Direction, parameters: Parameters, found: Expectation, number: int) -> Float64:  # noqa: ARG002
        """Return the method's own parameters after a pass; the table is everybody's business."""
        return parameters.own

    def train(self, direction: Direction, threads: int = 1) -> Iterator[Step]:
        """Yield the parameters after each pass, the last being the answer."""
        parameters = uniform(direction, self.start())
        parts = parts_of(direction)
        for number in range(self.training_passes):
            sums = Sums(direction)

            def expect(part: tuple[int, int], before: Parameters = parameters, number: int = number) -> Expectation:
                return self.expect(direction.part(*part), before, number)

            for found in map_in_order(expect, parts, min(threads, len(parts))):
                sums.add(found)
            step = self.step(direction, parameters, sums.expectation(), number)
            parameters = step.parameters
            yield step

    def step(self, direction: Direction, parameters: Parameters, found: Expectation, number: int) -> Step:
        """Return the step that a pass over the whole text makes."""
        own = self.maximize(direction, parameters, found, number)
        return Step(found, reestimate(direction, found.counts, found.null_counts, self.alpha, own))


PART_CELLS = 1 << 24  # of a part of a text; its pieces are the same wherever it is worked on


def parts_of(direction: Direction) -> list[tuple[int, int]]:
    """Return the parts of a text, first pair and last + 1, that are looked through by themselves."""
    return segment_blocks(direction.text.cell_offsets, PART_CELLS)


def aligner(name: str = DEFAULT, **parameters: Any) -> Aligner:
    """Return an aligner by its name: ``aligner("diagonal", tension=5.0)``."""
    method: type[Aligner] = load(PACKAGE, name)
    return method(**parameters)
