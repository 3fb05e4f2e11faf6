"""The codes of problems that streaming on Spark reports."""

CODES: dict[str, str] = {
    "L490": "An option of a stream on Spark has a value that it cannot have.",
    "L491": "A checkpoint belongs to another program.",
    "L492": "A checkpoint, or the state in it, is damaged.",
    "L493": "A DataFrame is not a streaming one.",
    "L494": "A checkpoint was made with other shards or sources.",
    "L496": "A file that is followed has become shorter.",
}
