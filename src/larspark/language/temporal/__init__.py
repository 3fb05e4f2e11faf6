"""Linear temporal logic with past: formulas, their text, and their translation to and from LARS."""
