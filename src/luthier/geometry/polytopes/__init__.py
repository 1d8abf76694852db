"""One list as a polytope: vertices, edges, cones, fans; and how many there can be.

Read `polytope` first (with `open_vertices` and `exact_rank` for what floats leave open), then `cone`; in the plane
`planar_hull`, `fan` and `fan_choice`; `counting` bounds what many lists can do together.
"""
