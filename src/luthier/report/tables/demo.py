"""The first demonstration: what outputs of a language model came to, in fifty lines."""

from __future__ import annotations

import dataclasses
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from luthier.landscape.certified.certificate import Certificate
from luthier.landscape.planes.surface import SurfaceReport
from luthier.report.console import as_text, stack, table
from luthier.tuning.validation.ablation import Ablation
from luthier.tuning.validation.baselines import ALONE, FIRST
from luthier.tuning.validation.report import TuningReport
from luthier.tuning.validation.weight_shares import weight_shares

WIDTH = 80
MOST_SHOWN = 4  # scorers of a lead
LEAST_SHOWN = 0.005  # of it: less is 0 in two digits


@dataclasses.dataclass(frozen=True)
class Change:
    """An input whose output changes, from that of a scorer alone to that of the tuned weights.

    `why` has what each scorer adds to the lead of the one over the other, `scores` the metric of both alone.
    """

    source: str
    reference: str
    before: str
    after: str
    scores: tuple[float, float]
    why: Mapping[str, float]


@dataclasses.dataclass(frozen=True, eq=False)
class OutputsDemo:
    """All that the demonstration made, for people and for programs."""

    folder: str
    inputs: int
    outputs: int
    metric: str
    tuned: TuningReport
    ablation: Ablation
    single: str
    counts: tuple[int, int, int]  # outputs that change, that get better, that get worse
    changes: tuple[Change, ...]
    surface: SurfaceReport
    plane: tuple[str, ...]
    axes: tuple[str, ...]
    score: float
    certificate: Certificate
    files: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "folder": self.folder,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "tuned": self.tuned.as_dict(),
            "ablation": self.ablation.as_dict(),
            "single": self.single,
            "changed": dict(zip(("inputs", "better", "worse"), self.counts, strict=True)),
            "changes": [dataclasses.asdict(change) for change in self.changes],
            "surface": self.surface.as_dict(),
            "certified": {"axes": list(self.axes), "tuned": self.score, **self.certificate.as_dict()},
            "files": list(self.files),
        }


def outputs_tables(found: OutputsDemo, commands: Mapping[str, str]) -> Any:
    """Return the steps of the demonstration, each with the command that does it, by its name."""

    def step(name: str, question: str) -> Any:
        return as_text(f"\n{question}\n{commands[name]}")

    return stack(
        as_text(
            f"{found.inputs} notes, {found.outputs // found.inputs} outputs of a language model for each, "
            f"{len(found.tuned.names)} scores for each output.\n"
            f"All files are in {found.folder}, where each command below does its step: cd {shlex.quote(found.folder)}"
        ),
        step("tune", "1  Which weights? Is the gain real?"),
        _gain(found),
        step("ablate", "2  Which scorers help?"),
        _scorers(found),
        step("rerank", f"3  What changes? {_counted(found)}"),
        *map(_change, found.changes),
        step("surface", "4  How much do the weights depend on these inputs?"),
        _stability(found),
        step("certify", "5  Would a longer search find better weights?"),
        _proof(found),
        step("explore", "Drag the weights, and see what they do:"),
        as_text(f"Train, tune and test a whole translation system, in some minutes:\n{commands['system']}"),
    )


def _paragraph(text: str) -> Any:
    """Return a text in lines of a terminal's width, set in."""
    return as_text(textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  "))


def _gain(found: OutputsDemo) -> Any:
    folds = found.tuned.folds
    assert folds is not None
    rows = [
        (
            "first output of each list"
            if rival.name == FIRST
            else f"best scorer alone: {rival.name.replace(ALONE, '')}",
            f"{rival.score:.2f}",
            f"{rival.difference:+.2f} ({rival.interval[0]:+.2f} … {rival.interval[1]:+.2f})",
        )
        for rival in folds.rivals
    ]
    rows.append(("tuned", f"{folds.score:.2f}", ""))
    title = f"on inputs that the weights have not seen ({folds.n_folds} folds)"
    return table(title, ("", found.metric, "tuned adds (95 % interval)"), rows)


def _scorers(found: OutputsDemo) -> Any:
    weights = {share.name: share.weight for share in weight_shares(found.tuned)}
    rows = [
        (
            effect.name,
            f"{weights[effect.name]:+.3f}",
            "" if effect.alone is None else f"{effect.alone:.2f}",
            f"{effect.difference:+.2f} ({effect.interval[0]:+.2f} … {effect.interval[1]:+.2f})",
            effect.verdict,
        )
        for effect in found.ablation.effects
    ]
    columns = ("scorer", "weight", "alone", "adds to the others", "verdict")
    return table(f"{found.metric} on unseen inputs", columns, rows)


def _counted(found: OutputsDemo) -> str:
    changed, better, worse = found.counts
    return f"{changed} outputs are not those of {found.single} alone: {better} better, {worse} worse"


def _change(change: Change) -> Any:
    largest = sorted(change.why.items(), key=lambda item: -abs(item[1]))
    why = ", ".join(f"{name} {value:+.2f}" for name, value in largest[:MOST_SHOWN] if abs(value) >= LEAST_SHOWN)
    lines = [
        f"  {change.source}",
        *(f"  {score:5.0f}  {text}" for score, text in zip(change.scores, (change.before, change.after), strict=True)),
        f"         ahead by {sum(change.why.values()):.2f}: {why}",
    ]
    return as_text("\n".join(lines))


def _stability(found: OutputsDemo) -> Any:
    report = found.surface
    about = report.as_dict()
    names, region = about["axes"], about["stability"]["region"]
    ends = []
    for d, name in enumerate(names):
        reach = sum(axis[d] ** 2 for axis in region["half_axes"]) ** 0.5
        ends.append(f"{name} from {region['centre'][d] - reach:.3f} to {region['centre'][d] + reach:.3f}")
    resamples, share = about["stability"]["resamples"], about["stability"]["share"]
    told = (
        f"Of {report.survey.cells:,} cells of {' × '.join(names)}, all found, the best has {report.optimum.score:.2f}; "
        f"the tuned weights have {report.start_score:.2f}. On {resamples} resamples of the inputs, {share:.0%} of the "
        f"best weights have {' and '.join(ends)}."
    )
    return _paragraph(told)


def _proof(found: OutputsDemo) -> Any:
    proof = found.certificate
    told = (
        f"Whatever {', '.join(found.axes[:-1])} and {found.axes[-1]} weigh, no weights score more than "
        f"{proof.score_bound:.2f} here, ties aside: the tuned ones, {found.score:.2f}, are at most "
        f"{abs(proof.score_bound - found.score):.2f} from the best."
    )
    return _paragraph(told)
