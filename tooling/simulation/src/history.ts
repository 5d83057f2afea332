import type { Bag, Codec, EntityId } from '@looseleaf/core'
import type { QueryPage } from '@looseleaf/index-engine'
import type { ReferenceDriver } from '@looseleaf-tooling/reference-driver'
import { createStates, type State } from './states.ts'

/** An operation under way, from the moment it was called. */
export interface Operation {
  readonly number: number
  readonly since: number
}

/** What a query asked for. */
export interface Asked {
  readonly what: string
  matches(bag: Bag): boolean
}

export interface Counts {
  operations: number
  acknowledged: number
  failed: number
  unknown: number
  reads: number
  queries: number
}

/**
 * Holds what processes were told against what the databases went through. Every write carries the number of its
 * operation in the bag, so that a commit says whose it is.
 */
export interface History {
  begin(): Operation
  /** Looks at the databases; after each thing that happened. */
  observe(): void
  /** Looks at the databases when a shard has failed over: commits that are gone bind nobody any more. */
  failedOver(): void
  /** A write was acknowledged with this version, and was to replace `base` if it said so. */
  acknowledged(operation: Operation, id: EntityId, version: number, base?: number): void
  /** A delete answered whether the entity was there. */
  deleted(operation: Operation, id: EntityId, wasThere: boolean): void
  /** A write failed, and it was said that it did not take place. */
  failed(operation: Operation): void
  /** A read gave this. */
  read(operation: Operation, id: EntityId, version: number | undefined, bag: Bag | undefined): void
  /** A query gave exactly these entities, or said that some may be lacking. */
  queried(operation: Operation, asked: Asked, page: Pick<QueryPage, 'items' | 'cost'>): void
  /** A reading of every entity gave these, whatever the indexes have. */
  scanned(operation: Operation, asked: Asked, items: readonly Bag[]): void
  /** Several pages gave these, one after the other. */
  paged(operation: Operation, asked: Asked, items: readonly Bag[], isComplete: boolean): void
  /** A count gave this; `exact` where it looked at every entity. */
  counted(operation: Operation, asked: Asked, count: number, exact: boolean): void
  /** What was wrong, in words. */
  readonly wrongs: readonly string[]
  readonly counts: Counts
}

export interface HistoryOptions {
  /** False where rows are allowed to be missing for a while, so that a query may lack something. */
  promisesRows(operation: Operation): boolean
  /** False where rows may be pending, which a count does not say. */
  readonly countsAll: boolean
}

