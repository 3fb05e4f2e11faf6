"""The language server, asked by a real client over a pipe."""

import random

from lsprotocol import types as lsp
from tests.lsp.conftest import PIECES, Editor

PROGRAM = """\
#tick 1 min.
#input temp/2, serviced/1.
hot(M)   :- [3 min] some temp(M, V), V > 90.
alarm(M) :- hot(M), not [5 min] some serviced(M).
"""


def at(line: int, character: int) -> lsp.Position:
    return lsp.Position(line, character)


def place(found: lsp.Range) -> tuple[int, int, int, int]:
    return (found.start.line, found.start.character, found.end.line, found.end.character)


def test_problems_come_with_their_places_and_go_when_they_are_mended(talk) -> None:
    async def conversation(editor: Editor) -> None:
        [problem] = await editor.open("alarm(M, Why) :- [3] some temp(M, V), V > 90.\n")
        assert problem.code == "L202"
        assert problem.severity == lsp.DiagnosticSeverity.Error
        assert place(problem.range) == (0, 9, 0, 12)
        assert problem.message.splitlines()[1].startswith("hint: bind `Why` in the body")
        edit = lsp.TextDocumentContentChangePartial(range=lsp.Range(at(0, 7), at(0, 12)), text="")
        assert await editor.change(edit) == []

    talk(conversation)


def test_places_are_counted_as_the_client_counts(talk) -> None:
    async def conversation(editor: Editor) -> None:
        # Outside of the basic plane a character has two UTF-16 units.
        [problem] = await editor.open('p("\U0001f600\U0001f600", Z) :- q.\n')
        assert place(problem.range) == (0, 10, 0, 11)

    talk(conversation)


def test_a_quick_fix_does_what_the_hint_says(talk) -> None:
    async def conversation(editor: Editor) -> None:
        found = await editor.open("#inptu a/1.\nb(X) :- a(X), X == 3.\n")
        assert sorted(str(problem.code) for problem in found) == ["L110", "L111"]
        titles = []
        for problem in found:
            params = lsp.CodeActionParams(
                editor.text_document, problem.range, lsp.CodeActionContext([problem])
            )
            for action in await editor.client.text_document_code_action_async(params) or ():
                [edit] = action.edit.changes[editor.uri]
                titles.append((action.title, place(edit.range), edit.new_text))
        assert sorted(titles) == [
            ("Replace by `=`", (1, 16, 1, 18), "="),
            ("Replace by `input`", (0, 1, 0, 6), "input"),
        ]

    talk(conversation)


def test_quick_fixes_insert_what_is_lacking(talk) -> None:
    async def conversation(editor: Editor) -> None:
        found = await editor.open("a(X) :- [5 min] some b(X).\nc(X) :- a(X)\nd(X) :- c(X).\n")
        edits = []
        for problem in found:
            params = lsp.CodeActionParams(
                editor.text_document, problem.range, lsp.CodeActionContext([problem])
            )
            for action in await editor.client.text_document_code_action_async(params) or ():
                [edit] = action.edit.changes[editor.uri]
                edits.append((action.title, place(edit.range), edit.new_text))
        assert sorted(edits) == [
            ("Insert `#tick 1 s.`", (0, 0, 0, 0), "#tick 1 s.\n"),
            ("Insert `.`", (1, 12, 1, 12), "."),
        ]

    talk(conversation)


def test_a_thousand_lines_are_known_to_the_last(talk) -> None:
    rules = [f"p{n}(M) :- [{n % 9 + 1} min] some temp(M, V), V > {n}." for n in range(1000)]

    async def conversation(editor: Editor) -> None:
        assert await editor.open("\n".join(["#tick 1 min.", *rules])) == []
        client, document = editor.client, editor.text_document
        edit = await client.text_document_rename_async(
            lsp.RenameParams(document, at(1000, 1), "last")
        )
        assert [place(each.range) for each in edit.changes[editor.uri]] == [(1000, 0, 1000, 4)]
        lenses = await client.text_document_code_lens_async(lsp.CodeLensParams(document))
        assert len(lenses) == 1000

    talk(conversation, {"commands": ["larspark.explain"]})


