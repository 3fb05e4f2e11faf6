// The page of the studio. All texts of programs and streams are set as text, never as markup.
"use strict";

const $ = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

class Failure extends Error {}

async function request(name, body) {
  const options =
    body === undefined
      ? {}
      : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(`api/${name}`, options);
  if (answer.ok) return answer.json();
  if (answer.status !== 422) throw new Failure(await answer.text());
  const { problems } = await answer.json();
  const texts = problems.map(({ message, hint }) => (hint ? `${message}; ${hint}` : message));
  throw new Failure(texts.join("\n"));
}

// Only the last of several calls within a moment is made.
function soon(act, milliseconds) {
  let timer = null;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), milliseconds);
  };
  later.never = () => clearTimeout(timer);
  return later;
}

// What changes the program or its data is sent one after the other, in the order it was asked for.
let turn = Promise.resolve();
function inTurn(act) {
  page.sending++;
  const done = turn.then(act).finally(() => page.sending--);
  turn = done.catch(() => {});
  return done;
}

// Only the answer to the last of several questions is shown: gives a test of being the last.
function last() {
  let asked = 0;
  return () => {
    const number = ++asked;
    return () => number === asked;
  };
}

const query = (fields) => new URLSearchParams(fields).toString();

// What the page knows.
// `wanted` is the version of the program and its data that is to run, `checked` the text whose
// problems are shown.
const page = {
  summary: null, following: true, model: null, explained: null, saved: "", errors: 0, sending: 0, wanted: 0,
  checked: null, data: null,
};

// ---- The editor

ace.config.set("useStrictCSP", true);
const editor = ace.edit("editor", {
  useWorker: false,
  showPrintMargin: false,
  fontSize: 14,
  fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
  enableBasicAutocompletion: true,
  enableLiveAutocompletion: true,
  enableSnippets: false,
  enableKeyboardAccessibility: true,
  textInputAriaLabel: "Program",
  tabSize: 4,
  wrap: true,
});
editor.session.setMode(new (ace.require("larspark/mode").Mode)());
editor.setTheme("larspark/theme");

