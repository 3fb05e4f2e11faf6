"""A real client of the language server, which runs as a process of its own."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

CODE = "import sys; sys.argv[0] = 'larspark'; from larspark.cli import main; main()"

# What random edits put into a program: brackets, words, comments, rare characters.
PIECES = ["(", ")", "[", "]", "{", "}", ".", ",", ":-", "#", "@", "not ", "X", "p", '"', "\n"]
PIECES += ["/*", "%", " by ", "[3 min] ", "hot(M)", "#count{", "\U0001f600", "é", "\t", "9" * 30]


class Editor:
    """One open file in a client."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self._published: dict[int | None, asyncio.Future[list[lsp.Diagnostic]]] = {}
        self.messages: list[str] = []
        self._version = 0

    @property
    def uri(self) -> str:
        return (self.folder / "a.lars").as_uri()

    @property
    def text_document(self) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(self.uri)

    async def open(self, text: str) -> list[lsp.Diagnostic]:
        """Open the file with a text; its problems."""
        item = lsp.TextDocumentItem(self.uri, "lars", 0, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.settled()

    async def change(self, *edits: lsp.TextDocumentContentChangeEvent) -> list[lsp.Diagnostic]:
        """Edit the text; its problems."""
        self.send(*edits)
        return await self.settled()

    def send(self, *edits: lsp.TextDocumentContentChangeEvent) -> None:
        """Edit the text."""
        self._version += 1
        document = lsp.VersionedTextDocumentIdentifier(self._version, self.uri)
        params = lsp.DidChangeTextDocumentParams(document, list(edits))
        self.client.text_document_did_change(params)

    async def settled(self) -> list[lsp.Diagnostic]:
        """The problems of this version of the text."""
        return await self._future(self._version)

    def published(self, params: lsp.PublishDiagnosticsParams) -> None:
        """The server has sent the problems of a version."""
        found = self._future(params.version)
        if not found.done():
            found.set_result(list(params.diagnostics))

    def _future(self, version: int | None) -> "asyncio.Future[list[lsp.Diagnostic]]":
        if version not in self._published:
            self._published[version] = asyncio.get_running_loop().create_future()
        return self._published[version]


Talk = Callable[[Editor], Coroutine[Any, Any, None]]


@pytest.fixture
def talk(tmp_path: Path) -> Callable[..., None]:
    """Runs a conversation with a server."""

    def run(conversation: Talk, options: object = None) -> None:
        asyncio.run(asyncio.wait_for(_conversation(conversation, tmp_path, options), 900))

    return run


async def _conversation(conversation: Talk, folder: Path, options: object) -> None:
    client = LanguageClient("tests", "1")
    editor = Editor(client, folder)

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _(params: lsp.PublishDiagnosticsParams) -> None:
        editor.published(params)

    @client.feature(lsp.WINDOW_SHOW_MESSAGE)
    def _(params: lsp.ShowMessageParams) -> None:
        # The server reports its own failures so.
        editor.messages.append(params.message)

    await client.start_io(sys.executable, "-c", CODE, "lsp")
    await client.initialize_async(
        lsp.InitializeParams(
            lsp.ClientCapabilities(), root_uri=folder.as_uri(), initialization_options=options
        )
    )
    client.initialized(lsp.InitializedParams())
    try:
        await conversation(editor)
        assert editor.messages == []
        await client.shutdown_async(None)
    finally:
        client.exit(None)
        await client.stop()
