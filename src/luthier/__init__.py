"""Luthier tunes linear models of translation against the metric people care about.

Importing this package imports nothing heavy: each public name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "Pool": "luthier.kbest.pool",
    "Weights": "luthier.kbest.weights",
    "open_pool": "luthier.kbest.storage",
    "save_pool": "luthier.kbest.storage",
    "read_pool": "luthier.kbest.building.lists",
    "pool_from_frame": "luthier.kbest.building.frames",
    "pool_to_frame": "luthier.kbest.building.frames",
    "read_weights": "luthier.kbest.weights",
    "rerank": "luthier.kbest.rerank",
    "load_metric": "luthier.metrics.loading",
    "ListProblem": "luthier.landscape.list_problem",
    "tuner": "luthier.tuning.base",
    "run_tuner": "luthier.tuning.run",
    "RunOptions": "luthier.tuning.options",
    "tune": "luthier.jobs.tune",
    "ablate": "luthier.jobs.ablate",
    "LinearTuner": "luthier.tuning.estimator",
    "merge": "luthier.kbest.merge",
    "LoopOptions": "luthier.tuning.options",
    "tune_loop": "luthier.tuning.loops.loop",
    "EstimateOptions": "luthier.lm.estimate",
    "LanguageModel": "luthier.lm.model",
    "estimate_lm": "luthier.lm.estimate",
    "open_lm": "luthier.lm.storage",
    "read_arpa": "luthier.lm.arpa_reading",
    "write_arpa": "luthier.lm.arpa",
    "align": "luthier.alignment.aligner",
    "Grammar": "luthier.grammar.grammar",
    "Decoder": "luthier.decoding.decoder",
    "SearchOptions": "luthier.decoding.chart.options",
    "k_best": "luthier.decoding.lazy_kbest",
    "open_forests": "luthier.decoding.forests.files",
    "save_forests": "luthier.decoding.forests.files",
    "extract": "luthier.grammar.extraction.extract",
    "open_grammar": "luthier.grammar.storage",
    "read_grammar": "luthier.grammar.reading",
    "LuthierError": "luthier.core.errors",
    "InputError": "luthier.core.errors",
    "Interrupted": "luthier.core.errors",
}

if TYPE_CHECKING:
    from luthier.alignment.aligner import align
    from luthier.core.errors import InputError, Interrupted, LuthierError
    from luthier.decoding.chart.options import SearchOptions
    from luthier.decoding.decoder import Decoder
    from luthier.decoding.forests.files import open_forests, save_forests
    from luthier.decoding.lazy_kbest import k_best
    from luthier.grammar.extraction.extract import extract
    from luthier.grammar.grammar import Grammar
    from luthier.grammar.reading import read_grammar
    from luthier.grammar.storage import open_grammar
    from luthier.jobs.ablate import ablate
    from luthier.jobs.tune import tune
    from luthier.kbest.building.frames import pool_from_frame, pool_to_frame
    from luthier.kbest.building.lists import read_pool
    from luthier.kbest.merge import merge
    from luthier.kbest.pool import Pool
    from luthier.kbest.rerank import rerank
    from luthier.kbest.storage import open_pool, save_pool
    from luthier.kbest.weights import Weights, read_weights
    from luthier.landscape.list_problem import ListProblem
    from luthier.lm.arpa import write_arpa
    from luthier.lm.arpa_reading import read_arpa
    from luthier.lm.estimate import EstimateOptions, estimate_lm
    from luthier.lm.model import LanguageModel
    from luthier.lm.storage import open_lm
    from luthier.metrics.loading import load_metric
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
    "merge",
    "load_metric",
    "ListProblem",
    "tuner",
    "run_tuner",
    "RunOptions",
    "tune",
    "ablate",
    "LinearTuner",
    "LoopOptions",
    "tune_loop",
    "LanguageModel",
    "EstimateOptions",
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
