/* A field above each long table: only the rows that hold the typed words stay visible. */
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("article table")) {
    if (!table.tBodies.length || table.tBodies[0].rows.length < 200) continue;
    const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
    const bar = document.createElement("div");
    const field = document.createElement("input");
    const count = document.createElement("span");
    bar.className = "filter";
    field.type = "search";
    field.placeholder = "A name, “host”, “not there”";
    field.setAttribute("aria-label", "Filter the table");
    count.setAttribute("aria-live", "polite");
    const filter = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const [row, text] of rows) {
        row.hidden = !words.every((word) => text.includes(word));
        left += !row.hidden;
      }
      count.textContent = `${left} of ${rows.length}`;
    };
    field.addEventListener("input", filter);
    bar.append(field, count);
    (table.closest(".pst-scrollable-table-container") || table).before(bar);
    field.value = new URLSearchParams(location.search).get("name") || "";
    filter();
  }
});
