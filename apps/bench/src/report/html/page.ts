import { capital, markup, page, table, type Html, type Point } from '@looseleaf/console/kit'
import { scenarioNames, scenarioOf, type ScenarioName } from '../../workload/scenarios.ts'
import { sideNames } from '../../sides/side-names.ts'
import type { PartName } from '../../parts/part-names.ts'
import { parts } from '../../parts/all-parts.ts'
import { counted, formatCosts, formatNumber } from '../numbers.ts'
import { loaderNames, type Measured, type ResultRow, type Results } from '../results.ts'
import { titleOf } from '../titles.ts'
import { bars } from './bars.ts'
import { lines, type Line } from './lines.ts'
import { serversText } from './servers-text.ts'
import { classOf, colourOf, style } from './style.ts'

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
    barsOf(
      results,
      'network',
      'With a network in between',
      ({ callers, networkMs }) => `${callersText(callers)}, ${networkMs} ms each way`,
    ),
    barsOf(results, 'sqlite', 'SQLite', ({ callers }) => callersText(callers)),
    work(results),
  ].filter((each) => each !== undefined)
  const colours = [...sideNames, ...loaderNames].map(colourOf).join('\n')
  return page(
    {
      title: 'Looseleaf: measured',
      label: 'Sections',
      links: sections.map(({ id, title }) => ({ href: `#${id}`, label: title })),
      style: style + colours,
    },
    markup`<h1>Looseleaf, measured</h1>
${facts(results)}
${sections.map(({ id, title, body }) => markup`<h2 id="${id}">${title}</h2>\n${body}`)}`,
  )
}

interface Section {
  readonly id: string
  readonly title: string
  readonly body: Html
}

const callersText = (callers: number): string => counted(callers, 'caller')

function facts({ parts: measured }: Results): Html {
  const all = Object.values(measured)
  const last = all.toSorted((a, b) => a.finished.localeCompare(b.finished)).at(-1)
  if (last === undefined) return markup`<p>Nothing has been measured.</p>`
  const { machine } = last
  const servers = serversText(all.flatMap((part) => part.servers.map(({ title }) => String(title))))
  const warning = all.every(({ scale }) => scale === 'full')
    ? undefined
    : markup`<p class="warn">Some parts are from a quick run: it shows that all works, and its numbers mean nothing.</p>`
  const leftOut = [...new Set(all.flatMap((part) => part.leftOut))].map(
    (reason) => markup`<p class="warn">${reason}</p>`,
  )
  return markup`${warning}${leftOut}
<p>Sides do the same work in turns, on the same data and machine, with each commit flushed to the disk. Bars are medians over rounds;
the thin line goes from the least to the greatest round. Compare sides with each other, and not with numbers of another machine.</p>
<p class="soft">${machine.cpu}, ${machine.cores} cores, ${machine.system}, Node ${machine.node}, a flush takes ${formatNumber(machine.flushMs.median)} ms. ${servers}. ${last.finished.slice(0, 10)}.</p>`
}

/** Legend: names and colours of the sides, in order. */
function keys(rows: readonly { readonly side: Measured }[]): Html {
  const present = [...sideNames, ...loaderNames].filter((name) => rows.some(({ side }) => side === name))
  return markup`<p class="keys">${present.map((side) => markup`<span class="key ${classOf(side)}"><i></i>${titleOf(side)}</span> `)}</p>`
}

const figure = (title: string, caption: string, body: Html): Html =>
  markup`<figure><h3>${title}</h3><figcaption>${caption}</figcaption>${body}</figure>`

interface SectionParts {
  readonly figures: readonly Html[]
  readonly isWide?: boolean
  /** Above the figures. */
  readonly before?: Html
  /** Below the figures. */
  readonly after?: Html
}

/** Returns a section; undefined without figures. */
function section(
  id: string,
  title: string,
  { figures, isWide, before, after }: SectionParts,
): Section | undefined {
  if (figures.length === 0) return undefined
  return {
    id,
    title,
    body: markup`${before}<div class="figures${isWide === true ? ' wide' : ''}">${figures}</div>${after}`,
  }
}

/** Renders a figure for each scenario with rows, in the order in which they were measured. */
function byScenario(
  rows: readonly ResultRow[],
  render: (name: ResultRow['scenario'], rows: readonly ResultRow[]) => Html | readonly Html[],
): Html[] {
  return [...Map.groupBy(rows, ({ scenario }) => scenario)].flatMap(([name, same]) => render(name, same))
}

/** Returns the description of a scenario; empty for work that is measured as a whole. */
const descriptionOf = (name: ResultRow['scenario']): string =>
  isScenario(name) ? scenarioOf(name).description : ''

const isScenario = (name: string): name is ScenarioName => scenarioNames.some((each) => each === name)