def test_a_look_at_a_predicate_tells_its_part_and_its_rules(talk) -> None:
    async def conversation(editor: Editor) -> None:
        await editor.open(PROGRAM)

        async def seen(line: int, character: int) -> str | None:
            params = lsp.HoverParams(editor.text_document, at(line, character))
            found = await editor.client.text_document_hover_async(params)
            return None if found is None else found.contents.value

        assert (await seen(3, 13)).split("\n\n") == [
            "`hot/1`: derived",
            "```lars\nhot(M) :- [3 min] some temp(M, V), V > 90.  % line 3\n```",
            "engine `interval`, lookback: 5 time points",
        ]
        assert (await seen(2, 26)).startswith("`temp/2`: input: facts of the stream")
        assert await seen(2, 21) == "`some f`: f holds at some time point of the window"
        assert (await seen(0, 2)).startswith("`#tick 1 min.`")
        assert await seen(2, 34) is None

    talk(conversation)


def test_completion_offers_predicates_variables_words_directives_and_windows(talk) -> None:
    async def conversation(editor: Editor) -> None:
        await editor.open(PROGRAM + "late(N) :- \n#\nx :- [\n")

        async def offered(line: int, character: int) -> dict[str, str | None]:
            params = lsp.CompletionParams(editor.text_document, at(line, character))
            found = await editor.client.text_document_completion_async(params)
            return {item.label: item.insert_text for item in found}

        in_body = await offered(4, 11)
        assert in_body["temp"] == "temp(${1:_}, ${2:_})"
        assert {"N", "some", "not"} <= in_body.keys()
        assert "M" not in in_body
        assert "late" not in await offered(4, 2)
        assert "remember" in await offered(5, 1)
        assert (await offered(6, 6))["5 min"] == "5 min] "

    talk(conversation)


def test_definition_references_and_symbols(talk) -> None:
    async def conversation(editor: Editor) -> None:
        await editor.open(PROGRAM)
        client, document = editor.client, editor.text_document
        params = lsp.DefinitionParams(document, at(3, 13))
        [found] = await client.text_document_definition_async(params)
        assert (found.uri, place(found.range)) == (editor.uri, (2, 0, 2, 3))
        params = lsp.DefinitionParams(document, at(2, 26))
        [found] = await client.text_document_definition_async(params)
        assert place(found.range) == (1, 7, 1, 11)
        context = lsp.ReferenceContext(include_declaration=True)
        params = lsp.ReferenceParams(context, document, at(2, 37))
        found = await client.text_document_references_async(params)
        assert [place(each.range) for each in found] == [(2, 33, 2, 34), (2, 37, 2, 38)]
        context = lsp.ReferenceContext(include_declaration=False)
        params = lsp.ReferenceParams(context, document, at(2, 1))
        found = await client.text_document_references_async(params)
        assert [place(each.range) for each in found] == [(3, 12, 3, 15)]
        symbols = await client.text_document_document_symbol_async(
            lsp.DocumentSymbolParams(document)
        )
        assert [(symbol.name, place(symbol.range)) for symbol in symbols] == [
            ("hot/1", (2, 0, 2, 44)),
            ("alarm/1", (3, 0, 3, 49)),
        ]

    talk(conversation)


def test_renaming_reaches_included_files_and_refuses_names_that_are_taken(talk, tmp_path) -> None:
    (tmp_path / "common.lars").write_text("hot(M) :- temp(M, V), V > 90.\n")

    async def conversation(editor: Editor) -> None:
        await editor.open('#include "common.lars".\nalarm(M) :- hot(M).\n')
        client, document = editor.client, editor.text_document
        edit = await client.text_document_rename_async(
            lsp.RenameParams(document, at(1, 12), "too_hot")
        )
        changed = {
            uri.rpartition("/")[2]: [(place(each.range), each.new_text) for each in edits]
            for uri, edits in edit.changes.items()
        }
        assert changed == {
            "a.lars": [((1, 12, 1, 15), "too_hot")],
            "common.lars": [((0, 0, 0, 3), "too_hot")],
        }
        edit = await client.text_document_rename_async(lsp.RenameParams(document, at(1, 6), "Unit"))
        assert len(edit.changes[editor.uri]) == 2
        refusals = []
        for line, character, new in ((1, 12, "alarm"), (1, 6, "unit")):
            try:
                await client.text_document_rename_async(
                    lsp.RenameParams(document, at(line, character), new)
                )
            except Exception as error:
                refusals.append(str(error))
        assert ["`alarm/1`" in refusals[0], "capital letter" in refusals[1]] == [True, True]

    talk(conversation)


