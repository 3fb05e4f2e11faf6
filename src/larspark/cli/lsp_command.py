"""`larspark lsp`."""

from larspark.base.problems import LarsparkError, Problem
from larspark.cli.app import app


@app.command(
    epilog="Example: [bold]larspark lsp[/bold], which an editor starts; see docs/editors.md",
    short_help="Serve editors: problems, completion, renaming, formatting.",
)
def lsp() -> None:
    """Speak the language server protocol on standard input and output; editors start this."""
    try:
        from larspark.lsp.language_server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        hint = "install it with `pip install 'larspark[lsp]'`"
        message = "the language server needs the package pygls"
        raise LarsparkError(Problem("L406", message, hint=hint)) from error
    serve()
