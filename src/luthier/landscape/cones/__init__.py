"""Normal cones of selections in a subspace of any dimension, found by reverse search.

Read `minkowski` first, then `cone_coordinates` (weights as the search sees them), `search_state` (how it stops and is
resumed), `minkowski_view` (what a picture shows) and `fan_scenes` (pictures of fans).
"""
