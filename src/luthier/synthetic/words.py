"""Words that never were: pronounceable, distinct, the first ones short."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

# Onsets, vowels and endings of a language's syllables.
Sounds = tuple[list[str], list[str], list[str]]


def invent_words(
    count: int,
    sounds: Sounds,
    rng: np.random.Generator,
    *,
    syllables: int = 0,
    taken: Collection[str] = (),
) -> list[str]:
    """Return distinct words, none of them in `taken`: the first ones short, or all of `syllables` syllables.

    >>> invent_words(2, (["b"], ["a", "o"], [""]), np.random.default_rng(0), syllables=2)
    ['bobo', 'boba']
    """
    words: dict[str, None] = {}
    while len(words) < count:
        length = syllables or 1 + (len(words) >= 40) + (len(words) >= 400) + int(rng.random() < 0.2)
        picks = [[part[rng.integers(len(part))] for part in sounds] for _ in range(length)]
        word = "".join(sound for pick in picks for sound in pick)
        if word not in taken:
            words[word] = None
    return list(words)
