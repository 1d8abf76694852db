"""What a service needs of tuned weights, on the standard library alone: NumPy and Numba are never imported here.

Read `reranker` first (the file of weights, candidates in, an index out); `formula` computes derived features.
"""
