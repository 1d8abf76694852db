"""Extraction of rules the slow way: the definition of docs/grammar.md, sentence by sentence, in plain Python.

It shares no code with the package. Positions count from 0, spans are half open, a gap is -1 or -2.
"""

import dataclasses
import itertools
import math
from collections import Counter, defaultdict

X1, X2 = -1, -2


@dataclasses.dataclass(frozen=True)
class Rules:
    """What one run of the definition gives: (source side, target side) → seven features, and the links."""

    features: dict
    links: dict
    counts: dict


class SlowExtractor:
    """Pairs of word lists with their links, and the limits."""

    def __init__(self, sources, targets, links, *, span=15, symbols=5, gaps=2, gap=1, samples=300, tight=True):
        self.sources, self.targets, self.links = sources, targets, links
        self.span, self.symbols, self.max_gaps, self.gap = span, symbols, gaps, gap
        self.samples, self.tight = samples, tight
        self.lexicon = lexicon(sources, targets, links)

    def patterns(self, sentence):
        """Return every pattern of a sentence, a tuple of chunks, each a tuple of words; one word wider than rules."""
        found = set()
        for n_chunks in range(1, self.max_gaps + 2):
            for cuts in itertools.combinations(range(len(sentence) + 1), 2 * n_chunks):
                chunks = list(zip(cuts[::2], cuts[1::2], strict=True))
                words = sum(b - a for a, b in chunks)
                if words + n_chunks - 1 > self.symbols or chunks[-1][1] - chunks[0][0] > self.span + 1:
                    continue
                if all(c - b >= self.gap for (_, b), (c, _) in itertools.pairwise(chunks)):
                    found.add(tuple(tuple(sentence[a:b]) for a, b in chunks))
        return found

    def occurrences(self, pattern):
        """Return (sentence, starts of the chunks) of every occurrence, in corpus order."""
        found = []
        for number, words in enumerate(self.sources):
            places = [[p for p in range(len(words)) if tuple(words[p : p + len(c)]) == c] for c in pattern]
            for starts in itertools.product(*places):
                ends = [p + len(c) for p, c in zip(starts, pattern, strict=True)]
                apart = all(b - a >= self.gap for a, b in zip(ends[:-1], starts[1:], strict=True))
                if apart and ends[-1] - starts[0] <= self.span:
                    found.append((number, starts))
        return found

    def sampled(self, occurrences):
        if len(occurrences) <= self.samples:
            return occurrences
        step = len(occurrences) / self.samples
        return [occurrences[int(k * step + 0.5)] for k in range(self.samples)]

    def rules(self, patterns):
        """Return all rules of the given patterns."""
        features, links, counts = {}, {}, {}
        for pattern in patterns:
            sample = self.sampled(self.occurrences(pattern))
            by_source = defaultdict(lambda: defaultdict(Counter))
            having = Counter()
            for number, starts in sample:
                for source, variants in self.extract(pattern, number, starts):
                    having[source] += 1
                    for target, alignment in variants:
                        by_source[source][target][alignment] += 1
            for source, targets in by_source.items():
                for target, alignments in targets.items():
                    key = (source, target)
                    assert key not in features
                    counts[key] = (sum(alignments.values()), len(sample))
                    features[key] = self.score(key, *counts[key], having[source])
                    links[key] = min(alignments, key=lambda a, n=alignments: (-n[a], a))
        return Rules(features, links, counts)

    def score(self, key, pair, samples, having):
        source, target = key
        source, target = [f for f in source if f not in (X1, X2)], [e for e in target if e not in (X1, X2)]
        forward, backward = self.lexicon
        return {
            "EgivenFCoherent": -math.log10(pair / samples),
            "SampleCountF": math.log10(1 + samples),
            "CountEF": math.log10(1 + pair),
            "MaxLexFgivenE": lexical(backward, target, source),
            "MaxLexEgivenF": lexical(forward, source, target),
            "IsSingletonF": float(having == 1),
            "IsSingletonFE": float(pair == 1),
        }

    # One occurrence

    def extract(self, pattern, number, starts):
        """Return (source side, variants of the target side with links) for each rule of one occurrence."""
        n = len(self.sources[number])
        links = self.links[number]
        linked = {i for i, _ in links}
        low, high = starts[0], starts[-1] + len(pattern[-1])
        words = [i for p, c in zip(starts, pattern, strict=True) for i in range(p, p + len(c))]
        inner = [(p + len(c), q) for p, c, q in zip(starts[:-1], pattern[:-1], starts[1:], strict=True)]
        # (a)
        if not linked.intersection(words):
            return []
        if self.tight and not all(a in linked and b - 1 in linked for a, b in inner):
            return []
        # (b)
        target = project(links, low, high)
        if target[1] - target[0] > self.span:
            return []
        back = reflect(links, *target)
        left, right = min(back[0], low), max(back[1], high)
        if left < low:
            left = min(left, low - self.gap)
        if right > high:
            right = max(right, high + self.gap)
        forced = [(left, low)] * (left < low) + [(high, right)] * (right > high)
        if left < 0 or right > n or right - left > self.span or project(links, left, right) != target:
            return []
        size = len(words) + len(inner) + len(forced)
        if len(inner) + len(forced) > self.max_gaps or size > self.symbols:
            return []
        if self.tight and not all(a in linked and b - 1 in linked for a, b in forced):
            return []
        # (c)
        gaps = sorted(inner + forced)
        if not all(self.consistent(links, *g) for g in gaps):
            return []
        found = []
        for open_left, open_right in ((0, 0), (0, 1), (1, 0), (1, 1)):
            span = self.opened(number, (left, right), (left < low, right > high), (open_left, open_right))
            if span is None:
                continue
            more = [(span[0], left)] * open_left + [(right, span[1])] * open_right
            if len(gaps) + len(more) > self.max_gaps or size + len(more) > self.symbols:
                continue
            if all(self.consistent(links, *g) for g in more):
                found.append(self.rule(number, span, sorted(gaps + more), words))
        return found

    def opened(self, number, span, is_gap, opened):
        """Return the span with gaps at the chosen ends: steps (d) and (e)."""
        links = self.links[number]
        linked = {i for i, _ in links}
        (left, right), (open_left, open_right) = span, opened
        if (open_left and is_gap[0]) or (open_right and is_gap[1]):
            return None
        low, high = left - self.gap * open_left, right + self.gap * open_right
        if low < 0 or high > len(self.sources[number]) or high - low > self.span:
            return None
        edges = [low, high - 1]
        if open_left:
            edges.append(left - 1)
        if open_right:
            edges.append(right)
        if self.tight and not linked.issuperset(edges):
            return None
        if not (open_left or open_right):
            return low, high
        while True:  # enlarge until there and back adds nothing
            target = project(links, low, high)
            if target is None or target[1] - target[0] > self.span:
                return None
            back = reflect(links, *target)
            wider = min(back[0], low), max(back[1], high)
            if wider == (low, high):
                break
            if (wider[0] < low and not open_left) or (wider[1] > high and not open_right):
                return None
            low, high = wider
            if high - low > self.span:
                return None
        if self.tight and not linked.issuperset((low, high - 1)):
            return None
        return low, high

    def consistent(self, links, a, b):
        target = project(links, a, b)
        if target is None or target[1] - target[0] > self.span:
            return False
        back = reflect(links, *target)
        return a <= back[0] and back[1] <= b

    def rule(self, number, span, gaps, words):
        """Return the source side, and every target side with its links."""
        links, source, target = self.links[number], self.sources[number], self.targets[number]
        items = sorted([(i, i + 1) for i in words] + gaps)
        symbols, index, place = [], {}, {}
        for a, b in items:
            if (a, b) in gaps and a not in words:
                symbols.append(-1 - gaps.index((a, b)))
            else:
                symbols.append(source[a])
                index[a] = len(symbols) - 1
            place[a] = len(symbols) - 1
        whole, inside = project(links, *span), [project(links, *g) for g in gaps]
        variants = []
        for chosen in self.choices(number, whole, inside):
            (low, high), spans = chosen[0], chosen[1:]
            side, where, j = [], {}, low
            while j < high:
                gap = [k for k, (a, b) in enumerate(spans) if a <= j < b]
                if gap:
                    side.append(-1 - gap[0])
                    j = spans[gap[0]][1]
                else:
                    where[j] = len(side)
                    side.append(target[j])
                    j += 1
            pairs = tuple(sorted((index[i], where[j]) for i, j in links if i in index and j in where))
            variants.append((tuple(side), pairs))
        return tuple(symbols), variants

    def choices(self, number, whole, inside):
        """Return the ways to set the edges of the target side and of its gaps: one if they are tight."""
        if self.tight:
            return [(whole, *inside)]
        free = set(range(len(self.targets[number]))) - {j for _, j in self.links[number]}

        def wider(a, b):
            lows, highs = [a], [b]
            while lows[-1] - 1 in free:
                lows.append(lows[-1] - 1)
            while highs[-1] in free:
                highs.append(highs[-1] + 1)
            return [(x, y) for x in lows for y in highs]

        found = []
        for chosen in itertools.product(wider(*whole), *(wider(*g) for g in inside)):
            (low, high), spans = chosen[0], sorted(chosen[1:])
            apart = all(b <= c for (_, b), (c, _) in itertools.pairwise(spans))
            if apart and high - low <= self.span and all(low <= a and b <= high for a, b in spans):
                found.append(chosen)
        return found


