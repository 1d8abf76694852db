"""What a loop's TOML file says, read and checked before anything runs."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from luthier.core.errors import LuthierError
from luthier.core.files.io import regular
from luthier.core.settings import Table
from luthier.decoding.models import LIMITS
from luthier.jobs.external_decoder import PLACES, Command
from luthier.jobs.score_with import scorer_of
from luthier.jobs.scoring_program import Program
from luthier.kbest.building.lists import ReadOptions
from luthier.kbest.weights import WeightFormat, Weights, read_weights
from luthier.landscape.bounds import parse_range
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.scorers._scorer import Scorer
from luthier.tuning.base import Tuner, tuner
from luthier.tuning.options import LoopOptions

SCORER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")  # of a feature, and of a file
MOST_HYPOTHESES = 1_000_000  # of a list
KINDS = ("command", "recorded", "model")
STYLES: tuple[str, ...] = get_args(WeightFormat)


@dataclasses.dataclass(frozen=True)
class Sentences:
    """A text and its references, by path."""

    source: str
    refs: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class TunerSettings:
    """What is tuned for, and how: the part that a loop and a training share."""

    tuner: Tuner
    metric: Metric
    options: LoopOptions
    bounds: Mapping[str, tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class LoopConfig:
    """A loop's file.

    Attributes
    ----------
    base : folder that relative paths start from
    command, recorded, model
        The decoder, one of them: a program of others, the folder of an earlier loop, or that of a trained system.
    start : None for the weights of a trained system
    k, unique : what lists a trained system decodes
    forests : whether weights are tuned on all that its searches have seen, not on the lists
    scorers : what scores each hypothesis after it is decoded, by the names of the features that this makes
    """

    base: str
    tune: Sentences
    heldout: Sentences | None
    start: Weights | None
    settings: TunerSettings
    command: Command | None = None
    recorded: str = ""
    model: str = ""
    k: int = 200
    unique: bool = True
    forests: bool = False
    scorers: Mapping[str, Scorer | Program] = dataclasses.field(default_factory=dict)


def read_config(path: str | os.PathLike[str], *, data: str | None = None, seed: int, threads: int) -> LoopConfig:
    """Return what a file says; relative paths start from `data`, or from the file's own folder."""
    file = Table.read(path, "a loop's settings")
    base = Path(data) if data is not None else Path(path).parent
    decoder = file.table("decoder")
    settings = tuner_settings(file, seed=seed, threads=threads, ours=decoder.has("model"))
    tune = take_sentences(file.table("tune"), base)
    heldout = take_sentences(file.table("heldout"), base) if file.has("heldout") else None
    kinds = [kind for kind in KINDS if decoder.has(kind)]
    if len(kinds) != 1:
        raise LuthierError(f"{path}: expected one of {', '.join(KINDS)} in [decoder], found {len(kinds)}")
    command = _command(decoder, str(path)) if kinds == ["command"] else None
    places: dict[str, Any] = {kind: str(base / decoder.take(kind, str)) for kind in kinds if kind != "command"}
    if "model" in places:
        places |= {"k": check_k(decoder.take("k", int, 200), str(path)), "unique": decoder.take("unique", bool, True)}
        places["forests"] = decoder.take("forests", bool, False)
    decoder.end()
    start = None if "model" in places and not file.has("start") else take_start(file.table("start"), base)
    scorers = _scorers(file.table("scorers"), str(path), str(base))
    file.end()
    if settings.options.choose == "heldout" and heldout is None:
        raise LuthierError(f"{path}: choose = \"heldout\" needs a table [heldout] with its 'source' and 'refs'")
    if scorers and "recorded" in places:
        raise LuthierError(f"{path}: recorded lists have what scorers said of them. hint: leave [scorers] out")
    if scorers and places.get("forests"):
        raise LuthierError(f"{path}: [scorers] score lists, and forests = true tunes on forests: one of the two")
    return LoopConfig(str(base), tune, heldout, start, settings, command, **places, scorers=scorers)


