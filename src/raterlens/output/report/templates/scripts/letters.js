// Letters on paper: one page per rater, made when they are asked for and gone when they are printed.

function printLetters(places) {
  const room = document.getElementById("letters");
  const pattern = document.getElementById("letter").content.firstElementChild;
  room.replaceChildren(...places.map((place) => letter(pattern, place)));
  document.body.classList.add("letters-only");
  room.hidden = false;
  addEventListener("afterprint", () => {
    document.body.classList.remove("letters-only");
    room.hidden = true;
    room.replaceChildren();
  }, { once: true });
  print();
}

function letter(pattern, place) {
  const page = pattern.cloneNode(true);
  fill(page, "title", data.head.title);
  fill(page, "date", data.head.date);
  fill(page, "rater", raters.rater[place]);
  fill(page, "text", raters.feedback[place]);
  fill(page, "n", whole(raters.n[place]));
  fillMeasures(page, place);
  const examples = surprisesOf(place);
  page.querySelector(".examples").hidden = !examples.length;
  bullets(page, "examples", examples);
  const figure = page.querySelector("figure");
  if (raters.eta[place] === null) figure.remove();
  else new Frame(figure.querySelector("svg")).mark("now", raters.eta[place], 0.5);
  return page;
}

/** The standard, of 100 students, and sharpness, each with its interval. */
function fillMeasures(root, place) {
  const of100 = (value) => number(value === null ? null : 100 * value, 0);
  for (const [name, write] of [["passes", of100], ["sharpness", number]]) {
    const [low, high] = [raters[name + "_low"][place], raters[name + "_high"][place]];
    fill(root, name, write(raters[name][place]));
    fill(root, name + "_span", low === null || high === null ? "" : say("interval", { low: write(low), high: write(high) }));
  }
}
