"""All derivations of a sentence by plain Python: rules read from their lines, nothing shared with the decoder."""

import itertools
import math
from typing import NamedTuple

PENALTY = -1.0 / math.log(10.0)


class Rule(NamedTuple):
    source: tuple
    target: tuple
    features: dict


class Derivation(NamedTuple):
    """Words, the totals of local features, and the rules used, upper before lower."""

    words: tuple
    features: dict
    rules: tuple


def parse_rule(line):
    """Return a rule of a line in cdec's format."""
    _, source, target, features = (part.strip() for part in line.split("|||")[:4])
    pairs = (pair.split("=") for pair in features.split())
    return Rule(tuple(source.split()), tuple(target.split()), {name: float(value) for name, value in pairs})


def added(*parts):
    total = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0.0) + value
    return total


def own_features(rule):
    words = sum(not symbol.startswith("[X,") for symbol in rule.target)
    gaps = sum(symbol.startswith("[X,") for symbol in rule.source)
    return added(rule.features, {"WordPenalty": PENALTY * words, f"Arity_{gaps}": 1.0})


def apply(rule, features, parts, name):
    """Return the derivations of a rule over all choices of derivations in its gaps."""
    for chosen in itertools.product(*parts):
        words = []
        for symbol in rule.target:
            words += chosen[int(symbol[3]) - 1].words if symbol.startswith("[X,") else [symbol]
        totals = added(features, *(part.features for part in chosen))
        yield Derivation(tuple(words), totals, (name, *(r for part in chosen for r in part.rules)))


def matches(source, words, start, stop):
    """Yield the spans of the gaps for every way in which a source side covers ``start:stop``."""
    if not source:
        if start == stop:
            yield ()
    elif source[0].startswith("[X,"):
        for end in range(start + 1, stop + 1):
            for rest in matches(source[1:], words, end, stop):
                yield ((start, end), *rest)
    elif start < stop and source[0] == words[start]:
        yield from matches(source[1:], words, start + 1, stop)


def all_derivations(lines, sentence, max_span=15):
    """Return every derivation of a sentence: rules of the grammar, pass-through rules, glue; without the goal."""
    rules, words = [parse_rule(line) for line in lines], sentence.split()
    known = {}

    def of_x(start, stop):
        if (start, stop) not in known:
            known[start, stop] = list(make_x(start, stop))
        return known[start, stop]

    def make_x(start, stop):
        if stop - start > max_span:
            return
        if stop - start == 1:
            rule = Rule((words[start],), (words[start],), {"PassThrough": 1.0})
            yield from apply(rule, own_features(rule), [], f"pass {words[start]}")
        for number, rule in enumerate(rules):
            for spans in matches(rule.source, words, start, stop):
                parts = [of_x(*span) for span in spans]
                yield from apply(rule, own_features(rule), parts, number)

    def of_s(stop):
        one, two = Rule((), ("[X,1]",), {}), Rule((), ("[X,1]", "[X,2]"), {})
        found = list(apply(one, {"Arity_1": 1.0}, [of_x(0, stop)], "S -> X"))
        for middle in range(1, stop):
            parts = [of_s(middle), of_x(middle, stop)]
            found += apply(two, {"Glue": 1.0, "Arity_2": 1.0}, parts, "S -> S X")
        return found

    return of_s(len(words))


def dot(features, weights):
    return math.fsum(weights.get(name, 0.0) * value for name, value in features.items())


# Random small grammars


SOURCES = [
    "f", "g", "f g", "g f g", "[X,1] f", "f [X,1]", "f [X,1] g", "[X,1] g [X,2]", "g [X,1] f [X,2]", "[X,1] [X,2]",
]  # fmt: skip


def random_grammar(rng, n_rules=8):
    """Return lines of rules over few words, so that strings and scores repeat."""
    lines = []
    for _ in range(n_rules):
        source = str(rng.choice(SOURCES))
        gaps = [symbol for symbol in source.split() if symbol.startswith("[X,")]
        target = gaps + [str(w) for w in rng.choice(["a", "b", "c", "never"], size=int(rng.integers(not gaps, 3)))]
        order = rng.permutation(len(target))
        features = " ".join(f"{name}={int(rng.integers(-3, 4))}" for name in ("p", "q") if rng.random() < 0.8)
        line = f"[X] ||| {source} ||| {' '.join(target[i] for i in order)} ||| {features} ||| "
        if line not in lines:
            lines.append(line)
    return lines
