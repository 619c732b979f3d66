"use strict";
(function () {

/* Columns of nodes in preorder: a node's subtree is the run of rows up to `end`. Kinds are those of
 * flame_tree.h. */
const data = JSON.parse(document.getElementById("data").textContent);
const INLINED = 1, KERNEL = 2, UNNAMED = 4, THREAD = 8, REST = 16;
const ROW = 20, MIN_WIDTH = 0.5, TEXT_WIDTH = 26;
const { depth, weight, frame, line } = data.nodes;
const { name, file, module, kind } = data.frames;
const text = data.strings, count = depth.length;
const parent = new Int32Array(count), end = new Int32Array(count), start = new Float64Array(count);

function element(id) { return document.getElementById(id); }
const view = element("view"), space = element("space"), canvas = element("canvas");
const tip = element("tip"), query = element("query"), matchedOut = element("matched");
const ctx = canvas.getContext("2d");

let zoomed = 0, focused = -1, hovered = -1, flipped = false, matches = null, deepest = 0;
let colours = null, stripes = null, widths = [];

function build() {
	const open = [], filled = new Float64Array(count);
	for (let i = 0; i < count; i++) {
		while (open.length > depth[i]) end[open.pop()] = i;
		const p = open.length ? open[open.length - 1] : -1;
		parent[i] = p;
		start[i] = p < 0 ? 0 : filled[p];
		filled[i] = start[i];
		if (p >= 0) filled[p] += weight[i];
		open.push(i);
	}
	while (open.length) end[open.pop()] = count;
}

/* --- words ------------------------------------------------------------------------------------ */

function title(i) {
	if (i === 0) return "all";
	const f = frame[i];
	if (kind[f] & REST) return "(smaller frames)";
	return text[name[f]] || text[module[f]] || "[no name]";
}

function label(i) {
	const t = title(i);
	return kind[frame[i]] & UNNAMED && i ? t.slice(t.lastIndexOf("/") + 1) : t;
}

function place(i) {
	const path = text[file[frame[i]]];
	return path ? path + (line[i] ? ":" + line[i] : "") : "";
}

function amount(w) {
	if (data.unit !== "nanoseconds") return w.toLocaleString("en") + (data.unit ? " " + data.unit : "");
	if (w >= 1e9) return (w / 1e9).toFixed(2) + " s";
	return w >= 1e6 ? (w / 1e6).toFixed(1) + " ms" : (w / 1e3).toFixed(0) + " µs";
}

function percent(part, whole) {
	return whole > 0 ? (100 * part / whole).toFixed(part * 1000 < whole ? 2 : 1) + " %" : "0 %";
}

function share(i) {
	let s = amount(weight[i]) + ", " + percent(weight[i], weight[0]) + " of all";
	if (zoomed) s += ", " + percent(weight[i], weight[zoomed]) + " of the zoomed frame";
	return s;
}

function nature(i) {
	const k = i ? kind[frame[i]] : 0, words = [];
	if (k & THREAD) words.push("thread");
	if (k & KERNEL) words.push("kernel");
	if (k & INLINED) words.push("inlined into its caller");
	if (k & UNNAMED) words.push("without a name: push its binary");
	const where = text[module[frame[i]]];
	if (where) words.push(where);
	return words.join(" · ");
}

/* --- colours ---------------------------------------------------------------------------------- */

function hash(s) {
	let h = 2166136261;
	for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619);
	return (h ^ h >>> 15) >>> 0;
}

/* One hue for a binary, nearby ones for the functions in it. */
function paint() {
	const css = getComputedStyle(document.documentElement);
	const get = (n) => css.getPropertyValue(n).trim();
	const hue = parseFloat(get("--user-h")), sat = parseFloat(get("--user-s"));
	const light = parseFloat(get("--user-l"));
	colours = { ink: get("--frame-ink"), gap: get("--gap"), mark: get("--mark"), edge: get("--ink"),
		root: get("--root"), frames: [] };
	for (let f = 0; f < name.length; f++) {
		const h = hash(text[name[f]]), m = hash(text[module[f]]);
		let c = "hsl(" + (hue - 14 + m % 23 + h % 9) + " " + (sat - h % 16) + "% " +
			(light - 4 + (h >>> 8) % 9) + "%)";
		if (kind[f] & REST) c = get("--rest");
		else if (kind[f] & THREAD) c = get("--thread");
		else if (kind[f] & UNNAMED) c = get("--unnamed");
		else if (kind[f] & KERNEL) c = get("--kernel");
		colours.frames.push(c);
	}
	const tile = document.createElement("canvas");
	tile.width = tile.height = 8;
	const t = tile.getContext("2d");
	t.strokeStyle = get("--stripe");
	t.lineWidth = 2;
	t.beginPath();
	for (const x of [-8, 0, 8]) { t.moveTo(x - 1, 9); t.lineTo(x + 9, -1); }
	t.stroke();
	stripes = ctx.createPattern(tile, "repeat");
}

/* --- drawing ---------------------------------------------------------------------------------- */

function measure() {
	deepest = 0;
	const scale = view.clientWidth / (weight[zoomed] || 1);
	for (let i = zoomed; i < end[zoomed];) {
		if (weight[i] * scale < MIN_WIDTH) { i = end[i]; continue; }
		if (depth[i] > deepest) deepest = depth[i];
		i++;
	}
	const height = view.clientHeight, ratio = window.devicePixelRatio || 1;
	space.style.height = Math.max(height, (deepest + 1) * ROW + 4) + "px";
	canvas.style.height = height + "px";
	canvas.width = Math.round(view.clientWidth * ratio);
	canvas.height = Math.round(height * ratio);
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
}

function top(d) {
	const full = Math.max(view.clientHeight, (deepest + 1) * ROW + 4);
	return flipped ? full - (d + 1) * ROW : d * ROW;
}

function fit(i, room) {
	const f = i ? frame[i] : -1, t = label(i);
	let w = f > 0 ? widths[f] : undefined;
	if (w === undefined) {
		w = ctx.measureText(t).width;
		if (f > 0) widths[f] = w;
	}
	if (w <= room) return t;
	const n = Math.floor(t.length * room / w) - 2;
	return n > 1 ? t.slice(0, n) + "…" : "";
}

function drawNode(i, x, w, y, ancestor) {
	const k = i ? kind[frame[i]] : 0, hit = i && matches && matches[frame[i]];
	const inner = Math.max(w - 1, MIN_WIDTH);
	ctx.globalAlpha = ancestor || (matches && !hit) ? 0.42 : 1;
	ctx.fillStyle = hit ? colours.mark : i ? colours.frames[frame[i]] : colours.root;
	ctx.fillRect(x, y, inner, ROW - 1);
	if (k & INLINED && w > 3) {
		ctx.fillStyle = stripes;
		ctx.fillRect(x, y, inner, ROW - 1);
	}
	ctx.globalAlpha = ancestor ? 0.6 : 1;
	if (w > TEXT_WIDTH) {
		ctx.fillStyle = hit ? colours.gap : colours.ink;
		ctx.fillText(fit(i, w - 9), x + 4, y + ROW / 2);
	}
	ctx.globalAlpha = 1;
	if (i === focused || i === hovered) {
		ctx.strokeStyle = colours.edge;
		ctx.lineWidth = i === focused ? 2 : 1;
		ctx.strokeRect(x + 1, y + 1, Math.max(inner - 2, 1), ROW - 3);
	}
}

function draw() {
	const width = view.clientWidth, height = view.clientHeight, shift = view.scrollTop;
	const scale = width / (weight[zoomed] || 1), left = start[zoomed];
	ctx.clearRect(0, 0, width, height);
	ctx.font = "12px system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";
	ctx.textBaseline = "middle";
	for (let a = parent[zoomed]; a >= 0; a = parent[a]) {
		const y = top(depth[a]) - shift;
		if (y > -ROW && y < height) drawNode(a, 0, width, y, true);
	}
	for (let i = zoomed; i < end[zoomed];) {
		const w = weight[i] * scale, y = top(depth[i]) - shift;
		if (w < MIN_WIDTH || (flipped ? y < -ROW : y > height)) { i = end[i]; continue; }
		if (y > -ROW && y < height) drawNode(i, (start[i] - left) * scale, w, y, false);
		i++;
	}
}

let wanted = false;
function redraw() {
	if (wanted) return;
	wanted = true;
	requestAnimationFrame(() => { wanted = false; draw(); });
}

function layout() { measure(); draw(); }

/* --- doing ------------------------------------------------------------------------------------ */

function say(i) {
	element("status").textContent = i < 0 ? "" :
		[title(i), place(i), share(i), nature(i)].filter(Boolean).join("  —  ");
}

function zoom(i) {
	zoomed = i;
	element("reset").disabled = i === 0;
	measure();
	view.scrollTop = flipped ? space.offsetHeight : Math.max(0, (depth[i] - 3) * ROW);
	search();
	draw();
}

function focus(i) {
	focused = i;
	const y = top(depth[i]);
	if (y < view.scrollTop) view.scrollTop = y;
	else if (y + ROW > view.scrollTop + view.clientHeight) view.scrollTop = y + ROW - view.clientHeight;
	say(i);
	redraw();
}

/* The weight of what matches, each sample once: below a match nothing more is counted. */
function search() {
	const q = query.value.trim(), re = /^\/(.+)\/$/.exec(q);
	let test, sum = 0;
	matches = null;
	matchedOut.textContent = "";
	if (!q) return redraw();
	if (re) {
		try {
			const r = new RegExp(re[1], "i");
			test = (s) => r.test(s);
		} catch (e) {
			matchedOut.textContent = "not a regex";
			return redraw();
		}
	} else {
		const lower = q.toLowerCase();
		test = (s) => s.toLowerCase().includes(lower);
	}
	const hits = text.map(test);
	matches = name.map((n, f) => f > 0 && (hits[n] || hits[file[f]] || hits[module[f]]));
	for (let i = zoomed; i < end[zoomed];) {
		if (i && matches[frame[i]]) { sum += weight[i]; i = end[i]; } else i++;
	}
	matchedOut.textContent = percent(sum, weight[zoomed]) + " matches";
	redraw();
}

function at(x, y) {
	const d = flipped ? Math.floor((top(0) + ROW - y) / ROW) : Math.floor(y / ROW);
	const scale = view.clientWidth / (weight[zoomed] || 1);
	let i = zoomed;
	if (d < 0) return -1;
	if (d < depth[zoomed]) {
		for (i = parent[zoomed]; i >= 0 && depth[i] > d;) i = parent[i];
		return i;
	}
	while (depth[i] < d) {
		let c = i + 1;
		while (c < end[i] && x >= (start[c] + weight[c] - start[zoomed]) * scale) c = end[c];
		if (c >= end[i] || weight[c] * scale < MIN_WIDTH) return -1;
		if (x < (start[c] - start[zoomed]) * scale) return -1;
		i = c;
	}
	return i;
}

function under(e) {
	const box = view.getBoundingClientRect();
	return at(e.clientX - box.left, e.clientY - box.top + view.scrollTop);
}

function showTip(i, e) {
	tip.hidden = i < 0;
	if (i < 0) return;
	const rows = [title(i), place(i), share(i), nature(i)];
	for (let r = 0; r < rows.length; r++) tip.children[r].textContent = rows[r];
	const w = tip.offsetWidth, h = tip.offsetHeight;
	const below = e.clientY + 18 + h < window.innerHeight;
	tip.style.left = Math.max(6, Math.min(e.clientX + 14, window.innerWidth - w - 6)) + "px";
	tip.style.top = Math.max(6, below ? e.clientY + 18 : e.clientY - h - 12) + "px";
}

function sibling(i, step) {
	const p = parent[i];
	if (p < 0) return i;
	if (step > 0) return end[i] < end[p] ? end[i] : i;
	let c = p + 1;
	if (c === i) return i;
	while (end[c] !== i) c = end[c];
	return c;
}

function key(e) {
	const i = focused < 0 ? zoomed : focused;
	const inward = flipped ? "ArrowUp" : "ArrowDown", outward = flipped ? "ArrowDown" : "ArrowUp";
	if (e.ctrlKey || e.metaKey || e.altKey) return;
	if (e.key === inward) focus(focused < 0 ? i : end[i] > i + 1 ? i + 1 : i);
	else if (e.key === outward) focus(Math.max(parent[i], 0));
	else if (e.key === "ArrowLeft") focus(sibling(i, -1));
	else if (e.key === "ArrowRight") focus(sibling(i, 1));
	else if (e.key === "Home") focus(zoomed);
	else if (e.key === "Enter" || e.key === " ") zoom(i);
	else return;
	e.preventDefault();
}

/* --- wiring ----------------------------------------------------------------------------------- */

view.addEventListener("scroll", redraw);
view.addEventListener("keydown", key);
canvas.addEventListener("click", (e) => {
	const i = under(e);
	if (i < 0) return;
	focused = i;
	zoom(i);
});
canvas.addEventListener("mousemove", (e) => {
	const i = under(e);
	showTip(i, e);
	if (i === hovered) return;
	hovered = i;
	say(i < 0 ? focused : i);
	redraw();
});
canvas.addEventListener("mouseleave", () => { hovered = -1; tip.hidden = true; say(focused); redraw(); });
query.addEventListener("input", () => {
	const q = query.value.trim();
	history.replaceState(null, "", q ? "#q=" + encodeURIComponent(q) : "#");
	search();
});
element("search").addEventListener("submit", (e) => { e.preventDefault(); view.focus(); });
element("reset").addEventListener("click", () => zoom(0));
element("flip").addEventListener("click", () => {
	flipped = !flipped;
	measure();
	view.scrollTop = flipped ? space.offsetHeight : 0;
	draw();
});
document.addEventListener("keydown", (e) => {
	if (e.key === "/" && document.activeElement !== query) { e.preventDefault(); query.focus(); }
	if (e.key !== "Escape") return;
	if (document.activeElement === query && query.value) { query.value = ""; search(); }
	else { view.focus(); zoom(0); }
});
window.addEventListener("resize", layout);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { paint(); draw(); });

build();
paint();
element("summary").textContent = amount(weight[0]) + " in " + (count - 1).toLocaleString("en") + " frames" +
	(data.pruned ? "; " + data.pruned.toLocaleString("en") + " smaller ones are summed up" : "");
if (location.hash.startsWith("#q=")) {
	try { query.value = decodeURIComponent(location.hash.slice(3)); } catch (e) { query.value = ""; }
}
zoom(0);

})();
