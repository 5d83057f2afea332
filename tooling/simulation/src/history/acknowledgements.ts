import type { EntityId } from '@looseleaf/core'
import type { Evidence, Operation } from './evidence.ts'

export interface Acknowledged {
  readonly version: number
  readonly at: number
  /** Position of this write among all acknowledged writes. */
  readonly number: number
  readonly store: object | undefined
}

/** Acknowledged writes, which bind every read that begins later. */
export interface Acknowledgements {
  /** Number of acknowledged writes so far. */
  count(): number
  /** Acknowledged versions of an entity. */
  of(id: EntityId): readonly Acknowledged[]
  add(id: EntityId, version: number, operation: Operation): void
  /** Re-reads the databases after a shard has failed over: commits that are gone no longer bind reads. */
  failedOver(): void
  /** Re-reads the databases after a server crash: acknowledged writes must have survived. */
  serverCrashed(): void
}

export function createAcknowledgements({ check, states, mayFailOver }: Evidence): Acknowledgements {
  /** Acknowledged versions per entity, with the time and the store that wrote them. */
  const acknowledgedAt = new Map<EntityId, Acknowledged[]>()
  let acknowledged = 0

  return {
    count: () => acknowledged,
    of: (id) => acknowledgedAt.get(id) ?? [],

    add(id, version, { store }) {
      // A commit that a failover has undone binds no read.
      const isLost = states.isLost(id, version)
      if (isLost && !mayFailOver) {
        check(
          'an acknowledged write survives a crash of its server',
          `version ${version} of ${id} was acknowledged when a crash had undone it`,
        )
      }
      if (isLost) return
      const known = acknowledgedAt.get(id) ?? []
      acknowledgedAt.set(id, [...known, { version, at: states.moment(), number: ++acknowledged, store }])
    },

    failedOver() {
      for (const [id, version] of states.fallenBack()) {
        const known = acknowledgedAt.get(id) ?? []
        acknowledgedAt.set(
          id,
          known.filter((write) => write.version <= version),
        )
      }
    },

    serverCrashed() {
      const versions = states.fallenBack()
      for (const [id, known] of acknowledgedAt) {
        const version = versions.get(id) ?? 0
        const lost = known.find((write) => write.version > version)
        check(
          'an acknowledged write survives a crash of its server',
          lost &&
            `version ${lost.version} of ${id} was acknowledged, and is gone with the crash of its server`,
        )
      }
    },
  }
}
