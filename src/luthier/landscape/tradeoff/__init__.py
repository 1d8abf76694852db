"""Several metrics over the weights of one set of lists: what can be had of each, and at what price in the others.

In the order of the data: `several` (metrics made one, and how much of each is chance), `front` (what no other weights
beat), `walks` (the front of a line, of a plane, and from within all weights), `result` (what conflicts, and the mix).
"""
