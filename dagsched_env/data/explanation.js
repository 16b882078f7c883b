// The recorded and the planned chart below each other, on one scale of time.
const charts = JSON.parse(document.getElementById("data").textContent);
document.querySelectorAll(".gantt").forEach((root, i) => ganttChart(root).show(charts[i]));
