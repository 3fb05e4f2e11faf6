"""The language server protocol over the features."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import PositionCodec

from larspark import __version__
from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem, Severity, Span
from larspark.language.formatting import laid_out
from larspark.lsp.document import Document, Replacement
from larspark.lsp.features import (
    TOKEN_KINDS,
    coloured,
    completions,
    definitions,
    hover,
    renamed,
)
from larspark.lsp.symbols import Occurrence

_COMPLETION_KINDS = {
    "predicate": lsp.CompletionItemKind.Function,
    "variable": lsp.CompletionItemKind.Variable,
    "word": lsp.CompletionItemKind.Keyword,
    "directive": lsp.CompletionItemKind.Keyword,
    "window": lsp.CompletionItemKind.Snippet,
}
# So many seconds without a change go by before a text is checked.
_PAUSE = 0.15
# The commands that code lenses offer to clients that say they have them.
_RUN, _EXPLAIN = "larspark.run", "larspark.explain"


class Server(LanguageServer):
    """Documents by their address and version, and places in the units of the client."""

    def __init__(self) -> None:
        super().__init__("larspark", __version__)
        self._documents: dict[str, tuple[int | None, Document]] = {}
        # What the client can run, from its `initializationOptions`.
        self.commands: frozenset[str] = frozenset()

    def document(self, uri: str) -> Document:
        """The current version of a document."""
        current = self.workspace.get_text_document(uri)
        kept = self._documents.get(uri)
        if kept is None or kept[0] != current.version or kept[1].text != current.source:
            path = to_fs_path(uri)
            before = None if kept is None else kept[1]
            kept = current.version, Document(current.source, Path(path) if path else None, before)
            self._documents[uri] = kept
        return kept[1]

    def forget(self, uri: str) -> None:
        self._documents.pop(uri, None)

    def place(self, uri: str, position: lsp.Position) -> tuple[int, int]:
        """Line and column, both from 1, of a position."""
        lines = self.document(uri).lines
        found = self._codec.position_from_client_units(lines, position)
        return found.line + 1, found.character + 1

    @property
    def _codec(self) -> PositionCodec:
        return self.workspace.position_codec

    def range(self, document: Document, span: Span) -> lsp.Range:
        """A span as the client counts."""
        lines = document.lines
        if span.source != document.name:
            outline = document.outlines.get(span.source)
            if outline is not None and outline.statements:
                text = outline.statements[0].tokens[0].source.text
                lines = [*text.splitlines(keepends=True), ""]
        return self._codec.range_to_client_units(
            lines,
            lsp.Range(
                lsp.Position(span.line - 1, span.column - 1),
                lsp.Position(span.end_line - 1, span.end_column - 1),
            ),
        )

    def location(self, uri: str, document: Document, found: Occurrence) -> lsp.Location:
        return lsp.Location(self.uri(uri, document, found.span), self.range(document, found.span))

    def uri(self, uri: str, document: Document, span: Span) -> str:
        """The address of the text in which a span lies."""
        if span.source == document.name:
            return uri
        return from_fs_path(str(Path(span.source).absolute())) or uri

    def edit(self, document: Document, replacement: Replacement) -> lsp.TextEdit:
        return lsp.TextEdit(self.range(document, replacement.span), replacement.text)

    def diagnostic(self, document: Document, problem: Problem) -> lsp.Diagnostic:
        hint = f"\nhint: {problem.hint}" if problem.hint else ""
        error = problem.severity is Severity.ERROR
        return lsp.Diagnostic(
            self.range(document, problem.span or Span(document.name, 1, 1, 1, 1)),
            f"{problem.message}{hint}",
            lsp.DiagnosticSeverity.Error if error else lsp.DiagnosticSeverity.Warning,
            problem.code,
            source="larspark",
        )

    async def publish(self, uri: str) -> None:
        """Send the problems of a document, once it has not changed for a moment.

        They are looked for in a thread, so that requests are answered meanwhile.
        """
        document = self.document(uri)
        await asyncio.sleep(_PAUSE)
        if not self.is_current(uri, document):
            return
        problems = await asyncio.to_thread(_known, document)
        if self.is_current(uri, document):
            version = self.workspace.get_text_document(uri).version
            found = [self.diagnostic(document, problem) for problem in problems]
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(uri, found, version)
            )

    def is_current(self, uri: str, document: Document) -> bool:
        """Is this the version of the document that the client sees?"""
        kept = self._documents.get(uri)
        return kept is not None and kept[1] is document and self.document(uri) is document


def _known(document: Document) -> list[Problem]:
    """The problems of a document; all that a look at its predicates tells is known then, too."""
    problems = document.problems()
    document.summary()
    return problems


server = Server()


@server.feature(lsp.INITIALIZE)
def _started(server: Server, params: lsp.InitializeParams) -> None:
    options = params.initialization_options
    commands = options.get("commands", ()) if isinstance(options, dict) else ()
    server.commands = frozenset((_RUN, _EXPLAIN)).intersection(commands)


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
async def _opened(server: Server, params: lsp.DidOpenTextDocumentParams) -> None:
    await server.publish(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
async def _changed(server: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    await server.publish(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
def _closed(server: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    server.forget(uri)
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def _hover(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    uri = params.text_document.uri
    document = server.document(uri)
    found = hover(document, *server.place(uri, params.position))
    if found is None:
        return None
    text, token = found
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return lsp.Hover(content, server.range(document, token.span))


@server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["#", "["]))
def _completion(server: Server, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    uri = params.text_document.uri
    return [
        lsp.CompletionItem(
            found.label,
            kind=_COMPLETION_KINDS[found.kind],
            detail=found.detail,
            insert_text=found.snippet or None,
            insert_text_format=lsp.InsertTextFormat.Snippet if found.snippet else None,
        )
        for found in completions(server.document(uri), *server.place(uri, params.position))
    ]


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def _definition(server: Server, params: lsp.DefinitionParams) -> list[lsp.Location]:
    uri = params.text_document.uri
    document = server.document(uri)
    found = definitions(document, *server.place(uri, params.position))
    return [server.location(uri, document, each) for each in found]


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def _references(server: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    uri = params.text_document.uri
    document = server.document(uri)
    found = document.own.at(*server.place(uri, params.position))
    if found is None:
        return []
    return [
        server.location(uri, document, each)
        for each in document.occurrences(found)
        if params.context.include_declaration or not (each.defines or each.declares)
    ]


@server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
def _prepare_rename(server: Server, params: lsp.PrepareRenameParams) -> lsp.Range | None:
    uri = params.text_document.uri
    document = server.document(uri)
    found = document.own.at(*server.place(uri, params.position))
    return None if found is None else server.range(document, found.span)


@server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
def _rename(server: Server, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    uri = params.text_document.uri
    document = server.document(uri)
    found = renamed(document, *server.place(uri, params.position), params.new_name)
    if isinstance(found, str):
        raise JsonRpcInvalidParams(found)
    changes: dict[str, list[lsp.TextEdit]] = {}
    for replacement in found:
        where = server.uri(uri, document, replacement.span)
        changes.setdefault(where, []).append(server.edit(document, replacement))
    return lsp.WorkspaceEdit(changes)


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def _symbols(server: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    document = server.document(params.text_document.uri)
    own = document.own
    return [
        lsp.DocumentSymbol(
            str(found.name),
            lsp.SymbolKind.Function,
            server.range(document, own.statement_span(found.statement)),
            server.range(document, found.span),
        )
        for found in own.occurrences
        if found.defines and isinstance(found.name, Signature)
    ]


@server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
def _formatting(server: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
    document = server.document(params.text_document.uri)
    try:
        formatted = laid_out(document.text) if document.is_lars else document.text
    except LarsparkError:
        return None
    if formatted == document.text:
        return []
    lines = document.text.count("\n") + 1
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(lines, 0))
    return [lsp.TextEdit(whole, formatted)]


@server.feature(
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lsp.SemanticTokensLegend(list(TOKEN_KINDS), [])
)
def _tokens(server: Server, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
    document = server.document(params.text_document.uri)
    data: list[int] = []
    row = column = 0
    for token, kind in coloured(document):
        span = server.range(document, token.span)
        start, length = span.start, span.end.character - span.start.character
        data += [
            start.line - row,
            start.character - (column if start.line == row else 0),
            length,
            kind,
            0,
        ]
        row, column = start.line, start.character
    return lsp.SemanticTokens(data)


@server.feature(
    lsp.TEXT_DOCUMENT_CODE_ACTION,
    lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
)
async def _fixes(server: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    uri = params.text_document.uri
    document = server.document(uri)
    found = []
    for problem in await asyncio.to_thread(document.problems):
        shown = server.diagnostic(document, problem)
        if _overlap(shown.range, params.range):
            found.append((problem, shown))
    actions = []
    for problem, shown in found:
        fix = await asyncio.to_thread(document.fix, problem)
        if fix is not None:
            edit = lsp.WorkspaceEdit({uri: [server.edit(document, fix)]})
            kind = lsp.CodeActionKind.QuickFix
            actions.append(lsp.CodeAction(fix.title, kind, diagnostics=[shown], edit=edit))
    return actions


def _overlap(left: lsp.Range, right: lsp.Range) -> bool:
    return left.start <= right.end and right.start <= left.end


@server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
def _lenses(server: Server, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    uri = params.text_document.uri
    document = server.document(uri)
    lenses: list[lsp.CodeLens] = []
    if _RUN in server.commands and document.own.statements:
        top = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
        lenses.append(lsp.CodeLens(top, _command("Run", _RUN, [uri])))
    if _EXPLAIN in server.commands:
        for found in document.own.occurrences:
            if found.defines and isinstance(found.name, Signature):
                command = _command(f"Explain {found.name}", _EXPLAIN, [uri, str(found.name)])
                lenses.append(lsp.CodeLens(server.range(document, found.span), command))
    return lenses


def _command(title: str, name: str, arguments: Sequence[Any]) -> lsp.Command:
    return lsp.Command(title, name, arguments=list(arguments))


def serve() -> None:
    """Speak the protocol on standard input and output, until the client ends it."""
    server.start_io()
