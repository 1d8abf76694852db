"""Normal cones of selections in a subspace of any dimension, found by reverse search."""