function calls(results: Results, callers: number): Section | undefined {
  const rows = results.results.filter((row) => row.part === 'calls' && row.callers === callers)
  const figures = byScenario(rows, (name, bySide) =>
    figure(name, descriptionOf(name), bars(bySide, `${name}, calls a second`)),
  )
  return section(`calls-${callers}`, `Calls a second, ${callersText(callers)}`, {
    figures,
    after: costs(rows, callers),
  })
}

/** Table of the numbers that the bars do not show. */
function costs(rows: readonly ResultRow[], callers: number): Html {
  const numbers = table(
    [
      'call and side',
      'calls a second',
      'least–greatest',
      'p50 ms',
      'p99 ms',
      'client µs',
      'servers µs',
      'statements',
    ],
    rows.map((row) => [
      `${row.scenario}, ${titleOf(row.side)}`,
      formatNumber(row.opsPerSecond),
      row.spread.opsPerSecond.map(formatNumber).join('–'),
      ...formatCosts(row),
    ]),
    `Calls as numbers, ${callersText(callers)}`,
  )
  return markup`<details><summary>The same as numbers, with times, CPU and statements of a call</summary>${numbers}</details>`
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
  // The part `callers` leaves out 64 callers, which the part `calls` has measured.
  const measured = new Set(partRows.map(({ side }) => side))
  const more = results.filter((row) => row.part === alsoOf && measured.has(row.side))
  const figures = byScenario(partRows, (name, rows) => {
    const all = [...rows, ...more.filter(({ scenario }) => scenario === name)]
    const label = `${name}, calls a second by ${x}`
    const points = linesOf(all, valueOf, ({ opsPerSecond }) => opsPerSecond)
    return figure(
      name,
      descriptionOf(name),
      lines(points, { label, x, y: 'calls a second', ...(xScale && { xScale }) }),
    )
  })
  const { description } = parts[part]
  return section(part, capital(description), { figures, before: keys(partRows) })
}

function rates({ results }: Results): Section | undefined {
  const rows = results.filter((row) => row.part === 'rates')
  const times = { p50Ms: 'half of the calls', p99Ms: '99 of 100 calls' } as const
  const options = { x: 'calls a second that are due', y: 'ms' }
  const figures = byScenario(rows, (name, same) =>
    (['p50Ms', 'p99Ms'] as const).map((time) =>
      figure(
        `${name}, ${times[time]}`,
        'A line that rises steeply has reached its limit: calls wait for earlier ones.',
        lines(
          linesOf(
            same,
            ({ rate }) => rate ?? Number.NaN,
            (row) => row[time],
          ),
          { ...options, label: `${name}: milliseconds by calls a second` },
        ),
      ),
    ),
  )
  return section('rates', 'Times at fixed rates', { figures, before: keys(rows) })
}

function builds({ results, series }: Results): Section | undefined {
  const pointsOf = ({ points }: (typeof series)[number]): Point[] =>
    points.map(({ second, p99Ms }) => [second + 0.5, p99Ms])
  const figures = series.map((build) => {
    const { side, from, to } = build
    const row = results.find((other) => other.part === 'build' && other.side === side)
    return figure(
      titleOf(side),
      `${formatNumber(to - from)} s for ${formatNumber(row?.entities ?? 0)} entities, ${row?.rate ?? 0} calls a second; the longest call took ${formatNumber(row?.maxMs ?? 0)} ms`,
      lines([{ side, points: pointsOf(build) }], {
        label: `${titleOf(side)}: p99 of each second while an index is built`,
        x: 'seconds; marked: the index is built',
        y: 'p99 ms of each second',
        xScale: 'linear',
        isWide: true,
        // All drawings share their axes, so that equal times are at equal places.
        besides: series.flatMap(pointsOf),
        marked: [from, to],
      }),
    )
  })
  return section('build', 'An index is built while the site is in use', { figures, isWide: true })
}

/** Section of a part with a bar chart per scenario and variant. */
function barsOf(
  { results }: Results,
  part: PartName,
  title: string,
  variantOf: (row: ResultRow) => string,
): Section | undefined {
  const rows = results.filter((row) => row.part === part)
  const groups = Map.groupBy(rows, (row) => `${row.scenario}, ${variantOf(row)}`)
  const figures = [...groups].map(([name, same]) => figure(name, '', bars(same, `${name}, calls a second`)))
  return section(part, title, { figures })
}

function work({ results }: Results): Section | undefined {
  const rows = results.filter(({ part }) => part === 'import' || part === 'build' || part === 'sweep')
  const figures = byScenario(rows, (name, bySide) => {
    const caption = `entities a second; ${formatNumber(bySide[0]?.entities ?? 0)} entities`
    return figure(name, caption, bars(bySide, `${name}, entities a second`))
  })
  return section('work', 'Import, index build and sweep', { figures })
}
