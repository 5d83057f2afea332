import { markup, type Html } from '../html.ts'
import { milliseconds } from '../text.ts'
import { table } from '../xray-page.ts'
import type { Act } from './acts.ts'

/** What was done, the newest first. */
export function actsPart(acts: readonly Act[]): Html {
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

/** `23:59:59`, in UTC. */
export function timeText(at: Date): string {
  return at.toISOString().slice(11, 19)
}
