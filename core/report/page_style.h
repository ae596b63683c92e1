// The style sheet of a report, for light and dark screens and for paper.
#pragma once

#include <string_view>

namespace recordfs {

// c0 is what is in no chunk, and c1 to c8 are codecs.
inline constexpr std::string_view kPageStyle = R"(
:root {
  --page: #fff; --ink: #1d1f22; --soft: #61666d; --line: #e2e4e8; --tint: #f5f6f8;
  --good: #187a4a; --bad: #d22f2f; --mark: #2f6fc1; --area: #2f6fc126;
  --c0: #d3d7dd; --c1: #3f7fd0; --c2: #22a38a; --c3: #e0a32e; --c4: #7a62c4;
  --c5: #58b7dc; --c6: #93744f; --c7: #94a83f; --c8: #b96aa5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #141517; --ink: #e6e8ea; --soft: #9ba1a9; --line: #2b2e33; --tint: #1c1e21;
    --good: #4cc38a; --bad: #f0524d; --mark: #6ba3ec; --area: #6ba3ec2e;
    --c0: #3b4047; --c1: #4d8ee0; --c2: #2aab92; --c3: #d39a30; --c4: #8d76dc;
    --c5: #4fa9cd; --c6: #a3845d; --c7: #8fa243; --c8: #bd6fa9;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 3rem 2rem 4rem; }
header { margin-bottom: 2rem; }
h1 { margin: 0; font-size: 1.75rem; line-height: 1.25; font-weight: 600; overflow-wrap: anywhere; }
h2 { margin: 0 0 .25rem; font-size: 1.125rem; font-weight: 600; }
section { margin-top: 3rem; }
section > p { margin: 0 0 1rem; max-width: 52rem; color: var(--soft); }
.format { margin: 0 0 .25rem; color: var(--soft); }
.state { margin: .5rem 0 0; font-weight: 600; }
.state.good { color: var(--good); }
.state.bad { color: var(--bad); }
dl { margin: 0; }
dt { color: var(--soft); font-size: .875rem; }
dd { margin: 0; font-variant-numeric: tabular-nums; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.25rem, 1fr)); gap: 1.25rem;
  padding: 1.25rem 0; border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); }
.tiles dd { font-size: 1.375rem; line-height: 1.3; font-weight: 500; white-space: nowrap; }
.tiles small { display: block; font-size: .8125rem; font-weight: 400; color: var(--soft); min-height: 1.3em; }
.facts { display: flex; flex-wrap: wrap; gap: .5rem 2.5rem; margin-top: 1rem; }
.facts dd { overflow-wrap: anywhere; }
figure { margin: 0; }
svg { display: block; width: 100%; height: auto; font-size: 12px; font-variant-numeric: tabular-nums; }
svg text { fill: var(--soft); }
.grid { stroke: var(--line); }
.base { stroke: var(--soft); }
.cut { stroke: var(--page); stroke-width: 1; }
.area { fill: var(--area); }
.line { fill: none; stroke: var(--mark); stroke-width: 1.5; }
.bar { fill: var(--mark); }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: .5rem 0 0; padding: 0; list-style: none;
  font-size: .875rem; }
.legend b { font-weight: 400; color: var(--soft); font-variant-numeric: tabular-nums; }
.key { display: inline-block; width: .75rem; height: .75rem; margin-right: .5rem; border-radius: 2px; }
.c0 { fill: var(--c0); background: var(--c0); } .c1 { fill: var(--c1); background: var(--c1); }
.c2 { fill: var(--c2); background: var(--c2); } .c3 { fill: var(--c3); background: var(--c3); }
.c4 { fill: var(--c4); background: var(--c4); } .c5 { fill: var(--c5); background: var(--c5); }
.c6 { fill: var(--c6); background: var(--c6); } .c7 { fill: var(--c7); background: var(--c7); }
.c8 { fill: var(--c8); background: var(--c8); } rect.bad { fill: var(--bad); } .key.bad { background: var(--bad); }
details { margin-top: .75rem; font-size: .875rem; }
summary { color: var(--soft); cursor: pointer; width: max-content; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
details table { margin-top: .5rem; }
th, td { padding: .3rem 1.5rem .3rem 0; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 400; }
thead th, thead td { color: var(--soft); white-space: nowrap; }
th:first-child, .text { text-align: left; }
tbody td { white-space: nowrap; }
tbody .text, .left tbody th { overflow-wrap: anywhere; min-width: 6.5rem; white-space: normal; }
tbody .path, .left tbody .path { min-width: 16rem; }
table.left { width: 100%; }
.share { width: 20%; min-width: 6rem; padding-right: 0; }
.share i { display: block; height: .625rem; margin-top: .375rem; background: var(--mark); border-radius: 0 2px 2px 0; }
h3 { margin: 1.5rem 0 .5rem; font-size: 1rem; font-weight: 500; overflow-wrap: anywhere; }
.images { display: flex; flex-wrap: wrap; gap: 1rem; margin: 0; padding: 0; list-style: none; }
.images img { display: block; max-width: 12rem; max-height: 9rem; image-rendering: auto; }
.images p { margin: .25rem 0 0; max-width: 12rem; color: var(--soft); font-size: .8125rem; overflow-wrap: anywhere; }
.records { margin: .75rem 0 0; padding-left: 2rem; font-variant-numeric: tabular-nums; }
.records li::marker { color: var(--soft); font-size: .875rem; }
.records p { margin: 0 0 .25rem; color: var(--soft); font-size: .875rem; }
pre { margin: 0 0 1.25rem; padding: .75rem 1rem; background: var(--tint); border-radius: 4px; overflow-x: auto;
  font: .8125rem/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; }
pre .cut { color: var(--soft); }
footer { margin-top: 4rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft);
  font-size: .8125rem; overflow-wrap: anywhere; }
@media (max-width: 40rem) { main { padding: 1.5rem 1rem; } }
@media print { main { max-width: none; padding: 0; } section, figure { break-inside: avoid; } }
)";

}  // namespace recordfs
