"""What weights can do: fans, cones, feasibility, bounds."""
