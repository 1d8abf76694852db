"""One list as a polytope: vertices, edges, cones, fans; and how many there can be.

Read `polytope` first (with `exact_cone` for what floats leave open), then `cone`; `fan` has the
cones in order; `counting` bounds what many lists can do together.
"""
