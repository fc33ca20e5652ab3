// Curves in frames of the page (pictures/capability_curves.py). A frame's `g.overlay` says which numbers its corners stand for.

class Frame {
  constructor(svg) {
    this.overlay = svg.querySelector("g.overlay");
    const { left, right, bottom, top, width, height } = this.overlay.dataset;
    Object.assign(this, { left: +left, right: +right, bottom: +bottom, top: +top, width: +width, height: +height });
  }

  x(value) {
    const share = (value - this.left) / (this.right - this.left);
    return this.width * Math.min(Math.max(share, 0), 1);
  }

  y(value) {
    const share = (value - this.bottom) / (this.top - this.bottom);
    return this.height * (1 - Math.min(Math.max(share, 0), 1));
  }

  line(xs, ys) {
    return "M" + xs.map((x, i) => this.x(x).toFixed(1) + " " + this.y(ys[i]).toFixed(1)).join("L");
  }

  draw(name, path) {
    this.overlay.querySelector("." + name).setAttribute("d", path);
  }

  mark(name, x, y) {
    this.overlay.querySelector("." + name).setAttribute("transform", `translate(${this.x(x).toFixed(1)} ${this.y(y).toFixed(1)})`);
  }
}

/** Shares of the scores that a rater gave, beside those expected; hidden where there are none. */
function drawCategories(frame, place) {
  const [observed, expected, margin] = ["observed", "expected", "margin"].map((name) => raters.categories[name][place]?.map((value) => value / 1000));
  const all = (shape) => (observed ? observed.map((_, score) => shape(score)).join("") : "");
  const foot = frame.y(0);
  frame.draw("bars", all((k) => `M${frame.x(k - 0.32).toFixed(1)} ${foot}V${frame.y(observed[k]).toFixed(1)}H${frame.x(k + 0.32).toFixed(1)}V${foot}Z`));
  frame.draw("margins", all((k) => `M${frame.x(k).toFixed(1)} ${frame.y(expected[k] - margin[k]).toFixed(1)}V${frame.y(expected[k] + margin[k]).toFixed(1)}`));
  frame.draw("expected", all((k) => `M${frame.x(k).toFixed(1)} ${(frame.y(expected[k]) - 5).toFixed(1)}l5 5-5 5-5-5z`));
}

/** kappa(theta) of a rater, with its band where it is known. */
function drawCurve(frame, place) {
  const { theta, kappa, low, high } = raters.curve;
  const scaled = (row) => row.map((value) => value / 1000);
  frame.draw("line", frame.line(theta, scaled(kappa[place])));
  if (!low || low[place].includes(null)) return frame.draw("band", "");
  const there = frame.line(theta, scaled(high[place]));
  const back = frame.line([...theta].reverse(), scaled(low[place]).reverse());
  frame.draw("band", there + "L" + back.slice(1) + "Z");
}
