/* A field above each table of the class "filtered" that leaves the rows which hold what is typed. */
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.filtered")) {
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
    (table.closest(".table-wrapper") || table).before(bar);
    field.value = new URLSearchParams(location.search).get("name") || "";
    filter();
  }
});
