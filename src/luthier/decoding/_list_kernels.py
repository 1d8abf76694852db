# mypy: ignore-errors
"""Kernels that turn derivations into rows of a list: totals of features, spans, texts."""

from luthier.core.jit import kernel

SPACE = 32


@kernel
def sum_dense(offsets, edges, rules, rule_features, edge_features, out):
    """Write the totals of the features that are columns: of rules, then of edges, (n, D)."""
    n_rule, n_edge = rule_features.shape[1], edge_features.shape[1]
    for row in range(len(out)):
        for d in range(n_rule + n_edge):
            out[row, d] = 0.0
        for i in range(offsets[row], offsets[row + 1]):
            edge = edges[i]
            rule = rules[edge]
            for d in range(n_rule):
                out[row, d] += rule_features[rule, d]
            for d in range(n_edge):
                out[row, n_rule + d] += edge_features[edge, d]


@kernel
def sum_sparse(offsets, uses, indptr, indices, values, totals, met, out_indptr, out_indices, out_values):
    """Write the totals of sparse features as rows of CSR; return how many entries they have.

    `uses` are rules. `totals` is all 0, one for each feature, and is so again in the end; `met` is room for as many.
    """
    at = 0
    out_indptr[0] = 0
    for row in range(len(offsets) - 1):
        first = at
        for i in range(offsets[row], offsets[row + 1]):
            for e in range(indptr[uses[i]], indptr[uses[i] + 1]):
                feature = indices[e]
                if not met[feature]:
                    met[feature] = True
                    out_indices[at] = feature
                    at += 1
                totals[feature] += values[e]
        out_indices[first:at].sort()
        for k in range(first, at):
            feature = out_indices[k]
            out_values[k] = totals[feature]
            totals[feature] = 0.0
            met[feature] = False
        out_indptr[row + 1] = at
    return at


@kernel
def edge_heads(edge_offsets, heads):
    """Write the node of each edge."""
    for node in range(len(edge_offsets) - 1):
        for e in range(edge_offsets[node], edge_offsets[node + 1]):
            heads[e] = node


@kernel
def describe_uses(edges, heads, rules, node_spans, use_rules, use_spans):
    """Write the rule and the span of each use of an edge."""
    for i in range(len(edges)):
        edge = edges[i]
        use_rules[i] = rules[edge]
        use_spans[i, 0] = node_spans[heads[edge], 0]
        use_spans[i, 1] = node_spans[heads[edge], 1]


@kernel
def join_words(word_offsets, words, text_offsets, text_data, offsets, out):
    """Write each row of words as a text, one space between them; without room in `out`, only where each text begins."""
    write, at = len(out) > 0, 0
    offsets[0] = 0
    for row in range(len(word_offsets) - 1):
        for i in range(word_offsets[row], word_offsets[row + 1]):
            if i > word_offsets[row]:
                if write:
                    out[at] = SPACE
                at += 1
            first, last = text_offsets[words[i]], text_offsets[words[i] + 1]
            if write:
                for b in range(first, last):
                    out[at + b - first] = text_data[b]
            at += last - first
        offsets[row + 1] = at


@kernel
def mark_used(rows, used):
    """Mark every number that stands in `rows`; an index of NumPy's would take eight bytes for each."""
    for i in range(len(rows)):
        used[rows[i]] = True


@kernel
def renumber(rows, numbers):
    """Put ``numbers[r]`` in the place of each r, in `rows` itself."""
    for i in range(len(rows)):
        rows[i] = numbers[rows[i]]
