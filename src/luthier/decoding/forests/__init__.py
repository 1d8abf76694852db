"""Forests: all translations that a search has seen, packed.

Read `hypergraph` first (what one is), then `lines` (the best strings along lines of weights, for a line search),
`spread` (by how much features differ in it) and `files` (a folder of them).
"""
