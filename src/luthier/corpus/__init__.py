"""Text → tokens → ids: columns of text, the vocabulary, readers of plain sentence files."""
