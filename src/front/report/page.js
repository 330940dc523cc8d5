halleyReport(document.body.dataset.kind, JSON.parse(document.getElementById("data").textContent), document.getElementById("report"), document.getElementById("columns")?.textContent);
