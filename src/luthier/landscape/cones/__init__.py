"""Normal cones of selections in a subspace of any dimension, found by reverse search.

Read `minkowski` first, then `cone_coordinates` (weights as the search sees them), `search_state` and `search_tally`
(how it stops and goes on) and `minkowski_view` (what a picture shows).
"""
