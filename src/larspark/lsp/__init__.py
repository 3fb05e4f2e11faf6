"""The language server: what editors know about a program while it is written."""

from larspark.lsp.server import serve

__all__ = ["serve"]
