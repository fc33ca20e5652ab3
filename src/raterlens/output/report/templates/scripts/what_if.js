// A rater's capability at another severity, read from the curve that came with the page.

class WhatIf {
  constructor(section) {
    this.section = section;
    this.slider = section.querySelector("input[type=range]");
    this.frame = new Frame(section.querySelector("figure svg"));
    const [from, to] = raters.what_if.severity;
    const steps = raters.what_if.kappa[0].length - 1;
    this.severities = Array.from({ length: steps + 1 }, (_, i) => from + ((to - from) * i) / steps);
    this.slider.min = from;
    this.slider.max = to;
    this.slider.addEventListener("input", () => this.move(+this.slider.value));
    section.querySelector("[name=best]").addEventListener("click", () => this.move(this.best));
    section.querySelector("[name=now]").addEventListener("click", () => this.move(this.now));
  }

  show(place) {
    this.curve = raters.what_if.kappa[place].map((value) => value / 1000);
    this.now = raters.eta[place];
    this.kappa = raters.kappa[place];
    this.best = raters.what_if.best[place];
    this.frame.draw("line", this.frame.line(this.severities, this.curve));
    this.frame.mark("now", this.now, this.kappa);
    this.frame.mark("best", this.best, this.at(this.best));
    this.move(this.now);
  }

  /** Between two points of the curve, in proportion. */
  at(severity) {
    const [from, to] = raters.what_if.severity;
    const place = Math.min(Math.max(((severity - from) / (to - from)) * (this.curve.length - 1), 0), this.curve.length - 1);
    const below = Math.floor(place);
    const above = Math.min(below + 1, this.curve.length - 1);
    return this.curve[below] + (place - below) * (this.curve[above] - this.curve[below]);
  }

  move(severity) {
    const unmoved = Math.abs(severity - this.now) < 0.025;
    const kappa = unmoved ? this.kappa : this.at(severity);
    this.slider.value = severity;
    this.slider.setAttribute("aria-valuetext", `${number(severity)}, ${number(kappa)}`);
    this.frame.mark("moved", severity, kappa);
    fill(this.section, "answer", this.words(severity, kappa, unmoved));
  }

  words(severity, kappa, unmoved) {
    const gain = kappa - this.kappa;
    const blanks = {
      severity: number(severity),
      kappa: number(kappa),
      change: number(Math.abs(severity - this.now)),
      way: say(severity > this.now ? "severer" : "milder"),
      gain: number(Math.abs(gain)),
    };
    const level = Math.abs(gain) < 0.005;
    const answer = say(unmoved ? "same" : level ? "level" : gain > 0 ? "better" : "worse", blanks);
    const best = { severity: number(this.best), kappa: number(this.at(this.best)) };
    const nearBest = Math.abs(severity - this.best) < 0.1;
    return answer + " " + (nearBest ? say("at_best") : say("best", best));
  }
}
