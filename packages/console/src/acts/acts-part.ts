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
  const rows = newest.map((act) => [
    moment(timeText(act.at)),
    long(`${act.name} ${act.about}`),
    act.durationMs < 10_000 ? milliseconds(act.durationMs) : durationText(act.durationMs),
    long(resultOf(act)),
  ])
  return markup`<h2>Acts</h2>${begun}${table(['when', 'act', 'took', 'result'], rows, 'Acts')}`
}

/** What came of an act, and why it was not done to its end. */
export function resultOf({ outcome, failure }: Act): string {
  return [outcome ?? (failure === undefined ? 'done' : ''), failure].filter(Boolean).join(' ')
}
