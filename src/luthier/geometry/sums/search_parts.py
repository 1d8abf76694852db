"""A reverse search in parts: each finds so many vertices from its share of what is left, and gives back the rest.

The vertices of the parts together are those of one search, each once; how they are numbered is the part's
own. Parts are cut by fixed rules, so that the blocks and their order do not depend on who searched them.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.tasks import Engine, Given, run_units
from luthier.geometry.sums.reverse_search import Found, ReverseSearch
from luthier.geometry.sums.search_frontier import FIELDS, Arrays
from luthier.geometry.sums.summands import Summands

FIRST_VERTICES = 64  # found before the search is cut into parts


@dataclasses.dataclass(frozen=True, eq=False)
class SearchSetting:
    """What all parts share: the lists, where the search starts, and what bounds it."""

    summands: Summands
    start: Float64
    limits: Float64 | None = None
    order: str = "depth"

    def search(self, state: Arrays | None = None) -> ReverseSearch:
        """Return a search from the start, or from a state."""
        search = ReverseSearch(self.summands, self.start, limits=self.limits, order=self.order)
        if state is not None:
            search.restore(state)
        return search


@dataclasses.dataclass(frozen=True, eq=False)
class SearchPart:
    """A share of what is left to search, and how many vertices to find before the rest is given back."""

    state: Arrays
    most: int


@dataclasses.dataclass(frozen=True, eq=False)
class PartDone:
    """What a part found, and what it left."""

    blocks: tuple[Found, ...]
    rest: Arrays


def search_part(setting: SearchSetting, part: SearchPart) -> PartDone:
    """Go on from a part's state for as many vertices as it may find."""
    search = setting.search(part.state)
    limit = search.n_found + part.most
    blocks = tuple(search.run(limit))
    return PartDone(blocks, search.state())


def search_in_parts(setting: SearchSetting, *, parts: int, most: int, engine: Engine | None = None) -> list[Found]:
    """Return all vertices in blocks, in the order of the parts.

    Parameters
    ----------
    parts
        Into how many shares all that is left is cut, again and again until nothing is.
    most
        Vertices that a part finds before it gives back its rest.
    engine
        Who searches the parts; the blocks do not depend on it.
    """
    search = setting.search()
    blocks = list(search.run(FIRST_VERTICES))
    given = Given(setting)
    while len(search.frontier):
        shares = [state for state in search.split(parts) if len(state["number"])]
        units = {i: SearchPart(state, most) for i, state in enumerate(shares)}
        done = list(run_units(search_part, given, units, engine=engine).values())
        blocks += [block for part in done for block in part.blocks]
        search = setting.search(_merged([part.rest for part in done]))
    return blocks


def _merged(rests: list[Arrays]) -> Arrays:
    """Return one state of all that the parts left."""
    fields = {name: np.concatenate([rest[name] for rest in rests]) for name in FIELDS}
    counts = np.max([rest["counts"] for rest in rests], axis=0)
    return {"counts": counts, "goal": rests[0]["goal"], **fields}
