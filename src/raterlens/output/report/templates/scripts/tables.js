// Tables of items, students and repairs: sorted by a heading, a page at a time.

function enableTables() {
  for (const table of document.querySelectorAll("table[data-rows]")) {
    const { values, numeric } = data.tables[table.dataset.rows];
    const everyone = values[0].map((_, place) => place);
    const pager = table.closest(".scroll").nextElementSibling;
    const draw = (places) => table.tBodies[0].replaceChildren(...places.map((place) => plainRow(values, numeric, place)));
    // On paper, the clearest of what is long: the files have the rest.
    const printed = ["unexpected", "bias", "pairs"].includes(table.dataset.rows) ? data.rows.others : 2000;
    const pages = new Pages(pager, draw, { size: data.rows.others, printed });
    enableSorting(table, (column, down) => pages.list(sorted(everyone, values[column], down)));
    pages.list(everyone);
  }
}

function plainRow(values, numeric, place) {
  const row = document.createElement("tr");
  values.forEach((column, i) => {
    const cell = document.createElement(i === 0 ? "th" : "td");
    if (i === 0) cell.scope = "row";
    if (numeric[i]) {
      cell.className = "n";
      const value = column[place];
      cell.textContent = isCount(column) ? whole(value) : number(value);
    } else {
      const name = document.createElement("bdi");
      name.textContent = column[place];
      cell.append(name);
    }
    row.append(cell);
  });
  return row;
}

const counts = new Map();

/** Whether all numbers of a column are whole, as numbers of ratings are. */
function isCount(column) {
  if (!counts.has(column)) counts.set(column, column.every(Number.isInteger));
  return counts.get(column);
}
