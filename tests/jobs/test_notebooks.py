"""Every notebook runs from its first cell to its last, and what a cell ends with shows itself."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent.parent / "docs" / "notebooks").glob("*.ipynb"))
RUN = """
import ast, json, sys, warnings
warnings.simplefilter("ignore")
book, space, shown = json.load(open(sys.argv[1], encoding="utf-8")), {}, 0
for cell in book["cells"]:
    if cell["cell_type"] != "code":
        continue
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), space)
    value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), space)
    for name in ("_repr_html_", "_repr_png_"):
        shown += len((getattr(value, name)() or "") if hasattr(value, name) else "") > 100
print(shown)
"""


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["consensus", "llm-outputs", "speech"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_are_whole_and_have_no_outputs(path):
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            ast.parse("".join(cell["source"]))
            assert cell["outputs"] == []  # the site runs them


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 3
