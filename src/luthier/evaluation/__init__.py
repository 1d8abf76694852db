"""Statistics of systems → means, spreads, intervals and p-values, replicas taken into account."""
