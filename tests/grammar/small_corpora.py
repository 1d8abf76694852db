"""Small parallel texts with random links: few words, so that patterns repeat and links cross."""

import random

from luthier.alignment.links import Links
from luthier.core.segments import offsets_from_counts
from luthier.grammar.model import read_model


def random_pairs(rng, n, *, words=4, longest=8, density=0.9):
    """Return n sources, targets and lists of links; some words have none, some several."""
    sources, targets, links = [], [], []
    for _ in range(n):
        source = [f"f{rng.randrange(words)}" for _ in range(rng.randint(1, longest))]
        target = [f"e{rng.randrange(words)}" for _ in range(rng.randint(1, longest))]
        found = set()
        for i in range(len(source)):
            while rng.random() < density / 2:
                near = i * len(target) // len(source) + rng.choice((-1, 0, 0, 0, 1))
                j = near if 0 <= near < len(target) and rng.random() < 0.8 else rng.randrange(len(target))
                found.add((i, j))
        sources.append(source)
        targets.append(target)
        links.append(sorted(found))
    return sources, targets, links


def diagonal_pairs(seed, n, words=40, longest=12):
    """Return texts whose links are mostly near the diagonal: longer phrases."""
    rng = random.Random(seed)
    return random_pairs(rng, n, words=words, longest=longest, density=1.2)


def model_of(sources, targets, links, **named):
    """Return the model of pairs given as lists."""
    flat = [pair for row in links for pair in row]
    kept = Links.from_unordered(
        offsets_from_counts([len(row) for row in links]), [i for i, _ in flat], [j for _, j in flat]
    )
    return read_model([" ".join(s) for s in sources], [" ".join(t) for t in targets], kept, **named)[0]


def rules_of(grammar):
    """Return {(source, target): (features, links)} of a grammar, sides as tuples with -1 and -2 for gaps."""

    def side(text):
        return tuple({"[X,1]": -1, "[X,2]": -2}.get(word, word) for word in text.split())

    found = {}
    for rule in grammar.rules():
        key = side(rule.source), side(rule.target)
        assert key not in found
        found[key] = rule.features, tuple(rule.links)
    return found
