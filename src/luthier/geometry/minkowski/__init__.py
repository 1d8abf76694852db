"""Minkowski sums of lists by reverse search.

Read `reverse_search` first (the whole), then `grid` and `summands` (lists made ready), `search_steps` (from a vertex
to its children) and `frontier` (what is left to do, and how others help with it). `checks` says how sure and how
whole the result is.
"""
