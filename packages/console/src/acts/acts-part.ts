import { markup, type Html } from '../kit/html.ts'
import { durationText, milliseconds, timeText } from '../kit/text.ts'
import { long, moment, table } from '../kit/table.ts'
import type { Act, RunningAct } from './acts.ts'

/** Renders the running acts, whose progress is beside their buttons, and the acts that have ended, the newest first. */
export function actsPart(acts: readonly Act[], running: readonly RunningAct[]): Html {
  const lines = running.map(
    ({ name, about, at }) => markup`<p>Running since ${timeText(at)}: ${name} ${about}.</p>`,
  )
  if (acts.length === 0)
    return markup`<h2>Acts</h2>${lines.length > 0 ? lines : markup`<p>There were no acts yet.</p>`}`
  const newest = acts.toSorted((a, b) => b.at.getTime() - a.at.getTime())
  const rows = newest.map((act) => [
    moment(timeText(act.at)),
    long(`${act.name} ${act.about}`),
    act.durationMs < 10_000 ? milliseconds(act.durationMs) : durationText(act.durationMs),
    long(resultOf(act)),
  ])
  return markup`<h2>Acts</h2>${lines}${table(['when', 'act', 'took', 'result'], rows, 'Acts')}`
}

export function resultOf({ outcome, failure }: Act): string {
  return [outcome ?? (failure === undefined ? 'done' : ''), failure].filter(Boolean).join(' ')
}
