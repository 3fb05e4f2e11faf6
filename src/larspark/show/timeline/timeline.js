// An interactive timeline: facts as dots, derived atoms as bars, numbers as curves.
// `source.drawn(from, to, pixels)` gives what is drawn of a stretch of time, as JSON values; see
// `levels.py`. Everything that comes from programs and streams is set as text, never as markup.
"use strict";

{
const SMALL = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";

// A number in few characters.
const short = (number) => (Number.isInteger(number) ? `${number}` : `${Number(number.toPrecision(4))}`);

// The largest and the smallest number of a curve.
function scale({ low, high }) {
  const made = document.createElement("small");
  for (const number of [high, low]) {
    const line = document.createElement("span");
    line.textContent = short(number);
    made.append(line);
  }
  return made;
}

// Stretches that overlap or follow one another, as one.
function joined(bars) {
  const found = [];
  for (const { from, to } of [...bars].sort((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

globalThis.LarsTimeline = class LarsTimeline {
  static ROW = 24;
  static CURVE = 44;
  static AXIS = 30;

  constructor(place, source, options = {}) {
    this.source = source;
    this.options = options;
    this.format = options.format ?? { tick: null, stamps: false, zone: "UTC" };
    this.rows = [];
    this.ghosts = [];
    this.windows = [];
    this.cursor = null;
    this.chosen = 0;
    this.extent = null;
    this.view = null;
    // What the server has drawn: as it is needed, and as it was painted last.
    this.tile = null;
    this.painted = null;
    this.asked = 0;
    this.pending = null;
    this.frames = 0;
    this._build(place);
    this._listen();
  }

  _build(place) {
    const make = (tag, name, parent) => {
      const made = document.createElement(tag);
      made.className = name;
      parent.append(made);
      return made;
    };
    this.root = make("div", "lars-timeline", place);
    this.body = make("div", "lars-body", this.root);
    // A region that scrolls has to be within reach of the keyboard: the picture in it is.
    this.labels = make("ul", "lars-labels", this.body);
    this.labels.setAttribute("aria-label", "Rows of the timeline");
    this.plot = make("div", "lars-plot", this.body);
    this.canvas = make("canvas", "", this.plot);
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "timeline");
    this.canvas.setAttribute(
      "aria-label",
      "Timeline. Left and right move in time, up and down choose a row, plus and minus zoom, " +
        "page up and page down move far, 0 shows everything, Enter explains.",
    );
    const axis = make("div", "lars-axis", this.root);
    this.date = make("div", "", axis);
    this.axis = make("canvas", "", axis);
    this.axis.setAttribute("aria-hidden", "true");
    this.said = make("div", "lars-said", this.root);
    this.said.setAttribute("role", "status");
    this.observer = new ResizeObserver(() => this.redraw());
    this.observer.observe(this.body);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  _listen() {
    const canvas = this.canvas;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, from: this.view?.from, moved: false };
      canvas.setPointerCapture(event.pointerId);
      canvas.focus({ preventScroll: true });
      canvas.classList.add("by-pointer");
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.view) return;
      if (drag && (drag.moved || Math.abs(event.offsetX - drag.x) > 3)) {
        drag.moved = true;
        const length = this.view.to - this.view.from;
        const from = drag.from - ((event.offsetX - drag.x) / this.width) * length;
        this.show(from, from + length, true);
        return;
      }
      this._point(event);
    });
    canvas.addEventListener("pointerup", (event) => {
      const clicked = drag && !drag.moved;
      drag = null;
      if (!clicked || !this.view) return;
      this._point(event);
      this._pick();
    });
    canvas.addEventListener("pointercancel", () => (drag = null));
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!this.view) return;
        const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
        if (!sideways && !event.ctrlKey && this.body.scrollHeight > this.body.clientHeight + 1) {
          return;
        }
        event.preventDefault();
        if (sideways) this.pan(((event.deltaX || event.deltaY) / this.width) * 1);
        else this.zoom(Math.exp(event.deltaY / 300), this.time(event.offsetX));
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => {
      canvas.classList.remove("by-pointer");
      this._key(event);
    });
    canvas.addEventListener("blur", () => canvas.classList.remove("by-pointer"));
  }

  _key(event) {
    if (!this.view || event.ctrlKey || event.metaKey || event.altKey) return;
    const length = this.view.to - this.view.from;
    const step = Math.max(1, Math.round(length / 100)) * (event.shiftKey ? 10 : 1);
    const keys = {
      ArrowLeft: () => this.moveTo((this.cursor ?? Math.round(this.view.to)) - step),
      ArrowRight: () => this.moveTo((this.cursor ?? Math.round(this.view.from)) + step),
      ArrowUp: () => this.choose(this.chosen - 1),
      ArrowDown: () => this.choose(this.chosen + 1),
      Home: () => this.extent && this.moveTo(this.extent[0]),
      End: () => this.extent && this.moveTo(this.extent[1]),
      PageUp: () => this.pan(-0.8),
      PageDown: () => this.pan(0.8),
      "+": () => this.zoom(0.5, this.cursor),
      "=": () => this.zoom(0.5, this.cursor),
      "-": () => this.zoom(2, this.cursor),
      0: () => this.fit(),
      Enter: () => this._pick(),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  _point(event) {
    this.cursor = Math.floor(this.time(event.offsetX));
    const row = this.rowAt(event.offsetY);
    if (row >= 0) this.chosen = row;
    this._pointed();
  }

  _pointed() {
    this._mark();
    this.redraw();
    this._say();
    this.options.onPoint?.(this.rows[this.chosen], this.cursor);
  }

  _pick() {
    const row = this.all[this.chosen];
    if (row && this.cursor !== null) this.options.onPick?.(row, this.cursor);
  }

  moveTo(t) {
    this.cursor = Math.round(t);
    const { from, to } = this.view;
    if (this.cursor < from || this.cursor > to) {
      const half = (to - from) / 2;
      this.show(this.cursor - half, this.cursor + half, true);
    }
    this._pointed();
  }

  choose(row) {
    this.chosen = Math.max(0, Math.min(this.all.length - 1, row));
    const label = this.labels.children[this.chosen];
    label?.scrollIntoView({ block: "nearest" });
    this._pointed();
  }

  pan(share) {
    const length = this.view.to - this.view.from;
    this.show(this.view.from + share * length, this.view.to + share * length, true);
  }

  zoom(factor, around) {
    const { from, to } = this.view;
    const middle = around === null || around < from || around > to ? (from + to) / 2 : around + 0.5;
    this.show(middle - (middle - from) * factor, middle + (to - middle) * factor, true);
  }

  fit() {
    if (!this.extent) return;
    // With a margin, so that the first and the last dot are whole.
    const [first, last] = [this.extent[0], this.extent[1] + 1];
    const margin = (last - first) / 60;
    this.show(first - margin, last + margin);
  }

  // The stretch of time that is shown; `to` is where its last time point ends.
  show(from, to, byHand = false) {
    if (this.extent) {
      const [first, last] = [this.extent[0], this.extent[1] + 1];
      const most = (last - first) * 1.5 + 10;
      const length = Math.max(4, Math.min(most, to - from));
      const middle = Math.max(first, Math.min(last, (from + to) / 2));
      from = middle - length / 2;
      to = middle + length / 2;
    }
    this.view = { from, to };
    if (byHand) this.options.onMove?.();
    this.redraw();
    this._fetchSoon();
  }

  // New facts or answers have come, or others are asked for.
  refresh(extent, keep = true) {
    const first = this.extent === null;
    this.extent = extent;
    this.tile = null;
    // What is still on its way is no longer true.
    this.asked++;
    if (extent && (first || !keep || !this.view)) this.fit();
    else this._fetch();
  }

  get all() {
    return [...this.rows, ...this.ghosts];
  }

  // As it was drawn last: to ask the page each time makes it lay itself out anew.
  get width() {
    return this.drawnWidth ?? this._measured();
  }

  _measured() {
    return Math.max(1, this.plot.clientWidth);
  }

  x(t) {
    return ((t - this.view.from) / (this.view.to - this.view.from)) * this.width;
  }

  time(x) {
    return this.view.from + (x / this.width) * (this.view.to - this.view.from);
  }

  rowAt(y) {
    let top = 0;
    return this.all.findIndex((row) => (top += this._height(row)) > y);
  }

  _height(row) {
    return row.kind === "curve" ? LarsTimeline.CURVE : LarsTimeline.ROW;
  }

  _fetchSoon() {
    if (this.pending) return;
    this.pending = setTimeout(() => {
      this.pending = null;
      this._fetch();
    }, 60);
  }

  async _fetch() {
    if (!this.view || !this.extent) return this._shown({ rows: [], from: 0, to: 0, per: 1 });
    const { from, to } = this.view;
    const length = to - from;
    const tile = this.tile;
    const zoomed = tile && (tile.length / length > 1.01 || tile.length / length < 0.99);
    if (tile && !zoomed && tile.from <= from - length * 0.3 && tile.to >= to + length * 0.3) return;
    const number = ++this.asked;
    const start = Math.floor(from - length);
    const end = Math.ceil(to + length);
    const found = await this.source.drawn(start, end, this.width * 3);
    if (number !== this.asked || !found) return;
    this._shown({ ...found, length });
  }

  _shown(found) {
    this.tile = { from: found.from, to: found.to, per: found.per, length: found.length };
    this.painted = this.tile;
    this.rows = found.rows;
    this._relabel();
    this.redraw();
    this.options.onDrawn?.();
  }

  _relabel() {
    const rows = this.all;
    const key = rows.map((row) => [row.kind, row.origin, row.low, row.high, row.label].join(" ")).join("\n");
    if (key !== this.labelled) {
      this.labelled = key;
      this.labels.replaceChildren(
        ...rows.map((row) => {
          const item = document.createElement("li");
          const text = document.createElement("span");
          text.textContent = row.label;
          item.title = row.label;
          item.className = row.origin;
          item.style.height = `${this._height(row)}px`;
          item.append(text);
          if (row.kind === "curve" && row.high > row.low) item.append(scale(row));
          return item;
        }),
      );
    }
    this._mark();
  }

  _mark() {
    [...this.labels.children].forEach((item, number) =>
      item.classList.toggle("chosen", number === this.chosen),
    );
  }

  // Rows of what may come to hold: `{label, bars}`, each bar with `from`, `to` and `missing`.
  setGhosts(ghosts) {
    this.ghosts = ghosts.map((ghost) => ({ ...ghost, kind: "ghost", origin: "ghost" }));
    this._relabel();
    this.redraw();
  }

  // What windows cover: `{text, from, to}`; `to` is null where they are open.
  setWindows(windows) {
    this.windows = windows;
    this.redraw();
  }

  setFormat(format) {
    this.format = format;
    this.redraw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this._draw();
      this.frames++;
    });
  }

  _sized(canvas, width, height) {
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }

  _draw() {
    const rows = this.all;
    const height = Math.max(
      rows.reduce((sum, row) => sum + this._height(row), 0),
      this.body.clientHeight - 1,
      40,
    );
    this.plot.style.minHeight = `${rows.reduce((sum, row) => sum + this._height(row), 0)}px`;
    this.drawnWidth = this._measured();
    const pen = this._sized(this.canvas, this.width, height);
    const style = getComputedStyle(this.root);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    if (!this.view) return;
    let top = 0;
    rows.forEach((row, number) => {
      if (number % 2 === 0 || number === this.chosen) {
        pen.fillStyle = colour(number === this.chosen ? "chosen" : "stripe");
        pen.fillRect(0, top, this.width, this._height(row));
      }
      top += this._height(row);
    });
    this._drawWindows(pen, height, colour);
    this._drawAxis(pen, height, colour, style.font);
    top = 0;
    for (const row of rows) {
      const tall = this._height(row);
      if (top + tall >= this.body.scrollTop && top <= this.body.scrollTop + this.body.clientHeight) {
        this._drawRow(pen, row, top, tall, colour);
      }
      top += tall;
    }
    if (this.cursor !== null) {
      pen.fillStyle = colour("cursor");
      const x = this.x(this.cursor + 0.5);
      pen.fillRect(Math.round(x), 0, 1, height);
    }
  }

  _drawRow(pen, row, top, tall, colour) {
    const middle = top + tall / 2;
    const unit = this.width / (this.view.to - this.view.from);
    pen.fillStyle = colour(row.origin);
    pen.strokeStyle = colour(row.origin);
    if (row.kind === "ghost") {
      pen.setLineDash([5, 4]);
      pen.lineWidth = 1.5;
      for (const [begin, end] of joined(row.bars)) {
        const [from, to] = [Math.max(-5, this.x(begin)), this.x(end + 1)];
        pen.beginPath();
        pen.roundRect(from, middle - 6, Math.max(4, Math.min(to, this.width + 5) - from), 12, 3);
        pen.stroke();
      }
      pen.setLineDash([]);
      return;
    }
    const per = this.painted?.per ?? 1;
    if (row.spans) {
      for (const [begin, end] of row.spans) {
        const from = this.x(begin);
        const to = this.x(end + 1);
        if (to < 0 || from > this.width) continue;
        if (row.kind === "dots" && unit >= 3) {
          for (let t = begin; t <= end; t++) this._dot(pen, this.x(t + 0.5), middle, unit);
        } else {
          this._bar(pen, Math.max(-5, from), Math.min(to, this.width + 5), middle);
        }
      }
      return;
    }
    if (row.runs) {
      for (const [start, length, shade] of row.runs) {
        const from = this.x(this.painted.from + start * per);
        const to = this.x(this.painted.from + (start + length) * per);
        if (to < 0 || from > this.width) continue;
        pen.globalAlpha = 0.3 + (0.7 * shade) / 8;
        pen.fillRect(from, middle - 6, Math.max(1, to - from), 12);
      }
      pen.globalAlpha = 1;
      return;
    }
    const place = (share) => top + tall - 6 - share * (tall - 12);
    if (row.extremes) {
      // Whole pixels are painted many times faster than parts of them.
      const wide = Math.max(1, Math.ceil(unit * per));
      for (const [pixel, low, high] of row.extremes) {
        const from = Math.round(this.x(this.painted.from + pixel * per));
        if (from < -wide || from > this.width) continue;
        const upper = Math.round(place(high / 100)) - 1;
        pen.fillRect(from, upper, wide, Math.round(place(low / 100)) + 1 - upper);
      }
      return;
    }
    this._drawSteps(pen, row, place, unit);
  }

  _drawSteps(pen, row, place, unit) {
    const share = (value) =>
      row.high > row.low ? (value - row.low) / (row.high - row.low) : 0.5;
    if (row.origin === "fact") {
      for (const [begin, , value] of row.steps) {
        const x = this.x(begin + 0.5);
        if (x > -5 && x < this.width + 5) this._dot(pen, x, place(share(value)), unit);
      }
      return;
    }
    pen.lineWidth = 2;
    pen.beginPath();
    let before = null;
    for (const [begin, end, value] of row.steps) {
      const y = place(share(value));
      if (before === begin - 1) pen.lineTo(this.x(begin), y);
      else pen.moveTo(this.x(begin), y);
      pen.lineTo(this.x(end + 1), y);
      before = end;
    }
    pen.stroke();
  }

  // A gap of a pixel tells bars apart that touch each other.
  _bar(pen, from, to, middle) {
    const wide = Math.max(1.5, to - from - 1);
    if (wide < 6) return pen.fillRect(Math.round(from), middle - 6, Math.ceil(wide), 12);
    pen.beginPath();
    pen.roundRect(from, middle - 6, wide, 12, 3);
    pen.fill();
  }

  _dot(pen, x, y, unit) {
    pen.beginPath();
    pen.arc(x, y, Math.max(2, Math.min(4, unit / 2)), 0, 7);
    pen.fill();
  }

  _drawWindows(pen, height, colour) {
    pen.font = SMALL;
    this.windows.forEach((window, number) => {
      const from = Math.max(-5, this.x(window.from));
      const to = Math.min(this.width + 5, window.to === null ? this.width + 5 : this.x(window.to + 1));
      if (to <= from) return;
      pen.globalAlpha = 0.35;
      pen.fillStyle = colour("window");
      pen.fillRect(from, 0, to - from, height);
      pen.globalAlpha = 1;
      pen.fillStyle = colour("frame");
      pen.fillRect(from, height - 16 - 15 * number, to - from, 2);
      pen.fillText(window.text, Math.max(from, 0) + 3, height - 4 - 15 * number);
    });
  }

  _drawAxis(pen, height, colour) {
    const axis = this._sized(this.axis, this.width, LarsTimeline.AXIS);
    axis.font = SMALL;
    axis.fillStyle = colour("soft");
    pen.fillStyle = colour("line");
    const { step, name, title } = this._marks();
    this.date.textContent = title;
    const first = Math.ceil(this.view.from / step) * step;
    for (let t = first; t <= this.view.to; t += step) {
      const x = Math.round(this.x(t));
      pen.fillRect(x, 0, 1, height);
      axis.fillRect(x, 0, 1, 5);
      axis.fillText(name(t), x + 3, 17);
    }
  }

  // Round distances between marks, at least about 90 pixels apart, and how to name them.
  _marks() {
    const least = ((this.view.to - this.view.from) / this.width) * 90;
    const { tick, stamps, zone } = this.format;
    const micro = stamps && tick ? tick : 0;
    if (!micro) {
      let step = 1;
      for (const factor = [2, 2.5, 2]; step < least; factor.push(factor.shift())) step *= factor[0];
      return { step: Math.max(1, Math.round(step)), name: (t) => `${t}`, title: "" };
    }
    const second = 1e6 / micro;
    const rounds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
    rounds.push(...[2, 7, 28, 91, 364].map((days) => days * 86400));
    const fine = [1, 10, 100, 1000, 10000, 1e5].map((n) => n / micro).filter((n) => n >= 1);
    const steps = [...fine, ...rounds.map((n) => n * second)].filter((n) => n >= 1 && n % 1 === 0);
    const step = steps.find((n) => n >= least) ?? Math.ceil(least);
    const days = step * micro >= 86400e6;
    const texts = (t) => this.text(t).split(/[T ]/);
    const name = (t) => (days ? texts(t)[0] : texts(t)[1].slice(0, step * micro >= 60e6 ? 5 : undefined));
    return { step, name, title: days ? zone : texts(this.view.from)[0] };
  }

  // A time point as it is written.
  text(t) {
    t = Math.floor(t);
    const { tick, stamps, zone } = this.format;
    if (!stamps || !tick) return `${t}`;
    const date = new Date((t * tick) / 1000);
    if (Number.isNaN(date.getTime())) return `${t}`;
    const fields = { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
    this.clocks ??= new Map();
    if (!this.clocks.has(zone)) this.clocks.set(zone, new Intl.DateTimeFormat("sv-SE", fields));
    const text = this.clocks.get(zone).format(date);
    if (tick % 60e6 === 0) return text.slice(0, -3);
    return tick % 1e6 ? `${text}.${String((((t * tick) % 1e6) + 1e6) % 1e6).padStart(6, "0")}` : text;
  }

  // What is at the cursor, as far as the picture knows it.
  _say() {
    const row = this.all[this.chosen];
    if (!row || this.cursor === null) return;
    const at = `${row.label} at ${this.text(this.cursor)}`;
    this.said.textContent = `${at}${this._state(row)}`;
  }

  _state(row) {
    const t = this.cursor;
    if (row.kind === "ghost") {
      const bar = row.bars.find(({ from, to }) => from <= t && t <= to);
      if (!bar) return "";
      return bar.missing.length ? `: may hold, if ${bar.missing.join(", ")}` : ": will hold";
    }
    if (row.steps) {
      const step = row.steps.findLast(([begin, end]) => begin <= t && t <= end);
      return step ? `: ${step[2]}` : ": nothing";
    }
    if (!row.spans) return "";
    const held = row.spans.some(([begin, end]) => begin <= t && t <= end);
    if (row.origin === "fact") return held ? ": a fact" : ": nothing";
    return held ? ": holds" : ": does not hold";
  }
};

}

// A source of all spans at once, for pages without a server.
globalThis.LarsSpans = class LarsSpans {
  constructor(rows) {
    this.rows = rows;
  }

  async drawn(from, to, pixels) {
    const per = Math.max(1, Math.ceil((to - from + 1) / Math.max(1, pixels)));
    const begin = Math.floor(from / per) * per;
    return { from: begin, to, per, rows: this.rows.map((row) => this._part(row, from, to, per)) };
  }

  _part(row, from, to, per) {
    const name = row.steps ? "steps" : "spans";
    const listed = row[name];
    // Sorted by their beginnings and, but for facts at one time point, by their ends.
    const after = (t, place) => {
      let [low, high] = [0, listed.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (listed[middle][place] < t) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    const part = listed.slice(after(from, 1), after(to + 1, 0));
    if (row.steps || per === 1) return { ...row, [name]: part };
    const kept = [];
    for (const [begin, end] of part) {
      const last = kept.at(-1);
      if (last && begin - last[1] < per) last[1] = Math.max(last[1], end);
      else kept.push([begin, end]);
    }
    return { ...row, spans: kept };
  }
};
