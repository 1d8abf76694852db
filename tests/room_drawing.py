"""The drawing of the rooms in docs/architecture.md, made from the imports of the code.

``python tests/room_drawing.py`` draws it anew; a test holds it to what the imports say. An arrow goes from a
room to one that it imports; arrows that follow from others are left out.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "luthier"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: drawn by tests/room_drawing.py -->\n", "<!-- end of rooms -->\n"


def imports_of_rooms():
    """Return for each room the rooms that its files import."""
    found = {path.name: set() for path in sorted(SOURCE.iterdir()) if (path / "__init__.py").exists()}
    for room, others in found.items():
        for path in (SOURCE / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names = [node.module] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                others |= {name.split(".")[1] for name in names if name.startswith("luthier.")} - {room}
    return found


def without_what_follows(imports):
    """Return the imports less those that other imports bring along."""

    def reached(room, seen):
        for other in imports[room]:
            if other not in seen:
                seen.add(other)
                reached(other, seen)
        return seen

    return {
        room: {a for a in others if not any(a in reached(b, set()) for b in others if b != a)}
        for room, others in imports.items()
    }


def drawing():
    """Return the rooms as a Mermaid graph, the floor last."""
    arrows = without_what_follows(imports_of_rooms())
    lines = [f"    {room} --> {other}" for room in sorted(arrows) for other in sorted(arrows[room])]
    return "```mermaid\ngraph TD\n" + "\n".join(lines) + "\n```\n"


def page_with_drawing(page):
    """Return the page with the drawing put in its place."""
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return before + BEGIN + drawing() + END + after


if __name__ == "__main__":
    PAGE.write_text(page_with_drawing(PAGE.read_text()))
