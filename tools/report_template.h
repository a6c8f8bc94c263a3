#pragma once
/// The pieces of a report that are the same in each: style and script. The report is one file that asks nobody for
/// anything; without the script everything can be read, and only the filter and the buttons are missing.
namespace reprise::tool {

inline constexpr const char* kReportStyle = R"CSS(
:root { color-scheme: light dark; --fg: #1c1e21; --bg: #fff; --soft: #5b6470; --line: #d9dde3; --panel: #f5f7f9; --mark: #0b63ce; --warm: #b4500b;
  --c0: #0b63ce; --c1: #b4500b; --c2: #2c7a3f; --c3: #8a3ab9; --c4: #a8222d; --c5: #15808a; }
@media (prefers-color-scheme: dark) { :root { --fg: #e6e8eb; --bg: #16181b; --soft: #9aa4b0; --line: #343a41; --panel: #1f2327; --mark: #6db0ff; --warm: #f2a35e;
  --c0: #6db0ff; --c1: #f2a35e; --c2: #7fce90; --c3: #cf9df0; --c4: #ff8d92; --c5: #6fd3dc; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem 1rem 6rem; font: 15px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg); }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; } h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p, li { overflow-wrap: anywhere; } .soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; } .wide { overflow-x: auto; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; vertical-align: top; }
th:first-child, td:first-child, td.text { text-align: left; overflow-wrap: anywhere; } th { color: var(--soft); font-weight: 600; }
code, pre { font: 12.5px/1.45 ui-monospace, monospace; } pre { background: var(--panel); border: 1px solid var(--line); padding: .6rem; overflow: auto; max-height: 30rem; }
details { margin: .2rem 0; } summary { cursor: pointer; overflow-wrap: anywhere; } details.function { border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .8rem; margin: .6rem 0; }
details.function > summary { font-weight: 600; } ul.tree { list-style: none; margin: 0; padding-left: 1.1rem; border-left: 1px solid var(--line); }
ol.first li { margin: .35rem 0; } svg { max-width: 100%; height: auto; background: var(--panel); border: 1px solid var(--line); }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; } svg .axis { stroke: var(--line); } svg .curve { fill: none; stroke-width: 1.5; }
.tools { position: sticky; top: 0; background: var(--bg); padding: .5rem 0; display: flex; gap: .5rem; flex-wrap: wrap; } .tools[hidden] { display: none; }
.tools input { flex: 1 1 14rem; } .tools input, .tools button { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: .3rem; padding: .25rem .6rem; }
)CSS";

inline constexpr const char* kReportScript = R"JS(
(function () {
  'use strict';
  var functions = Array.prototype.slice.call(document.querySelectorAll('details.function'));
  var filter = document.getElementById('filter'), status = document.getElementById('status');
  function each(open) { functions.forEach(function (f) { if (!f.hidden) f.open = open; }); }
  function show() {
    var wanted = filter.value.toLowerCase(), n = 0;
    functions.forEach(function (f) {
      f.hidden = f.getAttribute('data-name').toLowerCase().indexOf(wanted) < 0;
      if (!f.hidden) ++n;
    });
    status.textContent = n + ' of ' + functions.length + ' functions';
  }
  document.getElementById('open').addEventListener('click', function () { each(true); });
  document.getElementById('close').addEventListener('click', function () { each(false); });
  filter.addEventListener('input', show);
  document.getElementById('tools').hidden = false;
  show();
})();
)JS";

}  // namespace reprise::tool
