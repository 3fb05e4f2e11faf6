// Starts `larspark lsp` for .lars files, and runs the commands that its code lenses offer.
"use strict";

const path = require("path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function command() {
  return vscode.workspace.getConfiguration("larspark").get("command");
}

/** Run larspark with a list of words, without a shell in between. */
function execute(title, folder, words) {
  const process = new vscode.ProcessExecution(command(), words, { cwd: folder });
  const task = new vscode.Task(
    { type: "larspark" }, vscode.TaskScope.Workspace, title, "larspark", process);
  return vscode.tasks.executeTask(task);
}

async function streamFor(program) {
  const chosen = await vscode.window.showOpenDialog({
    title: "The stream of events",
    defaultUri: vscode.Uri.file(path.dirname(program)),
  });
  return chosen && chosen[0].fsPath;
}

async function run(uri) {
  const program = vscode.Uri.parse(uri).fsPath;
  const stream = await streamFor(program);
  if (stream) {
    await execute("run", path.dirname(program), ["run", program, "--stream", stream]);
  }
}

async function explain(uri, signature) {
  const program = vscode.Uri.parse(uri).fsPath;
  const atom = await vscode.window.showInputBox({
    prompt: `An atom of ${signature}`, value: signature.replace(/\/.*/, "(…)"),
  });
  const time = atom && (await vscode.window.showInputBox({ prompt: "At which time point?" }));
  const stream = time && (await streamFor(program));
  if (stream) {
    const words = ["explain", program, atom, "--at", time, "--stream", stream, "--text"];
    await execute("explain", path.dirname(program), words);
  }
}

function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("larspark.run", run),
    vscode.commands.registerCommand("larspark.explain", explain));
  client = new LanguageClient(
    "larspark", "larspark",
    { command: command(), args: ["lsp"] },
    {
      documentSelector: [{ language: "lars" }],
      initializationOptions: { commands: ["larspark.run", "larspark.explain"] },
    });
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
