"""Modified Kneser–Ney written down literally: dictionaries of n-grams, exact fractions, one n-gram at a time."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction


class PlainKneserNey:
    """The model of some sentences (lists of words); `probs` and `gammas` hold fractions by n-gram and context."""

    def __init__(self, sentences, order, thresholds):
        self.order = order
        lines = [["<s>", *words, "</s>"] for words in sentences]
        raw = [Counter() for _ in range(order + 1)]
        for line in lines:
            for n in range(1, order + 1):
                raw[n].update(tuple(line[i : i + n]) for i in range(len(line) - n + 1))
        self.counts = {order: dict(raw[order])}
        for n in range(1, order):
            lefts = {}
            for gram in raw[n + 1]:
                lefts.setdefault(gram[1:], set()).add(gram[0])
            self.counts[n] = {g: c if g[0] == "<s>" else len(lefts[g]) for g, c in raw[n].items()}
        self.counts[1].pop(("<s>",))
        self.fell_back = {}
        self.discounts = {n: self._discounts(n) for n in range(1, order + 1)}
        self.kept = {
            n: {g for g in self.counts[n] if n == 1 or raw[n][g] > thresholds[n - 1]} for n in range(1, order + 1)
        }
        self.vocabulary = {g[0] for g in self.counts[1]} | {"<unk>"}

    def _discounts(self, n):
        number = Counter(self.counts[n].values())
        self.fell_back[n] = True
        if not (number[1] and number[2] and number[3]):
            return [Fraction(k, 2) for k in range(4)]
        y = Fraction(number[1], number[1] + 2 * number[2])
        found = [k - (k + 1) * y * Fraction(number[k + 1], number[k]) for k in (1, 2, 3)]
        if any(not 0 <= d <= k for k, d in enumerate(found, 1)):
            return [Fraction(k, 2) for k in range(4)]
        self.fell_back[n] = False
        return [Fraction(0), *found]

    def continuations(self, context):
        """Return {n-gram: count} of what follows a context."""
        n = len(context) + 1
        return {g: c for g, c in self.counts[n].items() if g[:-1] == context}

    def gamma(self, context):
        """Return the share of a context that goes to the shorter one."""
        follow = self.continuations(context)
        if not follow:
            return Fraction(1)
        n = len(context) + 1
        given = sum(self.discounts[n][min(c, 3)] if g in self.kept[n] else c for g, c in follow.items())
        return Fraction(given) / sum(follow.values())

    def prob(self, gram):
        """Return p(last word | the others)."""
        if not gram:
            return Fraction(1, len(self.vocabulary))
        n, context = len(gram), gram[:-1]
        follow = self.continuations(context)
        own = Fraction(0)
        if gram in follow and gram in self.kept[n]:
            own = (follow[gram] - self.discounts[n][min(follow[gram], 3)]) / Fraction(sum(follow.values()))
        lower = self.prob(gram[1:]) if n > 1 else self.prob(())
        return own + self.gamma(context) * lower
