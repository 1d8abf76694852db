"""Tables and figures of a study of conditions, from its lines, what was chosen, and the shapes that were learned."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import regular
from luthier.core.files.journal import Record
from luthier.core.settings import parse_json
from luthier.evaluation.comparison import Comparison, Difference, Settings, compare, optimizer_spread
from luthier.evaluation.systems import System
from luthier.features.bins_file import parse_bins
from luthier.features.curves import curves
from luthier.kbest.weights import Weights
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.report.figures.bins import View, draw_views

from .base import UNITS, Place, write_tables
from .condition_settings import Condition, ConditionStudy
from .condition_tables import ConditionResult, ConditionTables, Setting, Tries, draw_turns, table_parts
from .lines import unpack_statistics, unpack_text, unpack_weights

CHOICES = "choices.json"

Choices = Mapping[str, Sequence[Mapping[str, Any]]]  # condition → its points, in the order they were tried


def write_results(study: ConditionStudy, records: Sequence[Record], place: Place) -> list[str]:
    """Write tables and figures of the loops that have ended; return their paths."""
    choices = read_choices(place)
    paths: list[str] = []
    parts: list[str] = []
    for entry in study.data:
        lines = [record for record in records if record["data"] == entry.name]
        if not lines:
            continue
        results = _Results(study, lines, choices.get(entry.name, {}))
        found = results.tables(entry.name)
        parts += table_parts(found)
        done = [result for result in found.main.values() if result is not None]
        if done:
            paths.append(str(place.folder / f"{entry.name}.turns.png"))
            draw_turns(done, f"{study.name}: {entry.name}", Path(paths[-1]))
        shapes = results.shapes()
        if shapes:
            paths.append(str(place.folder / f"{entry.name}.shapes.png"))
            draw_views(shapes, Path(paths[-1]))
    if parts:
        spent = {
            name: sum(point["cpu_seconds"] for points in tried.values() for point in points)
            for name, tried in choices.items()
        }
        parts = [study.size_table(records, spent), *parts]
        paths.append(write_tables(place, study.name, parts, made_from=f"`{UNITS}` and `{CHOICES}`"))
    return paths


def read_choices(place: Place) -> dict[str, Choices]:
    """Return what was tried, by data set; nothing where nothing was."""
    path = place.folder / CHOICES
    if not path.exists():
        return {}
    try:
        found = parse_json(regular(path).read_bytes())
        points = [point for data in found.values() for tried in data.values() for point in tried]
        if not all(_is_point(point) for point in points):
            raise ValueError("a point without its numbers")
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(expected="the choices of a study", found=str(error), path=str(path)) from None
    return dict(found)


def _is_point(point: Any) -> bool:
    return (
        all(type(point.get(name)) is int for name in ("bits", "features"))
        and all(type(point.get(name)) in (int, float) for name in ("tuned", "heldout", "gain", "cpu_seconds"))
        and isinstance(point.get("values"), str)
    )


class _Results:
    """The lines of one data set, and what was chosen."""

    def __init__(self, study: ConditionStudy, lines: Sequence[Record], choices: Choices) -> None:
        self.study, self.lines, self.choices = study, lines, choices
        self.metric: Metric = load_metric(lines[0]["metric"])
        self.wanted = max(record["replicas"] for record in lines)

    def tables(self, data: str) -> ConditionTables:
        """Return all that is shown of the data set."""
        main = {c.name: self.chosen(c) for c in self.study.conditions_of(data)}
        settings = {name: setting for name, setting in main.items() if setting is not None}
        against = self._comparisons([*settings.values()])
        results = {
            name: None if name not in settings else self.result(settings[name], against.get(settings[name], {}))
            for name in main
        }
        return ConditionTables(
            data,
            (self.metric.name, self.metric.signature),
            results,
            self.study.baselines,
            tuple(self._tries(name) for name in self.choices),
            self._longer(settings),
        )

    def _longer(self, settings: Mapping[str, Setting]) -> tuple[ConditionResult, ...]:
        """Return the loops with more turns, each after the one that it continues."""
        found = []
        for setting in (settings[name] for name in self.study.longer if name in settings):
            values = f"{setting.values} turns={self.study.longer_turns}".strip()
            results = [self.result(s, {}) for s in (setting, dataclasses.replace(setting, values=values))]
            found += [result for result in results if result is not None and None not in results]
        return tuple(found)

    def chosen(self, condition: Condition) -> Setting | None:
        """Return the chosen setting of a condition; None where there is none yet."""
        if not condition.has_choice:
            return Setting(condition.name, condition.bits[0] if condition.bits else 0, "")
        if condition.name not in self.choices:
            return None
        return self._tries(condition.name).best

    def loops(self, setting: Setting) -> list[Record]:
        """Return the lines of a setting, by replica."""
        wanted = (setting.condition, setting.bits, setting.values)
        found = [r for r in self.lines if (r["condition"], r["bits"], r["values"]) == wanted]
        return sorted(found, key=lambda record: int(record["replica"]))

    def result(self, setting: Setting, against: Mapping[str, Difference]) -> ConditionResult | None:
        """Return what a setting reached; None where none of its loops has ended."""
        loops = self.loops(setting)
        if not loops:
            return None
        scores = np.array([record["test"] for record in loops])
        seconds = [float(np.mean([r[f"{part}_seconds"] for r in loops])) for part in ("decode", "tune")]
        return ConditionResult(
            setting,
            loops[0]["features"],
            tuple(scores.tolist()),
            tuple(tuple(r["decoded"]) for r in loops),
            self.wanted,
            optimizer_spread(scores),
            against,
            (seconds[0], seconds[1]),
            max(record.get("together", 1) for record in loops),
        )

    def _comparisons(self, settings: Sequence[Setting]) -> dict[Setting, dict[str, Difference]]:
        """Return how every setting differs from each baseline: setting → baseline → difference."""
        systems = {setting: self._system(setting, self.loops(setting)) for setting in settings}
        done = {setting: system for setting, system in systems.items() if system is not None}
        found: dict[Setting, dict[str, Difference]] = {setting: {} for setting in done}
        for baseline in (setting for setting in done if setting.condition in self.study.baselines):
            others = [setting for setting in done if setting != baseline]
            if not others:
                continue
            systems_here = [done[baseline], *(done[setting] for setting in others)]
            compared: Comparison = compare(
                systems_here, {self.metric.name: self.metric}, Settings(seed=self.study.seed)
            )
            for setting, result in zip(others, compared.metrics[0].results[1:], strict=True):
                assert result.against_baseline is not None
                found[setting][baseline.condition] = result.against_baseline
        return found

    def _system(self, setting: Setting, loops: Sequence[Record]) -> System | None:
        if not loops:
            return None
        try:
            stats = np.stack([unpack_statistics(r["statistics"], len(self.metric.stat_names)) for r in loops])
        except ValueError as error:
            raise LuthierError(f"the lines of {setting.condition!r} have {error}, or of unlike sentences") from None
        return System(f"{setting.condition} {setting.bits} {setting.values}", {self.metric.name: stats})

    def _tries(self, name: str) -> Tries:
        points = self.choices[name]
        settings = [Setting(name, point["bits"], point["values"]) for point in points]
        rows = [
            (s, p["features"], float(p["tuned"]), float(p["heldout"])) for s, p in zip(settings, points, strict=True)
        ]
        best = max(range(len(points)), key=lambda k: points[k]["gain"])
        return Tries(name, tuple(rows), settings[best])

    def shapes(self) -> list[View]:
        """Return what the study draws of weights, of the first loop that has bins: all values, and the lowest ones."""
        found: list[View] = []
        for name, ends in self.study.shapes.items():
            setting = self.chosen(self.study.condition(name))
            for record in [r for r in self.loops(setting) if r["bins"]][:1] if setting is not None else []:
                bins = parse_bins(unpack_text(record["bins"], "bins"), UNITS)
                for curve in curves(bins, Weights(unpack_weights(record["answer"]))):
                    feature = curve.bins.feature
                    if feature in ends:
                        title = f"{name}: {feature}, replica {record['replica'] + 1}"
                        found += [View(curve, title), View(curve, f"{title}, to {ends[feature]:g}", ends[feature])]
        return found
