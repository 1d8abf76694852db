# mypy: ignore-errors
"""Kernels of the translation table: from expected counts to probabilities."""

import math

from luthier.core.jit import inner_kernel, kernel

FAR = 8.0  # from here on six terms of the series give thirteen digits


@inner_kernel
def digamma(x):
    """Return ψ(x) for x > 0, by recurrence and the asymptotic series."""
    shift = 0.0
    while x < FAR:
        shift += 1.0 / x
        x += 1.0
    y = 1.0 / x
    z = y * y
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760))))))
    return math.log(x) - 0.5 * y - series - shift


@kernel
def estimate(counts, given_of_type, alpha, least, totals, unseen, out):
    """Write the probability of each type, and of a type never seen for each given word.

    c/Σc for α = 0, else exp(ψ(c + α) − ψ(Σ(c + α))); nothing below `least`. `totals` comes as zeros; a given
    word without a type leaves `unseen` as it is.
    """
    for t in range(len(counts)):
        totals[given_of_type[t]] += counts[t] + alpha
    nothing = digamma(alpha) if alpha > 0.0 else -math.inf
    for g in range(len(totals)):
        if totals[g] > 0.0:
            if alpha > 0.0:
                totals[g] = digamma(totals[g])
            unseen[g] = max(math.exp(nothing - totals[g]), least)
    for t in range(len(counts)):
        if alpha > 0.0:
            p = math.exp(digamma(counts[t] + alpha) - totals[given_of_type[t]])
        else:
            p = counts[t] / totals[given_of_type[t]]
        out[t] = max(p, least)
