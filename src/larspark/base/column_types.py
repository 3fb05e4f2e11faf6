"""What the values of a column of a table can be said to be: `text(id)`, `number(limit)`."""

# `comma`: numbers with a decimal comma.
COLUMN_TYPES = ("text", "number", "integer", "comma")
