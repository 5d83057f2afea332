/** Styles of every page: one set of colours for light and dark, and the looks of tables, drawings and forms. */
export const STYLE: string = `
:root { color-scheme: light dark; --desk: #e9e3d6; --back: #fdfaf3; --card: #f4eee0; --ink: #26231e; --soft: #645d50; --line: #e0d8c6; --link: #1d5a63; --mark: #bf4a31;
  --serif: 'Iowan Old Style', 'Palatino Linotype', Palatino, 'Book Antiqua', Georgia, serif;
  --index: #1d5a9c; --entities: #b4430d; --write: #7b4fa3; --own: #6b7280; --good: #1a6b2e; --bad: #a81d1d; --edge: #857d6d }
@media screen and (prefers-color-scheme: dark) { :root { --desk: #141413; --back: #1f1e1b; --card: #282621; --ink: #ece6d9; --soft: #aaa291; --line: #3a3730; --link: #8fcbd0; --mark: #e58a72;
  --index: #7ab2ea; --entities: #fb8b52; --write: #bf9be6; --own: #a2a8b2; --good: #7ccf8c; --bad: #ff8f88; --edge: #7d776a } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 74rem; padding: 1rem 0 3rem; background: var(--desk); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: .18em } a:focus-visible, summary:focus-visible, .scroll:focus-visible { outline: 2px solid var(--index); outline-offset: 2px }
.skip { position: absolute; left: -99rem } .skip:focus { left: 0; top: 0; padding: .5rem 1rem; background: var(--back) } main:focus { outline: none }
header nav { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1.1rem; padding: 0 1rem .5rem; font-size: .95rem } header nav a { padding: .2rem 0; color: var(--soft); text-decoration: none }
header nav a:hover { color: var(--ink) } header nav [aria-current] { color: var(--ink); font-weight: 600; box-shadow: inset 0 -3px var(--mark) } header nav a:first-child { font: 600 1.3rem/1.3 var(--serif); color: var(--ink) }
main { padding: 1rem clamp(1rem, 3vw, 2.5rem) 2.5rem; background: var(--back); border: solid var(--line); border-width: 1px 0 } @media (min-width: 640px) { body { padding: 1rem } main { border-width: 1px; border-radius: 4px 10px 10px 4px } }
h1, h2 { font-family: var(--serif); letter-spacing: -.01em; line-height: 1.25 } h1 { font-size: 1.7rem; margin: .25rem 0 .5rem } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem } h3 { font-size: 1rem; margin: 1.25rem 0 .25rem }
p { max-width: 80ch; margin: .25rem 0 .75rem } .lead { font-size: 1.05rem } .soft { color: var(--soft); font-size: .875rem }
svg { display: block; width: 100%; height: auto; background: var(--card); border-radius: 8px; padding: .5rem 0; font: 13px system-ui, sans-serif }
svg text { fill: var(--ink) } svg text.soft { fill: var(--soft); font-size: 13px } .index { --own-colour: var(--index) } .entities { --own-colour: var(--entities) }
.own { --own-colour: var(--own) } .failed { --own-colour: var(--bad) } rect { fill: var(--own-colour) } .write rect { stroke: var(--ink); stroke-width: 2 } .write i { outline: 2px solid var(--ink); outline-offset: -1px } .buckets path { fill: var(--index) }
.buckets svg { height: 14px; padding: 0; border-radius: 4px; background: var(--line) } .buckets p { margin: .4rem 0 .1rem; font-size: .875rem } .shared rect, .shared i { opacity: .55 }
rect.box { fill: none; stroke: var(--line); stroke-width: 1.5 } path.line { fill: none; stroke: var(--own-colour); stroke-width: 1.5; opacity: .7 }
.steps { padding-left: 1.5rem } .steps li { margin: .25rem 0 }
.key { display: inline-flex; align-items: center; vertical-align: top; gap: .4rem; margin-right: 1rem; font-size: .9rem }
i { display: inline-block; width: .8rem; height: .8rem; border-radius: 3px; background: var(--own-colour); margin-right: .35rem; forced-color-adjust: none }
.scroll { --under: var(--back); position: relative; overflow-x: auto; background: linear-gradient(to right, var(--under) 1.5rem, transparent) left / 2.5rem 100% no-repeat local, linear-gradient(to left, var(--under) 1.5rem, transparent) right / 2.5rem 100% no-repeat local,
  linear-gradient(to right, var(--edge), transparent) left / .6rem 100% no-repeat scroll, linear-gradient(to left, var(--edge), transparent) right / .6rem 100% no-repeat scroll } .scroll svg { min-width: 640px; background: none }
.scroll:has(> svg) { --under: var(--card); background-color: var(--card); border-radius: 8px } table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; min-width: 100% }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); white-space: nowrap } thead th { white-space: normal; overflow-wrap: normal; vertical-align: bottom } tbody th { font-weight: inherit }
code { display: block; width: min(60ch, 75vw); white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem; color: var(--soft) }
summary { cursor: pointer; min-height: 1.5rem } .yes { color: var(--good) } .no { color: var(--bad); font-weight: 600 }
.long { white-space: normal; overflow-wrap: break-word; display: inline-block; min-width: 9ch; max-width: 40ch } .message { min-width: 30ch } .id, .when { white-space: normal; display: inline-block; min-width: 20ch } .when { min-width: 16ch }
@media (min-width: 640px) { .whole { white-space: pre } } @media (min-width: 1000px) { th, td { padding-right: 1.25rem } .when { white-space: nowrap } } @media (max-width: 800px) { th, td { padding-right: .5rem; font-size: .8rem } }
td code, th code { unicode-bidi: plaintext; width: auto; max-width: 70ch; min-width: min(30ch, 44vw); color: inherit } th code { max-width: 50ch }
${Array.from({ length: 8 }, (_, i) => `.n${i + 1} tr > :nth-child(${i + 2})`).join(', ')} { text-align: right }
.unseen { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%) }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .2rem 1.25rem; margin: .5rem 0 } dt { color: var(--soft) } dd { margin: 0 }
@media (max-width: 480px) { dl { grid-template-columns: minmax(0, 1fr) } dd { margin-bottom: .4rem } }
pre { font-size: .8rem; line-height: 1.45; background: var(--card); border-radius: 8px; padding: .75rem; margin: .5rem 0; overflow-x: auto }
form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin: .75rem 0 } label { display: block; width: 100%; font-size: .9rem }
::placeholder { color: var(--soft); opacity: 1 } input, button { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--edge); border-radius: 7px; padding: .35rem .6rem }
input { min-height: 2.75rem; box-sizing: border-box; flex: 1 1 14rem; max-width: 26rem; min-width: 0 } button { cursor: pointer; min-height: 2.75rem; max-width: 100% }
a:focus-visible, input:focus-visible, button:focus-visible, pre:focus-visible { outline: 2px solid var(--index); outline-offset: 2px }
.choices { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: 0; margin: .5rem 0; list-style: none } .choices [aria-current] { font-weight: 600; text-decoration: none }
.narrow .long { max-width: 60ch } @media (max-width: 480px) { .when { min-width: 12ch } .narrow th, .narrow td { padding-right: .5rem; font-size: .8rem } .narrow thead th { white-space: normal; overflow-wrap: normal } .narrow :is(th, td):is(:nth-child(2), :nth-child(6)) { display: none } .narrow .long { overflow-wrap: anywhere } }
progress { width: min(20rem, 100%); accent-color: var(--index) } .now button { margin-left: .25rem } .now, .old { flex-basis: 100%; border-left: 4px solid var(--bad); padding-left: .75rem } .acts { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center }
button:hover { border-color: var(--index) }
.plot path { fill: none; stroke: var(--own-colour); stroke-width: 2; stroke-linecap: round; stroke-linejoin: round } .plot .dots { stroke-width: 5; opacity: .7 } .plot .alone { stroke-width: 7 }
.latest { direction: rtl } .latest svg { direction: ltr; min-width: 900px } .plot .mark text { paint-order: stroke; stroke: var(--card); stroke-width: 4px }
footer { padding: .75rem 1rem 0 }
.join { fill: none; stroke: var(--ink); stroke-width: 1.2; opacity: .55 } .key.joined i { height: 2px; background: var(--ink) } .rule, .plot .rule { stroke: var(--line); stroke-width: 1 } .plot .mark line { stroke: var(--write); stroke-dasharray: 4 3 }
.scroll .small { max-width: 640px; min-width: 520px }
/* Wide drawings are scaled down on narrow screens, so their text is larger. */
@media (max-width: 800px) { .scroll svg:not(.small, .plot) text, .scroll svg:not(.small, .plot) text.soft { font-size: 17px } }
`
