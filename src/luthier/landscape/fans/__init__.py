"""Normal fans of lists over two features: scenes for pictures and tables."""