export function createHistory(driver: ReferenceDriver, codec: Codec, options: HistoryOptions): History {
  const wrongs: string[] = []
  const states = createStates(driver, codec)
  const definitelyFailed = new Set<number>()
  /** The versions that were acknowledged for an entity, with the moment. */
  const acknowledgedAt = new Map<EntityId, { version: number; at: number }[]>()
  const counts: Counts = { operations: 0, acknowledged: 0, failed: 0, unknown: 0, reads: 0, queries: 0 }

  const during = ({ since }: Operation, id: EntityId): readonly State[] => states.during(since, id)
  const fits = (state: State, { matches }: Asked): boolean => state.bag !== null && matches(state.bag)
  const wrong = (text: string): void => void wrongs.push(text)

  /** Everything that was found was so at some time of the search. */
  function checkFound(operation: Operation, asked: Asked, items: readonly Bag[]): void {
    for (const item of items) {
      const possible = during(operation, String(item['id']))
      const was = possible.some((state) => fits(state, asked) && state.bag?.['by'] === item['by'])
      if (!was)
        wrong(`${asked.what} gave ${String(item['id'])} as it was not, or did not match, at any time of it`)
    }
  }

  function checkLacking(operation: Operation, asked: Asked, items: readonly Bag[]): void {
    const found = new Set(items.map((item) => item['id']))
    for (const id of states.ids()) {
      if (found.has(id) || !during(operation, id).every((state) => fits(state, asked))) continue
      wrong(`${asked.what} lacks ${id}, which matched all the time`)
    }
  }

  function checkTwice({ what }: Asked, items: readonly Bag[]): void {
    if (new Set(items.map((item) => item['id'])).size < items.length) wrong(`${what} gave an entity twice`)
  }

  return {
    wrongs,
    counts,
    begin: () => ({ number: ++counts.operations, since: states.moment() }),

    observe() {
      for (const { id, version, bag, before } of states.observe()) {
        if (before > version) wrong(`${id} went back to an earlier version`)
        const by = Number(bag?.['by'] ?? 0)
        if (definitelyFailed.has(by)) wrong(`operation ${by} was reported as failed and took place`)
      }
    },

    failedOver() {
      for (const [id, version] of states.failedOver()) {
        const known = acknowledgedAt.get(id) ?? []
        acknowledgedAt.set(
          id,
          known.filter((write) => write.version <= version),
        )
      }
    },

    acknowledged(_, id, version, base) {
      counts.acknowledged++
      if (version === 0) return
      const before = states.before(id, version)
      if (before === undefined)
        return wrong(`version ${version} of ${id} was acknowledged and never committed`)
      if (base !== undefined && base !== (before.bag === null ? 0 : before.version)) {
        wrong(`version ${version} of ${id} replaced another version than the one it was to replace`)
      }
      // A commit that a failover has lost since is one that nobody is held to.
      if (states.isLost(id, version)) return
      acknowledgedAt.set(id, [...(acknowledgedAt.get(id) ?? []), { version, at: states.moment() }])
    },

    deleted(operation, id, wasThere) {
      const possible = during(operation, id)
      const fromHereOn = possible.slice(1)
      if (wasThere && !fromHereOn.some(({ bag }) => bag === null))
        wrong(`${id} was said to be deleted and was not`)
      if (!wasThere && possible.every(({ bag }) => bag !== null)) wrong(`${id} was there and was not deleted`)
    },

    failed({ number }) {
      counts.failed++
      definitelyFailed.add(number)
      if (states.wasCommittedBy(number)) wrong(`operation ${number} was reported as failed and took place`)
    },

    read(operation, id, version, bag) {
      counts.reads++
      const possible = during(operation, id)
      const isRight = possible.some((state) =>
        bag === undefined ? state.bag === null : state.version === version && state.bag?.['by'] === bag['by'],
      )
      if (!isRight) wrong(`a read of ${id} gave what it was not at any time of the read`)
      const known = acknowledgedAt.get(id)?.filter(({ at }) => at <= operation.since) ?? []
      if (version !== undefined && known.some((write) => write.version > version)) {
        wrong(`a read of ${id} gave an older version than one acknowledged before it began`)
      }
    },

    queried(operation, asked, { items, cost }) {
      counts.queries++
      checkFound(operation, asked, items)
      checkTwice(asked, items)
      if (cost.complete && options.promisesRows(operation)) checkLacking(operation, asked, items)
    },

    scanned(operation, asked, items) {
      counts.reads++
      checkFound(operation, asked, items)
      checkTwice(asked, items)
      checkLacking(operation, asked, items)
    },

    paged(operation, asked, items, isComplete) {
      counts.queries++
      checkFound(operation, asked, items)
      // What is written meanwhile may be met twice, or missed.
      const still = new Set([...states.ids()].filter((id) => during(operation, id).length === 1))
      const held = items.filter((item) => still.has(String(item['id'])))
      if (new Set(held.map((item) => item['id'])).size < held.length)
        wrong(`pages of ${asked.what} gave an entity twice that nobody had written`)
      if (!isComplete || !options.promisesRows(operation)) return
      for (const id of still) {
        const [state] = during(operation, id)
        const isThere = held.some((item) => item['id'] === id)
        if (state !== undefined && fits(state, asked) && !isThere)
          wrong(`pages of ${asked.what} lack ${id}, which nobody had written`)
      }
    },

    counted(operation, asked, count, exact) {
      counts.queries++
      const all = [...states.ids()].map((id) => during(operation, id))
      const least = all.filter((possible) => possible.every((state) => fits(state, asked))).length
      const most = all.filter((possible) => possible.some((state) => fits(state, asked))).length
      if (exact && count > most)
        wrong(`an exact count of ${asked.what} gave ${count}, there were ${most} at most`)
      if (options.promisesRows(operation) && options.countsAll && count < least)
        wrong(`a count of ${asked.what} gave ${count}, there were ${least} at least`)
    },
  }
}
