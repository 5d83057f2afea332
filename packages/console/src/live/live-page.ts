import type { Act } from '../acts/acts.ts'
import { Html, markup } from '../html.ts'
import { milliseconds } from '../text.ts'
import { table } from '../xray-page.ts'
import type { OfferedIndex } from './index-state.ts'
import type { Latencies, Latency } from './latencies.ts'
import { latencyPlot, type Mark } from './latency-plot.ts'
import { LIVE_SCRIPT } from './live-script.ts'
import { ACT_FORM, offeredSection, stateOf } from './offered-section.ts'

/** What the page shows at a moment. */
export interface LiveView {
  /** Or why it cannot be told. */
  readonly offered: readonly OfferedIndex[] | string
  /** When fillings came to their end, as far as they were seen, of indexes that are gone too. */
  readonly filled: readonly Filled[]
  readonly latencies: Latencies
  /** The newest first; undefined where acts are off. */
  readonly acts: readonly Act[] | undefined
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
  const { offered, filled, latencies, acts, now } = view
  const told =
    typeof offered === 'string'
      ? offered
      : offered.map((one) => `${one.definition.name} is ${stateOf(one)}`).join(', ')
  const marks = marksOf(view)
  const seconds = latencies.seconds()
  return markup`<div data-told="${told}">
${typeof offered === 'string' ? markup`<p role="alert">The store cannot tell now: ${offered}</p>` : offered.map((one) => offeredSection(one, acts !== undefined))}
<h2>How long calls take</h2>
${
  seconds.length === 0
    ? markup`<p>No call has ended in the last five minutes.</p>`
    : markup`<div class="scroll latest" tabindex="0" role="region" aria-label="Plot of latencies">${latencyPlot(seconds, marks, now)}</div>
<p class="keys"><span class="key index"><i></i>p50, half of the calls are faster</span> <span class="key entities"><i></i>p99, one of a hundred is slower</span> <span class="key own"><i></i>the slowest call</span></p>`
}
${comparison(latencies, acts ?? [], filled, now)}
${acts === undefined ? undefined : actsPart(acts)}
<p class="soft">As of ${timeText(new Date(now))} UTC, of this process alone. Times of calls about the store itself are left out.</p></div>`
}

/** The whole page. `token` is for its form; undefined where acts are off. */
export function livePage(view: LiveView, base: string, token: string | undefined): Html {
  const path = `${base}/live`
  return markup`<h1>Add an index, live</h1>
<p class="lead">An index is a table of its own on every shard, so it comes and goes while the site is in use: no lock, no pause, no migration. ${token === undefined ? 'This window only looks; an application may allow acts in it.' : 'Add one, and look at what that does to the calls of the site.'}</p>
${token === undefined ? undefined : markup`<form id="${ACT_FORM}" method="post" action="${path}"><input type="hidden" name="token" value="${token}"></form>`}
<p role="status" id="told" class="soft"></p>
<div id="live" data-stream="${path}/events">${livePart(view)}</div>
<p><a href="${path}">Look again</a></p>
<script>${new Html(LIVE_SCRIPT)}</script>`
}

/** Asks before something is done that cannot be taken back. */
export function confirmPage(
  { name, about, question }: { name: string; about: string; question: string },
  path: string,
  token: string,
): Html {
  return markup`<h1>To ${name} ${about}?</h1><p class="lead">${question}</p>
<form method="post" action="${path}"><input type="hidden" name="token" value="${token}"><input type="hidden" name="sure" value="yes">
<p class="acts"><button name="${name}" value="${about}">Yes, ${name} ${about}</button> <a href="${path}">No, leave it</a></p></form>`
}

function marksOf({ acts = [], filled }: LiveView): Mark[] {
  const done = acts.map(({ name, about, at, failure }) => ({
    at,
    label: `${name} ${about}${failure === undefined ? '' : ' (failed)'}`,
  }))
  const ends = filled.map(({ index, at }) => ({ at, label: `${index} filled` }))
  return [...done, ...ends].toSorted((a, b) => a.at.getTime() - b.at.getTime())
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
  const secondOf = (at: Date | undefined): number => Math.floor((at?.getTime() ?? now) / 1000)
  const gone = acts.findLast(
    ({ name, about: other, at, failure }) =>
      name === 'drop' && other === about && failure === undefined && at > added.at,
  )
  const done = filled.find(({ index, at }) => index === about && at >= added.at)
  const last = secondOf(gone?.at) + 1
  const from = secondOf(added.at)
  const until = done === undefined ? last : secondOf(done.at) + 1
  const first = latencies.seconds()[0]?.second ?? from
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
  return markup`<h3>Before, during and after ${about}</h3>${table(['when', 'p50', 'p99', 'slowest', 'calls a second'], cells)}`
}

function latencyCells(latency: Latency | undefined, from: number, until: number): string[] {
  if (latency === undefined) return ['no calls', '', '', '']
  const { calls, p50Ms, p99Ms, maxMs } = latency
  return [...[p50Ms, p99Ms, maxMs].map(milliseconds), (calls / Math.max(1, until - from)).toFixed(1)]
}

function actsPart(acts: readonly Act[]): Html {
  return markup`<h2>Acts</h2>${
    acts.length === 0
      ? markup`<p>Nothing was done yet, since this process was started.</p>`
      : table(
          ['when (UTC)', 'act', 'took', 'result'],
          acts.map(({ name, about, at, durationMs, failure }) => [
            timeText(at),
            `${name} ${about}`,
            milliseconds(durationMs),
            failure ?? 'done',
          ]),
        )
  }`
}

function timeText(at: Date): string {
  return at.toISOString().slice(11, 19)
}
