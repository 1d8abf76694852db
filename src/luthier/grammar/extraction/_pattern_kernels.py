# mypy: ignore-errors
"""Kernels that collect the patterns of a text in a trie, and find their occurrences in the corpus.

A pattern is one to three chunks of words. In the trie a gap is the symbol 0. Nodes that end in a word are
patterns; a node below no gap is a chunk, whose places the index knows.
"""

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.grammar._trie_kernels import FREE, find_child, slot_of

GAP = 0


@inner_kernel
def child_of(trie, parent, symbol, size):
    """Return the child of a node by a symbol, made if it is new, and the number of nodes."""
    key = (np.int64(parent) << 32) | np.int64(symbol)
    slot = slot_of(trie.keys, key)
    if trie.keys[slot] == FREE:
        trie.keys[slot] = key
        trie.nodes[slot] = size
        trie.parent[size] = parent
        trie.symbol[size] = symbol
        trie.low[size] = trie.high[size] = 0
        trie.child[size] = trie.gap[size] = trie.stamp[size] = -1
        trie.sibling[size] = trie.child[parent]
        trie.child[parent] = size
        if symbol == GAP:
            trie.gap[parent] = size
        size += 1
    return trie.nodes[slot], size


@inner_kernel
def note_pattern(trie, node, number, found, used):
    """Write down that sentence `number` has the pattern `node`, once; return how many are written."""
    if trie.stamp[node] != number:
        trie.stamp[node] = number
        found[used] = node
        used += 1
    return used


@kernel
def add_patterns(text, begin, end, number, lows, highs, limits, trie, size, found):
    """Add the patterns of the sentence ``text[begin:end]``; return the numbers of nodes and of its patterns."""
    used = 0
    symbols, gap, gaps = limits.max_symbols, limits.min_gap, limits.max_gaps
    span = limits.max_span + 1  # as cdec's extractor: one word more than a rule may take
    for i in range(begin, end):
        stop = min(end, i + span)
        one = 0
        for a in range(1, min(symbols, stop - i) + 1):
            if lows[i, a - 1] == highs[i, a - 1]:
                break
            one, size = child_of(trie, one, text[i + a - 1], size)
            trie.low[one], trie.high[one] = lows[i, a - 1], highs[i, a - 1]
            used = note_pattern(trie, one, number, found, used)
            if gaps == 0 or a + 2 > symbols:
                continue
            for j in range(i + a + gap, stop):
                if lows[j, 0] == highs[j, 0]:
                    continue
                two, size = child_of(trie, one, GAP, size)
                for b in range(1, min(symbols - a - 1, stop - j) + 1):
                    if lows[j, b - 1] == highs[j, b - 1]:
                        break
                    two, size = child_of(trie, two, text[j + b - 1], size)
                    used = note_pattern(trie, two, number, found, used)
                    if gaps == 1 or a + b + 3 > symbols:
                        continue
                    for k in range(j + b + gap, stop):
                        if lows[k, 0] == highs[k, 0]:
                            continue
                        three, size = child_of(trie, two, GAP, size)
                        for c in range(1, min(symbols - a - b - 2, stop - k) + 1):
                            if lows[k, c - 1] == highs[k, c - 1]:
                                break
                            three, size = child_of(trie, three, text[k + c - 1], size)
                            used = note_pattern(trie, three, number, found, used)
    return size, used


@inner_kernel
def record(node, a, b, c, sampling):
    """Count one more occurrence of a pattern; keep it if its turn in the sample has come."""
    rank = sampling.seen[node]
    sampling.seen[node] = rank + 1
    if rank == sampling.next_rank[node]:
        k = sampling.kept[node]
        at = sampling.offsets[node] + k
        sampling.places[at, 0] = a
        sampling.places[at, 1] = b
        sampling.places[at, 2] = c
        sampling.kept[node] = k + 1
        sampling.next_rank[node] = sample_rank(sampling.total[node], sampling.limit, k + 1)


@inner_kernel
def sample_rank(count, limit, k):
    """Return the rank, from 0, of the k-th occurrence of a sample: all of them, or evenly spread ones."""
    if count <= limit:
        return k
    return np.int64(k * (count / limit) + 0.5) if k < limit else -1


@inner_kernel
def walk_on(words, trie, limits, node, first, start, stop, sampling):
    """Record the patterns below the gap `node` whose second chunk begins at `start` (given: its child there)."""
    q = start + 1
    two = node
    while True:
        record(two, first, start, -1, sampling)
        gap = trie.gap[two]
        if gap >= 0:
            s = q + limits.min_gap
            clear = s < stop
            for r in range(q, min(s, stop)):
                clear = clear and words[r] > 0
            while clear and s < stop and words[s] > 0:
                three = find_child(trie.keys, trie.nodes, gap, words[s])
                t = s + 1
                while three >= 0:
                    record(three, first, start, s, sampling)
                    if t >= stop or words[t] == 0 or trie.child[three] < 0:
                        break
                    three = find_child(trie.keys, trie.nodes, three, words[t])
                    t += 1
                s += 1
        if q >= stop or words[q] == 0:
            return
        two = find_child(trie.keys, trie.nodes, two, words[q])
        if two < 0:
            return
        q += 1


