"""Forests: all translations that a search has seen, packed.

Read `hypergraph` first (what one is), then `lines` (the best strings along lines of weights, for a line search),
`expectation` (means and spreads over derivations, by a semiring) and `files` (a folder of them).
"""
