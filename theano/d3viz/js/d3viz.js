// The front end of a graph's page: draws the data of the page, and lets the user move, zoom, open and edit.
(function () {
  "use strict";

  const PADDING = 14;
  const HEADER = 18;
  const PLAIN_COLOR = "#ffffff";
  const USES = { black: "", blue: "the result is a view of it", red: "it is destroyed" };
  const KINDS = {
    input: "input", shared_input: "shared variable", constant_input: "constant", output: "output",
    unused_output: "output that nothing needs", variable: "variable", apply: "operation",
  };

  const root = JSON.parse(document.getElementById("data").textContent);
  const svg = d3.select("#graph");
  const canvas = svg.append("g").attr("id", "canvas");
  const tooltip = d3.select("#tooltip");
  const context = d3.select("#context");
  const labelInput = d3.select("#label");
  const byId = new Map();
  let profileColors = false;
  let simulation = null;
  let chosen = null;

  // Every node gets the state that the user can change: an offset, a label, and whether its inner graph is open.
  function prepare(graph, parent) {
    const pending = [[graph, parent]];
    while (pending.length) {
      const [current, owner] = pending.pop();
      current.owner = owner;
      for (const node of current.nodes) {
        node.graph = current;
        node.dx = node.dy = 0;
        node.open = false;
        byId.set(node.id, node);
        if (node.inner) pending.push([node.inner, node]);
      }
    }
  }

  // ---- positions --------------------------------------------------------------------------------------------------

  // An open node needs room: what lies beside it moves away, more and more over the width that the node had.
  function displace(graph, x, y, self) {
    let dx = 0;
    let dy = 0;
    for (const node of graph.open) {
      if (node === self) continue;
      const clamp = (t) => Math.max(-1, Math.min(1, t));
      dx += ((node.width - node.w) / 2) * clamp((x - node.x) / (node.w / 2));
      dy += ((node.height - node.h) / 2) * clamp((y - node.y) / (node.h / 2));
    }
    return [x + dx, y + dy];
  }

  // Sizes from the innermost graphs outwards; positions within each graph.
  function measure(graph) {
    for (const node of graph.nodes) {
      node.width = node.w;
      node.height = node.h;
      if (node.open) {
        measure(node.inner);
        const [x0, y0, x1, y1] = node.inner.box;
        node.width = Math.max(node.w, x1 - x0 + 2 * PADDING);
        node.height = Math.max(node.h, y1 - y0 + 2 * PADDING + HEADER);
      }
    }
    graph.open = graph.nodes.filter((node) => node.open);
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    const include = (x, y, w, h) => {
      box[0] = Math.min(box[0], x - w / 2);
      box[1] = Math.min(box[1], y - h / 2);
      box[2] = Math.max(box[2], x + w / 2);
      box[3] = Math.max(box[3], y + h / 2);
    };
    for (const node of graph.nodes) {
      const [x, y] = displace(graph, node.x, node.y, node);
      node.px = x + node.dx;
      node.py = y + node.dy;
      include(node.px, node.py, node.width, node.height);
    }
    for (const edge of graph.edges) {
      for (const [x, y] of edge.points) include(...displace(graph, x, y, null), 4, 4);
    }
    graph.box = graph.nodes.length ? box : [0, 0, 1, 1];
  }

  function place(graph, ox, oy) {
    graph.ox = ox;
    graph.oy = oy;
    for (const node of graph.nodes) {
      node.ax = node.px + ox;
      node.ay = node.py + oy;
      if (node.open) {
        const [x0, y0, x1, y1] = node.inner.box;
        place(node.inner, node.ax - (x0 + x1) / 2, node.ay + HEADER / 2 - (y0 + y1) / 2);
      }
    }
  }

  // The node where an edge really ends: inside an open node, the one that stands for its input or output.
  function endOf(id, port, side) {
    let node = byId.get(id);
    while (node.open && node.inner[side][port]) {
      node = byId.get(node.inner[side][port]);
      port = 0;
    }
    return node;
  }

  function boundary(node, tx, ty) {
    const dx = tx - node.ax;
    const dy = ty - node.ay;
    if (!dx && !dy) return [node.ax, node.ay];
    const a = node.width / 2;
    const b = node.height / 2;
    const scale = node.shape === "ellipse" && !node.open
      ? 1 / Math.sqrt((dx / a) ** 2 + (dy / b) ** 2)
      : 1 / Math.max(Math.abs(dx) / a, Math.abs(dy) / b);
    return [node.ax + dx * scale, node.ay + dy * scale];
  }

  function pathOf(edge, graph) {
    const source = endOf(edge.source, edge.sourcePort, "outputs");
    const target = endOf(edge.target, edge.targetPort, "inputs");
    const untouched = source.id === edge.source && target.id === edge.target
      && !source.dx && !source.dy && !target.dx && !target.dy;
    if (untouched) {
      const points = edge.points.map(([x, y]) => {
        const [px, py] = displace(graph, x, y, null);
        return [px + graph.ox, py + graph.oy];
      });
      const first = boundary(source, ...points[1]);
      const last = boundary(target, ...points[points.length - 2]);
      points[0] = first;
      points[points.length - 1] = last;
      let d = `M${points[0]}`;
      for (let i = 1; i + 2 < points.length; i += 3) d += `C${points[i]} ${points[i + 1]} ${points[i + 2]}`;
      return d;
    }
    const bend = Math.max(20, Math.abs(target.ay - source.ay) / 3);
    const down = target.ay > source.ay;
    const [x0, y0] = boundary(source, down ? source.ax : target.ax, down ? source.ay + 1 : target.ay);
    const [x1, y1] = boundary(target, down ? target.ax : source.ax, down ? target.ay - 1 : source.ay);
    return down ? `M${x0},${y0}C${x0},${y0 + bend} ${x1},${y1 - bend} ${x1},${y1}` : `M${x0},${y0}L${x1},${y1}`;
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------

  function visible() {
    const nodes = [];
    const edges = [];
    const pending = [root];
    while (pending.length) {
      const graph = pending.pop();
      nodes.push(...graph.nodes);
      graph.edges.forEach((edge) => edges.push({ edge, graph }));
      for (const node of graph.nodes) if (node.open) pending.push(node.inner);
    }
    return { nodes, edges };
  }

  const heat = d3.interpolateRgbBasis(["#ffffff", "#ffe08a", "#ff9c4a", "#e23b2e"]);

  function fill(node) {
    if (profileColors) return node.time === null ? PLAIN_COLOR : heat(Math.sqrt(node.share));
    return node.color || PLAIN_COLOR;
  }

  function drawShape(node) {
    const element = d3.select(this);
    element.select(".shape").remove();
    const ellipse = node.shape === "ellipse" && !node.open;
    const shape = element.insert(ellipse ? "ellipse" : "rect", ":first-child").attr("class", "shape");
    if (ellipse) {
      shape.attr("rx", node.width / 2).attr("ry", node.height / 2);
    } else {
      shape.attr("x", -node.width / 2).attr("y", -node.height / 2).attr("rx", 3)
        .attr("width", node.width).attr("height", node.height);
    }
    const color = fill(node);
    shape.style("fill", color);
    const text = element.select("text").text(node.label)
      .style("fill", d3.hcl(color).l > 50 ? null : "#fff")
      .attr("y", node.open ? -node.height / 2 + HEADER * 0.7 : 0);
    const room = node.width - 8;
    const length = text.node().getComputedTextLength();
    text.attr("textLength", length > room ? room : null).attr("lengthAdjust", "spacingAndGlyphs");
  }

  function draw() {
    measure(root);
    place(root, 0, 0);
    const { nodes, edges } = visible();
    // Inner graphs come after the node that they are in, so that they are painted over it.
    const groups = canvas.selectAll("g.node").data(nodes, (d) => d.id).join((enter) => {
      const g = enter.append("g").attr("class", "node").attr("id", (d) => d.id);
      g.append("text");
      g.call(dragging).on("mouseover", overNode).on("mousemove", moveTooltip).on("mouseout", hideTooltip)
        .on("click", openContext).on("dblclick", toggle);
      g.attr("tabindex", 0).attr("role", "button").on("focus", focusNode).on("blur", hideTooltip).on("keydown", keyOnNode);
      return g;
    });
    groups.classed("group", (d) => d.open).classed("nested", (d) => Boolean(d.inner))
      .attr("aria-label", (d) => `${KINDS[d.kind]} ${d.label}`)
      .attr("aria-expanded", (d) => (d.inner ? d.open : null))
      .attr("data-kind", (d) => d.kind)
      .attr("transform", (d) => `translate(${d.ax},${d.ay})`).each(drawShape).order();
    const lines = canvas.selectAll("g.link").data(edges, (d) => `${d.edge.target}:${d.edge.targetPort}`)
      .join((enter) => {
        const g = enter.append("g").attr("class", "link");
        g.append("path").attr("class", "reach");
        g.append("path").attr("class", "edge");
        g.on("mouseover", overEdge).on("mousemove", moveTooltip).on("mouseout", leaveEdge);
        return g;
      });
    lines.each(function ({ edge, graph }) {
      const d = pathOf(edge, graph);
      d3.select(this).selectAll("path").attr("d", d);
      d3.select(this).select(".edge").classed(edge.color, true)
        .attr("marker-end", `url(#arrow-${edge.color})`);
    });
    lines.raise();
  }

  // ---- mouse ------------------------------------------------------------------------------------------------------

  function showTooltip(event, entries) {
    const list = tooltip.attr("hidden", null).html("").append("dl");
    for (const [heading, text] of entries) {
      list.append("dt").text(heading);
      list.append("dd").text(text);
    }
    moveTooltip(event);
  }

  function moveTooltip(event) {
    const { offsetWidth: w, offsetHeight: h } = tooltip.node();
    const x = event.clientX + 14 + w > innerWidth ? Math.max(0, event.clientX - 14 - w) : event.clientX + 14;
    const y = event.clientY + 14 + h > innerHeight ? Math.max(0, event.clientY - 14 - h) : event.clientY + 14;
    tooltip.style("left", `${x}px`).style("top", `${y}px`);
  }

  function hideTooltip() {
    tooltip.attr("hidden", true);
  }

  function overNode(event, node) {
    event.stopPropagation();
    showTooltip(event, node.info);
  }

  function overEdge(event, { edge }) {
    d3.select(this).select(".edge").classed("hover", true);
    const uses = USES[edge.color];
    const entries = [["Variable", edge.label], ["Input", String(edge.targetPort)]];
    if (uses) entries.push(["Memory", uses]);
    showTooltip(event, entries);
  }

  function leaveEdge() {
    d3.select(this).select(".edge").classed("hover", false);
    hideTooltip();
  }

  const dragging = d3.drag().clickDistance(3)
    .on("start", () => stop())
    .on("drag", (event, node) => {
      node.dx += event.dx;
      node.dy += event.dy;
      hideTooltip();
      draw();
    });

  function toggle(event, node) {
    event.stopPropagation();
    closeContext();
    if (!node.inner) return;
    node.open = !node.open;
    draw();
  }

  function openContext(event, node) {
    event.stopPropagation();
    chosen = node;
    context.attr("hidden", null).style("left", `${event.clientX}px`).style("top", `${event.clientY}px`);
    d3.select("#edit").attr("hidden", null);
    labelInput.attr("hidden", true);
  }

  function closeContext() {
    context.attr("hidden", true);
    chosen = null;
  }

  d3.select("#edit").on("click", () => {
    d3.select("#edit").attr("hidden", true);
    labelInput.attr("hidden", null).property("value", chosen.label);
    labelInput.node().select();
  });

  context.on("submit", (event) => {
    event.preventDefault();
    if (chosen) chosen.label = labelInput.property("value");
    closeContext();
    draw();
  });

  // ---- the whole picture ------------------------------------------------------------------------------------------

  const zoom = d3.zoom().scaleExtent([0.02, 8]).on("zoom", (event) => canvas.attr("transform", event.transform));
  svg.call(zoom).on("dblclick.zoom", null).on("click", closeContext);

  function fit() {
    const [x0, y0, x1, y1] = root.box;
    const { clientWidth: w, clientHeight: h } = svg.node();
    const scale = Math.min(1.4, 0.92 * Math.min(w / (x1 - x0), (h - 50) / (y1 - y0)));
    const move = d3.zoomIdentity.translate(w / 2, h / 2 + 20).scale(scale).translate(-(x0 + x1) / 2, -(y0 + y1) / 2);
    svg.call(zoom.transform, move);
  }

  function stop() {
    if (simulation) simulation.stop();
    simulation = null;
  }

  // The nodes of the outer graph arrange themselves; inner graphs move along with their node.
  function release() {
    stop();
    const bodies = root.nodes.map((node) => ({ node, id: node.id, x: node.px, y: node.py }));
    const links = root.edges.map((edge) => ({ source: edge.source, target: edge.target }));
    const start = new Map(root.nodes.map((node) => [node.id, [node.px - node.dx, node.py - node.dy]]));
    simulation = d3.forceSimulation(bodies)
      .force("link", d3.forceLink(links).id((d) => d.id).distance(90))
      .force("charge", d3.forceManyBody().strength(-500))
      .force("collide", d3.forceCollide((d) => Math.hypot(d.node.width, d.node.height) / 2))
      .force("y", d3.forceY((d) => start.get(d.id)[1]).strength(0.15))
      .force("x", d3.forceX((d) => start.get(d.id)[0]).strength(0.03));
    const move = () => {
      for (const body of bodies) {
        body.node.dx = body.x - start.get(body.id)[0];
        body.node.dy = body.y - start.get(body.id)[1];
      }
      draw();
    };
    // The first steps are large: they are taken at once, the rest is shown as it goes.
    simulation.on("tick", move).tick(20);
    move();
  }

  function reset() {
    stop();
    for (const node of byId.values()) node.dx = node.dy = 0;
    draw();
    fit();
  }

  function arrows() {
    const defs = svg.append("defs");
    for (const name of Object.keys(USES)) {
      defs.append("marker").attr("id", `arrow-${name}`).attr("viewBox", "0 0 8 8").attr("refX", 7.5).attr("refY", 4)
        .attr("markerWidth", 8).attr("markerHeight", 8).attr("markerUnits", "userSpaceOnUse").attr("orient", "auto")
        .append("path").attr("class", name).attr("d", "M0,0L8,4L0,8Z");
    }
  }

  // ---- search, legend, keys ---------------------------------------------------------------------------------------

  const search = d3.select("#search");
  let hits = [];
  let current = -1;

  function markFound() {
    svg.classed("searching", hits.length > 0);
    canvas.selectAll("g.node").classed("found", (d) => hits.includes(d)).classed("current", (d) => d === hits[current]);
    const text = search.property("value");
    const place = current < 0 ? "" : `${current + 1} of `;
    d3.select("#found").text(text ? `${place}${hits.length || "nothing"} found` : "");
  }

  function find() {
    const words = search.property("value").toLowerCase().split(/\s+/).filter(Boolean);
    const text = (node) => [node.label, ...node.info.map(([, entry]) => entry)].join("\n").toLowerCase();
    hits = words.length ? [...byId.values()].filter((node) => words.every((word) => text(node).includes(word))) : [];
    current = -1;
    markFound();
  }

  // What is found inside of closed nodes is shown, which opens them.
  function goTo(index) {
    if (!hits.length) return;
    current = (index + hits.length) % hits.length;
    for (let owner = hits[current].graph.owner; owner; owner = owner.graph.owner) owner.open = true;
    draw();
    markFound();
    const { clientWidth: w, clientHeight: h } = svg.node();
    const scale = Math.max(0.8, d3.zoomTransform(svg.node()).k);
    svg.call(zoom.transform, d3.zoomIdentity.translate(w / 2, h / 2).scale(scale).translate(-hits[current].ax, -hits[current].ay));
  }

  search.on("input", find).on("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") goTo(current + (event.shiftKey ? -1 : 1));
    if (event.key === "Escape") {
      search.property("value", "");
      find();
      search.node().blur();
    }
  });

  function focusNode(event, node) {
    if (!this.matches(":focus-visible")) return;
    const { left, bottom } = this.getBoundingClientRect();
    showTooltip({ clientX: left, clientY: bottom }, node.info);
  }

  function keyOnNode(event, node) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      toggle(event, node);
      this.focus();
    }
  }

  function press(id) {
    if (!d3.select(id).attr("hidden")) d3.select(id).node().click();
  }

  const KEYS = {
    "/": () => search.node().select(),
    "+": () => svg.call(zoom.scaleBy, 1.25),
    "=": () => svg.call(zoom.scaleBy, 1.25),
    "-": () => svg.call(zoom.scaleBy, 0.8),
    0: () => fit(),
    f: () => fit(),
    p: () => press("#profile"),
    l: () => {
      const legend = document.getElementById("legend");
      legend.open = !legend.open;
    },
    ArrowLeft: () => svg.call(zoom.translateBy, 60 / d3.zoomTransform(svg.node()).k, 0),
    ArrowRight: () => svg.call(zoom.translateBy, -60 / d3.zoomTransform(svg.node()).k, 0),
    ArrowUp: () => svg.call(zoom.translateBy, 0, 60 / d3.zoomTransform(svg.node()).k),
    ArrowDown: () => svg.call(zoom.translateBy, 0, -60 / d3.zoomTransform(svg.node()).k),
    Escape: () => {
      closeContext();
      hideTooltip();
      for (const details of document.querySelectorAll("details")) details.open = false;
    },
  };

  d3.select(window).on("keydown", (event) => {
    const action = KEYS[event.key] || KEYS[event.key.toLowerCase()];
    const typing = event.target.matches && event.target.matches("input, textarea");
    if (!action || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });

  // The kinds and colors that are in the picture.
  function legend() {
    const rows = new Map();
    const edges = new Set();
    const pending = [root];
    while (pending.length) {
      const graph = pending.pop();
      for (const node of graph.nodes) {
        const name = node.kind === "apply" && node.color ? node.info[1][1].split(".").pop() : KINDS[node.kind];
        const key = node.kind === "apply" ? node.color || "" : node.kind;
        const row = rows.get(key) || { color: node.color || PLAIN_COLOR, round: node.shape === "ellipse", names: new Set() };
        row.names.add(name);
        rows.set(key, row);
        if (node.inner) pending.push(node.inner);
      }
      graph.edges.forEach((edge) => edges.add(edge.color));
    }
    const list = d3.select("#legend ul");
    for (const { color, round, names } of rows.values()) {
      const item = list.append("li");
      item.append("i").classed("round", round).style("background", color);
      const shown = [...names].slice(0, 4).join(", ");
      item.append("span").text(names.size > 4 ? `${shown}, ...` : shown);
    }
    for (const color of Object.keys(USES).filter((name) => edges.has(name))) {
      const item = list.append("li");
      item.append("i").attr("class", `arrow ${color}`);
      item.append("span").text(`input${USES[color] && `; ${USES[color]}`}`);
    }
  }

  d3.select("#profile").attr("hidden", root.profiled ? null : true).on("click", function () {
    profileColors = !profileColors;
    d3.select(this).attr("aria-pressed", profileColors);
    draw();
  });
  d3.select("#release").on("click", release);
  d3.select("#reset").on("click", reset);
  d3.select("#fit").on("click", fit);

  prepare(root, null);
  arrows();
  legend();
  draw();
  fit();
})();
