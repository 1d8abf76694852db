"""K-best lists: the pool, its features, what can be done to it, and how it is read and kept."""
