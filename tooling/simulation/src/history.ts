import { formatId, type Bag, type Codec, type EntityId } from '@looseleaf/core'
import type { QueryPage } from '@looseleaf/index-engine'
import type { ReferenceDriver } from '@looseleaf-tooling/reference-driver'

/** A committed state of an entity; bag null while it is deleted. */
interface State {
  readonly version: number
  readonly bag: Bag | null
  /** The moment from which it holds. */
  readonly since: number
}

/** An operation under way, from the moment it was called. */
export interface Operation {
  readonly number: number
  readonly since: number
}

/**
 * Holds what processes were told against what the databases went through. Every write carries the number of its
 * operation in the bag, so that a commit says whose it is.
 */
export interface History {
  begin(): Operation
  /** Looks at the databases; after each thing that happened. */
  observe(): void
  /** A write was acknowledged with this version, or found nothing to do (`written` false). */
  acknowledged(operation: Operation, id: EntityId, version: number): void
  /** A write failed, and it was said that it did not take place. */
  failed(operation: Operation): void
  /** A read gave this. */
  read(operation: Operation, id: EntityId, version: number | undefined, bag: Bag | undefined): void
  /** A query gave exactly these entities, or said that some may be lacking. */
  queried(
    operation: Operation,
    matches: (bag: Bag) => boolean,
    page: Pick<QueryPage, 'items' | 'cost'>,
    what: string,
  ): void
  /** What was wrong, in words. */
  readonly wrongs: readonly string[]
  readonly counts: {
    operations: number
    acknowledged: number
    failed: number
    unknown: number
    reads: number
    queries: number
  }
}

export function createHistory(driver: ReferenceDriver, codec: Codec): History {
  const states = new Map<EntityId, State[]>()
  const committedBy = new Set<number>()
  const definitelyFailed = new Set<number>()
  /** The greatest version that was acknowledged for an entity, with the moment. */
  const acknowledgedAt = new Map<EntityId, { version: number; at: number }[]>()
  const wrongs: string[] = []
  const counts = { operations: 0, acknowledged: 0, failed: 0, unknown: 0, reads: 0, queries: 0 }
  let moment = 0

  const statesOf = (id: EntityId): State[] => states.get(id) ?? []

  /** The states that held at some time since the operation began. */
  const during = ({ since }: Operation, id: EntityId): State[] => {
    const all = statesOf(id)
    const before = all.filter((state) => state.since <= since).at(-1)
    const after = all.filter((state) => state.since > since)
    return [before ?? { version: 0, bag: null, since: 0 }, ...after]
  }

  return {
    wrongs,
    counts,
    begin: () => ({ number: ++counts.operations, since: moment }),

    observe() {
      moment++
      for (const shard of driver.shards) {
        for (const row of shard.entities.rows) {
          const id = formatId(row.id)
          const known = states.get(id) ?? []
          const last = known.at(-1)
          if (last?.version === row.version) continue
          if (last !== undefined && last.version > row.version)
            wrongs.push(`${id} went back to an earlier version`)
          const bag = row.body === null ? null : codec.decode(row.body)
          const by = Number(bag?.['by'] ?? 0)
          committedBy.add(by)
          if (definitelyFailed.has(by)) wrongs.push(`operation ${by} was reported as failed and took place`)
          states.set(id, [...known, { version: row.version, bag, since: moment }])
        }
      }
    },

    acknowledged(_, id, version) {
      counts.acknowledged++
      if (version !== 0 && !statesOf(id).some((state) => state.version === version)) {
        wrongs.push(`version ${version} of ${id} was acknowledged and never committed`)
      }
      acknowledgedAt.set(id, [...(acknowledgedAt.get(id) ?? []), { version, at: moment }])
    },

    failed({ number }) {
      counts.failed++
      definitelyFailed.add(number)
      if (committedBy.has(number)) wrongs.push(`operation ${number} was reported as failed and took place`)
    },

    read(operation, id, version, bag) {
      counts.reads++
      const possible = during(operation, id)
      const fits = possible.some((state) =>
        bag === undefined ? state.bag === null : state.version === version && state.bag?.['by'] === bag['by'],
      )
      if (!fits) wrongs.push(`a read of ${id} gave what it was not at any time of the read`)
      const known = acknowledgedAt.get(id)?.filter(({ at }) => at <= operation.since) ?? []
      if (version !== undefined && known.some((write) => write.version > version)) {
        wrongs.push(`a read of ${id} gave an older version than one acknowledged before it began`)
      }
    },

    queried(operation, matches, { items, cost }, what) {
      const found = new Set(items.map((item) => item.id))
      counts.queries++
      for (const id of states.keys()) {
        const possible = during(operation, id).map((state) => state.bag !== null && matches(state.bag))
        if (cost.complete && possible.every(Boolean) && !found.has(id))
          wrongs.push(`${what} lacks ${id}, which matched all the time`)
        if (!possible.some(Boolean) && found.has(id)) wrongs.push(`${what} gave ${id}, which never matched`)
      }
    },
  }
}
