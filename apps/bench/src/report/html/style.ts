/** Styles of the page. The colours can be told apart with colour blindness, on white and on black. */
export const style = `
:root { color-scheme: light dark; --back: #fff; --card: #f7f7f5; --ink: #1c1c1a; --soft: #6a6a66; --grid: #dededa; --edge: #85857f; --mark: #f2e3b8;
  --looseleaf: #c2410c; --entity-first: #ea9a5f; --shapes: #b45309; --dictionary: #854d0e; --requests: #78716c; --sampled: #9f1239; --every-span: #be185d; --raised: #a16207; --followed: #c2570c; --hand-written: #3b6ea5; --limit: #6b7280; --json: #15803d; --pongo: #7e57a8;
  --sqlite-looseleaf: #c2410c; --sqlite-hand-written: #3b6ea5; --LOAD-DATA: #6b7280; --multi-row-INSERT: #3b6ea5 }
@media (prefers-color-scheme: dark) { :root { --back: #161615; --card: #20201f; --ink: #ecece8; --soft: #a3a39d; --grid: #3a3a37; --edge: #7d7d77; --mark: #4a3f1c;
  --looseleaf: #fb7d3c; --entity-first: #b96f3c; --shapes: #f0a35e; --dictionary: #d9b26a; --requests: #a8a29e; --sampled: #fda4af; --every-span: #f472b6; --raised: #e0b34c; --followed: #fba36a; --hand-written: #74a9df; --limit: #a2a8b2; --json: #58c07c; --pongo: #b795de;
  --sqlite-looseleaf: #fb7d3c; --sqlite-hand-written: #74a9df; --LOAD-DATA: #a2a8b2; --multi-row-INSERT: #74a9df } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 1440px; padding: 1.5rem clamp(1rem, 3vw, 3rem) 4rem; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem } h2 { font-size: 1.25rem; margin: 2.5rem 0 .25rem }
h3 { font-size: 1rem; margin: 0 } p { margin: .25rem 0 .75rem; max-width: 75ch } .soft, figcaption { color: var(--soft); font-size: .875rem }
.warn { border-left: 4px solid var(--looseleaf); padding: .25rem .75rem; background: var(--card) }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 1rem 0; font-size: .9rem } a { color: inherit }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 310px), 1fr)); gap: 1rem }
.wide { grid-template-columns: repeat(auto-fill, minmax(min(100%, 480px), 1fr)) }
figure { margin: 0; padding: .9rem 1rem 1rem; background: var(--card); border-radius: 10px } figcaption { min-height: 2.6em; margin-bottom: .4rem }
svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif } svg text { fill: var(--soft) } svg text.value { fill: var(--ink) }
svg .rule { stroke: var(--grid) } svg .marked { fill: var(--mark) } .side { --own: var(--ink) }
.side rect, .side circle { fill: var(--own) } .side .spread { stroke: var(--ink); stroke-width: 1.5; opacity: .7 }
.line path { fill: none; stroke: var(--own); stroke-width: 2; stroke-linejoin: round }
.key { display: inline-flex; align-items: center; gap: .4rem; margin-right: 1rem; font-size: .9rem; white-space: nowrap }
.key i { width: .9rem; height: .9rem; border-radius: 3px; background: var(--own) } .keys { margin: .5rem 0 1rem }
.scroll { overflow: auto; max-height: 80vh; background: linear-gradient(to left, var(--back) 1.5rem, transparent) right / 2.5rem 100% no-repeat local,
  linear-gradient(to left, var(--edge), transparent) right / .6rem 100% no-repeat scroll } .scroll:focus-visible { outline: 2px solid var(--hand-written); outline-offset: 2px }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid var(--grid); white-space: nowrap } th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--card); white-space: normal; min-width: 9rem }
thead th { position: sticky; top: 0; background: var(--card) } thead th:first-child { z-index: 1 }
@media (max-width: 480px) { svg { font-size: 13px } .wide svg { font-size: 18px } }
`

/** Returns the rule that colours a side's class. */
export const colourOf = (name: string): string => {
  const className = name.replace(/\W/g, '-')
  return `.${className} { --own: var(--${className}) }`
}