def project(links, low, high):
    """Return the span of the target words linked to the source words of a span, None if there are none."""
    js = [j for i, j in links if low <= i < high]
    return (min(js), max(js) + 1) if js else None


def reflect(links, low, high):
    """Return the span of the source words linked to the target words of a span."""
    return project([(j, i) for i, j in links], low, high)


def lexicon(sources, targets, links):
    """Return the tables t(e|f) and t(f|e) by relative frequency of links; words without links go with None."""
    pairs, by_f, by_e = Counter(), Counter(), Counter()
    for source, target, linked in zip(sources, targets, links, strict=True):
        found = [(source[i], target[j]) for i, j in linked]
        found += [(source[i], None) for i in range(len(source)) if i not in {i for i, _ in linked}]
        found += [(None, target[j]) for j in range(len(target)) if j not in {j for _, j in linked}]
        for f, e in found:
            pairs[f, e] += 1
            by_f[f] += 1
            by_e[e] += 1
    forward = {(f, e): n / by_f[f] for (f, e), n in pairs.items()}
    backward = {(e, f): n / by_e[e] for (f, e), n in pairs.items()}
    return forward, backward


def lexical(table, given, words):
    """Return the sum over `words` of -log10 of the largest t(word | one of `given` or None), 99 for none."""
    total = 0.0
    for word in words:
        best = max(table.get((g, word), 0.0) for g in [*given, None])
        total += -math.log10(best) if best > 0 else 99.0
    return total
