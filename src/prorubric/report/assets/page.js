"use strict";
// Nothing here is needed to read the page: the script sorts, finds, and lets a reader choose what stands side by side.
(() => {
  const glyphs = { y: "✓", n: "✗" };

  // Sorting: every head of a sortable table becomes a button.
  const valueOf = (row, place) => {
    const cell = row.cells[place];
    return cell.dataset.sort !== undefined ? Number(cell.dataset.sort) : cell.classList.contains("n") ? NaN : cell.textContent;
  };
  const compare = (a, b) => {
    if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b));
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b); // what is not known goes last
    return b - a;
  };
  const sort = (table, place) => {
    const head = table.tHead.rows[0].cells;
    const turned = head[place].getAttribute("aria-sort") === "descending";
    for (const cell of head) cell.removeAttribute("aria-sort");
    head[place].setAttribute("aria-sort", turned ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows].sort((a, b) => compare(valueOf(a, place), valueOf(b, place)));
    table.tBodies[0].append(...(turned ? rows.reverse() : rows));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((cell, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...cell.childNodes);
      button.addEventListener("click", () => sort(table, place));
      cell.append(button);
    });
  }

  // A task: one edit and two schemes at a time.
  const clone = (box, reading, at) => {
    const copy = box.querySelector(`[data-reading="${reading}"]`);
    if (!copy) return null;
    const made = copy.cloneNode(true);
    delete made.dataset.reading;
    for (const row of made.querySelectorAll("tr[data-v]")) {
      const codes = row.dataset.v.split(" ");
      const cell = row.cells[3];
      cell.textContent = glyphs[codes[at]] || codes[at];
      cell.className = glyphs[codes[at]] ? `v ${codes[at]}` : "v";
      row.classList.toggle("changed", codes[at] !== codes[0]);
    }
    return made;
  };
  const fill = (box, option, at) => {
    const side = document.createElement("section");
    const title = document.createElement("h5");
    const rewards = box.querySelector(".rewards tbody").rows;
    const place = Number(option.value);
    title.textContent = option.textContent;
    side.append(title);
    for (const reading of option.dataset.readings.split(" ")) {
      const table = clone(box, reading, at);
      if (table) side.append(table);
    }
    const line = document.createElement("p");
    const all = side.querySelectorAll("tr[data-v]").length;
    const changed = side.querySelectorAll("tr.changed").length;
    const after = rewards[at].cells[place].firstChild.textContent.trim();
    line.textContent = `Reward ${rewards[0].cells[place].textContent} → ${after}; ${changed} of ${all} verdicts change.`;
    title.after(line);
    return side;
  };
  const setUp = (box) => {
    if (box.dataset.ready) return;
    box.dataset.ready = "yes";
    const kinds = box.dataset.kinds.split(" ");
    const controls = document.getElementById("controls").content.cloneNode(true).firstElementChild;
    const [edit, left, right, only] = ["edit", "left", "right", "changed"].map((name) => controls.querySelector(`.pick-${name}`));
    for (const kind of kinds.slice(1)) edit.append(new Option(kind, kind, false, kind === box.dataset.first));
    const slots = box.querySelector(".compare");
    const show = () => {
      const at = Math.max(kinds.indexOf(edit.value), 0);
      for (const panel of box.querySelectorAll("[data-edit]")) {
        panel.hidden = panel.dataset.edit !== edit.value;
        panel.open = !panel.hidden;
      }
      slots.replaceChildren(fill(box, left.selectedOptions[0], at), fill(box, right.selectedOptions[0], at));
      slots.classList.toggle("only", only.checked);
    };
    controls.addEventListener("change", show);
    box.querySelector(".slot-controls").append(controls);
    box.querySelector(".readings").hidden = true;
    slots.hidden = false;
    show();
  };
  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.matches("details.case")) setUp(event.target);
  }, true);

  // A link to a task opens it.
  const openTarget = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target && target.matches("details")) {
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  // Finding tasks by id or by words of the question and the answer.
  const find = document.getElementById("find");
  if (find) find.addEventListener("input", () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const box of document.querySelectorAll("details.case")) {
      const text = box.textContent.toLowerCase();
      box.hidden = !words.every((word) => text.includes(word));
    }
  });
})();
