// The ranked table of raters: sort, search, show some.

function enableRanking() {
  const table = document.querySelector("table.ranked");
  const form = document.querySelector("form.find");
  const pattern = table.tBodies[0].rows[0].cloneNode(true);
  const everyone = raters.rater.map((_, place) => place);
  const searched = raters.rater.map((name, place) => (name + " " + text("label", place)).toLowerCase());
  const values = {
    rank: everyone,
    rater: raters.rater,
    verdict: everyone.map((place) => text("label", place)),
    interval: raters.kappa_low,
    standard: raters.passes,
  };
  let order = everyone;
  const pages = new Pages(document.querySelector("#raters .pager"), draw, { size: data.rows.raters, printed: Infinity });

  function draw(places) {
    table.tBodies[0].replaceChildren(...places.map((place) => rankingRow(pattern, place)));
  }

  function find() {
    const query = form.elements.query.value.trim().toLowerCase();
    const show = form.elements.show.value;
    const found = order.filter(
      (place) => searched[place].includes(query) && (show === "everyone" || text("status", place) === show)
    );
    pages.list(found);
    const filtered = found.length < order.length;
    form.querySelector(".found").textContent = !filtered ? "" : found.length ? say("found", { count: whole(found.length) }) : say("none");
    visited = found;
  }

  enableSorting(table, (name, down) => {
    order = sorted(everyone, values[name] ?? raters[name], down);
    find();
  });
  form.addEventListener("input", find);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector(".letters").addEventListener("click", () => printLetters(visited));
  form.hidden = false;
  for (const option of form.elements.show.options) {
    const count = everyone.filter((place) => text("status", place) === option.value).length;
    if (option.value !== "everyone") option.textContent += ` (${whole(count)})`;
    option.hidden = option.disabled = option.value !== "everyone" && count === 0;
  }
  find();
}

function rankingRow(pattern, place) {
  const row = pattern.cloneNode(true);
  const cell = Object.fromEntries([...row.cells].map((one) => [one.dataset.column, one]));
  if (cell.rank) cell.rank.textContent = whole(place + 1);
  cell.rater.querySelector("a").href = raterLink(place);
  cell.rater.querySelector("bdi").textContent = raters.rater[place];
  setSign(cell.verdict.querySelector("svg"), text("mark", place));
  cell.verdict.querySelector("span").textContent = text("label", place);
  cell.kappa.textContent = number(raters.kappa[place]);
  cell.interval.textContent = interval(raters.kappa_low[place], raters.kappa_high[place]);
  for (const name of ["eta", "rho"]) cell[name].textContent = number(raters[name][place]);
  const passes = raters.passes[place];
  for (const [name, value, verdict] of [["standard", number(passes === null ? null : 100 * passes, 0), "standard"], ["sharpness", number(raters.sharpness[place]), "sharpness_verdict"]]) {
    cell[name].querySelector("span").textContent = value;
    cell[name].querySelector("small").textContent = text(verdict, place);
  }
  cell.n.textContent = whole(raters.n[place]);
  return row;
}
