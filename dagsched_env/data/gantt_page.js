// The page of one problem: its first schedule, and a list of all of them if there are several.
const root = document.querySelector(".gantt"), chart = ganttChart(root);
const problem = JSON.parse(document.getElementById("data").textContent);
const show = i => chart.show({ ...problem, ...problem.schedules[i] });
if (problem.schedules.length > 1) {
  const label = document.createElement("label"), select = document.createElement("select");
  select.append(...problem.schedules.map(({ title, makespan }, i) =>
    new Option(`${title}: ${Number(makespan.toPrecision(6))}`, i)));
  select.addEventListener("change", () => show(select.value));
  label.append("schedule ", select);
  root.querySelector(".space").after(label);
}
show(0);
