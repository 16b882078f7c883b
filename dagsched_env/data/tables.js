// Sorts a table by a column when the button in its head is pressed; again, the other way round.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const valueOf = row => column => {
    const cell = row.cells[column], text = cell.dataset.value ?? cell.textContent.trim();
    const number = text === "" ? NaN : Number(text);
    return { text, number, missing: text === "" || text === "-" };
  };
  const compare = (a, b, direction) => {
    if (a.missing || b.missing) return a.missing - b.missing;
    if (isNaN(a.number) !== isNaN(b.number)) return isNaN(a.number) - isNaN(b.number);
    return direction * (isNaN(a.number)
      ? a.text.localeCompare(b.text, undefined, { numeric: true }) : a.number - b.number || 0);
  };
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
    const keyed = [...body.rows].map(row => [valueOf(row)(column), row]);
    keyed.sort(([a], [b]) => compare(a, b, direction));
    body.append(...keyed.map(([, row]) => row));
  }));
}
