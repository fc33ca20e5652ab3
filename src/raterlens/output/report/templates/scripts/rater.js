// The page of one rater, at #rater=NAME: it can be linked to, and turned like a page.
let visited = raters.rater.map((_, place) => place);

class RaterPage {
  constructor(page, report) {
    this.page = page;
    this.report = report;
    const curve = page.querySelector(".curve figure svg");
    this.curve = curve && new Frame(curve);
    const categories = page.querySelector(".categories figure svg");
    this.categories = categories && new Frame(categories);
    this.whatIf = new WhatIf(page.querySelector(".what-if"));
    this.title = document.title;
    page.querySelector("[name=copy]").addEventListener("click", () => this.copy());
    page.querySelector("[name=print]").addEventListener("click", () => printLetters([this.place]));
    addEventListener("hashchange", () => this.follow());
    this.follow();
  }

  /** Show what the address names: a rater, or the report. */
  follow() {
    const named = /^#rater=(.*)$/s.exec(location.hash);
    const place = named ? raters.rater.indexOf(decoded(named[1])) : -1;
    const back = !this.page.hidden && place < 0;
    this.page.hidden = place < 0;
    this.report.hidden = place >= 0;
    if (place >= 0) {
      this.show(place);
      scrollTo(0, 0);
      this.page.focus({ preventScroll: true });
    } else {
      document.title = this.title;
      // The target was hidden when the browser looked for it.
      if (back && location.hash.length > 1) document.getElementById(location.hash.slice(1))?.scrollIntoView();
    }
  }

  show(place) {
    this.place = place;
    const name = raters.rater[place];
    const put = (slot, content) => fill(this.page, slot, content);
    document.title = `${name} – ${this.title}`;
    setSign(this.page.querySelector("h1 .sign"), text("mark", place));
    put("rater", name);
    const label = text("label", place);
    put("label", label.charAt(0).toUpperCase() + label.slice(1) + ".");
    put("sentence", raters.sentence[place]);
    put("advice", text("next_step", place));
    put("kappa", number(raters.kappa[place]));
    put("interval", raters.kappa_low[place] === null ? "" : say("interval", { low: number(raters.kappa_low[place]), high: number(raters.kappa_high[place]) }));
    for (const one of ["eta", "rho"]) {
      const se = raters[one + "_se"][place];
      put(one, number(raters[one][place]));
      put(one + "_se", se === null ? "" : say("error", { se: number(se) }));
    }
    for (const one of ["sensitivity", "specificity", "fair_average"]) {
      this.page.querySelector(`[data-only="${one}"]`).hidden = !raters[one];
      if (raters[one]) put(one, number(raters[one][place]));
    }
    if (raters.fair_average) {
      const se = raters.fair_average_se[place];
      put("fair_average_se", se === null ? "" : say("error", { se: number(se) }));
    }
    put("mean_score", number(raters.mean_score[place]));
    put("n", whole(raters.n[place]));
    if (this.page.querySelector('[data-fill="rank"]')) put("rank", say("of", { place: whole(place + 1), all: whole(raters.rater.length) }));
    fillMeasures(this.page, place);
    for (const one of ["standard", "sharpness_verdict"]) put(one, text(one, place));
    this.turn(place);
    if (this.curve) drawCurve(this.curve, place);
    if (this.categories) drawCategories(this.categories, place);
    this.whatIf.show(place);
    this.evidence(place);
    put("feedback", raters.feedback[place]);
    put("copied", "");
  }

  /** Links to the neighbours in the table as it is sorted and filtered. */
  turn(place) {
    const list = visited.includes(place) ? visited : raters.rater.map((_, one) => one);
    const here = list.indexOf(place);
    fill(this.page, "place", say("of", { place: whole(here + 1), all: whole(list.length) }));
    for (const [slot, neighbour] of [["previous", list[here - 1]], ["next", list[here + 1]]]) {
      const link = this.page.querySelector(`[data-fill="${slot}"]`);
      if (neighbour === undefined) link.removeAttribute("href");
      else link.href = raterLink(neighbour);
    }
  }

  evidence(place) {
    const reasons = (raters.reasons[place] ?? []).map((one) => `${one.effect}: ${one.evidence}. ${say("next")} ${one.next_step}.`);
    const known = raters.infit !== undefined;
    bullets(this.page, "reasons", reasons.length ? reasons : [known ? say("no_flags") : data.no_evidence]);
    fill(this.page, "fit", known && raters.infit[place] !== null ? fitWords(place) : "");
    const surprises = surprisesOf(place);
    this.page.querySelector(".evidence h3").hidden = !known;
    bullets(this.page, "unexpected", known && !surprises.length ? [say("no_unexpected")] : surprises);
  }

  async copy() {
    const paragraph = this.page.querySelector('[data-fill="feedback"]');
    try {
      await navigator.clipboard.writeText(paragraph.textContent);
      fill(this.page, "copied", say("copied"));
    } catch {
      // Not every browser lets a file use the clipboard: leave the text selected.
      getSelection().selectAllChildren(paragraph);
      fill(this.page, "copied", say("select"));
    }
  }
}

function fitWords(place) {
  const more = Math.round(100 * (raters.infit[place] - 1));
  const what = Math.abs(more) < 10 ? "fit_as" : more > 0 ? "fit_noisy" : "fit_calm";
  const numbers = { infit: number(raters.infit[place]), outfit: number(raters.outfit[place]) };
  return say(what, { percent: Math.abs(more) }) + " " + say("fit_numbers", numbers);
}

function bullets(root, name, texts) {
  root.querySelector(`[data-fill="${name}"]`).replaceChildren(
    ...texts.map((content) => {
      const item = document.createElement("li");
      item.dir = "auto";
      item.textContent = content;
      return item;
    })
  );
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The least expected ratings of a rater, a sentence each. */
function surprisesOf(place) {
  return (raters.unexpected?.[place] ?? []).map(([student, item, score, expected, chance]) =>
    say("unexpected", { student, item, score, expected: number(expected), chance: chance < 0.001 ? say("chance_tiny") : say("chance", { percent: number(100 * chance, 1) }) })
  );
}
