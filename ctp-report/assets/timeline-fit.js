// Fits a timeline into a window that is narrower than the file: the chart gets narrower, long lines are
// wrapped, and texts keep their size. Without scripts, the picture is scaled down.
"use strict";
(function () {
  const root = document.documentElement;
  const number = (element, name) => Number(element.getAttribute(name));
  const [left, chart] = [number(root, "data-left"), number(root, "data-chart")];
  const box = root.viewBox.baseVal;
  const [LEAST_CHART, MARGIN, LINE] = [240, 10, 15];
  const [TOOLS, TOOLS_END] = [110, 50];
  const least = box.width - chart + LEAST_CHART;
  const width = Math.max(least, window.innerWidth);
  const by = box.width - width;
  if (by <= 0) return;

  const shift = (element, name) => element.setAttribute(name, number(element, name) - by);
  const move = (element, x, y) => element.setAttribute("transform", `translate(${x} ${y})`);

  // What is right of the chart moves to the left, and what spans the chart gets narrower. The ticks are drawn
  // again by the script of the timeline.
  function narrow() {
    const lanes = Array.from(root.querySelectorAll("svg.lane"));
    lanes.forEach((lane) => shift(lane, "width"));
    const others = Array.from(root.querySelectorAll("text, rect")).filter((element) => !element.closest(".lane, defs"));
    for (const element of others) {
      if (element.tagName === "rect" && number(element, "width") >= chart) shift(element, "width");
      if (element.tagName === "text" && number(element, "x") > left + chart) shift(element, "x");
    }
    root.querySelectorAll("path.arrow, .row > .burst").forEach((sign) => move(sign, -by, 0));
    root.setAttribute("data-chart", chart - by);
  }

  // Breaks a line into lines that fit, beside the two tools. Returns the height that this adds.
  function wrap(text) {
    const room = width - 2 * MARGIN - (number(text, "y") <= TOOLS_END ? TOOLS : 0);
    if (text.getComputedTextLength() <= room) return 0;
    const words = text.textContent.split(" ");
    const lines = [];
    text.textContent = "";
    for (const word of words) {
      const last = lines[lines.length - 1];
      const longer = last === undefined ? word : `${last} ${word}`;
      text.textContent = longer;
      if (last !== undefined && text.getComputedTextLength() <= room) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    text.textContent = "";
    lines.forEach((line, place) => {
      const span = document.createElementNS(root.namespaceURI, "tspan");
      span.setAttribute("x", MARGIN);
      span.setAttribute("dy", place && LINE);
      span.textContent = line;
      text.append(span);
    });
    return (lines.length - 1) * LINE;
  }

  // Puts the entries of a line of the legend below each other where they do not fit. Returns the height that
  // this adds. An entry is a mark and a text.
  function wrapLegend(legend, down) {
    let [entry, more, gone] = [[], 0, 0];
    for (const element of Array.from(legend.children)) {
      entry.push(element);
      if (element.tagName !== "text") continue;
      const start = number(element, "x") - 28;
      const end = number(element, "x") + element.getComputedTextLength();
      if (end - gone > width - MARGIN) {
        gone = start - MARGIN;
        more += 18;
      }
      entry.forEach((part) => move(part, -gone, more));
      entry = [];
    }
    move(legend, 0, down);
    return more;
  }

  // Wraps the lines above the axes, and moves everything below.
  function stack() {
    const hint = root.querySelector(".hint");
    const children = Array.from(root.children);
    const axes = children.findIndex((child) => child.id === "axes");
    let down = 0;
    for (const child of children.slice(0, axes)) {
      if (child.tagName === "text") {
        move(child, 0, down);
        down += wrap(child);
      } else if (child.classList.contains("legend")) {
        if (hint && !hint.hasAttribute("transform")) {
          move(hint, 0, down);
          hint.setAttribute("x", MARGIN);
          hint.style.textAnchor = "start";
          down += 18;
        }
        down += wrapLegend(child, down);
      }
    }
    const below = document.createElementNS(root.namespaceURI, "g");
    move(below, 0, down);
    root.insertBefore(below, children[axes]);
    below.append(...children.slice(axes).filter((child) => child.tagName !== "script"));
    return down;
  }

  narrow();
  box.width = width;
  box.height += stack();
  root.setAttribute("width", box.width);
  root.setAttribute("height", box.height);
  root.querySelector(".paper").setAttribute("height", box.height);
  root.classList.add("narrow");
  // A page gives its frame the new shape.
  if (window.parent !== window) window.parent.postMessage({ width: box.width, height: box.height }, "*");
})();
