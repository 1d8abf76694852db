"""Tables and figures of a study of capacity, from its lines alone."""

from __future__ import annotations

from collections.abc import Sequence

from luthier.core.files.io import open_output
from luthier.core.files.journal import Record

from .capacity_figure import draw_capacity
from .capacity_settings import CONES, ORACLE, CapacityStudy, CapacityUnit, Grid
from .capacity_tables import agreement_table, cone_table, oracle_table, tuning_table
from .units import TABLES, Place


def write_results(study: CapacityStudy, records: Sequence[Record], place: Place) -> list[str]:
    """Write tables, and a figure for each data set, of the units that the study still names; return their paths."""
    parts, pictures = [f"# {study.name}: tables\n\nMade from `units.jsonl` alone; scores are on 0–100.\n"], []
    for entry in study.data:
        lines = {study.line.key_of(record): record for record in records if record["data"] == entry.name}
        if not lines:
            continue
        parts.append(f"## {entry.name}\n")
        drawn: dict[CapacityUnit, Record] = {}
        for grid in (grid for grid in study.grids if entry.name in grid.data):
            found = {unit: lines[entry.name, *unit] for unit in grid.units() if (entry.name, *unit) in lines}
            drawn |= found
            parts += _tables(grid, list(found.values()))
        picture = place.folder / f"{entry.name}.png"
        if draw_capacity([r for r in drawn.values() if r["tuner"] != CONES], f"{study.name}: {entry.name}", picture):
            pictures.append(str(picture))
    if len(parts) == 1:
        return []
    with open_output(place.folder / TABLES) as file:
        file.write("\n".join(parts).encode("utf-8"))
    return [*pictures, str(place.folder / TABLES)]


def _tables(grid: Grid, records: Sequence[Record]) -> list[str]:
    """Return the tables of one grid, as far as it has lines."""
    parts = [f"### {grid.title}\n"]
    counted = [record for record in records if record["tuner"] == CONES]
    oracles = [record for record in records if record["tuner"] == ORACLE]
    tuned = [record for record in records if record["tuner"] not in (CONES, ORACLE)]
    if counted:
        parts.append(cone_table(counted))
    if oracles:
        parts.append(oracle_table(oracles))
    if tuned:
        parts.append(tuning_table(tuned))
    if len({record["tuner"] for record in tuned}) > 1 and oracles:
        parts.append(agreement_table([*oracles, *tuned]))
    return parts
