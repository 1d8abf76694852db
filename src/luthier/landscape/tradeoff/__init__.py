"""Several metrics over the weights of one set of lists: what can be had of each, and at what price in the others."""
