import { markup, type Html } from '../html.ts'
import { durationText, milliseconds, timeText } from '../text.ts'
import { long, moment, table } from '../table.ts'
import type { Act, ActUnderWay } from './acts.ts'

/** What is being done, and what was done, the newest first. */
export function actsPart(acts: readonly Act[], underWay: readonly ActUnderWay[]): Html {
  const begun = underWay.map(
    ({ name, about, at, progress }) =>
      markup`<p>Under way since ${timeText(at)}: ${name} ${about}${progress === '' ? '' : `, ${progress}`}.</p>`,
  )
  if (acts.length === 0)
    return markup`<h2>Acts</h2>${begun.length > 0 ? begun : markup`<p>Nothing has been done yet.</p>`}`
  const newest = acts.toSorted((a, b) => b.at.getTime() - a.at.getTime())
  const rows = newest.map(({ name, about, at, durationMs, failure, outcome }) => [
    moment(timeText(at)),
    long(`${name} ${about}`),
    durationMs < 10_000 ? milliseconds(durationMs) : durationText(durationMs),
    long([outcome ?? (failure === undefined ? 'done' : ''), failure].filter(Boolean).join(' ')),
  ])
  return markup`<h2>Acts</h2>${begun}${table(['when', 'act', 'took', 'result'], rows)}`
}
