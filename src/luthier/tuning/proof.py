"""How far the answer of any tuner is from the best weights there are, by a search over boxes of weights."""

from __future__ import annotations

import numpy as np

from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem
from luthier.landscape.units import movable
from luthier.tuning.base import State


def refuses_proof(problem: Problem) -> str:
    """Return why nothing can be proven about a problem, or ''."""
    if not isinstance(problem, ListProblem):
        return "a proof needs lists of hypotheses, and this problem has none"
    probe = np.ones(problem.stats.shape[1])
    if problem.metric.majorant(probe, probe, probe) is None:
        return f"the metric {problem.metric.name!r} declares no majorant, so nothing can be proven of it"
    return ""


def proof_note(problem: Problem, answer: State, boxes: int, *, threads: int) -> str:
    """Return what a search of so many boxes proves of an answer among all weights within the bounds."""
    from luthier.landscape.certified.certificate import Proof  # seldom wanted, and slow to load
    from luthier.landscape.certified.certify import CertifyOptions, certify
    from luthier.landscape.certified.windows import WindowOptions, feature_axes

    if not isinstance(problem, ListProblem) or not len(movable(problem)):
        return ""
    space = WindowOptions(whole=True).space(problem, feature_axes(problem, answer.weights, ()))
    found = certify(problem, space, answer.weights, CertifyOptions(gap=0.0, limit=boxes, threads=threads))
    return Proof.of(found, answer.gain).sentence
