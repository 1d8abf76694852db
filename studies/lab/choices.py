"""Choices of a study: bits and parameters of the tuner, by re-ranking lists of the pairs that were held out."""

from __future__ import annotations

import dataclasses
import itertools
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luthier.core.files.io import make_folder, open_output
from luthier.core.tasks import Engine
from luthier.jobs.sweep import choose
from luthier.jobs.sweep_config import BITS, texts_of
from luthier.kbest.merge import drop_duplicates, merge
from luthier.kbest.pool import Pool
from luthier.kbest.storage.pool_file import open_pool, save_pool
from luthier.kbest.weights import Weights
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.run import RunOptions, run
from luthier.tuning.sweep import Tried

from .base import Place
from .condition_results import CHOICES as ALL
from .condition_results import read_choices
from .condition_settings import Condition, ConditionStudy, Values
from .system import HELDOUT, TUNE, System

CHOICES, FILE, CHOICE = "choices", "choice.toml", "choice"


class Point(NamedTuple):
    """Bits of bins, and the chosen parameters of the tuner."""

    bits: int
    values: Values


def make_choices(
    study: ConditionStudy, system: System, weights: Mapping[str, Weights], place: Place, engine: Engine | None
) -> dict[str, list[Point]]:
    """Return the points that were tried for each condition with something to choose, the best first.

    The lists are decoded once with the tuned weights of each condition of `weights`, and merged. Each choice is a file
    of `luthier engine sweep` in ``choices/CONDITION``; ``choices.json`` of the study's folder has all points, and
    beside them what conditions without a choice reach on the same lists. What stands there is not chosen again: another
    processor may round otherwise, and choose otherwise.
    """
    everything = read_choices(place)
    before, tried = everything.get(system.entry.name, {}), {}
    conditions = [c for c in study.conditions_of(system.entry.name) if c.has_choice or not c.bits]
    lists: list[Path] = []
    for condition in conditions:
        made_of, known = _made_of(study, system, condition), before.get(condition.name, ())
        if not _stands(condition, known, made_of):
            lists = lists or _decode(study, system, weights)
            known = [{**record, "made_of": made_of} for record in _try(study, system, condition, lists, engine)]
        tried[condition.name] = known
    with open_output(place.folder / ALL) as file:
        text = json.dumps({**everything, system.entry.name: tried}, indent=1, ensure_ascii=False)
        file.write(f"{text}\n".encode())
    return {c.name: _ordered(c, tried[c.name]) for c in conditions if c.has_choice}


def _made_of(study: ConditionStudy, system: System, condition: Condition) -> str:
    """Return a digest of all that a choice is made of."""
    settings = system.config.settings
    own = [condition.cut, condition.induction, condition.bits, sorted(condition.tuner.items()), condition.by_use]
    about = [system.inputs, study.choice_k, study.lists_of, study.own, condition.features, own]
    return system.steps.key([], [*about, settings.tuner.spec, settings.metric.signature, settings.options.seed])


def _values_of(condition: Condition) -> dict[str, Values]:
    """Return all values to choose from, by their texts."""
    known = [tuple(zip(condition.axes, values, strict=True)) for values in itertools.product(*condition.axes.values())]
    return {text_of(values): values for values in known}


def _stands(condition: Condition, records: Sequence[Mapping[str, Any]], made_of: str) -> bool:
    """Return whether these are the points of a choice, each once, and made of the same."""
    expected = sorted(itertools.product(condition.bits or (0,), _values_of(condition)))
    found = sorted((record["bits"], record["values"]) for record in records)
    return found == expected and all(record.get("made_of") == made_of for record in records)


def _ordered(condition: Condition, records: Sequence[Mapping[str, Any]]) -> list[Point]:
    """Return the points of a choice, the best first; the first tried of equal gains."""
    values_of, best_first = _values_of(condition), sorted(records, key=lambda record: -record["gain"])
    return [Point(record["bits"], values_of[record["values"]]) for record in best_first]


def _try(
    study: ConditionStudy, system: System, condition: Condition, decoded: Sequence[Path], engine: Engine | None
) -> list[dict[str, Any]]:
    """Return what each point of a condition's choice reaches, or the condition itself if it has none."""
    folder = system.home / CHOICES / condition.name.replace(" ", "-")
    make_folder(folder)
    pools = [_select(study, lists, condition, folder) for lists in decoded]
    if not condition.has_choice:
        return [_plain_record(condition, system, pools)]
    with open_output(folder / FILE) as file:
        file.write(choice_text(condition, system, pools).encode("utf-8"))
    chosen, _ = choose(folder / FILE, folder / CHOICE, engine=engine)
    return [_as_record(condition, point) for point in chosen.points]


