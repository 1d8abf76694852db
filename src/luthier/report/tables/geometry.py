"""Fans as tables and as JSON."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from luthier.geometry.lp.certificates import Feasible, Infeasible
from luthier.geometry.minkowski.checks import Checksum, Coverage
from luthier.landscape.cones.fan_scenes import FanScene, RegularizedScene, joint_name
from luthier.landscape.cones.minkowski import SearchReport
from luthier.landscape.selections.feasibility import Verdict
from luthier.landscape.selections.separability import Model, Report
from luthier.report.console import stack, table, written_text

MOST_ROWS = 40


def plain(name: str) -> str:
    """Return a name in mathematical notation as plain text.

    >>> plain("h_{1,2}+h_{2,0}")
    'h1,2 + h2,0'
    """
    return name.translate(str.maketrans("", "", "_{}")).replace("+", " + ")


def fan_data(scene: FanScene) -> dict[str, Any]:
    """Return a scene as JSON has it; cones counter-clockwise, each with the boundary to the next."""
    fan = scene.joint
    return {
        "title": scene.title,
        "axes": list(scene.axes),
        "lists": [
            {"rows": len(points), "corners": own.selections[:, 0].tolist()}
            for points, own in zip(scene.lists, scene.fans, strict=True)
        ],
        "cones": [
            {
                "selects": fan.selections[cone].tolist(),
                "sum": fan.sums[cone].tolist(),
                "degrees": float(np.degrees(fan.opening(cone))),
                "score": None if scene.cone_scores is None else float(scene.cone_scores[cone]),
            }
            for cone in range(fan.n_cones)
        ],
        "boundaries": [
            {"ray": normal.tolist(), "changes": list(change)}
            for normal, change in zip(fan.normals, fan.changes, strict=True)
        ],
    }


def regularized_data(regularized: RegularizedScene) -> dict[str, Any]:
    """Return both choices as JSON has them."""
    line, choice = regularized.line, regularized.angle
    weights = regularized.start + line.inside[list(line.best)][:, None] * regularized.direction
    return {
        "start": regularized.start.tolist(),
        "direction": regularized.direction.tolist(),
        "strength": regularized.strength,
        "tolerance": regularized.tolerance,
        "line": {
            "cones": line.cones.tolist(),
            "best": [int(line.cones[i]) for i in line.best],
            "weights": weights.tolist(),
        },
        "fan": {
            "good": choice.cones.tolist(),
            "degrees": [float(np.degrees(a)) if np.isfinite(a) else None for a in choice.angles],
            "best": choice.best,
            "weights": choice.weights.tolist(),
        },
    }


def fan_tables(scene: FanScene, regularized: RegularizedScene | None, picture: str) -> Any:
    """Return the cones with what they select, and the choices, for people."""
    fan = scene.joint
    headings = ["cone", "selects", "degrees", *(f"h {name}" for name in scene.axes)]
    scored = scene.cone_scores is not None
    rows = [
        [cone, plain(joint_name(scene, cone)), round(float(np.degrees(fan.opening(cone))), 3)]
        + fan.sums[cone].tolist()
        + ([] if scene.cone_scores is None else [float(scene.cone_scores[cone])])
        for cone in range(min(fan.n_cones, MOST_ROWS))
    ]
    title = f"{scene.title}: {fan.n_cones} cones, {len(fan.normals)} boundaries"
    lines = [f"and {fan.n_cones - MOST_ROWS} cones more"] if fan.n_cones > MOST_ROWS else []
    lines += [] if regularized is None else _choices(regularized)
    caption = "\n".join([*lines, f"written: {picture}"])
    return table(title, headings + ([scene.metric] if scored else []), rows, caption=caption)


def _choices(regularized: RegularizedScene) -> list[str]:
    line, choice = regularized.line, regularized.angle
    taken = " and ".join(str(line.cones[i]) for i in line.best)
    lines = [f"line search, penalty {regularized.strength:.4g}: cone {taken} of the {len(line.cones)} it crosses"]
    if choice.best < 0:
        lines.append(f"by angle: all good cones ({len(choice.cones)}) lie behind the start")
    else:
        degrees = np.degrees(choice.angles[choice.cones == choice.best][0])
        place = ", ".join(f"{x:.5g}" for x in choice.weights)
        lines.append(
            f"by angle: cone {choice.best}, {degrees:.4g}° away; good cones: {len(choice.cones)}; w = ({place})"
        )
    return lines


# A verdict on a selection: the weights that make it, or the constraints that contradict each other.

WIDTH = 48
EXACT = "The proof was checked in exact arithmetic."
BEFORE = 2  # words shown before the first difference


def feasible_table(verdict: Verdict) -> Any:
    """Return the weights and what they reach."""
    proof, weights = verdict.proof, verdict.weights
    assert isinstance(proof, Feasible)  # the caller has looked
    assert weights is not None
    free = not math.isfinite(proof.margin)
    margin = "any" if free else f"{proof.margin:.6g}"
    told = "The weights that select it lie closer together than floats do: a re-rank with these does not select it all."
    if free:
        told = "Nothing has to be kept apart: any weights make this selection."
    elif verdict.selects:
        told = "Of all weights with |w| ≤ 1 these have the largest margin; a re-rank with them selects it."
        told = told if verdict.largest else "A re-rank with these weights selects it; others may have a larger margin."
    return stack(
        table(
            "feasible",
            ("selection", "sentences", "score", "margin"),
            [(verdict.choice.name, verdict.n_sentences, _score(verdict), margin)],
            caption="\n".join(["Some weights make this selection.", EXACT, *_metric(verdict)]),
        ),
        table("weights", ("feature", "weight"), list(weights.items()), caption=told),
    )


def infeasible_table(verdict: Verdict) -> Any:
    """Return the few constraints that no weights fulfil together."""
    constraints = []
    for constraint in verdict.contradiction():
        texts = differing(constraint.wanted_text, constraint.other_text)
        constraints.append(
            (
                constraint.sentence,
                constraint.wanted,
                texts[0],
                constraint.other,
                texts[1],
                f"{constraint.multiplier:.4g}",
            )
        )
    return stack(
        table(
            "infeasible",
            ("selection", "sentences", "score"),
            [(verdict.choice.name, verdict.n_sentences, _score(verdict))],
            caption="\n".join([*_no(verdict), *_metric(verdict)]),
        ),
        table(
            f"{len(constraints)} constraints that contradict each other",
            ("sentence", "wanted", "its text", "above", "its text", "multiplier"),
            constraints,
            caption=_why_not(verdict),
        ),
    )


def _no(verdict: Verdict) -> list[str]:
    assert isinstance(verdict.proof, Infeasible)
    if not verdict.proof.epsilon:
        return ["No weights make this selection.", EXACT]
    return [
        f"No weights make this selection by a margin above {verdict.proof.epsilon:.2g}, where |w_k| times the largest",
        "difference of feature k is at most 1: no weights that a re-rank could tell from a tie.",
    ]


def _why_not(verdict: Verdict) -> str:
    assert isinstance(verdict.proof, Infeasible)
    if not verdict.proof.epsilon:
        return (
            "The differences of their features, times the multipliers, sum to zero, exactly: whatever the\n"
            "weights, so do the differences of their scores, and they cannot all be positive."
        )
    return (
        "The differences of their features, times the multipliers, sum to next to nothing; that was reckoned\n"
        "without rounding. So does the mean of the margins, and the least of them is no larger."
    )


def differing(text: str, other: str) -> tuple[str, str]:
    """Return two texts shortened to a column, from shortly before the first word in which they differ.

    >>> differing("a b c d x e", "a b c d y")
    ('… c d x e', '… c d y')
    """
    words, others = text.split(), other.split()
    pairs = enumerate(itertools.zip_longest(words, others))
    first = max(next((i for i, (a, b) in pairs if a != b), 0) - BEFORE, 0)
    return _shorten(words, first), _shorten(others, first)


def _shorten(words: list[str], first: int) -> str:
    text = ("… " if first else "") + " ".join(words[first:])
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def _score(verdict: Verdict) -> str | None:
    return None if verdict.choice.score is None else f"{verdict.choice.score:.2f}"


def _metric(verdict: Verdict) -> list[str]:
    return [] if verdict.choice.metric is None else [verdict.choice.metric]


# What features can tell apart: a row for each model, and the constraints that contradict each other.

MOST_CONSTRAINTS = 8


def separability_tables(models: Sequence[Model], *, all_pairs: bool = False) -> Any:
    """Return oracles and pairs of every model, then the proofs against them."""
    rows = [_row(model, "oracles", model.oracle, None) for model in models]
    rows += [_row(model, "pairs", model.pairs, model.misordered) for model in models]
    verdicts = table(
        "separable",
        (
            "model and constraints",
            "features",
            "how many",
            "sentences, each alone",
            "in conflict",
            "all together",
            "in conflict",
            "misordered",
        ),
        rows,
        caption="A constraint: one hypothesis beats another. In conflict: all weights that go against no constraint\n"
        "leave it tied. Misordered: by a logistic fit. Verdicts were proved, and the proofs checked exactly.",
    )
    implied = [_implications(models)] if all_pairs else []
    return stack(verdicts, *implied, *filter(None, (_proof(model) for model in models)))


def _implications(models: Sequence[Model]) -> Any:
    """Return where PRO's constraints can be met, and where LP-MERT's and MIRA's can."""
    rows = []
    for model in models:
        for scope, pairs, oracle in (
            ("each sentence alone", model.pairs.alone, model.oracle.alone),
            ("all together", [model.pairs.together.separable], [model.oracle.together.separable]),
        ):
            first, second = np.asarray(pairs, bool), np.asarray(oracle, bool)
            counts = ((first & second), (~first & second), (~first & ~second), (first & ~second))
            rows.append((model.name, scope, *(int(cells.sum()) for cells in counts)))
    return table(
        "what can be met",
        ("model", "scope", "PRO and LP-MERT", "LP-MERT only", "neither", "PRO only"),
        rows,
        caption="PRO: every pair of a list in the order of its gains. LP-MERT: a best hypothesis above all of lower\n"
        "gain, which are some of these pairs; so nothing is ever PRO's only. MIRA with C → ∞ asks for LP-MERT's\n"
        "constraints by a margin, which longer weights give: it can be met wherever they can.",
    )


