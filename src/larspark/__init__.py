"""larspark: rules over event streams, with exact meaning."""

__version__ = "0.1.0"
