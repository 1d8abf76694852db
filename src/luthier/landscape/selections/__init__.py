"""Which selections one weight vector can make: feasibility with its proof, and how constrained a model is."""
