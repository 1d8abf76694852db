"""Minimum Bayes risk: how well each hypothesis agrees with the others, by any metric with a sentence score.

In the order of the data: `evidence` (distinct texts of each list, and how much each counts), `utilities` (a metric →
scores of pairs, summed), `mbr` (features and selections), `pairs` (the same by a scorer from elsewhere), `rover`
(votes in a confusion network).
Kernels: `_gram_kernels` (n-grams that pairs share), `_score_kernels` (their scores), `_limit_kernels` (limits of sums,
for pruning, and aggregated n-grams), `_edit_pair_kernels` (edit distances of pairs).
"""
