// Every table as a csv file, made in the page: nothing is asked for from anywhere.

/** One cell. A spreadsheet would compute a text that begins like a formula, so an apostrophe goes before it. */
function csvCell(value) {
  if (value === null || value === undefined) return "";
  let cell = String(value);
  const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(cell);
  if (/^[=+\-@\t\r\n＝＋－＠]/.test(cell) && !isNumber) cell = "'" + cell;
  return /[",\r\n]/.test(cell) ? '"' + cell.replaceAll('"', '""') + '"' : cell;
}

function csvText(columns, values) {
  const rows = [columns];
  for (let place = 0; place < values[0].length; place += 1) rows.push(values.map((column) => column[place]));
  return rows.map((row) => row.map(csvCell).join(",") + "\r\n").join("");
}

/** Columns and values of the raters' table; of another one as the page has it. */
function tableData(name) {
  if (name !== "raters") return [data.tables[name].columns, data.tables[name].values];
  const columns = ["rater", "n", "mean_score", "rho", "rho_se", "eta", "eta_se", "kappa", "kappa_low", "kappa_high", "sharpness", "sharpness_low", "sharpness_high", "passes", "passes_low", "passes_high"];
  for (const more of ["sensitivity", "specificity", "infit", "outfit", "fair_average", "fair_average_se"]) if (raters[more]) columns.push(more);
  const coded = ["standard", "sharpness_verdict", "costs_most"];
  const verdicts = [...coded, "label"].map((name) => raters.rater.map((_, place) => text(name, place)));
  const flags = raters.rater.map((_, place) => (raters.reasons[place] ?? []).map((reason) => reason.effect).join("; "));
  return [[...columns, ...coded, "verdict", "flags"], [...columns.map((name) => raters[name]), ...verdicts, flags]];
}

function download(name) {
  // The mark at the start tells Excel that the file is UTF-8.
  const file = new Blob(["\ufeff", csvText(...tableData(name))], { type: "text/csv;charset=utf-8" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name + ".csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function enableDownloads() {
  for (const button of document.querySelectorAll("button.download")) {
    button.hidden = false;
    button.addEventListener("click", () => download(button.dataset.table));
  }
}
