// What is wrong with the texts of a page: too small, outside their chart, cut off by their box, or over each other.
(smallest) => {
  const faults = new Set();
  const shown = (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const name = (one) => one.textContent.trim().slice(0, 40);
  const overlap = (a, b) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    return across > 0 && down > 0 ? (across * down) / Math.min(a.width * a.height, b.width * b.height) : 0;
  };

  for (const svg of document.querySelectorAll("svg[role=img]")) {
    if (!shown(svg)) continue;
    const frame = svg.getBoundingClientRect();
    const scale = frame.width / (svg.viewBox.baseVal.width || frame.width);
    const texts = new Map();
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (!text.textContent.trim() || !box.width) continue;
      const size = parseFloat(getComputedStyle(text).fontSize) * scale;
      if (size < smallest) faults.add(`letters of ${size.toFixed(1)} pixels: ${name(text)}`);
      const out = [frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom];
      if (Math.max(...out) > 1) faults.add(`outside its chart: ${name(text)}`);
      // A text and its rim are one.
      texts.set([name(text), Math.round(box.x), Math.round(box.y)].join(), [name(text), box]);
    }
    const all = [...texts.values()];
    all.forEach(([one, a], i) =>
      all.slice(i + 1).forEach(([two, b]) => {
        if (overlap(a, b) > 0.25) faults.add(`two texts in one place: ${one} | ${two}`);
      })
    );
  }

  const room = document.documentElement.clientWidth;
  for (const one of document.querySelectorAll("h1,h2,h3,p,li,dt,dd,th,td,label,button,summary,figcaption,a,pre")) {
    if (!shown(one) || !one.textContent.trim() || one.closest(".hidden, .skip, svg")) continue;
    const style = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    if (parseFloat(style.fontSize) < smallest) faults.add(`letters of ${style.fontSize}: ${name(one)}`);
    if (style.overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1) faults.add(`cut off: ${name(one)}`);
    if (!one.closest(".scroll") && box.right > room + 1) faults.add(`beyond the page: ${name(one)}`);
  }
  return [...faults];
};
