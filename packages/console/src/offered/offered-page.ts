import type { IndexDefinitionData } from '@looseleaf/core'
import { platformTime } from '@looseleaf/core/internal'
import type { DataStore } from '@looseleaf/store'
import type { ActPage } from '../acts/act-page.ts'
import { purposeOf, type Purposes } from '../indexes/purposes.ts'
import { markup } from '../kit/html.ts'
import { messageOf } from '../requests/read-part.ts'
import { LIMIT_MS } from '../requests/routes.ts'
import { readOffered } from './index-state.ts'
import { offeredSection, stateOf } from './offered-section.ts'

export interface OfferedPageOptions {
  readonly store: Pick<DataStore, 'addIndex' | 'dropIndex' | 'indexes' | 'context'>
  readonly offer: readonly IndexDefinitionData[]
  /** Descriptions of the indexes. Default: none. */
  readonly purposes?: Purposes
}

/** Creates the page with the states and fillings of the offered indexes, and with buttons that add and drop them. */
export function offeredPage({ store, offer, purposes = {} }: OfferedPageOptions): ActPage {
  return {
    name: 'offered',
    label: 'Offered indexes',
    title: 'Offered indexes',
    lead: markup`The application offers these indexes. Each is a table of its own on every shard, so it can be added and dropped while the store is in use, without a lock, a pause or a migration.`,
    suggestion: (address) =>
      markup`<a href="${address}">Add an index</a> during reads and writes: nothing is locked, and the page shows how it is filled.`,
    acts: ['add', 'drop'],
    async part({ isAllowed }) {
      const signal = platformTime.abortAfter(LIMIT_MS)
      const offered = await readOffered(store, offer, { signal }).catch(messageOf)
      if (typeof offered === 'string')
        return {
          body: markup`<p>The state of the indexes is unknown: ${offered} Until the store answers, no index can be added or dropped.</p>`,
          news: offered,
        }
      return {
        body: markup`${offered.map((index) => offeredSection(index, purposeOf(purposes, index.definition.name), isAllowed))}`,
        news: offered.map((index) => `${index.definition.name} is ${stateOf(index)}`).join(', '),
      }
    },
    plan(name, about) {
      const definition = offer.find((index) => index.name === about)
      if (definition === undefined) return undefined
      if (name === 'add') return { name, about, run: () => store.addIndex(definition) }
      return {
        name,
        about,
        question:
          'Its tables are dropped, shard by shard, and queries of it are refused from now on. Entities do not change. To get it back, add and fill it again.',
        run: () => store.dropIndex(definition),
      }
    },
  }
}
