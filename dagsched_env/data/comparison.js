// A click on a ratio opens the chart of its schedule; the list in the dialog goes on to the others.
const dialog = document.querySelector("dialog");
if (dialog) {
  const chart = ganttChart(dialog), select = dialog.querySelector("select");
  let problem = null;

  const show = scheduler => {
    dialog.style.height = problem.resources ? "94vh" : `${210 + 64 * problem.processors.length}px`;
    chart.show({ ...problem, ...problem.schedules[scheduler] });
  };

  document.querySelector(".ratios").addEventListener("click", event => {
    const button = event.target.closest("button[data-instance]");
    if (!button) return;
    problem = JSON.parse(document.getElementById(`instance-${button.dataset.instance}`).textContent);
    select.replaceChildren(...Object.entries(problem.schedules).map(([scheduler, schedule]) => {
      const text = `${schedule.scheduler}: ${Number(schedule.makespan.toPrecision(6))}`;
      return new Option(text, scheduler, false, scheduler === button.dataset.scheduler);
    }));
    dialog.showModal();
    dialog.querySelector("canvas").focus();  // for the keys
    show(button.dataset.scheduler);
  });
  select.addEventListener("change", () => show(select.value));
  dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });
}

// A line of the profiles stands out while the pointer is on it or on its name.
for (const profile of document.querySelectorAll(".profile")) {
  const lines = [...profile.querySelectorAll("g path")].reverse();
  [...profile.querySelectorAll("li")].forEach((entry, i) => {
    for (const part of [entry, lines[i]]) {
      part.addEventListener("pointerenter", () => choose(i, true));
      part.addEventListener("pointerleave", () => choose(i, false));
    }
  });
  const choose = (i, chosen) => {
    profile.classList.toggle("chosen", chosen);
    lines[i].classList.toggle("chosen", chosen);
  };
}
