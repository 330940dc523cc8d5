(function () {
  var tip = document.getElementById('tip');
  function show(e) {
    var g = e.target.closest ? e.target.closest('[data-t]') : null;
    if (!g) { tip.style.display = 'none'; return; }
    tip.textContent = g.getAttribute('data-t');
    tip.style.display = 'block';
    var w = tip.offsetWidth, x = Math.min(e.clientX + 14, innerWidth - w - 8);
    tip.style.left = Math.max(4, x) + 'px';
    tip.style.top = (e.clientY + 18 + tip.offsetHeight > innerHeight ? e.clientY - tip.offsetHeight - 10 : e.clientY + 18) + 'px';
  }
  document.addEventListener('pointermove', show);
  document.addEventListener('pointerdown', show);
})();
