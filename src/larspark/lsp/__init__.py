"""The language server: what editors know about a program while it is written."""
