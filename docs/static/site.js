// Cells of wide tables know the heading of their column, for pages on which these do not stand side by side.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.docutils")) {
    const headings = [...table.querySelectorAll("thead th")].map((th) => th.textContent.trim());
    if (headings.length < 4) continue;
    table.classList.add("wide");
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, i) => {
        if (headings[i] && cell.textContent.trim()) cell.dataset.heading = headings[i];
      });
    }
  }
});
