"""The gain along a line of weights, exactly."""
