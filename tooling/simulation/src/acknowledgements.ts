import type { EntityId } from '@looseleaf/core'
import type { Evidence, Operation } from './evidence.ts'

export interface Acknowledged {
  readonly version: number
  readonly at: number
  /** Counts all that were acknowledged. */
  readonly number: number
  readonly store: object | undefined
}

/** What processes were told that is committed, which binds every read that begins later. */
export interface Acknowledgements {
  /** So many writes so far. */
  count(): number
  /** The versions of an entity that were. */
  of(id: EntityId): readonly Acknowledged[]
  add(id: EntityId, version: number, operation: Operation): void
  /** Looks at the databases when a shard has failed over: commits that are gone bind nobody any more. */
  failedOver(): void
  /** Looks at the databases when a server has crashed: what was acknowledged has to be there. */
  serverCrashed(): void
}

export function createAcknowledgements({ check, states, mayFailOver }: Evidence): Acknowledgements {
  /** The versions that were acknowledged for an entity, with the moment, and the store that had written them. */
  const acknowledgedAt = new Map<EntityId, Acknowledged[]>()
  let acknowledged = 0

  return {
    count: () => acknowledged,
    of: (id) => acknowledgedAt.get(id) ?? [],

    add(id, version, { store }) {
      // A commit that a failover has lost since is one that nobody is held to.
      const isLost = states.isLost(id, version)
      if (isLost && !mayFailOver) {
        check(
          'what was acknowledged is there when its server has crashed',
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
          'what was acknowledged is there when its server has crashed',
          lost &&
            `version ${lost.version} of ${id} was acknowledged, and is gone with the crash of its server`,
        )
      }
    },
  }
}
