"""Results → tables and figures; the only room that draws."""
