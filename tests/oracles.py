"""The slow twins: what kernels do, in plain Python that is obviously right."""

from __future__ import annotations


def score(weights, features):
    """Return w·h, summed from the first feature to the last, one term at a time."""
    total = 0.0
    for weight, value in zip(weights, features, strict=True):
        total += weight * value
    return total


def winners(lists, weights):
    """Return the selected row of each list of feature vectors; ties to the lowest row, −1 for no rows."""
    selected, first = [], 0
    for rows in lists:
        best = -1
        for row, features in enumerate(rows):
            if best < 0 or score(weights, features) > score(weights, rows[best]):
                best = row
        selected.append(first + best if best >= 0 else -1)
        first += len(rows)
    return selected


def first_of_equals(lists, key):
    """Return for each row of each list whether no row before it in its list has the same key."""
    keep = []
    for rows in lists:
        seen = set()
        for row in rows:
            keep.append(key(row) not in seen)
            seen.add(key(row))
    return keep


def best_rows(lists, weights, k):
    """Return the rows of the k best of each list, in their order; of two that tie the first is better."""
    kept, first = [], 0
    for rows in lists:
        order = sorted(range(len(rows)), key=lambda row: (-score(weights, rows[row]), row))
        kept += sorted(first + row for row in order[:k])
        first += len(rows)
    return kept


def moses_features(field):
    """Return the features of one field of a Moses list: (label, position) → value; −1: a plain name."""
    found, label, position = {}, "", 0
    for word in field.split():
        name, equals, value = word.rpartition("=")
        if equals and value:
            found[name, -1] = float(value)
        elif equals or (word.endswith(":") and len(word) > 1):
            label, position = word[:-1], 0
        else:
            found[label, position] = float(word)
            position += 1
    single = {label for label, position in found if position == 0 and (label, 1) not in found and "_" in label}
    return {(label, -1 if label in single else position): value for (label, position), value in found.items()}


def read_moses(text):
    """Return the rows of a Moses list by sentence: id → [(text, {name: value})], names as a pool has them."""
    rows = []
    for line in text.splitlines():
        ident, hypothesis, features, *_ = (part.strip() for part in line.split("|||"))
        rows.append((ident, hypothesis, moses_features(features)))
    several = {label for *_, features in rows for label, position in features if position > 0}
    lists = {}
    for ident, hypothesis, features in rows:
        named = {
            f"{label}_{position}" if label in several and position >= 0 else label: value
            for (label, position), value in features.items()
        }
        lists.setdefault(ident, []).append((hypothesis, named))
    return lists


def edit_distance(a, b):
    """Return how many insertions, deletions and replacements turn `a` into `b`."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        corner, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            corner, row[j] = row[j], min(corner + (x != y), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def bag_distance(a, b):
    """Return how many insertions, deletions and replacements turn `a` into some order of `b`."""
    return max(len(a), len(b)) - sum(min(a.count(word), b.count(word)) for word in set(a))


def fewest_edits(distance, hyp, refs):
    """Return (edits, length) of the reference with the fewest edits; of equals, of the longest."""
    return min(((distance(hyp, ref), len(ref)) for ref in refs), key=lambda pair: (pair[0], -pair[1]))
