import type { Driver, Time } from '@looseleaf/core'
import type { MoverStore } from '@looseleaf/mover/internal'
import { changed } from '@looseleaf-tooling/kit/changed-driver'
import { withoutFlush } from './flawed-process.ts'
import type { Flaw } from './flaws.ts'

/** Returns the store of a mover, with the flaw. */
export function moversStore({ context }: MoverStore, flaw: Flaw | undefined): MoverStore {
  const { driver, time } = context
  switch (flaw) {
    case 'movers do not wait for readers':
      return { context: { ...context, time: impatientTime(time) } }
    case 'movers do not flush':
      return { context: { ...context, driver: withoutFlush(driver) } }
    case 'all copies have one time':
      return { context: { ...context, driver: withOneTimeOfCopies(driver) } }
    case 'index rows are not copied':
      return {
        context: { ...context, driver: changed(driver, { index: () => ({ upsert: async () => {} }) }) },
      }
    case 'claims are not copied':
      return {
        context: {
          ...context,
          driver: changed(driver, {
            shard: (shard) => ({
              claims: (spec) => ({ ...shard.claims(spec), take: async (rows) => rows }),
            }),
          }),
        },
      }
    default:
      return { context }
  }
}

/** Returns a driver that gives all copies of an attempt the time of its first one. */
function withOneTimeOfCopies(driver: Driver): Driver {
  return changed(driver, {
    entities({ receive }) {
      const times = new Map<number, number>()
      return {
        receive(rows, options) {
          const updated = times.get(options.epoch) ?? options.updated
          times.set(options.epoch, updated)
          return receive(rows, { ...options, updated })
        },
      }
    },
  })
}

/** Returns a time whose long sleeps are short, and advance it by their length. */
function impatientTime(time: Time): Time {
  let ahead = 0
  return {
    now: () => time.now() + ahead,
    async sleep(ms, signal) {
      const slept = Math.min(ms, SHORT_SLEEP_MS)
      await time.sleep(slept, signal)
      ahead += ms - slept
    },
  }
}

const SHORT_SLEEP_MS = 20
