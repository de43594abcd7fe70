// Keys of the pages: / goes to the search box, j and k to the next and the previous hit,
// o opens the hit, ? shows the keys. They can be switched off where they are shown
// (WCAG 2.1.4). Pages work without this script.
"use strict";

const OFF = "keys-off";
const dialog = document.getElementById("keys");
const button = document.getElementById("show-keys");
const areOn = document.getElementById("keys-on");

function hits() {
  return [...document.querySelectorAll(".hits h2 a")];
}

function moveBy(step) {
  const all = hits();
  const place = all.indexOf(document.activeElement);
  const next = place < 0 ? 0 : place + step;
  if (all[next]) {
    all[next].focus();
  }
}

function openHit() {
  if (hits().includes(document.activeElement)) {
    document.activeElement.click();
  }
}

const ACTIONS = {
  "/": () => document.getElementById("q")?.focus(),
  j: () => moveBy(1),
  k: () => moveBy(-1),
  o: openHit,
  "?": () => dialog.showModal(),
};

function isWriting(element) {
  return element.matches("input, select, textarea, [contenteditable]");
}

document.addEventListener("keydown", (event) => {
  const isShortcut = !event.ctrlKey && !event.metaKey && !event.altKey;
  const action = Object.hasOwn(ACTIONS, event.key) ? ACTIONS[event.key] : null;
  if (!action || !isShortcut || !areOn.checked || dialog.open) {
    return;
  }
  if (isWriting(event.target)) {
    return;
  }
  event.preventDefault();
  action();
});

areOn.checked = localStorage.getItem(OFF) === null;
areOn.addEventListener("change", () => {
  if (areOn.checked) {
    localStorage.removeItem(OFF);
  } else {
    localStorage.setItem(OFF, "yes");
  }
});
button.hidden = false;
button.addEventListener("click", () => dialog.showModal());
