"""What the margin methods share: the size of steps, averages of weights, their quadratic programs."""
