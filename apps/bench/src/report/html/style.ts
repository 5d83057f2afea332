import type { Measured } from '../results.ts'

/** Styles of this page beside those of the kit. Colours of sides can be told apart with colour blindness, on white and on black. */
export const style = `
:root { --mark: #f2e3b8;
  --looseleaf: #c2410c; --entity-first: #ea9a5f; --shapes: #b45309; --dictionary: #854d0e; --requests: #78716c; --sampled: #9f1239; --every-span: #be185d; --raised: #a16207; --followed: #c2570c; --hand-written: #3b6ea5; --limit: #6b7280; --json: #15803d; --pongo: #7e57a8;
  --sqlite-looseleaf: #c2410c; --sqlite-hand-written: #3b6ea5; --LOAD-DATA: #6b7280; --multi-row-INSERT: #3b6ea5 }
@media screen and (prefers-color-scheme: dark) { :root { --mark: #4a3f1c;
  --looseleaf: #fb7d3c; --entity-first: #b96f3c; --shapes: #f0a35e; --dictionary: #d9b26a; --requests: #a8a29e; --sampled: #fda4af; --every-span: #f472b6; --raised: #e0b34c; --followed: #fba36a; --hand-written: #74a9df; --limit: #a2a8b2; --json: #58c07c; --pongo: #b795de;
  --sqlite-looseleaf: #fb7d3c; --sqlite-hand-written: #74a9df; --LOAD-DATA: #a2a8b2; --multi-row-INSERT: #74a9df } }
body { max-width: 1440px } nav { margin-bottom: 1rem } header nav a:first-child { font: inherit; color: var(--soft) } h2 { margin-top: 2.5rem } h3 { margin: 0 }
.warn { border-left: 4px solid var(--bad); padding: .25rem .75rem; background: var(--card) }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 310px), 1fr)); gap: 1rem }
.wide { grid-template-columns: repeat(auto-fill, minmax(min(100%, 480px), 1fr)) }
figure { margin: 0; padding: .9rem 1rem 1rem; background: var(--card); border-radius: 10px }
figcaption { min-height: 2.6em; margin-bottom: .4rem; color: var(--soft); font-size: .875rem }
svg .marked { fill: var(--mark) } circle { fill: var(--own-colour) } svg .spread { stroke: var(--ink); stroke-width: 1.5; opacity: .7 }
details .scroll { max-height: 80vh } details thead th { position: sticky; top: 0; background: var(--back) }
@media (max-width: 480px) { .wide svg text.soft { font-size: 18px } }
`

/** Returns the CSS class of a side. */
export const classOf = (side: Measured): string => side.replace(/\W/g, '-')

/** Returns the rule that colours a side's class. */
export const colourOf = (side: Measured): string =>
  `.${classOf(side)} { --own-colour: var(--${classOf(side)}) }`
