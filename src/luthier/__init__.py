"""Luthier finds the weights of a linear model of scorers that are best for the metric you report.

Every command is a function here: `luthier.tune(pool, metric="bleu")` does what `luthier tune` does, with the same
options, defaults and seed. It takes pools or paths, metrics or their names, weights by name, as a vector or as a file,
and returns a frozen result whose `as_dict()` is what `--json` prints. Importing this package imports nothing heavy.

Lists:      read_pool, open_pool, save_pool, pool_from_frame, pool_to_frame, merge, inspect, add, export, score_with
Weights:    tune, ablate, rerank, Reranker, pairs, explain, read_weights, LinearTuner
Metrics:    score, compare, oracle, load_metric
Consensus:  mbr, tradeoff
Landscape:  explore, line, surface, raster, certify, fan, cones, feasible, separable, bounds
Engine:     align, extract, estimate_lm, perplexity, decode, bins, discretize, induce, curves
Systems:    train, evaluate, loop, sweep
Underneath: Scorer, ListProblem, Bounds, tuner, run_tuner, tune_loop, Decoder, k_best, Grammar, LanguageModel, forests
Synthetic:  SyntheticOutputs, SyntheticLists, PlantedLists, PairGenerator
Errors:     LuthierError, InputError, Interrupted
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "Pool": "luthier.kbest.pool",
    "Weights": "luthier.kbest.weights",
    "open_pool": "luthier.kbest.storage.pool_file",
    "save_pool": "luthier.kbest.storage.pool_file",
    "read_pool": "luthier.kbest.building.lists",
    "pool_from_frame": "luthier.kbest.building.frames",
    "pool_to_frame": "luthier.kbest.building.frames",
    "read_weights": "luthier.kbest.weights",
    "rerank": "luthier.kbest.rerank",
    "Reranker": "luthier.kbest.serving.reranker",
    "load_metric": "luthier.metrics.loading",
    "ListProblem": "luthier.landscape.list_problem",
    "tuner": "luthier.tuning.base",
    "run_tuner": "luthier.tuning.run",
    "RunOptions": "luthier.tuning.options",
    "tune": "luthier.jobs.tune",
    "perplexity": "luthier.jobs.lm",
    "decode": "luthier.jobs.decode",
    "bins": "luthier.jobs.bins",
    "discretize": "luthier.jobs.bins",
    "induce": "luthier.jobs.bins",
    "curves": "luthier.jobs.bins",
    "loop": "luthier.jobs.loop",
    "train": "luthier.jobs.train",
    "evaluate": "luthier.jobs.evaluate",
    "sweep": "luthier.jobs.sweep",
    "surface": "luthier.jobs.surface",
    "raster": "luthier.jobs.surface",
    "line": "luthier.jobs.line",
    "certify": "luthier.jobs.certify",
    "compare": "luthier.jobs.compare",
    "oracle": "luthier.jobs.score",
    "score": "luthier.jobs.score",
    "score_with": "luthier.jobs.score_with",
    "Scorer": "luthier.scorers._scorer",
    "inspect": "luthier.jobs.inspect",
    "add": "luthier.jobs.scorers",
    "export": "luthier.jobs.scorers",
    "explain": "luthier.jobs.explain",
    "fan": "luthier.jobs.fan",
    "feasible": "luthier.jobs.feasible",
    "cones": "luthier.jobs.cones",
    "bounds": "luthier.jobs.bounds",
    "separable": "luthier.jobs.separable",
    "ablate": "luthier.jobs.ablate",
    "pairs": "luthier.jobs.pairs",
    "mbr": "luthier.jobs.mbr",
    "tradeoff": "luthier.jobs.tradeoff",
    "explore": "luthier.explorer.notebook",
    "LinearTuner": "luthier.tuning.estimator",
    "merge": "luthier.kbest.merge",
    "LoopOptions": "luthier.tuning.options",
    "tune_loop": "luthier.tuning.loops.loop",
    "LanguageModel": "luthier.lm.model",
    "estimate_lm": "luthier.jobs.lm",
    "open_lm": "luthier.lm.storage",
    "read_arpa": "luthier.lm.arpa_reading",
    "write_arpa": "luthier.lm.arpa",
    "align": "luthier.jobs.align",
    "Grammar": "luthier.grammar.grammar",
    "Decoder": "luthier.decoding.decoder",
    "SearchOptions": "luthier.decoding.chart.options",
    "k_best": "luthier.decoding.lazy_kbest",
    "open_forests": "luthier.decoding.forests.files",
    "save_forests": "luthier.decoding.forests.files",
    "extract": "luthier.jobs.extract",
    "open_grammar": "luthier.grammar.storage",
    "read_grammar": "luthier.grammar.reading",
    "SyntheticOutputs": "luthier.synthetic.english.outputs",
    "SyntheticLists": "luthier.synthetic.lists.noisy_channel",
    "PlantedLists": "luthier.synthetic.lists.planted",
    "PairGenerator": "luthier.synthetic.pair.pair",
    "Batch": "luthier.metrics.batch",
    "Bounds": "luthier.landscape.bounds",
    "FeatureGroup": "luthier.kbest.groups",
    "read_lines": "luthier.corpus.lines",
    "Semiring": "luthier.decoding.forests.expectation",
    "value_of": "luthier.decoding.forests.expectation",
    "LuthierError": "luthier.core.errors",
    "InputError": "luthier.core.errors",
    "Interrupted": "luthier.core.errors",
}

if TYPE_CHECKING:
    from luthier.core.errors import InputError, Interrupted, LuthierError
    from luthier.corpus.lines import read_lines
    from luthier.decoding.chart.options import SearchOptions
    from luthier.decoding.decoder import Decoder
    from luthier.decoding.forests.expectation import Semiring, value_of
    from luthier.decoding.forests.files import open_forests, save_forests
    from luthier.decoding.lazy_kbest import k_best
    from luthier.explorer.notebook import explore
    from luthier.grammar.grammar import Grammar
    from luthier.grammar.reading import read_grammar
    from luthier.grammar.storage import open_grammar
    from luthier.jobs.ablate import ablate
    from luthier.jobs.align import align
    from luthier.jobs.bins import bins, curves, discretize, induce
    from luthier.jobs.bounds import bounds
    from luthier.jobs.certify import certify
    from luthier.jobs.compare import compare
    from luthier.jobs.cones import cones
    from luthier.jobs.decode import decode
    from luthier.jobs.evaluate import evaluate
    from luthier.jobs.explain import explain
    from luthier.jobs.extract import extract
    from luthier.jobs.fan import fan
    from luthier.jobs.feasible import feasible
    from luthier.jobs.inspect import inspect
    from luthier.jobs.line import line
    from luthier.jobs.lm import estimate_lm, perplexity
    from luthier.jobs.loop import loop
    from luthier.jobs.mbr import mbr
    from luthier.jobs.pairs import pairs
    from luthier.jobs.score import oracle, score
    from luthier.jobs.score_with import score_with
    from luthier.jobs.scorers import add, export
    from luthier.jobs.separable import separable
    from luthier.jobs.surface import raster, surface
    from luthier.jobs.sweep import sweep
    from luthier.jobs.tradeoff import tradeoff
    from luthier.jobs.train import train
    from luthier.jobs.tune import tune
    from luthier.kbest.building.frames import pool_from_frame, pool_to_frame
    from luthier.kbest.building.lists import read_pool
    from luthier.kbest.groups import FeatureGroup
    from luthier.kbest.merge import merge
    from luthier.kbest.pool import Pool
    from luthier.kbest.rerank import rerank
    from luthier.kbest.serving.reranker import Reranker
    from luthier.kbest.storage.pool_file import open_pool, save_pool
    from luthier.kbest.weights import Weights, read_weights
    from luthier.landscape.bounds import Bounds
    from luthier.landscape.list_problem import ListProblem
    from luthier.lm.arpa import write_arpa
    from luthier.lm.arpa_reading import read_arpa
    from luthier.lm.model import LanguageModel
    from luthier.lm.storage import open_lm
    from luthier.metrics.batch import Batch
    from luthier.metrics.loading import load_metric
    from luthier.scorers._scorer import Scorer
    from luthier.synthetic.english.outputs import SyntheticOutputs
    from luthier.synthetic.lists.noisy_channel import SyntheticLists
    from luthier.synthetic.lists.planted import PlantedLists
    from luthier.synthetic.pair.pair import PairGenerator
    from luthier.tuning.base import tuner
    from luthier.tuning.estimator import LinearTuner
    from luthier.tuning.loops.loop import tune_loop
    from luthier.tuning.options import LoopOptions, RunOptions
    from luthier.tuning.run import run_tuner

__all__ = [
    "Pool",
    "Weights",
    "open_pool",
    "save_pool",
    "read_pool",
    "pool_from_frame",
    "pool_to_frame",
    "read_weights",
    "rerank",
    "Reranker",
    "merge",
    "load_metric",
    "ListProblem",
    "tuner",
    "run_tuner",
    "RunOptions",
    "tune",
    "perplexity",
    "decode",
    "bins",
    "discretize",
    "induce",
    "curves",
    "loop",
    "train",
    "evaluate",
    "sweep",
    "surface",
    "raster",
    "line",
    "certify",
    "compare",
    "oracle",
    "score",
    "score_with",
    "Scorer",
    "inspect",
    "explain",
    "fan",
    "feasible",
    "cones",
    "bounds",
    "separable",
    "ablate",
    "add",
    "export",
    "pairs",
    "mbr",
    "tradeoff",
    "explore",
    "LinearTuner",
    "LoopOptions",
    "tune_loop",
    "LanguageModel",
    "estimate_lm",
    "open_lm",
    "read_arpa",
    "write_arpa",
    "align",
    "Decoder",
    "SearchOptions",
    "k_best",
    "open_forests",
    "save_forests",
    "Grammar",
    "extract",
    "open_grammar",
    "read_grammar",
    "SyntheticOutputs",
    "SyntheticLists",
    "PlantedLists",
    "PairGenerator",
    "Batch",
    "Bounds",
    "FeatureGroup",
    "read_lines",
    "Semiring",
    "value_of",
    "LuthierError",
    "InputError",
    "Interrupted",
]


def __getattr__(name: str) -> object:
    """Load a public name from the room that owns it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'luthier' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return [*__all__, "__version__"]
