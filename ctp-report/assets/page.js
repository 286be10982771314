// The table of all coroutines: search, sorting, and the details of a row.
// Only the rows in view are elements of the page, so that 100 000 rows stay quick.
(() => {
  'use strict';
  const data = JSON.parse(document.getElementById('data').textContent);
  const { texts, columns, sources } = data;
  const column = Object.fromEntries(columns.map((c) => [c.key, c]));
  const rowCount = column.id.values.length;
  const shown = columns.filter((c) => c.is_shown);
  const ROW = 26;
  const CHAIN = 10;

  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const table = document.getElementById('table');
  const search = document.getElementById('search');
  const count = document.getElementById('count');
  const details = document.getElementById('details');
  const head = element('div', 'head');
  const body = element('div', 'rows');

  // Values as text.

  const duration = (ns) => {
    const units = [[3.6e12, 'h'], [6e10, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'us']];
    const unit = units.find(([size]) => ns >= size) || [1, 'ns'];
    const number = ns / unit[0];
    return (number < 10 && unit[0] > 1 ? number.toFixed(1) : Math.round(number)) + ' ' + unit[1];
  };
  const moment = (ns) => '+' + (Math.floor(ns / 1000) / 1e6).toFixed(6) + ' s';
  const format = (c, row) => {
    const value = c.values[row];
    if (value === null || value === undefined) return '';
    if (c.kind === 'text') return texts[value];
    if (c.kind === 'duration') return duration(value);
    return c.kind === 'moment' ? moment(value) : String(value);
  };
  const severity = (verdict) => {
    if (verdict === 'STUCK' || verdict === 'DEADLOCK') return 'verdict-bad';
    if (verdict === 'STUCK?' || verdict === 'BUSY') return 'verdict-warn';
    return verdict === 'UNKNOWN' ? 'verdict-unsure' : '';
  };

  // Search.

  const idColumn = column.id.values;
  const finder = rowFinder(data);
  const words = (query) => query.match(/\/.+\/|\S+/g) || [];

  let order = Array.from({ length: rowCount }, (_, row) => row);
  let visible = order;
  let chosen = -1;
  let sortedBy = null;
  let isDescending = false;

  const filter = () => {
    const query = search.value.trim();
    try {
      const found = words(query).map(finder.rowsWith);
      visible = found.reduce((rows, of) => rows.filter((row) => of[row] === 1), order);
      search.setCustomValidity('');
    } catch (error) {
      search.setCustomValidity(error.message);
      count.textContent = 'not a regular expression';
      return;
    }
    count.textContent = `${visible.length} of ${rowCount}`;
    table.setAttribute('aria-rowcount', visible.length + 1);
    table.scrollTop = 0;
    draw();
  };

  // Sorting. Texts are compared once to number them in order.

  let ranks = null;
  const rankOf = () => {
    if (ranks === null) {
      const lower = finder.lowered();
      const numbers = texts.map((_, number) => number);
      numbers.sort((a, b) => (lower[a] < lower[b] ? -1 : lower[a] > lower[b] ? 1 : 0));
      ranks = new Uint32Array(texts.length);
      numbers.forEach((number, rank) => { ranks[number] = rank; });
    }
    return ranks;
  };
  const sort = (c) => {
    isDescending = sortedBy === c ? !isDescending : c.kind === 'duration';
    sortedBy = c;
    const rank = c.kind === 'text' ? rankOf() : null;
    const key = (row) => {
      const value = c.values[row];
      if (rank) return value === 0 ? Infinity : rank[value];
      return value === null ? Infinity : value;
    };
    const sign = isDescending ? -1 : 1;
    order = order.slice().sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === y) return a - b;
      if (x === Infinity || y === Infinity) return x === Infinity ? 1 : -1;
      return sign * (x - y);
    });
    for (const cell of head.children) {
      const isKey = cell.dataset.key === c.key;
      cell.setAttribute('aria-sort', isKey ? (isDescending ? 'descending' : 'ascending') : 'none');
      cell.firstChild.textContent = cell.dataset.title + (isKey ? (isDescending ? ' ▾' : ' ▴') : '');
    }
    filter();
  };

  // The rows in view.

  // All rows have the same columns, as wide as their longest text, up to a limit. East Asian characters
  // take twice the width of others.
  const MOST = 72;
  const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/g;
  const isWide = texts.some((text) => /[\u1100-\uffff]/.test(text));
  const columnsOf = (text) => text.length + (isWide ? (text.match(WIDE) || []).length : 0);
  const lengthOf = (c) => {
    const length = (value) => {
      if (value === null) return 0;
      return c.kind === 'text' ? columnsOf(texts[value]) : c.kind === 'number' ? String(value).length : 11;
    };
    const longest = c.values.reduce((most, value) => Math.max(most, length(value)), c.title.length + 3);
    return Math.min(MOST, longest);
  };
  const lengths = shown.map(lengthOf);
  const template = lengths.map((length) => `calc(${length}ch + 16px)`).join(' ');
  const total = lengths.reduce((a, b) => a + b, 0);
  head.style.minWidth = body.style.minWidth = `calc(${total}ch + ${16 * lengths.length}px)`;
  const rowElement = (at) => {
    const row = visible[at];
    const made = element('div', 'row' + (at % 2 ? ' odd' : '') + (row === chosen ? ' chosen' : ''));
    made.style.top = at * ROW + 'px';
    made.style.gridTemplateColumns = template;
    made.dataset.at = at;
    made.id = 'row-' + row;
    made.setAttribute('role', 'row');
    made.setAttribute('aria-rowindex', at + 2);
    made.setAttribute('aria-selected', row === chosen);
    for (const c of shown) {
      const text = format(c, row);
      const className = c.key === 'verdict' ? severity(text) : c.kind === 'text' ? '' : 'number';
      const cell = element('span', className, text);
      cell.setAttribute('role', 'gridcell');
      if (text.length > 20) cell.title = text;
      made.append(cell);
    }
    return made;
  };
  const draw = () => {
    body.style.height = visible.length * ROW + 'px';
    const first = Math.max(0, Math.floor(table.scrollTop / ROW) - 10);
    const last = Math.min(visible.length, first + Math.ceil(table.clientHeight / ROW) + 20);
    const rows = [];
    for (let at = first; at < last; at += 1) rows.push(rowElement(at));
    body.replaceChildren(...rows);
  };

  // The details of a row: its life, its values, the coroutines that woke it, and the source.

  const rowOfId = new Map(idColumn.map((id, row) => [id, row]));
  const ends = column.since ? column.since.values.map((since, row) => since + column.age.values[row]) : [];
  const end = ends.reduce((latest, at) => Math.max(latest, at), 0);
  const life = (row) => {
    const [since, age] = [column.since.values[row], column.age.values[row]];
    const born = column.born.values[row] === null ? 0 : column.born.values[row];
    const at = (ns) => (100 * ns / Math.max(end, 1)) + '%';
    const bar = element('div', 'life');
    bar.setAttribute('role', 'img');
    bar.setAttribute('aria-label', `lives since ${moment(born)}, in this state since ${moment(since)} for ${duration(age)}`);
    const before = element('i', 'before');
    before.style.left = at(born);
    before.style.width = at(Math.max(0, since - born));
    const now = element('i', 'now ' + severity(format(column.verdict, row)));
    now.style.left = at(since);
    now.style.width = at(age);
    bar.append(before, now);
    const times = element('div', 'times');
    times.append(element('span', '', moment(0)), element('span', '', `in its last state since ${moment(since)}`),
      element('span', '', moment(end)));
    return [bar, times];
  };
  const subject = (row) => `id ${idColumn[row]} ${format(column.function, row)}`;
  const linkTo = (row) => {
    const made = element('button', 'link', subject(row));
    made.addEventListener('click', () => choose(row));
    return made;
  };
  const wakers = (row) => {
    const chain = element('ol', 'chain');
    const seen = new Set([row]);
    let at = row;
    while (column.waker && column.waker.values[at] !== null && seen.size <= CHAIN) {
      const id = column.waker.values[at];
      const place = format(column.woken_at, at);
      const item = element('li', '', 'last woken ' + (place ? `at ${place} ` : '') + 'by ');
      chain.append(item);
      const next = rowOfId.get(id);
      if (next === undefined) {
        item.append(`id ${id}, which has ended`);
        break;
      }
      item.append(linkTo(next));
      const [what, age] = [format(column.waits_for, next), format(column.age, next)];
      item.append(seen.has(next) ? ' (see above)' : what ? `, which waits for ${what} for ${age}` : '');
      if (seen.has(next)) break;
      seen.add(next);
      at = next;
    }
    return chain.childElementCount ? [element('div', '', 'Wakes that led here:'), chain] : [];
  };
  const source = (row) => {
    const text = sources[column.place.values[row]] || '';
    if (!text) return [];
    const made = element('pre');
    text.split('\n').forEach((line, at) => {
      made.append(at ? '\n' : '', /^ {2}> *\d+ \| /.test(line) ? element('mark', '', line) : line);
    });
    return [made];
  };
  const choose = (row) => {
    chosen = row;
    const at = visible.indexOf(row);
    if (at >= 0) {
      const top = at * ROW;
      const bottom = top + 2 * ROW - table.clientHeight;
      if (top < table.scrollTop) table.scrollTop = top;
      else if (bottom > table.scrollTop) table.scrollTop = bottom;
    }
    draw();
    table.setAttribute('aria-activedescendant', 'row-' + row);
    const list = element('dl');
    for (const c of columns) {
      const text = format(c, row);
      if (!text || c.key === 'waker') continue;
      list.append(element('dt', '', c.title), element('dd', '', text));
    }
    details.replaceChildren(element('h3', '', subject(row)), ...(column.since ? life(row) : []), ...source(row),
      ...wakers(row), list);
    details.hidden = false;
  };

  // Controls.

  head.setAttribute('role', 'row');
  head.style.gridTemplateColumns = template;
  for (const c of shown) {
    const cell = element('span', c.kind === 'text' ? '' : 'number');
    cell.setAttribute('role', 'columnheader');
    cell.dataset.key = c.key;
    cell.dataset.title = c.title;
    const button = element('button', '', c.title);
    button.addEventListener('click', () => sort(c));
    cell.append(button);
    head.append(cell);
  }
  table.append(head, body);
  table.hidden = false;
  document.getElementById('tools').hidden = false;
  search.addEventListener('input', filter);
  table.addEventListener('scroll', () => requestAnimationFrame(draw), { passive: true });
  addEventListener('resize', draw);
  body.addEventListener('click', (event) => {
    const row = event.target.closest('.row');
    if (!row) return;
    choose(visible[Number(row.dataset.at)]);
    details.scrollIntoView({ block: 'nearest' });
  });
  table.addEventListener('keydown', (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step === undefined || !visible.length || event.target.tagName === 'BUTTON') return;
    event.preventDefault();
    const at = visible.indexOf(chosen) + step;
    choose(visible[Math.max(0, Math.min(visible.length - 1, at))]);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && document.activeElement !== search) {
      event.preventDefault();
      search.focus();
    }
  });
  filter();
})();
