// What htmx does not do by itself: dropping a file, following an upload, telling what changed. Pages work without it.
(function () {
  "use strict";

  // A file can be dropped anywhere on the page, and is sent as soon as it is chosen.
  var form = document.getElementById("upload");
  if (form) {
    var input = form.querySelector("input[type=file]");
    var sending = form.querySelector(".sending");
    var bar = sending.querySelector("progress");
    var said = sending.querySelector("[role=status]");
    var sent = document.getElementById("sent");

    function complain(text) {
      var line = document.createElement("p");
      line.className = "fault";
      line.setAttribute("role", "alert");
      line.textContent = text;
      sent.replaceChildren(line);
    }

    input.addEventListener("change", function () {
      if (!input.files.length) return;
      if (input.files[0].size > Number(form.dataset.most)) {
        input.value = "";
        return complain(form.dataset.tooLarge);
      }
      form.requestSubmit();
    });
    ["dragover", "dragenter"].forEach(function (name) {
      document.addEventListener(name, function (event) { event.preventDefault(); form.classList.add("over"); });
    });
    document.addEventListener("dragleave", function (event) { if (!event.relatedTarget) form.classList.remove("over"); });
    document.addEventListener("drop", function (event) {
      event.preventDefault();
      form.classList.remove("over");
      if (!event.dataTransfer.files.length) return;
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change"));
    });
    form.addEventListener("htmx:beforeRequest", function () { sent.replaceChildren(); sending.hidden = false; });
    form.addEventListener("htmx:afterRequest", function () { sending.hidden = true; input.value = ""; });
    form.addEventListener("htmx:xhr:progress", function (event) {
      if (!event.detail.lengthComputable || !event.detail.total) return;
      var share = event.detail.loaded / event.detail.total;
      bar.value = 100 * share;
      said.textContent = share < 1 ? Math.round(100 * share) + " %" : form.dataset.reading;
    });
    // A page kept by the browser and come back to must not look busy.
    window.addEventListener("pageshow", function () { sending.hidden = true; });
  }

  // What a fit is doing is announced when it changes, not at every look.
  document.addEventListener("htmx:afterSwap", function (event) {
    var phase = document.getElementById("phase");
    var seen = event.target.querySelector("[data-phase]");
    if (phase && seen && phase.textContent !== seen.dataset.phase) phase.textContent = seen.dataset.phase;
  });

  // The field at fault is marked until the next answer; where it is in closed details, they open.
  function mark(field) {
    document.querySelectorAll(".at-fault").forEach(function (other) {
      other.classList.remove("at-fault");
      other.removeAttribute("aria-invalid");
    });
    if (!field) return;
    field.classList.add("at-fault");
    if (field.matches("input, select")) field.setAttribute("aria-invalid", "true");
    var details = field.closest("details");
    if (details) details.open = true;
  }
  document.addEventListener("htmx:afterSwap", function (event) {
    var fault = event.target.querySelector("[data-field]");
    mark(fault && document.getElementById(fault.dataset.field));
  });
  // The link back from a fit that failed names the field.
  if (document.getElementById("columns") && location.hash) mark(document.getElementById(location.hash.slice(1)));

  function lost() { document.getElementById("lost").textContent = document.body.dataset.lost; }
  document.addEventListener("htmx:sendError", lost);
  document.addEventListener("htmx:afterRequest", function (event) {
    if (event.detail.successful) document.getElementById("lost").textContent = "";
  });
})();
