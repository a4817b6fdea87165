"use strict";
// Shows one node at a time; arrow keys walk the drawing, the slider hides what came later.
const nodes = [...document.querySelectorAll("a.node")];
const steps = [...document.querySelectorAll(".step")];
const slider = document.querySelector(".slider input");
if (slider) {
  document.documentElement.classList.add("js");
  for (const part of document.querySelectorAll(".slider, .keys")) part.hidden = false;
  const show = (id) => {
    nodes.forEach((node, index) => {
      node.classList.toggle("open", index === id);
      node.setAttribute("tabindex", index === id ? "0" : "-1");
      if (index === id) node.setAttribute("aria-current", "true");
      else node.removeAttribute("aria-current");
    });
    steps.forEach((step, index) => step.classList.toggle("open", index === id));
  };
  const upTo = (last) => {
    document.querySelector(".slider output").textContent = last;
    slider.value = last;
    for (const part of document.querySelectorAll("svg [data-step], tr[data-step]")) {
      part.classList.toggle("later", Number(part.dataset.step) > last);
    }
  };
  const wanted = () => {
    const found = /^#node-(\d+)$/.exec(location.hash);
    return found && Number(found[1]) < nodes.length ? Number(found[1]) : null;
  };
  const follow = () => {
    const id = wanted();
    if (id === null) return;
    if (id >= Number(slider.value)) upTo(id + 1);
    show(id);
    nodes[id].scrollIntoView({ block: "nearest", inline: "nearest" });
    steps[id].scrollIntoView({ block: "nearest" });
  };
  addEventListener("hashchange", follow);
  slider.addEventListener("input", () => {
    const last = Number(slider.value);
    upTo(last);
    if (steps.findIndex((step) => step.classList.contains("open")) >= last) show(last - 1);
  });
  nodes.forEach((node, id) => {
    node.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      show(id);
      node.focus({ preventScroll: true });
      // On narrow screens the text stands below the drawing.
      if (steps[id].getBoundingClientRect().top > innerHeight * 0.8) steps[id].scrollIntoView();
    });
    node.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const key = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" }[event.key];
      if (!key) return;
      event.preventDefault();
      const next = node.dataset[key];
      if (next === undefined || Number(next) >= Number(slider.value)) return;
      show(Number(next));
      nodes[next].focus({ preventScroll: true });
      nodes[next].scrollIntoView({ block: "nearest", inline: "nearest" });
    });
  });
  show(Math.max(0, nodes.findIndex((node) => node.getAttribute("tabindex") === "0")));
  follow();
  // The drawing may be wider than its box: what is open should be seen.
  const box = document.querySelector(".drawing .scroll");
  const open = document.querySelector("a.node.open");
  if (box && open) {
    const [here, there] = [box.getBoundingClientRect(), open.getBoundingClientRect()];
    box.scrollLeft += there.left - here.left - here.width / 2;
    if (there.bottom > here.bottom) box.scrollTop += there.top - here.top - here.height / 2;
  }
}