def test_renaming_a_predicate_leaves_the_names_of_its_columns(talk) -> None:
    async def conversation(editor: Editor) -> None:
        await editor.open("#show hot(hot), cold/1.\nhot(M) :- temp(M).\ncold(M) :- ice(M).\n")
        edit = await editor.client.text_document_rename_async(
            lsp.RenameParams(editor.text_document, at(1, 1), "warm")
        )
        places = [place(each.range) for each in edit.changes[editor.uri]]
        assert places == [(0, 6, 0, 9), (1, 0, 1, 3)]

    talk(conversation)


def test_problems_of_included_files_stand_on_the_directive(talk, tmp_path) -> None:
    (tmp_path / "common.lars").write_text("hot(M) :- temp(M, V), V > .\n")

    async def conversation(editor: Editor) -> None:
        [problem] = await editor.open('\n#include "common.lars".\nalarm(M) :- hot(M).\n')
        assert problem.range.start == at(1, 0)
        assert "common.lars:1:27: " in problem.message

    talk(conversation)


def test_formatting_colours_and_lenses(talk) -> None:
    async def conversation(editor: Editor) -> None:
        await editor.open("b(X):-a(X).")
        client, document = editor.client, editor.text_document
        options = lsp.FormattingOptions(tab_size=4, insert_spaces=True)
        [edit] = await client.text_document_formatting_async(
            lsp.DocumentFormattingParams(document, options)
        )
        assert edit.new_text == "b(X) :- a(X).\n"
        colours = await client.text_document_semantic_tokens_full_async(
            lsp.SemanticTokensParams(document)
        )
        kinds = [colours.data[start : start + 5] for start in range(0, len(colours.data), 5)]
        assert [list(kind) for kind in kinds] == [
            [0, 0, 1, 1, 0],
            [0, 2, 1, 2, 0],
            [0, 2, 2, 5, 0],
            [0, 2, 1, 1, 0],
            [0, 2, 1, 2, 0],
        ]
        lenses = await client.text_document_code_lens_async(lsp.CodeLensParams(document))
        titles = [lens.command.title for lens in lenses]
        assert titles == ["Run", "Explain b/1"]

    talk(conversation, {"commands": ["larspark.run", "larspark.explain", "other"]})


def test_lenses_are_only_for_clients_that_have_the_commands(talk) -> None:
    async def conversation(editor: Editor) -> None:
        await editor.open("b(X):-a(X).")
        params = lsp.CodeLensParams(editor.text_document)
        assert not await editor.client.text_document_code_lens_async(params)

    talk(conversation)


def test_random_edits_never_break_the_server(talk) -> None:
    async def conversation(editor: Editor) -> None:
        rng = random.Random(7)
        text = PROGRAM
        await editor.open(text)
        client, document = editor.client, editor.text_document
        for number in range(1000):
            # A new beginning now and then, so that not all of it is broken.
            if number % 20 == 0:
                text = PROGRAM
            start = rng.randrange(len(text) + 1)
            end = min(len(text), start + rng.choice((0, 0, 0, 1, 3)))
            text = text[:start] + rng.choice(PIECES) + text[end:]
            editor.send(lsp.TextDocumentContentChangeWholeDocument(text))
            if number % 10:
                continue
            lines = text.split("\n")
            line = rng.randrange(len(lines))
            position = at(line, rng.randrange(len(lines[line]) + 1))
            await client.text_document_hover_async(lsp.HoverParams(document, position))
            await client.text_document_completion_async(lsp.CompletionParams(document, position))
            await client.text_document_definition_async(lsp.DefinitionParams(document, position))
            context = lsp.ReferenceContext(include_declaration=True)
            await client.text_document_references_async(
                lsp.ReferenceParams(context, document, position)
            )
            await client.text_document_semantic_tokens_full_async(
                lsp.SemanticTokensParams(document)
            )
            whole = lsp.Range(at(0, 0), at(len(lines), 0))
            await client.text_document_code_action_async(
                lsp.CodeActionParams(document, whole, lsp.CodeActionContext([]))
            )
        # It still answers.
        assert await editor.change(lsp.TextDocumentContentChangeWholeDocument(PROGRAM)) == []

    talk(conversation)
