"""The studio: a local page with a program, its stream, its answers, and the reasons for them."""
