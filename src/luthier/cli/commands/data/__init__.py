"""Convert, split and shard lists; weights for other programs; statistics of a pool."""
