// Finds the rows that have a word. Each distinct text is compared once; then rows are found by the numbers
// of their texts. All loops are plain, because the first search of 100 000 rows runs before it is compiled.
const rowFinder = (data) => {
  'use strict';
  const { texts, columns } = data;
  const ids = columns.find((c) => c.key === 'id').values;
  const searched = columns.filter((c) => c.kind === 'text');

  // The texts in lower case. They are made when the page has nothing else to do, or by the first search.
  let lower = null;
  const lowered = () => {
    if (lower === null) lower = texts.map((text) => text.toLowerCase());
    return lower;
  };
  (window.requestIdleCallback || setTimeout)(lowered);

  // A 1 for each text with the word, or for each that matches /a regular expression/.
  const textsWith = (word) => {
    const hits = new Uint8Array(texts.length);
    const pattern = /^\/(.+)\/$/.exec(word);
    const expression = pattern && new RegExp(pattern[1], 'i');
    const part = word.toLowerCase();
    const compared = expression ? texts : lowered();
    // The first text is empty: it stands for a value that is not known.
    for (let i = 1; i < compared.length; i += 1) {
      if (expression ? expression.test(compared[i]) : compared[i].includes(part)) hits[i] = 1;
    }
    return hits;
  };
  const mark = (found, values, hits) => {
    for (let row = 0; row < found.length; row += 1) found[row] |= hits[values[row]];
  };

  // A 1 for each row with the word in a text, or as its id.
  const rowsWith = (word) => {
    const [hits, found] = [textsWith(word), new Uint8Array(ids.length)];
    for (const c of searched) mark(found, c.values, hits);
    const id = /^\d+$/.test(word) ? Number(word) : null;
    if (id !== null) {
      for (let row = 0; row < ids.length; row += 1) if (ids[row] === id) found[row] = 1;
    }
    return found;
  };
  return { lowered, rowsWith };
};
