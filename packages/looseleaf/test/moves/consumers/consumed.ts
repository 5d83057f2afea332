import { consume, type ChangedEntity, type Consumer, type ConsumeOptions } from '@looseleaf/changes'
import { formatId, type EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { expect } from 'vitest'

/** Polls often, saves often, and its leases end soon. */
const QUICK = { from: 'beginning', pollMs: 10, leaseMs: 300, retryMs: 5 } as const

/** Changes that consumers with the name `search` have handled, in any process. */
export class Consumed {
  /** Handled versions in their order. */
  readonly versions = new Map<EntityId, number[]>()
  readonly errors: unknown[] = []
  /** Versions of entities, and whether they were handed over as deletions, also if their handler failed. */
  readonly #seen = new Map<string, boolean>()
  /** Called before each change counts as handled. */
  onChange: (change: ChangedEntity) => Promise<void> | void = () => {}

  start(store: DataStore, options: ConsumeOptions = {}): Consumer {
    const handler = async (change: ChangedEntity): Promise<void> => {
      const isDeletion = change.entity === undefined
      const version = `${change.id} ${change.version}`
      const isSame = this.#seen.get(version) ?? isDeletion
      this.#seen.set(version, isDeletion)
      if (isSame !== isDeletion) this.errors.push(new Error(`${version} was no deletion at first`))
      await this.onChange(change)
      this.versions.set(change.id, [...(this.versions.get(change.id) ?? []), change.version])
    }
    return consume(store, 'search', handler, {
      ...QUICK,
      onError: (error) => void this.errors.push(error),
      ...options,
    })
  }

  /** Waits until the last handled version of each of these entities is this one or a later one. */
  async reach(versions: ReadonlyMap<EntityId, number>): Promise<void> {
    const missing = (): EntityId[] =>
      [...versions].filter(([id, version]) => !(this.last(id) >= version)).map(([id]) => id)
    await poll(missing).toEqual([])
  }

  last(id: EntityId): number {
    return this.versions.get(id)?.at(-1) ?? -1
  }

  /** Returns the entities that came in an older version after a newer one. */
  backwards(): readonly EntityId[] {
    return this.#where((versions) => versions.some((version, i) => version < (versions[i - 1] ?? 0)))
  }

  /** Returns the entities that came in one version twice. There are none as long as no process has died. */
  repeated(): readonly EntityId[] {
    return this.#where((versions) => new Set(versions).size < versions.length)
  }

  #where(holds: (versions: readonly number[]) => boolean): readonly EntityId[] {
    return [...this.versions].filter(([, versions]) => holds(versions)).map(([id]) => id)
  }
}

/** Returns the version of every entity and tombstone at its owner. */
export async function versionsOf(store: DataStore): Promise<ReadonlyMap<EntityId, number>> {
  const { placement } = await store.context.catalog.reload()
  const versions = new Map<EntityId, number>()
  for (const [number, { entities }] of store.context.driver.shards.entries())
    for (const { id, version } of await entities.pageByAdded(0, 100_000))
      if (placement.shardOfId(id) === number) versions.set(formatId(id), version)
  return versions
}

/** As `expect.poll`, with time for a busy machine. */
export const poll = <T>(read: () => T): ReturnType<typeof expect.poll<T>> =>
  expect.poll(read, { timeout: 60_000, interval: 10 })
