import { markup, type Html } from '../html.ts'
import { milliseconds, timeText } from '../text.ts'
import { table } from '../table.ts'
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
