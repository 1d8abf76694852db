"""Fans, feasible selections, cones of selections, separability, bounds on what weights can do."""
