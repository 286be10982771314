// Zoom and search. Everything else of a timeline works without.
"use strict";
(function () {
  const UNITS = 1000000;
  const root = document.documentElement;
  const number = (name) => Number(root.getAttribute("data-" + name));
  const [from, to, left, chart] = ["from", "to", "left", "chart"].map(number);
  const all = (selector) => Array.from(root.querySelectorAll(selector));
  const lanes = all(".lane").map((lane) => [lane, lane.getAttribute("height")]);
  const labels = all(".in");
  const rows = all(".row");
  const axes = all(".axis");
  const ticks = root.querySelector("#ticks");
  const model = root.querySelector(".tick");
  const search = root.querySelector("#search");
  let [a, b] = [0, UNITS];

  // The line of time.
  const at = (unit) => from + (to - from) * (unit / UNITS);
  const pixel = (unit) => left + ((unit - a) / (b - a)) * chart;
  const unit = (x) => a + ((x - left) / chart) * (b - a);

  function step(least) {
    const minutes = [1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1440].map((m) => m * 6e10);
    for (let power = 1; power < 1e11; power *= 10)
      for (const it of [power, 2 * power, 5 * power]) if (least < it && it < 6e10) return it;
    return minutes.find((it) => least < it) || Math.ceil(least / 8.64e13) * 8.64e13;
  }

  function moment(ns, step) {
    if (step >= 6e10) return Math.round(ns / 6e10) + " min";
    const [scale, name] = to < 1e3 ? [1, "ns"] : to < 1e6 ? [1e3, "us"] : to < 1e9 ? [1e6, "ms"] : [1e9, "s"];
    const decimals = Math.max(0, Math.ceil(Math.log10(scale / step) - 1e-9));
    return (ns / scale).toFixed(decimals) + " " + name;
  }

  function drawTicks() {
    if (!model) return;
    const [first, last] = [at(a), at(b)];
    const every = step((last - first) / 9);
    ticks.replaceChildren();
    for (let ns = Math.ceil(first / every) * every; ns <= last; ns += every) {
      const tick = model.cloneNode(true);
      const x = pixel(((ns - from) / (to - from)) * UNITS).toFixed(1);
      const path = tick.querySelector("path");
      path.setAttribute("d", path.getAttribute("d").replace(/^M[0-9.]+/, "M" + x));
      tick.querySelectorAll("text").forEach((text) => {
        text.setAttribute("x", x);
        text.textContent = moment(ns, every);
      });
      ticks.append(tick);
    }
  }

  function placeLabel(label) {
    const begin = Math.max(a, Number(label.getAttribute("data-a")));
    const end = Math.min(b, Number(label.getAttribute("data-b")));
    const room = pixel(end) - pixel(begin);
    label.setAttribute("x", pixel(begin) + 5);
    label.classList.toggle("unseen", room < 6.6 * label.textContent.length + 10);
  }

  function show(begin, end) {
    const width = Math.min(UNITS, Math.max(20, end - begin));
    a = Math.min(Math.max(0, begin), UNITS - width);
    b = a + width;
    lanes.forEach(([lane, height]) => lane.setAttribute("viewBox", `${a} 0 ${width} ${height}`));
    root.classList.toggle("zoomed", width < UNITS / 2);
    labels.forEach(placeLabel);
    drawTicks();
  }

  // The mouse: the wheel and a drag on the line of time zoom, a drag in the rows moves.
  const where = (event) => {
    const box = root.getBoundingClientRect();
    const scale = root.viewBox.baseVal.width / box.width;
    return Math.min(left + chart, Math.max(left, (event.clientX - box.left) * scale));
  };
  let drag = null;

  function zoom(event) {
    if (!event.ctrlKey && !axes.includes(event.target)) return;
    event.preventDefault();
    const here = unit(where(event));
    const factor = Math.exp(Math.sign(event.deltaY) * 0.25);
    show(here - (here - a) * factor, here + (b - here) * factor);
  }

  function press(event) {
    if (event.button !== 0 || event.target.closest("#tools")) return;
    const axis = axes.includes(event.target) ? event.target : null;
    if (event.target.tagName !== "text") event.preventDefault();
    drag = { x: where(event), a, b, mark: null };
    if (axis) {
      drag.mark = axis.cloneNode(false);
      drag.mark.setAttribute("class", "chosen");
      drag.mark.setAttribute("width", 0);
      axis.after(drag.mark);
    }
  }

  function move(event) {
    if (!drag) return;
    const x = where(event);
    if (drag.mark) {
      drag.mark.setAttribute("x", Math.min(x, drag.x));
      drag.mark.setAttribute("width", Math.abs(x - drag.x));
    } else if (drag.b - drag.a < UNITS) {
      const by = ((drag.x - x) / chart) * (drag.b - drag.a);
      show(drag.a + by, drag.b + by);
    }
  }

  function release(event) {
    if (drag && drag.mark) {
      drag.mark.remove();
      const ends = [drag.x, where(event)].sort((p, q) => p - q);
      if (ends[1] - ends[0] > 3) show(unit(ends[0]), unit(ends[1]));
    }
    drag = null;
  }

  // The mouse over a row: the wakes from and to it.
  const arrows = all(".arrows .call");
  rows.forEach((row, place) => {
    const is = (arrow, end) => Number(arrow.getAttribute(end)) === place;
    const its = arrows.filter((arrow) => is(arrow, "data-a") || is(arrow, "data-b"));
    const light = (on) => its.forEach((arrow) => arrow.classList.toggle("lit", on));
    row.addEventListener("mouseenter", () => light(true));
    row.addEventListener("mouseleave", () => light(false));
  });

  // The keyboard: / and words or a regular expression; arrows move and + and - zoom.
  let typing = false;
  let word = "";

  function matcher(words) {
    try {
      const expression = new RegExp(words, "i");
      return (text) => text.includes(words) || expression.test(text);
    } catch {
      return (text) => text.includes(words);
    }
  }

  // Coroutines without a row: those that match are drawn below the others.
  const data = root.querySelector("#hidden");
  const { texts, rows: hidden } = data ? JSON.parse(data.textContent) : { texts: [], rows: [] };
  const box = root.viewBox.baseVal;
  const [bottom, rowCount, laneCount] = [box.height, rows.length, lanes.length];
  const MOST = 200;
  const HEIGHT = 17;
  const drawn = make("g", {});
  root.append(drawn);

  function make(name, attributes, ...children) {
    const element = document.createElementNS(root.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  function hiddenRow([name, place, , end, state, id, born, since, until], y) {
    const kind = texts[state];
    const now = { bad: "stuck", likely: "stuck", warn: "busy" }[kind] || "untold";
    const bar = (style, x, to) =>
      make("rect", { class: style, x, y: 2, width: Math.max(1, to - x), height: HEIGHT - 6 });
    const view = `${a} 0 ${b - a} ${HEIGHT - 2}`;
    const size = { x: left, y: y + 1, width: chart, height: HEIGHT - 2 };
    const lane = make("svg", { class: "lane", ...size, viewBox: view, preserveAspectRatio: "none" });
    lane.append(bar("m1", born, since), bar(now, since, until));
    lanes.push([lane, HEIGHT - 2]);
    const text = (style, x, words) => make("text", { class: style, x, y: y + 12 }, words);
    const row = make("g", { class: `row found of-${kind}`, role: "graphics-object" });
    row.setAttribute("aria-label", `${texts[name]}, id ${id}, ${texts[end]}`);
    row.append(make("rect", { class: "hit", x: 5, y, width: left + chart + 125, height: HEIGHT }));
    const label = texts[name].length < 30 ? texts[name] : texts[name].slice(0, 28) + "..";
    row.append(text(`name ${kind}`, 10, `${label} #${id}`), text("place", left - 8, texts[place].slice(-20)));
    row.append(lane, text(`end ${kind}`, left + chart + 16, texts[end]));
    return row;
  }

  // Draws the matches. Returns how many there are.
  function findHidden(matches) {
    const textOf = ([name, , where, end, , id]) => `${texts[name]} #${id} ${texts[where]} ${texts[end]}`.toLowerCase();
    const hits = matches ? hidden.filter((row) => matches(textOf(row))) : [];
    lanes.length = laneCount;
    const shown = hits.slice(0, MOST).map((row, place) => hiddenRow(row, bottom + 20 + place * HEIGHT));
    if (hits.length) {
      const more = hits.length > MOST ? `, the first ${MOST} of ${hits.length}` : "";
      const words = `without a row above${more}: only birth, last change and end`;
      shown.unshift(make("text", { class: "facts", x: 10, y: bottom + 12 }, words));
    }
    drawn.replaceChildren(...shown);
    box.height = bottom + (shown.length ? 20 + shown.length * HEIGHT : 0);
    root.setAttribute("height", box.height);
    root.querySelector(".paper").setAttribute("height", box.height);
    return hits.length;
  }

  function find() {
    const wanted = word.trim().toLowerCase();
    const matches = matcher(wanted);
    let found = 0;
    rows.forEach((row) => {
      const hit = wanted !== "" && matches(row.getAttribute("data-find"));
      found += hit;
      row.classList.toggle("found", hit);
      row.classList.toggle("other", wanted !== "" && !hit);
    });
    const prompt = typing ? `search: ${word}_` : word ? `search: ${word}` : "search (/)";
    const more = findHidden(wanted ? matches : null);
    const others = hidden.length ? ` and ${more} of ${hidden.length} others` : "";
    search.textContent = wanted ? `${prompt}  (${found} of ${rowCount} rows${others})` : prompt;
  }

  // Moves or zooms by a key. Returns whether the key does that.
  function steer(key) {
    const [width, middle] = [b - a, (a + b) / 2];
    const moves = { ArrowLeft: -width / 10, ArrowRight: width / 10 };
    const factor = { "+": 0.8, "=": 0.8, "-": 1.25 }[key];
    if (key in moves) show(a + moves[key], b + moves[key]);
    else if (factor) show(middle - (width * factor) / 2, middle + (width * factor) / 2);
    return key in moves || factor !== undefined;
  }

  function key(event) {
    if (event.target.id === "reset" && event.key === "Enter") return show(0, UNITS);
    if (!typing && event.target === search && event.key === "Enter") return begin();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!typing && event.key === "0") return show(0, UNITS);
    if (!typing && steer(event.key)) return event.preventDefault();
    if (!typing && event.key !== "/" && event.key !== "Escape") return;
    event.preventDefault();
    if (event.key === "Escape") [typing, word] = [false, ""];
    else if (!typing) [typing, word] = [true, ""];
    else if (event.key === "Enter") typing = false;
    else if (event.key === "Backspace") word = word.slice(0, -1);
    else if (event.key.length === 1) word += event.key;
    find();
  }

  root.classList.add("live");
  axes.forEach((axis) => axis.classList.add("live"));
  function begin() {
    [typing, word] = [true, ""];
    find();
  }
  search.addEventListener("click", begin);
  root.querySelector("#reset").addEventListener("click", () => show(0, UNITS));
  root.addEventListener("wheel", zoom, { passive: false });
  root.addEventListener("mousedown", press);
  root.addEventListener("mousemove", move);
  root.addEventListener("mouseup", release);
  root.addEventListener("mouseleave", () => drag && (drag.mark && drag.mark.remove(), (drag = null)));
  document.addEventListener("keydown", key);
  if (root.classList.contains("narrow")) show(0, UNITS);
  else labels.forEach(placeLabel);
})();
