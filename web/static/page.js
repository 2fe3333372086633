// SPDX-License-Identifier: GPL-2.0-only
// Keys on the time line, and a refresh for who wants it. The pages work without.
'use strict';

// One stop for the tab key; arrows, Home and End go from generation to generation.
function marksPrepare() {
	const scroll = document.querySelector('.timeline .scroll');
	const marks = Array.from(document.querySelectorAll('.timeline .mark'));

	// the newest first, where not all fit
	if (scroll)
		scroll.scrollLeft = scroll.scrollWidth;
	marks.forEach((mark, i) => {
		mark.setAttribute('tabindex', i === marks.length - 1 ? '0' : '-1');
		mark.addEventListener('keydown', (event) => {
			const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0,
				     End: marks.length - 1 }[event.key];

			if (to === undefined || !marks[to])
				return;
			event.preventDefault();
			mark.setAttribute('tabindex', '-1');
			marks[to].setAttribute('tabindex', '0');
			marks[to].focus();
		});
	});
}

const EVERY_MS = 5000;
let timer = null;

async function refresh() {
	const main = document.getElementById('main');
	const said = document.getElementById('said');

	// what is being looked at, or read, is left alone
	if (main.contains(document.activeElement) && document.activeElement !== main)
		return;
	try {
		const answer = await fetch(location.href, { cache: 'no-store' });
		const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
		const fresh = page.getElementById('main');

		if (!fresh)
			throw new Error(answer.status);
		main.replaceChildren(...fresh.childNodes);
		marksPrepare();
		said.textContent = 'Refreshed at ' + new Date().toLocaleTimeString() + '.';
	} catch {
		said.textContent = 'ckptweb does not answer: start ckptctl web again.';
	}
}

function refreshPrepare() {
	const button = document.createElement('button');
	const said = document.createElement('span');

	button.type = 'button';
	button.textContent = 'Refresh every 5 s';
	button.setAttribute('aria-pressed', 'false');
	button.addEventListener('click', () => {
		if (timer) {
			clearInterval(timer);
			timer = null;
		} else {
			timer = setInterval(refresh, EVERY_MS);
		}
		button.setAttribute('aria-pressed', String(timer !== null));
	});
	said.id = 'said';
	document.getElementById('refresh').append(' ', button, ' ', said);
}

marksPrepare();
refreshPrepare();
