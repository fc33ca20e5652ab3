// Data of the page, and how numbers and words are written. All scripts share one module.
const data = JSON.parse(document.getElementById("report-data").textContent);
const raters = data.raters;

/** A text of the report with its blanks filled in. */
function say(name, values = {}) {
  return data.words[name].replace(/\{(\w+)\}/g, (blank, key) => values[key] ?? blank);
}

function number(value, digits = 2) {
  if (value === null || value === undefined) return say("missing");
  const text = value.toFixed(digits);
  return /^-0\.?0*$/.test(text) ? text.slice(1) : text;
}

function whole(value) {
  return value.toLocaleString("en-GB");
}

function interval(low, high, between = "–") {
  return low === null || high === null ? say("missing") : number(low) + between + number(high);
}

/** A column of texts that repeat, stored once each. */
function text(column, place) {
  return raters[column].texts[raters[column].codes[place]];
}

/** Put a text where the page has room for it. Labels from data only ever become text. */
function fill(root, name, content) {
  root.querySelector(`[data-fill="${name}"]`).textContent = content;
}

function raterLink(place) {
  return "#rater=" + encodeURIComponent(raters.rater[place]);
}

function setSign(svg, mark) {
  svg.setAttribute("class", "sign " + mark);
  svg.querySelector("use").setAttribute("href", "#mark-" + mark);
}
