"""The house rules, enforced: who may import whom, where Numba lives, how large things get.

To change the architecture, change a line of the tables here, with a reason.
"""

import ast
import re
from pathlib import Path

import pytest

import room_drawing

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "luthier"

# room → (rooms it may import besides itself, third parties)
MAY_IMPORT = {
    # threadpoolctl holds a BLAS that is loaded already; pyarrow reads zst; both inside functions only
    "core": (set(), {"numpy", "numba", "threadpoolctl", "pyarrow"}),
    "corpus": ({"core"}, {"numpy", "sacrebleu"}),
    "invented": ({"core", "corpus", "kbest"}, {"numpy"}),
    "alignment": ({"core", "corpus"}, {"numpy"}),
    "lm": ({"core", "corpus"}, {"numpy"}),
    "grammar": ({"core", "corpus", "alignment"}, {"numpy"}),
    "kbest": ({"core", "corpus"}, {"numpy", "scipy", "pyarrow"}),
    "metrics": ({"core", "corpus"}, {"numpy"}),
    "features": ({"core", "corpus", "grammar", "kbest"}, {"numpy", "scipy"}),
    "geometry": ({"core"}, {"numpy", "scipy", "highspy"}),
    "decoding": (
        {"core", "corpus", "grammar", "lm", "kbest", "features", "geometry"}, {"numpy"}
    ),
    "landscape": (
        {"core", "corpus", "kbest", "metrics", "features", "geometry"}, {"numpy", "scipy"}
    ),
    "tuning": (
        {"core", "corpus", "kbest", "metrics", "features", "geometry", "landscape"}, {"numpy", "scipy", "sklearn"}
    ),
    "evaluation": ({"core", "kbest", "metrics"}, {"numpy", "scipy"}),
    "report": (
        {
            "core", "alignment", "lm", "grammar", "kbest", "metrics", "features", "geometry", "landscape", "tuning",
            "evaluation",
        },
        {"numpy", "matplotlib", "rich", "PIL"},  # matplotlib's own, for pictures with a palette: a third as large
    ),
    "pipelines": (
        {
            "core", "corpus", "invented", "alignment", "lm", "grammar", "kbest", "metrics", "features", "geometry",
            "decoding", "landscape", "tuning", "evaluation", "report",
        },
        {"numpy"},
    ),
}  # fmt: skip
MAY_IMPORT["cli"] = ({*MAY_IMPORT["pipelines"][0], "pipelines"}, {"rich"})  # the door: it may name everything
# Jobs that warm a room's kernels run on made-up data.
WARMING = {"invented", "kbest", "metrics", "corpus", "core"}

# Only this file of a room may import this third party.
ONLY_IN = {
    "numba": {"core/jit.py", "core/kernel_cache.py"},
    "threadpoolctl": {"core/threads.py"},
    "sklearn": {"tuning/estimator.py"},
}

# file → why it may be longer than the limit
LONG_FILES: dict[str, str] = {}
FILE_LIMIT, TEST_FILE_LIMIT, FUNCTION_LIMIT, ARGUMENT_LIMIT = 400, 600, 60, 6

FILES = sorted(SOURCE.rglob("*.py"))
ROOM_FILES = [path for path in FILES if path.parent != SOURCE]


def relative(path):
    return path.relative_to(SOURCE).as_posix()


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{relative(path)}:{node.lineno}: imports are absolute"
            yield node.module


def standard_library():
    import sys

    return sys.stdlib_module_names | {"__future__"}


@pytest.mark.parametrize("path", ROOM_FILES, ids=relative)
def test_a_room_imports_only_what_it_may(path):
    room = path.relative_to(SOURCE).parts[0]
    assert room in MAY_IMPORT, f"{room} is no room of the house: give it a line in MAY_IMPORT"
    rooms, third_parties = MAY_IMPORT[room]
    rooms = rooms | WARMING if path.name == "warming.py" else rooms
    for module in imported_modules(path):
        top, *rest = module.split(".")
        if top == "luthier":
            assert not rest or rest[0] in rooms | {room}, f"{room} may not import {module}"
        elif top not in standard_library():
            assert top in third_parties, f"{room} may not import {module}"
            assert relative(path) in ONLY_IN.get(top, {relative(path)}), f"{module} has a file of its own"


@pytest.mark.parametrize("path", [p for p in FILES if p.name.endswith("kernels.py")], ids=relative)
def test_a_kernel_file_imports_nothing_but_numpy_math_jit_and_kernel_files(path):
    # a kept kernel notices that a kernel file it was compiled from has changed, and no other file;
    # typing has NamedTuple, in which many arrays travel
    for module in set(imported_modules(path)) - {"numpy", "math", "typing", "luthier.core.jit"}:
        assert re.fullmatch(r"luthier\.\w+(\.\w+)*\._\w*kernels", module), f"{module} is no kernel file"


