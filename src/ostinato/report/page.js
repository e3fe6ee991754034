"use strict";
const details = JSON.parse(document.getElementById("details").textContent);
const about = document.getElementById("about");

function element(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

function time(nanoseconds) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
    if (nanoseconds >= size) return `${(nanoseconds / size).toPrecision(3)} ${unit}`;
  return `${nanoseconds.toPrecision(3)} ns`;
}

function show(box) {
  const found = details[box.id];
  if (!found) return;
  document.querySelectorAll("g.chosen").forEach((g) => g.classList.remove("chosen"));
  box.classList.add("chosen");
  about.replaceChildren(element("h3", found.title));
  if (found.lines.length) about.append(element("pre", found.lines.join("\n")));
  for (const [place, line] of found.places)
    about.append(element("div", place), ...(line ? [element("pre", line)] : []));
  const cost = found.nanoseconds === null ? "" : `, predicted ${time(found.nanoseconds)}`;
  about.append(element("p", `${found.operators} operator${found.operators === 1 ? "" : "s"}${cost}`));
  const rules = Object.entries(found.rules);
  if (rules.length) {
    const list = document.createElement("ul");
    for (const [rule, count] of rules)
      list.append(element("li", count > 1 ? `${rule} (${count})` : rule));
    about.append(element("div", "made by"), list);
  }
}

function zoomable(svg) {
  const whole = svg.viewBox.baseVal;
  const fit = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
  let moved = false;
  const scale = () =>
    Math.max(whole.width / svg.clientWidth, whole.height / svg.clientHeight) || 1;
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const by = Math.exp(event.deltaY / 400);
    const area = svg.getBoundingClientRect();
    const x = whole.x + ((event.clientX - area.left) / area.width) * whole.width;
    const y = whole.y + ((event.clientY - area.top) / area.height) * whole.height;
    whole.x = x - (x - whole.x) * by;
    whole.y = y - (y - whole.y) * by;
    whole.width *= by;
    whole.height *= by;
  }, { passive: false });
  svg.addEventListener("pointerdown", () => { moved = false; });
  svg.addEventListener("pointermove", (event) => {
    if (!(event.buttons & 1)) return;
    moved = moved || Math.abs(event.movementX) + Math.abs(event.movementY) > 2;
    whole.x -= event.movementX * scale();
    whole.y -= event.movementY * scale();
  });
  svg.addEventListener("dblclick", () => Object.assign(whole, fit));
  svg.addEventListener("click", (event) => {
    const box = event.target.closest("g[id]");
    if (box && !moved) show(box);
  });
  for (const box of svg.querySelectorAll("g[id]")) {
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "button");
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        show(box);
      }
    });
  }
}

document.querySelectorAll(".pane svg").forEach(zoomable);
document.querySelectorAll("[data-tab]").forEach((tab) =>
  tab.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-tab]"))
      other.setAttribute("aria-selected", String(other === tab));
    for (const pane of document.querySelectorAll("[data-pane]"))
      pane.hidden = pane.dataset.pane !== tab.dataset.tab;
  })
);

for (const head of document.querySelectorAll("table.sorted th[data-sort]"))
  head.addEventListener("click", () => {
    const body = head.closest("table").tBodies[0];
    const column = Number(head.dataset.sort);
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const order = (a, b) => {
      const [x, y] = [a.cells[column], b.cells[column]];
      const found = x.dataset.value === undefined
        ? y.textContent.localeCompare(x.textContent)
        : y.dataset.value - x.dataset.value;
      return down ? found : -found;
    };
    body.append(...[...body.rows].sort(order));
  });
