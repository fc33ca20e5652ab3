// A long table a page at a time.

/** Turns the pages of a table: `draw(places)` writes rows, `pager` is the line below it. On paper all rows are shown, or
 * the first `printed`. */
class Pages {
  constructor(pager, draw, { size, printed }) {
    Object.assign(this, { pager, draw, size, printed, places: [], first: 0 });
    pager.querySelector("[name=previous]").addEventListener("click", () => this.turn(-1));
    pager.querySelector("[name=next]").addEventListener("click", () => this.turn(1));
    addEventListener("beforeprint", () => this.write(0, Math.min(this.printed, this.places.length)));
    addEventListener("afterprint", () => this.show());
  }

  list(places) {
    this.places = places;
    this.first = 0;
    this.show();
  }

  turn(by) {
    this.first += by * this.size;
    this.show();
  }

  show() {
    this.write(this.first, Math.min(this.first + this.size, this.places.length));
  }

  write(first, last) {
    const count = this.places.length;
    this.draw(this.places.slice(first, last));
    this.pager.hidden = count <= this.size;
    this.pager.querySelector("[name=previous]").disabled = first === 0;
    this.pager.querySelector("[name=next]").disabled = last === count;
    this.pager.querySelector("span").textContent = say("shown", { from: whole(first + 1), to: whole(last), count: whole(count) });
  }
}

/** Buttons in the headings of a table; `sort(name, down)` is asked for an order. */
function enableSorting(table, sort) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(heading.dataset.column ?? column, down);
    });
  });
}

/** Places in the order of a column: numbers by size, texts as people sort them, what is missing last. */
function sorted(places, values, down) {
  const collator = new Intl.Collator("en-GB", { numeric: true });
  const known = places.filter((place) => values[place] !== null);
  const missing = places.filter((place) => values[place] === null);
  const compare = (a, b) => (typeof a === "number" ? a - b : collator.compare(a, b));
  known.sort((a, b) => (down ? -1 : 1) * compare(values[a], values[b]) || a - b);
  return known.concat(missing);
}
