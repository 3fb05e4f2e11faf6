"""ETALIS: patterns of complex events over intervals, and their translation to LARS rules."""