def tuner_settings(file: Table, *, seed: int, threads: int, ours: bool) -> TunerSettings:
    """Take 'metric', 'seed', [tuner], [loop] and [bounds] of a file; weights of a decoder of `ours` have limits too."""
    metric = load_metric(file.take("metric", str, "bleu"))
    method = file.table("tuner")
    name, restarts = method.take("method", str, "mert"), method.take("restarts", int, 0)
    parameters = method.rest()
    try:
        chosen = tuner(name, **parameters)
    except TypeError:
        known = ", ".join(["method", "restarts", *(f.name for f in dataclasses.fields(tuner(name)))])
        raise LuthierError(f"a setting of [tuner] is none that {name} has. known: {known}") from None
    loop = file.table("loop")
    own = {"seed": file.take("seed", int, seed), "threads": threads, "restarts": restarts}
    options = loop.fields(LoopOptions, **own)
    loop.end()
    ranges = {key: parse_range(str(value)) for key, value in file.table("bounds").rest().items()}
    return TunerSettings(chosen, metric, options, {**(LIMITS if ours else {}), **ranges})


def take_sentences(table: Table, base: Path) -> Sentences:
    """Take 'source' and 'refs' of a table, as paths that lead to files."""
    source, refs = table.take("source", str), table.texts("refs")
    table.end()
    found = Sentences(str(base / source), tuple(str(base / ref) for ref in refs))
    for path in (found.source, *found.refs):
        regular(path)
    return found


def check_k(k: int, path: str) -> int:
    """Return how many hypotheses a list has at the most; raise for what no list can have."""
    if not 1 <= k <= MOST_HYPOTHESES:
        raise LuthierError(f"{path}: expected k from 1 to {MOST_HYPOTHESES:,}, found {k:,}")
    return k


def take_start(table: Table, base: Path) -> Weights:
    """Take weights to start from: 'file', or names with numbers."""
    if table.has("file"):
        found = read_weights(regular(base / table.take("file", str)))
        table.end()
        return found
    weights: dict[str, Any] = table.rest()
    wrong = [name for name, value in weights.items() if type(value) not in (int, float)]
    if not weights or wrong:
        raise LuthierError(
            "expected weights to start from in [start]: file = \"weights.txt\", or 'name = number' for each, found "
            + (repr(weights[wrong[0]]) if wrong else "none")
        )
    return Weights({name: float(value) for name, value in weights.items()})


def _scorers(table: Table, path: str, base: str) -> dict[str, Scorer | Program]:
    """Take scorers by name: a text, or a table with the text as 'with' and options."""
    found: dict[str, Scorer | Program] = {}
    for name, value in table.rest().items():
        if not SCORER_NAME.fullmatch(name):
            raise LuthierError(
                f"{path}: expected letters, digits, '.', '_' or '-' as a name in [scorers], found {name!r}"
            )
        option = dict(value) if isinstance(value, dict) else {"with": value}
        scorer = option.pop("with", None)
        if not isinstance(scorer, str):
            raise LuthierError(
                f"{path}: expected a command or a scorer's name for {name!r} in [scorers], or a table with it, "
                f"found {value!r}"
            )
        try:
            found[name] = scorer_of(scorer, option, base)
        except LuthierError as error:
            raise LuthierError(f"{path}: {name!r} in [scorers]: {error}") from None
    return found


def _command(table: Table, path: str) -> Command:
    arguments = table.texts("command")
    # one text is split as a shell would split it; nothing else of a shell happens
    try:
        template = tuple(shlex.split(arguments[0])) if len(arguments) == 1 else arguments
    except ValueError as error:
        raise LuthierError(f"{path}: expected a command that can be split into words, found {error}") from None
    if not template:
        raise LuthierError(f"{path}: expected a command in [decoder], found an empty one")
    style = table.take("weights", str, "text")
    if style not in STYLES:
        raise LuthierError(f"{path}: expected weights = one of {', '.join(STYLES)}, found {style!r}")
    into = table.take("weights_into", str, "")
    reading = ReadOptions(
        format=table.take("format", str, "auto"),
        format_options=table.table("format_options").rest(),
        first_id=table.take("first_id", int, 0),
        any_order=table.take("any_order", bool, False),
        skip_bad=table.take("skip_bad", bool, False),
        columns=table.texts("columns", ()),
        ignore=table.texts("ignore", ()),
        missing=table.take("missing", str, "error"),
    )
    command = Command(
        template=template,
        k=table.take("k", int, 100),
        seconds=table.take("seconds", float, 0.0),
        style="moses" if into else style,  # type: ignore[arg-type]
        into=into,
        reading=reading,
        allow_empty=table.take("allow_empty", bool, False),
    )
    check_k(command.k, path)
    if command.seconds < 0:
        raise LuthierError(f"{path}: expected no negative time limit in [decoder], found {command.seconds:g}")
    if not any(command.has(place) for place in PLACES):
        places = ", ".join(f"{{{place}}}" for place in PLACES)
        raise LuthierError(f"{path}: the command has none of the places {places}: it would not know what to do")
    return command
