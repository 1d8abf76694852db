"""Sentence, grammar and language model → forest → lists.

Begin with `hypergraph` (what a forest is), then `lazy_kbest` (its best derivations) and `forest_lines` (its best
strings along lines of weights).
"""
