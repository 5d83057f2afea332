import { createConsole, type Act, type Console } from '@looseleaf/console'
import type { DriverFactory, Observer } from 'looseleaf'
import { isPublic, offeredIndexes } from '../kinds/site-data.ts'
import { DELIVER } from '../delivery/start-deliveries.ts'
import type { Site } from '../domain/site/site.ts'
import { deliveriesPage } from './deliveries-page.ts'
import { faultsPage } from './faults-page.ts'
import { growPage } from './grow-page.ts'
import { indexPurposes } from './index-purposes.ts'
import { createLatencies } from './latencies.ts'
import { livePage } from './live-page.ts'
import { createRowCounts, type RowCounts } from './row-counts.ts'
import { createShardFaults, type ShardFaults } from './shard-faults.ts'

/** Demonstrations on the store of a site: its shards can be made to fail, and its calls and index rows are counted. */
export interface Stage {
  /** The shards and the observer for `openSite`. */
  readonly shards: DriverFactory
  readonly observer: Observer
  readonly faults: ShardFaults
  readonly rowCounts: RowCounts
  /** Opens the window into the store at `base`, with the pages of the demonstrations. Every visitor of the window may use them. */
  openWindow(site: Site, base: string, onAct: (act: Act) => void): Console
}

/** Indexes that visitors may break: those of the page of everything and of the list of people. */
const BREAKABLE = ['entry_by_time', 'person_by_time']

export function createStage(shards: DriverFactory): Stage {
  const latencies = createLatencies()
  const rowCounts = createRowCounts()
  const faults = createShardFaults(shards)
  return {
    shards: faults.shards,
    observer: { callEnded: latencies.callEnded, happened: rowCounts.happened },
    faults,
    rowCounts,
    openWindow({ store, cleaner, deliveries, crawler }, base, onAct) {
      const purposes = indexPurposes
      return createConsole({
        store,
        base,
        home: { href: '/', label: 'Looseleaf' },
        mayShow: isPublic,
        purposes,
        pages: [
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
