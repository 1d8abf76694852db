# mypy: ignore-errors
"""Kernels that check a forest before others rely on it, and that leave out what no translation uses."""

import numpy as np

from luthier.core.jit import kernel

# Kernel of means and variances over the derivations of a forest.


@kernel
def moments(edge_offsets, tails, scores, numbers, logs, means, variances):
    """Write log Z of each node, and mean and variance of the C numbers of its derivations, (V, C), zeros at first.

    Symbols: an edge has the share p of its node's Z, and the mean m and variance s of the derivations that it begins.
    """
    n_numbers = numbers.shape[1]
    most = 0
    for node in range(len(edge_offsets) - 1):
        most = max(most, edge_offsets[node + 1] - edge_offsets[node])
    shares = np.empty(most)
    for node in range(len(edge_offsets) - 1):
        first, stop = edge_offsets[node], edge_offsets[node + 1]
        top, total = -np.inf, 0.0
        for e in range(first, stop):
            shares[e - first] = scores[e]
            for gap in range(2):
                if tails[e, gap] >= 0:
                    shares[e - first] += logs[tails[e, gap]]
            top = max(top, shares[e - first])
        for i in range(stop - first):
            shares[i] = np.exp(shares[i] - top)
            total += shares[i]
        logs[node] = top + np.log(total)
        for c in range(n_numbers):
            mean, second = 0.0, 0.0
            for e in range(first, stop):
                m = numbers[e, c]
                for gap in range(2):
                    if tails[e, gap] >= 0:
                        m += means[tails[e, gap], c]
                mean += shares[e - first] / total * m
            for e in range(first, stop):
                m, s = numbers[e, c], 0.0
                for gap in range(2):
                    if tails[e, gap] >= 0:
                        m += means[tails[e, gap], c]
                        s += variances[tails[e, gap], c]
                second += shares[e - first] / total * (s + (m - mean) ** 2)
            means[node, c], variances[node, c] = mean, second


@kernel
def rule_arities(target_offsets, target_symbols, n_words, arities):
    """Write the number of gaps of each rule; return the first rule with symbols that no rule has, −1 if there is none.

    A rule has gap 2 only with gap 1, and each at most once.
    """
    for rule in range(len(arities)):
        ones, twos = 0, 0
        for i in range(target_offsets[rule], target_offsets[rule + 1]):
            symbol = target_symbols[i]
            if symbol < -2 or symbol >= n_words:
                return rule
            ones += symbol == -1
            twos += symbol == -2
        if ones > 1 or twos > ones:
            return rule
        arities[rule] = ones + twos
    return -1


@kernel
def bad_edge(edge_offsets, tails, rules, spans):
    """Return the first edge that no forest has, −1 if there is none.

    Its tails are earlier nodes, gap 1 is filled before gap 2, and what fills them covers words of the head, in
    the order of the gaps and not the same ones. So no node stands twice in one derivation, and all of them end.
    """
    for node in range(len(edge_offsets) - 1):
        for e in range(edge_offsets[node], edge_offsets[node + 1]):
            first, second = tails[e, 0], tails[e, 1]
            if first < -1 or first >= node or second < -1 or second >= node or rules[e] < 0:
                return e
            if first < 0:
                if second >= 0:
                    return e
                continue
            last = first if second < 0 else second
            if spans[first, 0] < spans[node, 0] or spans[last, 1] > spans[node, 1]:
                return e
            if second >= 0 and spans[first, 1] > spans[second, 0]:
                return e
    return -1


@kernel
def bad_use(tails, rules, arities):
    """Return the first edge whose rule does not exist or has other gaps, −1 if there is none."""
    for e in range(len(rules)):
        gaps = np.int64(tails[e, 0] >= 0) + np.int64(tails[e, 1] >= 0)
        if rules[e] < 0 or rules[e] >= len(arities) or arities[rules[e]] != gaps:
            return e
    return -1


@kernel
def mark_reachable(edge_offsets, tails, used):
    """Mark the nodes that stand in a derivation of the last one."""
    used[len(used) - 1] = True
    for node in range(len(used) - 1, -1, -1):
        if used[node]:
            for e in range(edge_offsets[node], edge_offsets[node + 1]):
                for gap in range(2):
                    if tails[e, gap] >= 0:
                        used[tails[e, gap]] = True