const kinds = { predicate: "predicate", variable: "variable", word: "word", directive: "directive", window: "window" };
editor.completers = [
  {
    identifierRegexps: [/[a-zA-Z_0-9#\u00A2-\uFFFF]/],
    triggerCharacters: ["#", "["],
    async getCompletions(_editor, session, position, prefix, callback) {
      if (/^[0-9]/.test(prefix)) return callback(null, []);
      const found = await request("complete", {
        text: session.getValue(),
        line: position.row + 1,
        column: position.column + 1,
      }).catch(() => []);
      // Somebody may have written on: what was found does not fit behind a dot or a comma.
      const { row, column } = editor.getCursorPosition();
      const moved = row !== position.row || column !== position.column;
      const ends = !/[\w#\[]$/.test(session.getLine(row).slice(0, column));
      callback(
        null,
        moved && ends ? [] : found.map(({ label, kind, detail, snippet }) => ({
          caption: label,
          ...(snippet ? { snippet } : { value: label }),
          meta: kinds[kind] ?? kind,
          docText: detail.replaceAll("`", ""),
        })),
      );
    },
  },
];

let marks = [];
let proofMark = null;

function show(problems) {
  const Range = ace.require("ace/range").Range;
  page.errors = problems.filter(({ severity }) => severity === "error").length;
  marks.forEach((mark) => editor.session.removeMarker(mark));
  marks = problems.map(({ line, column, end_line, end_column, severity }) => {
    const empty = line === end_line && column === end_column;
    const range = new Range(line - 1, column - 1, end_line - 1, end_column - 1 + (empty ? 1 : 0));
    return editor.session.addMarker(range, `${severity}-line`, "text", true);
  });
  editor.session.setAnnotations(
    problems.map(({ line, column, severity, message, hint }) => ({
      row: line - 1,
      column: column - 1,
      type: severity,
      text: hint ? `${message}\nhint: ${hint}` : message,
    })),
  );
  $("problems").replaceChildren(
    ...problems.map((problem) => {
      const { line, column, severity, code, message, hint, fix } = problem;
      const go = element("button", { type: "button" }, `${line}:${column} ${severity} ${code}: ${message}`);
      go.addEventListener("click", () => goTo(line, column));
      const item = element("p", { className: severity }, go);
      const below = element("span", { className: "hint" }, hint);
      if (hint || fix) item.append(below);
      if (fix) {
        const mend = element("button", { type: "button", className: "fix" }, fix.title);
        mend.addEventListener("click", () => {
          const range = new Range(fix.line - 1, fix.column - 1, fix.line - 1, fix.end_column - 1);
          editor.session.replace(range, fix.text);
          editor.focus();
        });
        below.append(" ", mend);
      }
      return item;
    }),
  );
}

function goTo(line, column = 1) {
  editor.gotoLine(line, column - 1, true);
  editor.focus();
}

function markRule(line) {
  if (proofMark !== null) editor.session.removeMarker(proofMark);
  const Range = ace.require("ace/range").Range;
  proofMark = editor.session.addMarker(new Range(line - 1, 0, line - 1, 1), "proof-line", "fullLine");
}

function check() {
  const text = editor.getValue();
  return inTurn(async () => {
    const { problems, wanted } = await request("program", { text });
    page.wanted = wanted;
    if (text !== editor.getValue()) return;
    page.checked = text;
    show(problems);
    if (page.summary) report(page.summary);
  });
}
const send = soon(() => guarded(check)(), 250);

editor.session.on("change", () => {
  if (proofMark !== null) editor.session.removeMarker(proofMark);
  proofMark = null;
  hoverSoon.never();
  tip.hidden = true;
  title();
  send();
});

function title() {
  const changed = editor.getValue() !== page.saved;
  $("path").textContent = `${page.path ?? "a new program"}${changed ? ", not saved" : ""}`;
  document.title = `${changed ? "• " : ""}${page.path?.split(/[\\/]/).at(-1) ?? "larspark studio"}`;
}

// What was offered for a word ends with the word: Enter then begins a line.
editor.commands.on("afterExec", ({ command, args }) => {
  if (command.name === "insertstring" && !/[\w#\[]$/.test(args) && editor.completer?.activated) editor.completer.detach();
});

// What is known of the word under the pointer, or at the cursor with Ctrl+K.
const tip = element("div", { className: "hover", hidden: true });
tip.setAttribute("role", "tooltip");
document.body.append(tip);

async function hover(row, column, x, y) {
  const { text } = await request("hover", { text: editor.getValue(), line: row + 1, column: column + 1 });
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text.replaceAll(/```(?:lars)?\n?/g, "").replaceAll("`", "");
  tip.style.left = `${Math.min(x, innerWidth - 330)}px`;
  tip.style.top = `${Math.min(y + 18, innerHeight - 130)}px`;
}

const hoverSoon = soon((row, column, x, y) => hover(row, column, x, y).catch(() => {}), 350);
editor.on("mousemove", (event) => {
  tip.hidden = true;
  const { row, column } = event.getDocumentPosition();
  const { pageY } = editor.renderer.textToScreenCoordinates(row, column);
  const below = event.clientY - pageY;
  const onText = column < editor.session.getLine(row).length && below < editor.renderer.lineHeight * 3;
  if (onText) hoverSoon(row, column, event.clientX, event.clientY);
  else hoverSoon.never();
});
editor.container.addEventListener("mouseleave", () => {
  hoverSoon.never();
  tip.hidden = true;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") tip.hidden = true;
});

const commands = {
  save: ["Ctrl-S", "Command-S", () => save()],
  layOut: ["Ctrl-Shift-F", "Command-Shift-F", () => layOut()],
  tell: ["Ctrl-K", "Command-K", () => {
    const { row, column } = editor.getCursorPosition();
    const { pageX, pageY } = editor.renderer.textToScreenCoordinates(row, column);
    hover(row, column, pageX, pageY);
  }],
};
for (const [name, [win, mac, exec]] of Object.entries(commands)) {
  editor.commands.addCommand({ name, bindKey: { win, mac }, exec });
}

async function layOut() {
  const { text } = await request("format", { text: editor.getValue() });
  if (text === editor.getValue()) return;
  const position = editor.getCursorPosition();
  editor.session.doc.setValue(text);
  editor.moveCursorToPosition(position);
}

async function save() {
  let name = null;
  if (page.path === null) {
    const dialog = $("naming");
    dialog.returnValue = "";
    dialog.showModal();
    await new Promise((done) => dialog.addEventListener("close", done, { once: true }));
    if (dialog.returnValue !== "save") return;
    name = $("name").value;
  }
  const text = editor.getValue();
  page.path = (await inTurn(() => request("save", { text, name }))).path;
  page.saved = text;
  title();
  status(`saved as ${page.path}`);
}

const guarded = (act) => (...given) => Promise.resolve(act(...given)).catch((error) => status(error.message, true));
const RULES = [...$("reasons").childNodes];
$("rules").addEventListener("click", () => {
  lastReason();
  $("reasons").replaceChildren(...RULES);
  $("reasons").scrollTop = 0;
});
$("format").addEventListener("click", guarded(layOut));
$("save").addEventListener("click", guarded(save));

// ---- The timeline

const timeline = new LarsTimeline(
  $("timeline"),
  {
    async drawn(from, to, pixels) {
      const fields = { from, to, pixels: Math.round(pixels), only: $("only").value, ...shownModel() };
      return request(`timeline?${query(fields)}`).catch((error) => status(error.message, true));
    },
  },
  { onPick: guarded(pick), onPoint: (row, t) => pointed(row, t), onMove: () => follow(false) },
);
globalThis.timeline = timeline;

const shownModel = () => (page.model ? { at_model: page.model.at, model: page.model.number } : {});

function status(text, failed = false) {
  $("status").textContent = text;
  $("status").className = failed ? "failure" : "";
}

// Timestamps were read by a program that does not say how long a time point lasts.
const NEEDS_TICK = "L311";

function addTick(tick) {
  editor.session.insert({ row: 0, column: 0 }, `#tick ${tick}.\n`);
}

// A program that is still empty gets a length that fits the times of the file.
function needTick() {
  const times = page.file?.text.slice(0, 20_000).match(/\d\d:\d\d:\d\d[.\d]*/g) ?? [];
  const minutes = times.length && times.every((time) => time.slice(6).match(/^[0.]*$/));
  if (page.file && !editor.getValue()) return addTick(minutes ? "1 min" : "1 s");
  status("The times of the stream are timestamps. How long is a time point?", true);
  for (const tick of ["1 s", "1 min", "1 h"]) {
    const button = element("button", { type: "button" }, `#tick ${tick}.`);
    button.addEventListener("click", () => addTick(tick));
    $("status").append(" ", button);
  }
}

// Is this what became of the program and the data that the page has sent last?
const isCurrent = ({ version, wanted }) => version === wanted && version >= page.wanted;

// What the last line says of a run.
function report(summary) {
  if (!isCurrent(summary)) return status("running");
  if (summary.failures.some(({ code }) => code === NEEDS_TICK)) {
    needTick();
  } else if (summary.failures.length) {
    status(summary.failures.map(({ message, hint }) => (hint ? `${message}; ${hint}` : message)).join(" "), true);
  } else {
    const count = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
    const parts = summary.version && summary.extent ? [count(summary.facts, "fact"), count(summary.intervals, "interval")] : [];
    if (summary.done && parts.length) parts.push(`${summary.seconds.toFixed(2)} s by ${summary.engine}`);
    if (!summary.done && !summary.live) parts.push("running");
    if (summary.live) parts.push("live");
    const stale = summary.intervals ? "these are the answers of its last version without" : "it runs when they are mended";
    if (page.errors) parts.unshift(`the program has errors; ${stale}`);
    status([...parts, ...summary.notes].join(" · "));
  }
}

function told(summary) {
  const before = page.summary;
  page.summary = summary;
  document.body.dataset.version = summary.version;
  document.body.dataset.done = summary.done;
  if (before && !isCurrent(summary)) return report(summary);
  timeline.setFormat(summary.format);
  $("follow").hidden = !summary.live;
  $("models").hidden = !summary.several;
  if (!summary.several) several(null);
  const changed = !before || before.version !== summary.version;
  if (changed && page.model) several(null);
  const follows = summary.live && page.following;
  if (summary.data !== page.data && !summary.failures.length) {
    // Other data is shown from its beginning to its end.
    page.data = summary.data;
    timeline.extent = null;
  }
  if (!summary.live || page.following || changed) {
    const { extent, view } = timeline;
    // Who sees everything goes on to see everything.
    const all = !summary.live && extent && view && view.from <= extent[0] && view.to > extent[1];
    timeline.refresh(summary.extent, !all || String(extent) === String(summary.extent));
    if (follows && summary.extent && view && extent && !changed) {
      const shift = summary.extent[1] - extent[1];
      const wide = view.to - view.from;
      const seesAll = view.from <= extent[0] + 1;
      if (seesAll && wide < 120) timeline.fit();
      else timeline.show(view.from + shift, view.to + shift);
    }
  }
  if (changed && page.explained) guarded(explain)(page.explained.atom, page.explained.at);
  report(summary);
  $("nothing").hidden = Boolean(summary.extent);
  $("timeline").classList.toggle("empty", !summary.extent);
  ahead();
}

const events = new EventSource("events");
events.onmessage = (event) => told(JSON.parse(event.data));
events.onerror = () => status("the studio has ended; start it again", true);

function follow(on) {
  if (page.summary?.live) {
    page.following = on;
    $("follow").textContent = on ? "Pause" : "Follow";
    $("follow").setAttribute("aria-pressed", String(on));
    if (on) told(page.summary);
  }
}
$("follow").addEventListener("click", () => follow(!page.following));
$("fit").addEventListener("click", () => timeline.fit());
$("in").addEventListener("click", () => timeline.view && timeline.zoom(0.5, timeline.cursor));
$("out").addEventListener("click", () => timeline.view && timeline.zoom(2, timeline.cursor));
$("only").addEventListener("input", soon(() => timeline.refresh(timeline.extent), 200));

const lastWindows = last();
const pointed = soon(async (row, t) => {
  const isLast = lastWindows();
  const field = $("at");
  if (document.activeElement !== field) field.placeholder = timeline.text(t);
  if (!$("windows").checked || !row?.predicate || !page.summary?.extent) return timeline.setWindows([]);
  const found = await request(`windows?${query({ predicate: row.predicate, at: t })}`).catch(() => []);
  if (isLast() && $("windows").checked) timeline.setWindows(found);
}, 60);
$("windows").addEventListener("change", () => timeline.setWindows([]));

const lastAhead = last();
const ahead = soon(async () => {
  const isLast = lastAhead();
  const extent = page.summary?.extent;
  if (!$("ahead").checked || !extent) return timeline.setGhosts([]);
  const at = page.summary.live || timeline.cursor === null ? extent[1] : timeline.cursor;
  try {
    const found = await request(`hypotheses?${query({ at: Math.min(at, extent[1]) })}`);
    if (!isLast()) return;
    const rows = new Map();
    for (const bar of found) {
      const label = `${bar.label} ?`;
      if (!rows.has(label)) rows.set(label, { label, bars: [] });
      rows.get(label).bars.push(bar);
    }
    timeline.setGhosts([...rows.values()]);
  } catch (error) {
    if (!isLast()) return;
    timeline.setGhosts([]);
    status(error.message, true);
  }
}, 250);
$("ahead").addEventListener("change", () => ahead());

const lastReason = last();
async function pick(row, t) {
  const isLast = lastReason();
  if (row.kind === "ghost") return missing(row, t);
  const found = await request(`atoms?${query({ row: row.id, at: t, only: $("only").value, ...shownModel() })}`);
  if (!isLast()) return;
  $("atoms").replaceChildren(...found.others.concat(found.holding).map((value) => element("option", { value })));
  const choices = found.holding.length ? found.holding : found.others;
  if (choices.length === 1) return explain(choices[0], t);
  const list = element("ul", { className: "facts" });
  for (const text of choices) {
    const button = element("button", { type: "button" }, text);
    button.addEventListener("click", guarded(() => explain(text, t)));
    list.append(element("li", {}, button));
  }
  const what = found.holding.length ? "holds" : "does not hold, but at other times";
  $("reasons").replaceChildren(element("p", {}, `At ${timeline.text(t)} ${what}:`), list);
}

function missing({ label, bars }, t) {
  const here = bars.filter(({ from, to }) => from <= t && t <= to);
  const parts = (here.length ? here : bars).flatMap(({ from, to, missing: items }) => {
    const time = from === to ? `at ${timeline.text(from)}` : `between ${timeline.text(from)} and ${timeline.text(to)}`;
    const rest = items.map((text) => element("li", { className: "missing" }, text));
    const what = rest.length ? "if this comes too" : "for certain";
    return [
      element("p", {}, `${label.replace(/ \?$/, "")} may come to hold ${time}, ${what}:`),
      element("ul", { className: "tree" }, ...rest),
    ];
  });
  $("reasons").replaceChildren(...parts);
}

async function explain(atom, at) {
  const isLast = lastReason();
  page.explained = { atom, at };
  $("atom").value = atom;
  $("at").value = timeline.text(at);
  const model = page.model && page.model.at === at ? page.model.number : null;
  let found;
  try {
    found = await request("explain", { atom, at, model });
    if (!isLast()) return;
  } catch (error) {
    if (!isLast()) return;
    $("reasons").replaceChildren(element("p", { className: "failure" }, error.message));
    return;
  }
  const tree = element("ul", { className: "tree" });
  for (const { depth, kind, text, aside, line } of found.rows) {
    const item = element("li", { className: kind });
    item.style.paddingLeft = `${depth * 1.4}em`;
    item.append({ holding: "✓ ", missing: "✗ " }[kind] ?? "", text);
    if (line !== null) {
      const link = element("button", { type: "button", className: "link" }, `line ${line}`);
      link.addEventListener("click", () => {
        markRule(line);
        goTo(line);
      });
      item.append("   ", link);
    }
    if (aside) item.append(element("span", { className: "aside" }, `   ${aside}`));
    tree.append(item);
  }
  const parts = [tree];
  if (found.evidence.length) {
    const facts = element("ul", { className: "facts" });
    for (const { t, atom: text } of found.evidence) {
      const button = element("button", { type: "button", title: "Show it" }, `${timeline.text(t)} ${text}`);
      button.addEventListener("click", () => timeline.moveTo(t));
      facts.append(element("li", {}, button));
    }
    parts.push(element("p", {}, "The facts it rests on:"), facts);
  }
  const { before, after } = found.nearby;
  if (!found.holds) {
    const times = element("p", {});
    const link = (label, t) => {
      const button = element("button", { type: "button", className: "link" }, `${label} ${timeline.text(t)}`);
      button.addEventListener("click", () => timeline.moveTo(t));
      times.append(button, " ");
    };
    if (before !== undefined) link("it held last at", before);
    if (after !== undefined) link("it does not hold until", after);
    if (times.childNodes.length) parts.push(times);
  }
  $("reasons").replaceChildren(...parts);
  $("reasons").scrollTop = 0;
  const rule = found.rows.find(({ line }) => line !== null);
  if (rule) markRule(rule.line);
}

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const atom = $("atom").value.trim();
  if (!atom) return;
  const at = moment($("at").value.trim());
  if (at === null) status("that is no time point", true);
  else guarded(explain)(atom, at);
});

// The time point that is written in a field: as a number, or as the page writes times.
function moment(text) {
  if (!text) return timeline.cursor ?? page.summary?.extent?.[1] ?? null;
  if (/^-?\d+$/.test(text)) return Number(text);
  const { tick, stamps } = timeline.format;
  if (!stamps || !tick) return null;
  // Only a time of day: on the day of the cursor.
  if (/^\d\d:\d\d/.test(text)) {
    const day = timeline.text(timeline.cursor ?? page.summary.extent[1]).split(" ")[0];
    text = `${day} ${text}`;
  }
  // The clock of the page may be one of another zone: the written time is searched for.
  const start = Date.parse(`${text.replace(" ", "T")}Z`);
  if (Number.isNaN(start)) return null;
  const guess = Math.floor((start * 1000) / tick);
  const shown = Date.parse(`${timeline.text(guess).replace(" ", "T")}Z`);
  return Math.floor(guess - ((shown - start) * 1000) / tick);
}

// ---- Several models

const lastModels = last();
$("models").addEventListener("click", guarded(async () => {
  const isLast = lastModels();
  const at = timeline.cursor ?? page.summary.extent[1];
  const found = await request(`models?${query({ at })}`);
  if (isLast()) several(found);
}));

function several(found) {
  page.model = null;
  $("several").hidden = !found;
  if (!found) return;
  const boxes = found.models.map((atoms, number) => {
    const list = element("ul");
    for (const { t, atom, all } of atoms) {
      const time = t === found.at ? "" : `${timeline.text(t)} `;
      list.append(element("li", { className: all ? "" : "differs" }, `${time}${atom}`));
    }
    const box = element("div", {});
    const button = element("button", { type: "button" }, `Show model ${number + 1}`);
    button.addEventListener("click", () => {
      const shown = page.model?.number === number;
      page.model = shown ? null : { at: found.at, number };
      boxes.forEach((other, place) => other.classList.toggle("shown", !shown && place === number));
      timeline.refresh(timeline.extent);
    });
    box.append(button, list);
    return box;
  });
  const count = boxes.length + (found.more ? " and more" : "");
  const what = boxes.length === 1 && !found.more ? "answer stream" : "answer streams";
  const close = element("button", { type: "button" }, "Close");
  close.addEventListener("click", () => {
    const shown = page.model;
    several(null);
    if (shown) timeline.refresh(timeline.extent);
  });
  const text = `${count} ${what} at ${timeline.text(found.at)}; what only some of them hold stands out. `;
  $("several").replaceChildren(element("p", {}, text, close), element("div", { className: "models" }, ...boxes));
}

// ---- Data

$("file").addEventListener("change", guarded(async () => {
  const file = $("file").files[0];
  const text = await file.text();
  page.file = { name: file.name, text };
  const [head = "", first = ""] = text.split("\n");
  $("columns").textContent = `${head}\n${first}`.trim();
  $("columns").hidden = false;
  if (/\.[ct]sv$/.test(file.name) && !$("map").value) {
    const names = head.trim().split(file.name.endsWith(".tsv") ? "\t" : /[,;]/);
    const time = names.find((name) => /^(t|time|timestamp|date|ts)$/i.test(name)) ?? names[0];
    $("map").value = `${time} -> event(${names.filter((name) => name !== time).join(", ")})`;
  }
  await read();
}));
$("read").addEventListener("click", guarded(read));

const EXAMPLE = {
  map: "time -> temp(machine, value)",
  name: "readings.csv",
  text: `time,machine,value
2026-03-01T10:00:20Z,m1,80
2026-03-01T10:01:10Z,m1,95
2026-03-01T10:02:00Z,m2,88.5
2026-03-01T10:03:40Z,m2,99.5
2026-03-01T10:09:00Z,m1,71
`,
  program: `% One time point is a minute.
#tick 1 min.

% A machine is hot when a reading of the last three minutes was above 90,
hot(M) :- [3 min] some temp(M, V), V > 90.

% and calm when it was not hot, and there was a reading in the last five.
calm(M) :- [5 min] some temp(M, _), not hot(M).

% How many readings there were in the last five minutes.
readings(M, N) :- N = count of [5 min] temp(M, _) by M.
`,
};
$("example").addEventListener("click", guarded(async () => {
  if (!editor.getValue().trim()) {
    editor.setValue(EXAMPLE.program, -1);
    send.never();
    // The data is read as the program says.
    check();
  }
  page.file = { name: EXAMPLE.name, text: EXAMPLE.text };
  $("map").value = EXAMPLE.map;
  await read();
  $("data").open = false;
}));

function read() {
  const data = { map: $("map").value, ...page.file };
  return inTurn(async () => {
    const found = await request("data", data);
    page.wanted = found.wanted;
    places(found.streams);
  });
}

function places(streams) {
  $("places").textContent = page.file?.name ?? (streams.join(", ") || "no stream yet");
  if (!streams.length) $("data").open = true;
}

$("begin").addEventListener("click", () => $("file").click());

// ---- The two sides

function widen(share) {
  const width = Math.max(15, Math.min(80, share));
  $("left").style.width = `${width}%`;
  $("divider").setAttribute("aria-valuenow", String(Math.round(width)));
  editor.resize();
}
$("divider").addEventListener("pointerdown", (event) => $("divider").setPointerCapture(event.pointerId));
$("divider").addEventListener("pointermove", (event) => {
  if (event.buttons) widen((event.clientX / innerWidth) * 100);
});
$("divider").addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -2, ArrowRight: 2 }[event.key];
  if (step) widen(Number($("divider").getAttribute("aria-valuenow")) + step);
});

guarded(async () => {
  const state = await request("state");
  page.path = state.path;
  page.saved = state.saved;
  page.wanted = state.wanted;
  page.checked = state.text;
  editor.session.setValue(state.text);
  $("map").value = state.map ?? "";
  places(state.streams);
  show(state.program.problems);
  title();
  editor.focus();
  document.body.dataset.ready = "true";
})();