@pytest.mark.parametrize("path", [p for p in FILES if p.parent.name in ("methods", "readers", "writers")], ids=relative)
def test_methods_do_not_import_each_other(path):
    package = "luthier." + path.parent.relative_to(SOURCE).as_posix().replace("/", ".")
    assert not [m for m in imported_modules(path) if m.startswith(package + ".")]


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_files_and_functions_are_small(path):
    text = path.read_text()
    if relative(path) not in LONG_FILES:
        assert len(text.splitlines()) <= FILE_LIMIT
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert length <= FUNCTION_LIMIT, f"{node.name} has {length} lines"
            if not path.name.endswith("kernels.py"):
                positional = [a for a in node.args.args if a.arg not in ("self", "cls")]
                assert len(positional) <= ARGUMENT_LIMIT, f"{node.name} takes {len(positional)} arguments"


def test_the_exceptions_are_still_needed():
    for name, reason in LONG_FILES.items():
        assert len((SOURCE / name).read_text().splitlines()) > FILE_LIMIT
        assert reason


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda p: p.name)
def test_test_files_are_not_too_long(path):
    assert len(path.read_text().splitlines()) <= TEST_FILE_LIMIT


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_no_module_holds_state_that_changes(path):
    """Module-level lists, dictionaries and sets are constants: upper case, or `__all__`."""
    for node in ast.parse(path.read_text()).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(
            value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp
        ):
            for target in targets:
                name = getattr(target, "id", "")
                assert name.isupper() or name.strip("_").isupper() or name == "__all__", f"{name} can change"
        assert not isinstance(node, ast.Global)


def test_numba_and_heavy_libraries_are_not_imported_by_the_package_itself():
    assert set(imported_modules(SOURCE / "__init__.py")) <= {
        "__future__", "importlib", "typing",
        *(m for m in imported_modules(SOURCE / "__init__.py") if m.startswith("luthier.")),  # TYPE_CHECKING
    }  # fmt: skip


def test_citations_resolve():
    bibliography = (ROOT / "docs" / "references.bib").read_text()
    known = set(re.findall(r"^@\w+\{([^,\s]+),", bibliography, re.M))
    assert len(known) == len(re.findall(r"^@\w+\{", bibliography, re.M)), "a key stands twice"
    cited = {}
    for path in [*FILES, *(ROOT / "docs").rglob("*.md")]:
        for key in re.findall(r"\[([a-z]+\d{4}[a-z]?)\]", path.read_text()):
            cited.setdefault(key, path.name)
    assert cited, "nothing is cited: the pattern is wrong"
    assert {key: name for key, name in cited.items() if key not in known} == {}


def test_the_drawing_of_the_rooms_is_what_the_imports_say():
    page = room_drawing.PAGE.read_text()
    assert room_drawing.BEGIN in page
    assert room_drawing.page_with_drawing(page) == page, "draw it anew: python tests/room_drawing.py"


def annotated_arguments(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
                yield node, argument, "" if argument.annotation is None else ast.unparse(argument.annotation)


@pytest.mark.parametrize("path", [p for p in ROOM_FILES if p.relative_to(SOURCE).parts[0] != "cli"], ids=relative)
def test_no_options_without_a_type_below_the_door(path):
    """What the command line was given becomes typed jobs in `cli`; no namespace and no bag of values goes deeper."""
    for function, argument, annotation in annotated_arguments(path):
        where = f"{function.name}({argument.arg}: {annotation})"
        assert "Namespace" not in annotation, where
        if argument.arg in ("options", "settings", "args", "config", "configuration", "job"):
            assert annotation not in ("Any", "dict[str, Any]", "Mapping[str, Any]", "object"), where


@pytest.mark.parametrize("path", sorted((SOURCE / "report").rglob("*.py")), ids=relative)
def test_the_room_that_shows_results_knows_their_types(path):
    assert "Protocol" not in path.read_text(), "import the result's own type"
    for function, argument, annotation in annotated_arguments(path):
        assert annotation not in ("dict[str, Any]", "Mapping[str, Any]"), f"{function.name}({argument.arg})"


def test_tests_stand_where_what_they_test_stands():
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    apart = {"contracts", "fuzz"}  # of all rooms together
    folders = {path.name for path in (ROOT / "tests").iterdir() if list(path.glob("**/*.py"))}
    assert folders - apart <= rooms
    assert {path.name for path in (ROOT / "tests").glob("test_*.py")} == {"test_architecture.py", "test_readme.py"}


def test_every_command_says_its_group():
    from luthier.cli.main import COMMANDS, GROUPS
    from luthier.core.plugins import available

    ours = [plugin for plugin in available(COMMANDS).values() if plugin.module.startswith(COMMANDS)]
    assert {plugin.name for plugin in ours if plugin.group not in GROUPS} == set()
    assert {plugin.group for plugin in ours} == set(GROUPS)


def test_versions_agree():
    import luthier

    assert f"version: {luthier.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert luthier.__version__ in (ROOT / "CHANGELOG.md").read_text()
