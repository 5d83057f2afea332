import { createConsole, type Act, type Console } from '@looseleaf/console'
import type { DriverFactory, Observer } from 'looseleaf'
import { isPublic, offeredIndexes } from '../kinds/site-data.ts'
import { DELIVER } from '../delivery/start-deliveries.ts'
import type { Site } from '../domain/site/site.ts'
import { deliveriesPage } from './deliveries/deliveries-page.ts'
import { faultsPage } from './faults/faults-page.ts'
import { growPage } from './grow-page.ts'
import { indexPurposes } from './index-purposes.ts'
import { createLatencies } from './latency/latencies.ts'
import { livePage } from './live-page.ts'
import { pageOf } from './page-of.ts'
import { playPage } from './play-page.ts'
import { openPulse, type PulseMeter } from './pulse.ts'
import { createRate } from './rate.ts'
import { createRowCounts, type RowCounts } from './faults/row-counts.ts'
import { createShardFaults, type ShardFaults } from './faults/shard-faults.ts'

/** Demonstrations on the store of a site: its shards can be made to fail, and its calls and index rows are counted. */
export interface Stage {
  /** The shards and the observer for `openSite`. */
  readonly shards: DriverFactory
  readonly observer: Observer
  readonly faults: ShardFaults
  readonly rowCounts: RowCounts
  /** Opens the window into the store at `base`, with the pages of the demonstrations. Every visitor of the window may use them. */
  openWindow(site: Site, base: string, options: WindowOptions): Console
  /** Measures the site for the strip above its pages. */
  openPulse(site: Site, onError: (error: unknown) => void): PulseMeter
}

export interface WindowOptions {
  readonly onAct: (act: Act) => void
  /** Returns the address at which the site listens. */
  readonly address: () => string
  /** Signs the cookies of the people of a played day. */
  readonly secret: string
}

/** Indexes that visitors may break: those of the page of everything and of the list of people. */
const BREAKABLE = ['entry_by_time', 'person_by_time']

export function createStage(shards: DriverFactory): Stage {
  const latencies = createLatencies()
  const rowCounts = createRowCounts()
  const statements = createRate()
  const faults = createShardFaults(shards)
  /** Time at which the played day ends, in milliseconds since 1970. */
  let playedUntil: number | undefined
  return {
    shards: faults.shards,
    observer: {
      callEnded: latencies.callEnded,
      statementSent: statements.count,
      happened: rowCounts.happened,
    },
    faults,
    rowCounts,
    openPulse: (site, onError) =>
      openPulse({
        site,
        latencies,
        statements,
        playing: () => playedUntil && Math.max(0, Math.ceil((playedUntil - Date.now()) / 1000)),
        onError,
      }),
    openWindow(site, base, { onAct, address, secret }) {
      const { store, cleaner, deliveries, crawler } = site
      const purposes = indexPurposes
      return createConsole({
        store,
        base,
        home: { href: '/', label: 'Looseleaf' },
        mayShow: isPublic,
        pageOf,
        purposes,
        pages: [
          playPage({ site, faults, address, secret, setEnd: (end) => (playedUntil = end) }),
          livePage({ store, latencies, offer: offeredIndexes, purposes }),
          growPage({ store, latencies }),
          deliveriesPage(store, DELIVER),
          faultsPage({
            store,
            indexes: BREAKABLE,
            counts: rowCounts,
            loops: { cleaner, deliveries, crawler },
            shards: faults,
            purposes,
          }),
        ],
        acts: { onAct },
      })
    },
  }
}