def _plain_record(condition: Condition, system: System, pools: Sequence[Path]) -> dict[str, Any]:
    """Return what a condition without bins and choices reaches by re-ranking the lists."""
    settings, clock = system.config.settings, time.process_time()
    problem, heldout = (ListProblem.of(open_pool(path), settings.metric) for path in pools)
    tuner = dataclasses.replace(settings.tuner, **condition.parameters(()))
    found = run(tuner, problem, np.zeros(problem.n_features), RunOptions(seed=settings.options.seed))
    gain = heldout.gain(found.weights)
    tuned, score = (float(settings.metric.gain(np.array(value))) for value in (found.gain, gain))
    numbers = {"features": problem.n_features, "tuned": tuned, "heldout": score, "gain": gain}
    return {
        "bits": 0,
        "values": "",
        **numbers,
        "cpu_seconds": round(time.process_time() - clock, 3),
        "note": found.note,
    }


def point_of(condition: Condition, tried: Tried) -> Point:
    """Return a point of a choice with the values that the study's file has."""
    named = [{texts_of(((axis, value),))[axis]: value for value in values} for axis, values in condition.axes.items()]
    values = tuple((axis, known[tried.values[axis]]) for axis, known in zip(condition.axes, named, strict=True))
    return Point(int(tried.values[BITS]) if BITS in tried.values else condition.bits[0], values)


def choice_text(condition: Condition, system: System, pools: Sequence[Path]) -> str:
    """Return the file of a choice; values of JSON are values of TOML too."""
    settings = system.config.settings
    tuner = {field.name: getattr(settings.tuner, field.name) for field in dataclasses.fields(settings.tuner)}
    given = {**tuner, **condition.tuner}
    bits: Any = list(condition.bits) if len(condition.bits) > 1 else condition.bits[0]
    grammar = system.home / f"{TUNE}.grammar"  # what loops are cut by, too
    counted = {"by_use": True} if condition.by_use else {"grammar": str(grammar.absolute())}
    tables: dict[str, dict[str, Any]] = {
        "": {
            "tune": str(pools[0].absolute()),
            "heldout": str(pools[1].absolute()),
            "metric": settings.metric.signature,
            "seed": settings.options.seed,
        },
        "bins": {"features": condition.cut, BITS: bits, "induction": condition.induction, **counted},
        "tuner": {"method": settings.tuner.name},
        "tuner.parameters": {name: value for name, value in given.items() if value is not None},
    }
    lines = []
    for name, values in tables.items():
        lines += [f"[{name}]"] if name else []
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def _decode(study: ConditionStudy, system: System, weights: Mapping[str, Weights]) -> list[Path]:
    """Return the lists of both parts with all features and derivations, decoded unless they are there."""
    made = [f"{CHOICES}/{part}.arrow" for part in (TUNE, HELDOUT)]
    grammars = [system.home / f"{part}.grammar" for part in (TUNE, HELDOUT)]
    about = [study.choice_k, system.inputs, [sorted(found.items()) for found in weights.values()]]
    key = system.steps.key(grammars, about)

    def work() -> None:
        make_folder(system.home / CHOICES)
        for part, output in zip((TUNE, HELDOUT), made, strict=True):
            save_pool(_lists(study, system, part, weights), system.home / output)

    system.steps.run("lists to choose by", key, made, work)
    return [system.home / output for output in made]


def _lists(study: ConditionStudy, system: System, part: str, weights: Mapping[str, Weights]) -> Pool:
    """Decode a part with each of the weights; hypotheses that several find stand once."""
    decoder = system.decoder(part, system.grammar(part).feature_names)
    sentences, references = system.sentences(part)
    pools = [
        decoder.decode(sentences, found, k=study.choice_k, unique=True, references=references).pool
        for found in weights.values()
    ]
    # the decoder's total is of its weights
    return drop_duplicates(dataclasses.replace(merge(pools), columns={}))


def _select(study: ConditionStudy, lists: Path, condition: Condition, folder: Path) -> Path:
    """Write lists with the features of a condition only; derivations keep all."""
    pool, wanted = open_pool(lists), {*condition.features, *study.own}
    names = [name for name in pool.features.names if name in wanted]
    save_pool(pool.with_features(pool.features.select(names)), folder / lists.name)
    return folder / lists.name


def _as_record(condition: Condition, tried: Tried) -> dict[str, Any]:
    bits, values = point_of(condition, tried)
    numbers = {name: getattr(tried, name) for name in ("features", "tuned", "heldout", "gain", "cpu_seconds")}
    return {"bits": bits, "values": text_of(values), **numbers, "note": tried.note}


def text_of(values: Values) -> str:
    """Return chosen parameters as a text.

    >>> text_of((("beta", 1000.0), ("select", "largest")))
    'beta=1000 select=largest'
    """
    return " ".join(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in values)
