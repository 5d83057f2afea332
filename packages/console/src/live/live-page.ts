import type { Act, ActUnderWay } from '../acts/acts.ts'
import { actState } from '../acts/act-page.ts'
import { actsPart } from '../acts/acts-part.ts'
import { markup, type Html } from '../html.ts'
import { purposeOf, type Purposes } from '../purposes.ts'
import { counted, milliseconds, timeText } from '../text.ts'
import { table } from '../table.ts'
import type { OfferedIndex } from './index-state.ts'
import { LATENCY_SECONDS, type Latencies, type Latency } from './latencies.ts'
import { latencyPlot, type Mark } from './latency-plot.ts'
import { offeredSection, stateOf } from './offered-section.ts'

/** What the page shows at a moment. */
export interface LiveView {
  /** Or why it cannot be told. */
  readonly offered: readonly OfferedIndex[] | string
  /** When fillings came to their end, as far as they were seen, of indexes that are gone too. */
  readonly filled: readonly Filled[]
  readonly purposes: Purposes
  readonly latencies: Latencies
  /** The newest first; undefined where acts are off. */
  readonly acts: readonly Act[] | undefined
  readonly underWay: readonly ActUnderWay[]
  /** Milliseconds since 1970. */
  readonly now: number
}

export interface Filled {
  readonly index: string
  readonly at: Date
}

/** Seconds before an act that it is compared with. */
const BEFORE = 60

/** The part of the page that is looked at again. */
export function livePart(view: LiveView): Html {
  const { offered, filled, purposes, latencies, acts, now } = view
  const told =
    typeof offered === 'string'
      ? offered
      : offered.map((one) => `${one.definition.name} is ${stateOf(one)}`).join(', ')
  const marks = marksOf(view)
  const seconds = latencies.seconds()
  return markup`<div data-told="${told}">
${view.underWay.filter((one) => !isOwn(one)).map((one) => markup`<p class="acts">${actState(one, `“${one.name} ${one.about}” is under way`)}</p>`)}
${typeof offered === 'string' ? markup`<p>The store cannot tell now: ${offered} Until it can, no index can be added or dropped.</p>` : offered.map((one) => offeredSection(one, purposeOf(purposes, one.definition.name), acts !== undefined))}
<h2>How long calls take</h2>
${
  seconds.length === 0
    ? markup`<p>No call has ended in the last five minutes.</p>`
    : markup`<div class="scroll latest" tabindex="0" role="region" aria-label="Plot of latencies">${latencyPlot(seconds, marks, now)}</div>
<p class="keys"><span class="key index"><i></i>p50, half of the calls are faster</span> <span class="key entities"><i></i>p99, one of a hundred is slower</span> <span class="key own"><i></i>the slowest call</span></p>
<p class="soft">By the second; each line of the plot stands for ten times as long as the one below.</p>
${failuresPart(latencies.between(0, Infinity))}`
}
${comparison(latencies, acts ?? [], filled, now)}
${acts === undefined ? undefined : actsPart(acts.filter(isOwn), view.underWay.filter(isOwn))}
<p class="soft">As of ${timeText(new Date(now))}, of this process alone. Times of calls about the store itself are left out.</p></div>`
}

/** Whether it is of this page; what is broken elsewhere is a mark of the plot alone. */
function isOwn({ name }: Pick<Act, 'name'>): boolean {
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

/** What calls have failed with in the minutes that the plot has. */
function failuresPart(latency: Latency | undefined): Html | undefined {
  if (latency === undefined || latency.failures.size === 0) return undefined
  const { calls, failures } = latency
  const codes = [...failures].map(([code, count]) => `${count.toLocaleString('en-US')} with ${code}`)
  const failed = failures.values().reduce((sum, count) => sum + count, 0)
  return markup`<p><span class="failed"><i></i></span>Of ${counted(calls, 'call')} in these minutes ${counted(failed, 'has', 'have')} failed, in the seconds with a cross: ${codes.join(', ')}.</p>`
}

/** Before, during and after the last adding of an index that the plot still has. */
function comparison(
  latencies: Latencies,
  acts: readonly Act[],
  filled: readonly Filled[],
  now: number,
): Html | undefined {
  const added = acts.find(({ name, failure }) => name === 'add' && failure === undefined)
  if (added === undefined) return undefined
  const { about } = added
  // Older ones are not kept.
  const oldest = Math.floor(now / 1000) - LATENCY_SECONDS + 1
  const secondOf = (at: Date | undefined): number => Math.floor((at?.getTime() ?? now) / 1000)
  const gone = acts.findLast(
    ({ name, about: other, at, failure }) =>
      name === 'drop' && other === about && failure === undefined && at > added.at,
  )
  const done = filled.find(({ index, at }) => index === about && at >= added.at)
  const last = secondOf(gone?.at) + 1
  const from = secondOf(added.at)
  if (from < oldest) return undefined
  const until = done === undefined ? last : secondOf(done.at) + 1
  // A second without calls counts as well.
  const first = Math.max(oldest, latencies.since)
  const rows: [string, number, number][] = [
    ['up to a minute before', Math.max(first, from - BEFORE), from],
    [done === undefined ? 'since it was added' : 'while it was added and filled', from, until],
  ]
  if (done !== undefined)
    rows.push([gone === undefined ? 'since then' : 'then, until it was dropped', until, last])
  const cells = rows.map(([when, begin, end]) => [
    when,
    ...latencyCells(latencies.between(begin, end), begin, end),
  ])
  const title = `Before, during and after ${about}`
  return markup`<h3>${title}</h3>${table(['when', 'p50', 'p99', 'slowest', 'calls a second', 'failed'], cells, title)}`
}

function latencyCells(latency: Latency | undefined, from: number, until: number): string[] {
  if (latency === undefined) return ['no calls', '', '', '', '']
  const { calls, failures, p50Ms, p99Ms, maxMs } = latency
  // One of a hundred is not known of fewer.
  const p99 = calls < 100 ? '–' : milliseconds(p99Ms)
  const failed = failures.values().reduce((sum, count) => sum + count, 0)
  const rate = (calls / Math.max(1, until - from)).toFixed(1)
  return [milliseconds(p50Ms), p99, milliseconds(maxMs), rate, failed.toLocaleString('en-US')]
}
