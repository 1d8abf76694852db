"""Minkowski sums of lists by reverse search.

Read `reverse_search` first (the whole), then `grid`, `list_corners` and `summands` (lists made ready), `search_steps`
(from a vertex to its children, exactly where needed by `exact_cone`), `search_frontier` (what is left to
do) and `search_ahead` (how others help with it). `certainty` and `coverage` say what was found.
"""
