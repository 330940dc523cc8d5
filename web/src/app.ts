document.body.textContent = "halley";
