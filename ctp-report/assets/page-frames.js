// A timeline that was fitted into its frame tells the shape that it has then.
addEventListener('message', (event) => {
  const { width, height } = event.data || {};
  for (const frame of document.querySelectorAll('.wide iframe')) {
    if (event.source === frame.contentWindow && width > 0 && height > 0) {
      frame.style.aspectRatio = `${width} / ${height}`;
    }
  }
});
