"""Minkowski sums of lists by reverse search.

Read `reverse_search` first (the whole), then `grid`, `list_corners` and `summands` (lists made ready), `search_steps`
(from a vertex to its children, exactly where needed by `exact_cone`), `search_frontier` and `search_parts` (what is
left to do, and how it is shared). `certainty` and `coverage` say what was found.
"""
