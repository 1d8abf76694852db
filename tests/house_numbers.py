"""Print how large the house is: `python tests/house_numbers.py [src]`.

Files and lines, the share of lines that are imports, files that run for four commands, small files, files that one
other file of their folder imports, folders that import each other, and import cycles behind late imports.
"""

import ast
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent

LOADED = """
import os, sys
from luthier.cli.main import main
main(sys.argv[1:])
files = {getattr(m, "__file__", None) for n, m in sys.modules.items() if n.startswith("luthier")}
print(sum(1 for f in files if f and not f.endswith("__init__.py")), file=sys.__stderr__)
os._exit(0)
"""
TRAINING = """
[corpus]
source = "pair/train.source.txt"
target = "pair/train.refs.0.txt"
[tune]
source = "pair/tune.source.txt"
refs = ["pair/tune.refs.0.txt"]
[loop]
iterations = 1
[tuner]
method = "random"
rounds = 1
batch = 4
"""


def imports_of(path, modules):
    """Yield the modules of ours that a file imports, with the lines of the statement."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield (full if full in modules else node.module), node


def measure(source):
    """Return rows of (what, number)."""
    files = sorted((source / "luthier").rglob("*.py"))
    modules = {
        ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): path for path in files
    }
    texts = {path: path.read_text() for path in files}
    lines = sum(len(text.splitlines()) for text in texts.values())
    import_lines, importers, folders = 0, defaultdict(set), defaultdict(set)
    for name, path in modules.items():
        seen = set()
        for other, node in imports_of(path, modules):
            if id(node) not in seen:
                import_lines += node.end_lineno - node.lineno + 1
                seen.add(id(node))
            if other in modules and name != "luthier" and other != name:
                importers[other].add(name)
                if modules[other].parent != path.parent and modules[other].name != "__init__.py":
                    folders[path.parent].add(modules[other].parent)
    own = [p for p in files if p.name != "__init__.py"]
    alone = [
        name for name, path in modules.items()
        if path.name != "__init__.py" and len(importers[name] - {"luthier"}) == 1
        and modules[next(iter(importers[name] - {"luthier"}))].parent == path.parent
    ]  # fmt: skip
    both = sum(a in folders[b] for a, others in list(folders.items()) for b in others) // 2
    return [
        ("source files", len(files)),
        ("source lines", lines),
        ("lines that are imports, per cent", round(100 * import_lines / lines, 1)),
        ("files under 40 lines (without __init__)", sum(len(texts[p].splitlines()) < 40 for p in own)),
        ("files with one importer, in their own folder", len(alone)),
        ("folders that import each other", both),
    ]


def loaded(source):
    """Return how many files run for four commands, each on a small job."""
    rows = []
    with tempfile.TemporaryDirectory() as name:

        def run(*arguments):
            command = [sys.executable, "-c", LOADED, *arguments, "--quiet"]
            done = subprocess.run(
                command, cwd=name, capture_output=True, text=True, env={"PYTHONPATH": str(source), "HOME": name}
            )
            return int(done.stderr.split()[-1]) if done.stderr.split() else -1

        run("synthetic", "lists", "lists", "--sentences", "6", "--k", "5")
        run("pool", "lists/list.moses.gz", "--refs", "lists/refs.0.txt", "-o", "p.arrow")
        run("synthetic", "pair", "pair", "--train", "60", "--tune", "3", "--heldout", "1", "--test", "1")
        Path(name, "train.toml").write_text(TRAINING)
        rows.append(("tune", run("tune", "p.arrow", "--method", "mert", "-o", "w")))
        rows.append(("surface", run("surface", "p.arrow", "--axis", "lm", "--axis", "length")))
        rows.append(("train", run("train", "train.toml", "-o", "model")))
    return [(f"files that run for `{command}`", count) for command, count in rows]


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent / "src").resolve()
    for what, number in [*measure(folder), *loaded(folder)]:
        print(f"{what:50} {number:>8,}" if isinstance(number, int) else f"{what:50} {number:>8}")
