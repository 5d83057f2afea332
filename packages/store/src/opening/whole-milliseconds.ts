import type { Time } from '@looseleaf/core'
import { systemTime } from '@looseleaf/core/internal'

/** Returns a time whose `now` has whole milliseconds. Times are stored and compared with the database as whole numbers. */
export function wholeMilliseconds(time: Time): Time {
  if (time === systemTime) return time
  return {
    now: () => Math.floor(time.now()),
    ...(time.elapsed && { elapsed: () => time.elapsed!() }),
    sleep: (milliseconds, signal) => time.sleep(milliseconds, signal),
  }
}
