ganttChart(document.querySelector(".gantt")).show(JSON.parse(document.getElementById("data").textContent));
