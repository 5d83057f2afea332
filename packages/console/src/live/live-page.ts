import type { Act, RunningAct } from '../acts/acts.ts'
import { actState } from '../acts/act-page.ts'
import { actsPart } from '../acts/acts-part.ts'
import { markup, type Html } from '../html/html.ts'
import { purposeOf, type Purposes } from '../indexes/purposes.ts'
import { capital, counted, milliseconds, timeText } from '../html/text.ts'
import { table } from '../html/table.ts'
import type { OfferedIndex } from './index-state.ts'
import { LATENCY_SECONDS, type Latencies, type Latency } from './latencies.ts'
import { latencyPlot, type Mark } from './latency-plot.ts'
import { offeredSection, stateOf } from './offered-section.ts'

/** Data of the page at one moment. */
export interface LiveView {
  /** The offered indexes, or the error of reading them. */
  readonly offered: readonly OfferedIndex[] | string
  /** Ends of fillings that this process has seen, also of dropped indexes. */
  readonly filled: readonly FinishedFilling[]
  readonly purposes: Purposes
  readonly latencies: Latencies
  /** The newest first; undefined if acts are off. */
  readonly acts: readonly Act[] | undefined
  readonly underWay: readonly RunningAct[]
  /** Milliseconds since 1970. */
  readonly now: number
}

export interface FinishedFilling {
  readonly index: string
  readonly at: Date
}

/** Seconds before an act that the comparison uses. */
const BEFORE = 60

/** Renders the refreshed part of the page. */
export function livePart(view: LiveView): Html {
  const { offered, filled, purposes, latencies, acts, now } = view
  const news =
    typeof offered === 'string'
      ? offered
      : offered.map((index) => `${index.definition.name} is ${stateOf(index)}`).join(', ')
  const marks = marksOf(view)
  const seconds = latencies.seconds()
  return markup`<div data-news="${news}">
${view.underWay.filter((act) => !isOfThisPage(act)).map((act) => markup`<p class="acts">${actState(act, `“${act.name} ${act.about}” is running`)}</p>`)}
${typeof offered === 'string' ? markup`<p>The state of the indexes is unknown: ${offered} Until the store answers, no index can be added or dropped.</p>` : offered.map((index) => offeredSection(index, purposeOf(purposes, index.definition.name), acts !== undefined))}
<h2>Latency of calls</h2>
${
  seconds.length === 0
    ? markup`<p>No call has ended in the last five minutes.</p>`
    : markup`<div class="scroll latest" tabindex="0" role="region" aria-label="Plot of latencies">${latencyPlot(seconds, marks, now)}</div>
<p class="keys"><span class="key index"><i></i>p50: half of the calls are faster</span> <span class="key entities"><i></i>p99: one call in a hundred is slower</span> <span class="key own"><i></i>the slowest call</span></p>
<p class="soft">Each point is one second. Each line of the grid is ten times the one below.</p>
${failuresPart(latencies.between(0, Infinity))}`
}
${comparison(latencies, acts ?? [], filled, now)}
${acts === undefined ? undefined : actsPart(acts.filter(isOfThisPage), view.underWay.filter(isOfThisPage))}
<p class="soft">As of ${timeText(new Date(now))}. The latencies are those of this process, without calls about the store itself.</p></div>`
}

/** Tells whether an act belongs to this page. Acts of `Break it` only are marks on the plot. */
function isOfThisPage({ name }: Pick<Act, 'name'>): boolean {
  return name === 'add' || name === 'drop'
}

function marksOf({ acts = [], filled }: LiveView): Mark[] {
  const done = acts.map(({ name, about, at, failure }) => ({
    at,
    label: `${name} ${about}${failure === undefined ? '' : ' (failed)'}`,
  }))
  const ends = filled.map(({ index, at }) => ({ at, label: `${index} filled` }))
  return [...done, ...ends].toSorted((a, b) => a.at.getTime() - b.at.getTime())
}

/** Renders the errors of the calls on the plot. */
function failuresPart(latency: Latency | undefined): Html | undefined {
  if (latency === undefined || latency.failures.size === 0) return undefined
  const { calls, failures } = latency
  const codes = [...failures].map(([code, count]) => `${count.toLocaleString('en-US')} with ${code}`)
  const failed = failures.values().reduce((sum, count) => sum + count, 0)
  return markup`<p><span class="failed"><i></i></span>${capital(counted(failed, 'call'))} of ${calls.toLocaleString('en-US')} failed in these minutes, in the seconds with a cross: ${codes.join(', ')}.</p>`
}

/** Compares latencies before, during and after the last addition of an index, while the latencies before it are kept. */
function comparison(
  latencies: Latencies,
  acts: readonly Act[],
  filled: readonly FinishedFilling[],
  now: number,
): Html | undefined {
  const added = acts.find(({ name, failure }) => name === 'add' && failure === undefined)
  if (added === undefined) return undefined
  const { about } = added
  // Older seconds are not kept.
  const oldest = Math.floor(now / 1000) - LATENCY_SECONDS + 1
  const secondOf = (at: Date | undefined): number => Math.floor((at?.getTime() ?? now) / 1000)
  const dropped = acts.findLast(
    ({ name, about: other, at, failure }) =>
      name === 'drop' && other === about && failure === undefined && at > added.at,
  )
  const done = filled.find(({ index, at }) => index === about && at >= added.at)
  const last = secondOf(dropped?.at) + 1
  const from = secondOf(added.at)
  if (from < oldest) return undefined
  const until = done === undefined ? last : secondOf(done.at) + 1
  // Rates include seconds without calls.
  const first = Math.max(oldest, latencies.since)
  const rows: [string, number, number][] = [
    ['up to a minute before', Math.max(first, from - BEFORE), from],
    [done === undefined ? 'since it was added' : 'while it was added and filled', from, until],
  ]
  if (done !== undefined)
    rows.push([dropped === undefined ? 'since then' : 'then, until it was dropped', until, last])
  const cells = rows.map(([when, begin, end]) => [
    when,
    ...latencyCells(latencies.between(begin, end), begin, end),
  ])
  const title = `Before, during and after ${about}`
  return markup`<h3>${title}</h3>${table(['when', 'p50', 'p99', 'slowest', 'calls per second', 'failed'], cells, title)}`
}

function latencyCells(latency: Latency | undefined, from: number, until: number): string[] {
  if (latency === undefined) return ['no calls', '', '', '', '']
  const { calls, failures, p50Ms, p99Ms, maxMs } = latency
  // The p99 of fewer than a hundred calls is meaningless.
  const p99 = calls < 100 ? '–' : milliseconds(p99Ms)
  const failed = failures.values().reduce((sum, count) => sum + count, 0)
  const rate = (calls / Math.max(1, until - from)).toFixed(1)
  return [milliseconds(p50Ms), p99, milliseconds(maxMs), rate, failed.toLocaleString('en-US')]
}
