"""Fans, feasible selections, cones, separability, bounds on what weights can do."""