def _row(model: Model, kind: str, report: Report, misordered: float | None) -> tuple[Any, ...]:
    alone, together = report.alone, report.together
    return (
        f"{model.name}, {kind}",
        model.pool.n_features,
        len(report.constraints),
        f"{int(alone.sum())} of {len(alone)}",
        _percent(report.conflicts_alone.mean() if len(report.constraints) else 0.0),
        "separable" if together.separable else "not separable",
        _percent(together.conflicts.mean() if len(report.constraints) else 0.0),
        None if misordered is None else _percent(misordered),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _proof(model: Model) -> Any:
    """Return a contradiction among the model's pairs; None if there is none."""
    contradiction = model.pairs.together.contradiction
    if contradiction is None:
        return None
    constraints = contradiction.as_dict(model.pool)
    return table(
        f"{model.name}: {_contradicting(len(constraints))}",
        ("sentence", "better", "worse", "multiplier"),
        [(w["sentence"], w["better"], w["worse"], f"{w['multiplier']:.4g}") for w in constraints[:MOST_CONSTRAINTS]],
        caption=f"{len(constraints) - MOST_CONSTRAINTS} more are in the JSON output"
        if len(constraints) > MOST_CONSTRAINTS
        else "",
    )


def _contradicting(count: int) -> str:
    return "a pair that no weights tell apart" if count == 1 else f"{count} pairs that contradict each other"


# The closing tables of a search over the vertices of a Minkowski sum.

MOST_FEATURES = 40


def minkowski_tables(report: SearchReport, written: Sequence[str]) -> Any:
    """Return what was found, the best cone, and the files."""
    t = report.tally
    rows: list[tuple[str, Any]] = [
        ("vertices found", t.found),
        ("of these usable", t.usable),
        ("too thin for a certain re-rank", t.uncertain),
        ("steps from the root at most", t.deepest),
        ("space covered", _covered(report.coverage)),
        ("the search", "complete" if report.complete else "stopped; it can be resumed"),
        ("CPU s", f"{report.seconds:.1f}"),
    ]
    if report.checksum is not None:
        rows.append(("checksum", _checked(report.checksum)))
    parts = [table("Minkowski sum", ("", "value"), rows)]
    if report.best_score is not None:
        changed = [
            (name, float(start), float(best))
            for name, start, best in zip(report.names, report.subspace.start, report.best_weights, strict=True)
            if start != best
        ]
        best = [
            ("score at the start", f"{report.start_score:.4f}"),
            ("best score found", f"{report.best_score:.4f}"),
            ("its vertex", t.best),
            ("margin there", t.best_margin),
        ]
        parts.append(table("best cone", ("", "value"), best, caption=report.metric))
        if changed:
            parts.append(table("its weights, where they differ", ("feature", "start", "best"), changed[:MOST_FEATURES]))
    return stack(*parts, written_text(written))


def _checked(checksum: Checksum) -> str:
    said = f"{checksum.expected:,} by {checksum.sums:,} partial sums"
    if checksum.agrees:
        return f"agrees: {said}"
    return f"{checksum.expected - checksum.found:,} fewer than in general position, {said}: lists tie"


def _covered(coverage: Coverage) -> str:
    if not coverage.directions:
        return "all"
    share, error = 100 * coverage.share, 100 * coverage.error
    return f"{share:.2f} % ± {error:.2f} (estimate from {coverage.directions:,} directions)"
