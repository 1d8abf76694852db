"""Language models as plain dictionaries: random ones, and back-off word by word as the formula says."""

from __future__ import annotations

import itertools

WORDS = ("<unk>", "<s>", "</s>", "a", "b", "c", "d")


def random_model(rng, order, n_words=6, *, broken=False, odd=False):
    """Return {n-gram: (log10 p, log10 back-off)}; all numbers have few bits, so that sums are exact.

    Many contexts have no continuation, and many back-offs are 0, so that states can be cut short. `broken` takes
    n-grams out whose longer ones stay; `odd` gives back-offs to some that have no continuation.
    """
    words = WORDS[:n_words]
    level = [(w,) for w in words]
    model = {g: (_number(rng), 0.0) for g in level}
    for n in range(2, order + 1):
        share, going_on = rng.uniform(0.1, 0.8), rng.uniform(0.3, 0.9)
        contexts = [g for g in level if g[-1] != "</s>" and (rng.random() < going_on or set(g) == {"a"})]
        grown = [(*g, w) for g in contexts for w in words if w != "<s>" and (n == 2 or (*g[1:], w) in model)]
        level = [g for g in grown if rng.random() < share or set(g) == {"a"}]  # one at least
        model |= {g: (_number(rng), 0.0) for g in level}
    continued = {g[:-1] for g in model}
    for g in model:
        if len(g) < order and rng.random() < (0.7 if g in continued else 0.2 * odd):
            model[g] = (model[g][0], _number(rng) + 1.0)
    if broken:
        for g in [g for g in model if 1 < len(g) < order]:
            if rng.random() < 0.3:
                del model[g]
    return model


def _number(rng):
    return -float(rng.integers(0, 256)) / 64.0


def arpa_text(model, *, missing_backoffs=False):
    """Return a model as ARPA text."""
    order = max(map(len, model))
    lines = ["\\data\\"]
    lines += [f"ngram {n}={sum(len(g) == n for g in model)}" for n in range(1, order + 1)]
    for n in range(1, order + 1):
        lines += ["", f"\\{n}-grams:"]
        for g, (p, b) in model.items():
            if len(g) == n:
                plain = n == order or (missing_backoffs and b == 0.0)
                lines.append(f"{p}\t{' '.join(g)}" + ("" if plain else f"\t{b}"))
    return "\n".join([*lines, "", "\\end\\", ""])


def word_score(model, context, word):
    """Return log10 p(word | context), by literal back-off."""
    order = max(map(len, model))
    context = tuple(context)[len(context) - min(len(context), order - 1) :]
    if (*context, word) in model:
        return model[(*context, word)][0]
    return model.get(context, (0.0, 0.0))[1] + word_score(model, context[1:], word)


def sentence_score(model, words):
    """Return the scores of words and end, one by one."""
    line = ["<s>", *(w if (w,) in model else "<unk>" for w in words), "</s>"]
    return [word_score(model, line[:i], line[i]) for i in range(1, len(line))]


def random_words(rng, n_words, length):
    """Return words of which some are unknown, none a mark."""
    return [str(w) for w in rng.choice([*WORDS[3:n_words], "never"], size=length)]


def all_contexts(model):
    """Yield the contexts a model knows, and some that it does not."""
    words = sorted({g[0] for g in model if len(g) == 1} - {"</s>", "<unk>"})
    yield from {g[:-1] for g in model} | set(itertools.product(words, repeat=2))
