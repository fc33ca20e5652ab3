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
