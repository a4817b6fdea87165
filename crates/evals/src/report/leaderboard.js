"use strict";
// A click on a column's head sorts by it, best first; another click turns the order round.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const heads = [...head.parentElement.cells];
    const body = button.closest("table").tBodies[0];
    const first = head.dataset.first;
    const sorted = head.getAttribute("aria-sort");
    const order = sorted === null ? first : sorted === "ascending" ? "descending" : "ascending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const at = heads.indexOf(head);
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...body.rows].map((row) => ({ row, value: row.cells[at].dataset.value }));
    // What is not known comes last in both orders.
    const compare = (a, b) => {
      if (a.value === undefined || b.value === undefined) return (a.value === undefined) - (b.value === undefined);
      const numbers = Number(a.value) - Number(b.value);
      return sign * (Number.isNaN(numbers) ? (a.value < b.value ? -1 : a.value > b.value ? 1 : 0) : numbers);
    };
    body.append(...rows.sort(compare).map(({ row }) => row));
  });
}