@kernel
def walk(words, places, trie, limits, length, gap, child_by_word, sampling):
    """Record every occurrence of the patterns below the gap behind a chunk of `length` words, in corpus order.

    `places` are those of the chunk, ascending; `child_by_word` (V+1,) is all −1, and is so again in the end.
    """
    node = trie.child[gap]
    while node >= 0:
        child_by_word[trie.symbol[node]] = node
        node = trie.sibling[node]
    for i in range(len(places)):
        first = places[i]
        stop = first + limits.max_span
        q = first + length
        for _ in range(limits.min_gap):
            if q < stop and words[q] > 0:
                q += 1
            else:
                q = stop
        while q < stop and words[q] > 0:
            node = child_by_word[words[q]]
            if node >= 0:
                walk_on(words, trie, limits, node, first, q, stop, sampling)
            q += 1
    node = trie.child[gap]
    while node >= 0:
        child_by_word[trie.symbol[node]] = -1
        node = trie.sibling[node]


@kernel
def add_texts(text, offsets, first, ranges, limits, trie, size, room, found, found_offsets):
    """Add the patterns of the sentences from `first` on; return the first not done for want of room, and sizes.

    `room` is the most patterns that a word can begin.
    """
    lows, highs = ranges
    used = found_offsets[first]
    for number in range(first, len(offsets) - 1):
        begin, end = offsets[number], offsets[number + 1] - 1  # a 0 stands behind every sentence
        most = (end - begin) * room
        if size + 2 * most > len(trie.parent) or used + most > len(found):
            return number, size
        size, more = add_patterns(text, begin, end, number, lows, highs, limits, trie, size, found[used:])
        used += more
        found_offsets[number + 1] = used
    return len(offsets) - 1, size


@kernel
def set_owners(trie, size, owner, words, chunks):
    """Write of every node the chunk it begins with, how many words its last chunk has, and which chunk that is."""
    owner[0], words[0], chunks[0] = 0, 0, 0
    for node in range(1, size):
        parent = trie.parent[node]
        chunks[node] = chunks[parent]
        owner[node] = owner[parent]
        if trie.symbol[node] == GAP:
            words[node] = 0
            chunks[node] += 1
        else:
            words[node] = words[parent] + 1
            if chunks[node] == 0:
                owner[node] = node


@kernel
def chunk_lengths(trie, nodes, words, lengths):
    """Write the numbers of words of the chunks of each pattern, (n, 3), 0 for a chunk it does not have."""
    for i in range(len(nodes)):
        node, k = nodes[i], 0
        rows = np.zeros(3, np.int64)
        while node > 0:
            rows[k] = words[node]
            for _ in range(rows[k]):
                node = trie.parent[node]
            if node > 0:  # the gap before this chunk
                node = trie.parent[node]
            k += 1
        for j in range(k):
            lengths[i, j] = rows[k - 1 - j]


@kernel
def sorted_places(order, sentence, chunk_low, chunk_high, without, offsets, places):
    """Write the places of each chunk in corpus order, those of the sentences `without` (ascending) left out."""
    used = 0
    for i in range(len(chunk_low)):
        offsets[i] = used
        first = used
        for k in range(chunk_low[i], chunk_high[i]):
            place = order[k]
            if len(without) > 0:
                at = np.searchsorted(without, sentence[place])
                if at < len(without) and without[at] == sentence[place]:
                    continue
            places[used] = place
            used += 1
        places[first:used].sort()
    offsets[len(chunk_low)] = used
    return used


@kernel
def walk_chunks(words, trie, limits, chunks, chunk_words, offsets, places, child_by_word, sampling):
    """Record every occurrence of the patterns that begin with the given chunks."""
    for i in range(len(chunks)):
        node = chunks[i]
        for k in range(offsets[i], offsets[i + 1]):
            record(node, places[k], -1, -1, sampling)
        if trie.gap[node] >= 0:
            walk(
                words, places[offsets[i] : offsets[i + 1]], trie, limits, chunk_words[node], trie.gap[node],
                child_by_word, sampling,
            )  # fmt: skip


@kernel
def begin_sample(nodes, sampling):
    """Lay out the sample of each pattern from its number of occurrences; return how many are kept in all."""
    used = 0
    for i in range(len(nodes)):
        node = nodes[i]
        total = sampling.seen[node]
        sampling.total[node] = total
        sampling.offsets[node] = used
        used += min(total, sampling.limit)
        sampling.seen[node] = sampling.kept[node] = 0
        sampling.next_rank[node] = 0 if total > 0 else -1
    return used


@kernel
def pattern_depths(parent, nodes, depths):
    """Write the number of symbols of each pattern."""
    for i in range(len(nodes)):
        node, n = nodes[i], 0
        while node > 0:
            node = parent[node]
            n += 1
        depths[i] = n


@kernel
def pattern_symbols(parent, symbol, nodes, offsets, out):
    """Write the symbols of each pattern."""
    for i in range(len(nodes)):
        node, at = nodes[i], offsets[i + 1] - 1
        while node > 0:
            out[at] = symbol[node]
            node = parent[node]
            at -= 1
