"""What the margin methods share: hope and fear, averages of weights, their quadratic programs."""
