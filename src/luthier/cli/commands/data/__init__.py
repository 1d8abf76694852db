"""Convert, split and shard lists; write weights; keep statistics."""
