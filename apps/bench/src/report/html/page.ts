import { scenarioNames, scenarioOf } from '../../workload/scenarios.ts'
import { sideNames } from '../../sides/side-names.ts'
import type { PartName } from '../../parts/part-names.ts'
import { parts } from '../../parts/all-parts.ts'
import { counted, formatMaybe, formatNumber } from '../numbers.ts'
import { loaderNames, type Measured, type ResultRow, type Results } from '../results.ts'
import { titleOf } from '../titles.ts'
import { bars } from './bars.ts'
import { lines, type Line } from './lines.ts'
import { serversText } from './servers-text.ts'
import { colourOf, style } from './style.ts'
import { escape } from './svg.ts'

/** Returns all results as one page without external resources. */
export function htmlPage(results: Results): string {
  const sections = [
    calls(results, 64),
    calls(results, 1),
    varied(results, 'callers', 'callers at once', ({ callers }) => callers, 'calls'),
    varied(results, 'processes', 'client processes', ({ processes }) => processes),
    rates(results),
    builds(results),
    varied(results, 'entities', 'entities', ({ entities }) => entities),
    varied(results, 'shards', 'shards', ({ shards }) => shards),
    varied(results, 'indexes', 'indexes', ({ indexes }) => indexes, undefined, 'linear'),
    varied(results, 'bags', 'bytes of a bag', ({ bag }) => bag ?? Number.NaN),
    network(results),
    barsOf(results, 'sqlite', 'SQLite', ({ callers }) => callersText(callers)),
    work(results),
  ].filter((section) => section !== undefined)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Looseleaf: measured</title>
<style>${style}${[...sideNames, ...loaderNames].map(colourOf).join('\n')}</style>
</head>
<body>
<h1>Looseleaf, measured</h1>
${facts(results)}
<nav>${sections.map(({ id, title }) => `<a href="#${id}">${escape(title)}</a>`).join('')}</nav>
${sections.map(({ id, title, body }) => `<h2 id="${id}">${escape(title)}</h2>\n${body}`).join('\n')}
</body>
</html>
`
}

interface Section {
  readonly id: string
  readonly title: string
  readonly body: string
}

const callersText = (callers: number): string => counted(callers, 'caller')

function facts({ parts: measured }: Results): string {
  const all = Object.values(measured)
  const last = all.toSorted((a, b) => a.finished.localeCompare(b.finished)).at(-1)
  if (last === undefined) return '<p>Nothing has been measured.</p>'
  const { machine } = last
  const servers = serversText(all.flatMap((part) => part.servers.map(({ title }) => String(title))))
  const warning = all.every(({ scale }) => scale === 'full')
    ? ''
    : '<p class="warn">Some parts are from a quick run: it shows that all works, and its numbers mean nothing.</p>'
  const leftOut = [...new Set(all.flatMap((part) => part.leftOut))].map(
    (reason) => `<p class="warn">${escape(reason)}</p>`,
  )
  return `${warning}${leftOut.join('')}
<p>Sides do the same work in turns, on the same data and machine, with each commit flushed to the disk. Bars are medians over rounds;
the thin line goes from the least to the greatest round. Compare sides with each other, and not with numbers of another machine.</p>
<p class="soft">${escape(`${machine.cpu}, ${machine.cores} cores, ${machine.system}, Node ${machine.node}, a flush takes ${formatNumber(machine.flushMs.median)} ms. ${servers}. ${last.finished.slice(0, 10)}.`)}</p>`
}

/** Legend: names and colours of the sides, in order. */
function keys(rows: readonly { readonly side: Measured }[]): string {
  const present = [...sideNames, ...loaderNames].filter((name) => rows.some(({ side }) => side === name))
  const items = present.map(
    (side) => `<span class="key side ${side.replace(/\W/g, '-')}"><i></i>${escape(titleOf(side))}</span>`,
  )
  return `<div class="keys">${items.join('')}</div>`
}

const figure = (title: string, caption: string, body: string): string =>
  `<figure><h3>${escape(title)}</h3><figcaption>${escape(caption)}</figcaption>${body}</figure>`

function calls(results: Results, callers: number): Section | undefined {
  const rows = results.results.filter((row) => row.part === 'calls' && row.callers === callers)
  const figures = scenarioNames.flatMap((name) => {
    const bySide = rows.filter((row) => row.scenario === name)
    const { description } = scenarioOf(name)
    return bySide.length === 0 ? [] : [figure(name, description, bars(bySide, `${name}, calls a second`))]
  })
  if (figures.length === 0) return undefined
  return {
    id: `calls-${callers}`,
    title: `Calls a second, ${callersText(callers)}`,
    body: `<div class="grid">${figures.join('')}</div>${costs(rows, callers)}`,
  }
}

/** Table of the numbers that the bars do not show. */
function costs(rows: readonly ResultRow[], callers: number): string {
  const cells = (row: ResultRow): string[] => [
    `${row.scenario}, ${titleOf(row.side)}`,
    formatNumber(row.opsPerSecond),
    row.spread.opsPerSecond.map(formatNumber).join('–'),
    formatNumber(row.p50Ms),
    formatNumber(row.p99Ms),
    formatNumber(row.clientCpuUs),
    formatMaybe(row.serverCpuUs ?? undefined),
    formatMaybe(row.statementsPerOp ?? undefined),
  ]
  return details(
    'The same as numbers, with times, CPU and statements of a call',
    `Calls as numbers, ${callersText(callers)}`,
    ['', 'calls a second', 'least–greatest', 'p50 ms', 'p99 ms', 'client µs', 'servers µs', 'statements'],
    rows.map(cells),
  )
}

/** A table that is folded at first. Its `label` has to be unique on the page. */
function details(
  title: string,
  label: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const th = (scope: 'col' | 'row', cell: string): string => `<th scope="${scope}">${escape(cell)}</th>`
  const row = ([name = '', ...cells]: readonly string[]): string =>
    `<tr>${th('row', name)}${cells.map((cell) => `<td>${escape(cell)}</td>`).join('')}</tr>`
  const heads = head.map((cell) => th('col', cell)).join('')
  return `<details><summary>${escape(title)}</summary><div class="scroll" tabindex="0" role="region" aria-label="${escape(label)}"><table><thead><tr>${heads}</tr></thead><tbody>${rows.map(row).join('')}</tbody></table></div></details>`
}

function linesOf(
  rows: readonly ResultRow[],
  x: (row: ResultRow) => number,
  y: (row: ResultRow) => number,
): Line[] {
  return sideNames.flatMap((side) => {
    const points = rows.filter((row) => row.side === side).map((row) => [x(row), y(row)] as const)
    return points.length === 0 ? [] : [{ side, points: points.toSorted(([a], [b]) => a - b) }]
  })
}

/** Section of a part that varies one parameter: a plot per scenario. `alsoOf` names a part with more points for the plots. */
function varied(
  { results }: Results,
  part: PartName,
  x: string,
  valueOf: (row: ResultRow) => number,
  alsoOf?: PartName,
  xScale?: 'linear',
): Section | undefined {
  const partRows = results.filter((row) => row.part === part)
  const names = [...new Set(partRows.map(({ scenario }) => scenario))]
  if (names.length === 0) return undefined
  // The part `callers` leaves out 64 callers, which the part `calls` has measured.
  const measured = new Set(partRows.map(({ side }) => side))
  const rows = [...partRows, ...results.filter((row) => row.part === alsoOf && measured.has(row.side))]
  const figures = names.map((name) =>
    figure(
      name,
      scenarioNames.includes(name as never)
        ? scenarioOf(name as (typeof scenarioNames)[number]).description
        : '',
      lines(
        linesOf(
          rows.filter((row) => row.scenario === name),
          valueOf,
          ({ opsPerSecond }) => opsPerSecond,
        ),
        {
          label: `${name}, calls a second by ${x}`,
          x,
          y: 'calls a second',
          ...(xScale === undefined ? {} : { xScale }),
        },
      ),
    ),
  )
  const { description } = parts[part]
  return {
    id: part,
    title: description[0]?.toUpperCase() + description.slice(1),
    body: `${keys(partRows)}<div class="grid">${figures.join('')}</div>`,
  }
}

function rates({ results }: Results): Section | undefined {
  const rows = results.filter((row) => row.part === 'rates')
  if (rows.length === 0) return undefined
  const names = [...new Set(rows.map(({ scenario }) => scenario))]
  const figures = names.flatMap((name) =>
    (['p50Ms', 'p99Ms'] as const).map((time) => {
      const bySide = linesOf(
        rows.filter((row) => row.scenario === name),
        ({ rate }) => rate ?? Number.NaN,
        (row) => row[time],
      )
      const label = time === 'p50Ms' ? 'half of the calls' : '99 of 100 calls'
      return figure(
        `${name}, ${label}`,
        'A line that rises steeply has reached its limit: calls wait for earlier ones.',
        lines(bySide, {
          label: `${name}: milliseconds by calls a second`,
          x: 'calls a second that are due',
          y: 'ms',
        }),
      )
    }),
  )
  return {
    id: 'rates',
    title: 'Times at fixed rates',
    body: `${keys(rows)}<div class="grid">${figures.join('')}</div>`,
  }
}

function builds({ results, series }: Results): Section | undefined {
  if (series.length === 0) return undefined
  const figures = series.map(({ side, from, to, points: perSecond }) => {
    const row = results.find((other) => other.part === 'build' && other.side === side)
    const seconds = formatNumber(to - from)
    const points = perSecond.map(({ second, p99Ms }) => [second + 0.5, p99Ms] as const)
    return figure(
      titleOf(side),
      `${seconds} s for ${formatNumber(row?.entities ?? 0)} entities, ${row?.rate ?? 0} calls a second; the longest call took ${formatNumber(row?.maxMs ?? 0)} ms`,
      lines([{ side, points }], {
        label: `${titleOf(side)}: p99 of each second while an index is built`,
        x: 'seconds; marked: the index is built',
        y: 'p99 ms of each second',
        xScale: 'linear',
        isWide: true,
        // All drawings share their axes, so that equal times are at equal places.
        besides: series.flatMap(({ points: all }) => all.map(({ p99Ms }) => p99Ms)),
        besidesAcross: series.flatMap(({ points: all }) => all.map(({ second }) => second + 0.5)),
        marked: [from, to],
      }),
    )
  })
  return {
    id: 'build',
    title: 'An index is built while the site is in use',
    body: `<div class="grid wide">${figures.join('')}</div>`,
  }
}

function network(results: Results): Section | undefined {
  return barsOf(
    results,
    'network',
    'With a network in between',
    ({ callers, networkMs }) => `${callersText(callers)}, ${networkMs} ms each way`,
  )
}

/** Section of a part with a bar chart per scenario and variant. */
function barsOf(
  { results }: Results,
  part: PartName,
  title: string,
  variantOf: (row: ResultRow) => string,
): Section | undefined {
  const groups = new Map<string, ResultRow[]>()
  for (const row of results)
    if (row.part === part) {
      const name = `${row.scenario}, ${variantOf(row)}`
      groups.set(name, [...(groups.get(name) ?? []), row])
    }
  if (groups.size === 0) return undefined
  const figures = [...groups].map(([name, rows]) => figure(name, '', bars(rows, `${name}, calls a second`)))
  return { id: part, title, body: `<div class="grid">${figures.join('')}</div>` }
}

function work({ results }: Results): Section | undefined {
  const rows = results.filter(({ part }) => part === 'import' || part === 'build' || part === 'sweep')
  if (rows.length === 0) return undefined
  const names = [...new Set(rows.map(({ scenario }) => scenario))]
  const figures = names.map((name) => {
    const bySide = rows.filter((row) => row.scenario === name)
    return figure(
      name,
      `entities a second; ${formatNumber(bySide[0]?.entities ?? 0)} entities`,
      bars(bySide, `${name}, entities a second`),
    )
  })
  return {
    id: 'work',
    title: 'Import, index build and sweep',
    body: `<div class="grid">${figures.join('')}</div>`,
  }
}
