// The table can be read without this: it adds sorting by a click on a heading, and a filter for long tables.
(function () {
  "use strict";
  var table = document.getElementById("raters");
  if (!table) return;
  var body = table.tBodies[0];
  var rows = Array.prototype.slice.call(body.rows);

  function value(row, column) {
    var cell = row.cells[column];
    var number = cell.getAttribute("data-value");
    return number === null ? cell.textContent.trim() : number === "" ? null : Number(number);
  }

  Array.prototype.forEach.call(table.tHead.rows[0].cells, function (heading, column) {
    var button = document.createElement("button");
    button.type = "button";
    while (heading.firstChild) button.appendChild(heading.firstChild);
    heading.appendChild(button);
    button.addEventListener("click", function () {
      var down = heading.getAttribute("aria-sort") === "ascending";
      Array.prototype.forEach.call(table.tHead.rows[0].cells, function (other) { other.removeAttribute("aria-sort"); });
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      rows.sort(function (a, b) {
        var x = value(a, column), y = value(b, column);
        if (x === null || y === null) return (x === null) - (y === null);
        var order = typeof x === "number" ? x - y : x.localeCompare(y, undefined, { numeric: true });
        return down ? -order : order;
      });
      rows.forEach(function (row) { body.appendChild(row); });
    });
  });

  if (rows.length > 20) {
    var box = document.createElement("input");
    box.type = "search";
    box.placeholder = "Find a rater or a verdict";
    box.setAttribute("aria-label", box.placeholder);
    box.addEventListener("input", function () {
      var wanted = box.value.toLowerCase();
      rows.forEach(function (row) { row.hidden = row.textContent.toLowerCase().indexOf(wanted) < 0; });
    });
    document.getElementById("find").appendChild(box);
  }
})();
