"""Outputs of a language model that was given notes: several English sentences for each, with five scores.

Each output has mistakes that are drawn by chance. Three of the scorers see some of the mistakes, one counts words, one
is noise. No scorer sees all mistakes, so weights can be found that are better than any of them.

=======  ========================================================================================================
logprob  The model's log-probability: short outputs and fluent ones have more; it hardly sees mistakes of content.
judge    A judge of fluency, 1 to 5 in whole numbers: it sees grammar and preambles, and not the note.
qe       A quality estimate, about 0 to 1: it sees what is lost, added or exchanged, and little grammar.
words    How many words the output has.
noise    Numbers without any meaning.
=======  ========================================================================================================
"""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import numpy as np

from luthier.core.files.io import write_lines
from luthier.core.params import param, validate
from luthier.core.rng import make_rng
from luthier.synthetic.english.sentence import CONTENT, GRAMMAR, Meaning, draw_meaning, possible

SCORERS = ("logprob", "judge", "qe", "words", "noise")
TRIES = 8  # draws of an output, until it is a new one
MEAN_MISTAKES, MOST_MISTAKES = 2.8, 6
# What a scorer takes away for a mistake of each kind, and the deviation of its noise.
LOGPROB = {"word": 0.9, "grammar": 1.5, "content": 0.7, "preamble": 0.5, "noise": 1.0}
JUDGE = {"word": 0.0, "grammar": 1.0, "content": 0.1, "preamble": 1.6, "noise": 0.6}
QE = {"word": 0.0, "grammar": 0.01, "content": 0.09, "preamble": 0.0, "noise": 0.08}


@dataclasses.dataclass(frozen=True)
class SyntheticOutputs:
    """Parameters of synthetic outputs; input i of a seed is the same whatever the number of inputs."""

    inputs: int = param(300, low=1, high=1_000_000, help="number of inputs")
    k: int = param(16, low=1, high=1000, help="outputs of an input")

    def __post_init__(self) -> None:
        validate(self)

    def generate(self, seed: int) -> list[dict[str, Any]]:
        """Return a record of each output, those of an input in the order in which the model wrote them.

        >>> len(SyntheticOutputs(inputs=3, k=2).generate(0))
        6
        """
        records = []
        for number, rng in enumerate(make_rng(seed).spawn(self.inputs)):
            meaning = draw_meaning(rng)
            common = {"id": number, "source": meaning.note, "ref": meaning.say()}
            texts: set[str] = set()
            for _ in range(self.k):
                text, mistakes = _draw(meaning, texts, rng)
                texts.add(text)
                records.append({**common, "hyp": text, **_scores(text, mistakes, rng)})
        return records

    def write(self, path: str | os.PathLike[str], seed: int) -> int:
        """Write the outputs as JSON Lines; return how many there are."""
        records = self.generate(seed)
        write_lines(path, [json.dumps(record, ensure_ascii=False) for record in records])
        return len(records)


def _draw(meaning: Meaning, taken: set[str], rng: np.random.Generator) -> tuple[str, set[str]]:
    """Draw an output and its mistakes, a new one if some tries find it."""
    kinds = possible(meaning)
    for _ in range(TRIES):
        count = min(int(rng.poisson(MEAN_MISTAKES)), MOST_MISTAKES)
        mistakes = [kinds[i] for i in rng.choice(len(kinds), size=count, replace=False)]
        text = meaning.say(mistakes, rng)
        if text not in taken:
            break
    return text, set(mistakes)


def _scores(text: str, mistakes: set[str], rng: np.random.Generator) -> dict[str, float]:
    """Return the five scores of an output."""
    seen = {
        "word": len(text.split()),
        "grammar": len(mistakes.intersection(GRAMMAR)),
        "content": len(mistakes.intersection(CONTENT)),
        "preamble": int("preamble" in mistakes),
    }

    def score(best: float, costs: dict[str, float]) -> float:
        total = 0.0
        for kind, count in seen.items():  # `sum` rounds otherwise in other versions of Python
            total += costs[kind] * count
        return best - total + float(rng.normal(0.0, costs["noise"]))

    return {
        "logprob": round(score(0.0, LOGPROB), 3),
        "judge": int(np.clip(round(score(5.0, JUDGE)), 1, 5)),
        "qe": round(score(0.9, QE), 3),
        "words": seen["word"],
        "noise": round(float(rng.normal()), 3),
    }
