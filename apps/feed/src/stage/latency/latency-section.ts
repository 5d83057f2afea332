import type { Act } from '@looseleaf/console'
import {
  capital,
  counted,
  markup,
  milliseconds,
  scrolling,
  table,
  timeText,
  type Html,
} from '@looseleaf/console/kit'
import { LATENCY_SECONDS, type Latencies, type Latency } from './latencies.ts'
import { latencyPlot, type Mark } from './latency-plot.ts'

/** Data of the section at one moment. */
export interface LatencyView {
  readonly latencies: Latencies
  /** Acts that have ended, the newest first. */
  readonly acts: readonly Act[]
  /** Ends of fillings that this process has seen, also of dropped indexes. */
  readonly filled: readonly FinishedFilling[]
  /** Milliseconds since 1970. */
  readonly now: number
}

export interface FinishedFilling {
  readonly index: string
  readonly at: Date
}

/** Seconds before an act that the comparison uses. */
const BEFORE = 60

/** Renders the latency of calls over the last minutes, with a mark for each act and the end of each filling. */
export function latencySection(view: LatencyView): Html {
  const { filled, latencies, acts, now } = view
  const seconds = latencies.seconds()
  return markup`<h2>Latency of calls</h2>
${
  seconds.length === 0
    ? markup`<p>No call has ended in the last five minutes.</p>`
    : markup`${scrolling('Plot of latencies', latencyPlot(seconds, marksOf(view), now), ' latest')}
<p class="keys"><span class="key index"><i></i>p50: half of the calls are faster</span> <span class="key entities"><i></i>p99: one call in a hundred is slower</span> <span class="key own"><i></i>the slowest call</span></p>
<p class="soft">Each point is one second. Each line of the grid is ten times the one below.</p>
${failuresPart(latencies.between(0, Infinity))}`
}
${comparison(latencies, acts, filled, now)}
<p class="soft">As of ${timeText(new Date(now))}. The latencies are those of this process, without calls about the store itself.</p>`
}

function marksOf({ acts, filled }: LatencyView): Mark[] {
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
