import { LooseleafError, parseId, type Driver, type EntityId } from '@looseleaf/core'
import { memoryShards } from '@looseleaf/driver-sqlite'
import { defineIndex } from '@looseleaf/index-engine'
import { bucketRouter } from '@looseleaf/router'
import { faultyDriver, keepOpen, type Fault, type FaultPlan } from '@looseleaf/testkit'
import { DataStore } from '../src/data-store.ts'
import type { DataStoreOptions } from '../src/types.ts'

const SHARDS = 3
export const byUser = defineIndex('by_user', {
  properties: { user: 'string', n: 'integer' },
  shardOn: 'user',
})
export const byRank = defineIndex('by_rank', { properties: { n: 'integer' }, shardOn: 'id' })
export const byTag = defineIndex('by_tag', {
  properties: { tags: 'string[]', n: 'integer' },
  shardOn: 'tags',
})
export const listed = defineIndex('listed', {
  properties: { user: 'string', n: 'integer' },
  shardOn: 'user',
  include: ['title'],
})

const router = bucketRouter({ shards: SHARDS })
export const shardOfUser = (user: string): number => router.shardOfKey(Buffer.from(user))
export const shardOf = (id: EntityId): number => router.shardOfId(parseId(id))
/** By shard, a user whose index rows are there. */
export const users: readonly string[] = Array.from({ length: SHARDS }, (_, shard) =>
  [...'abcdefghij'].find((user) => shardOfUser(user) === shard)!,
)
export const skip = { onUnavailable: 'skip' } as const
export const nameOf = (shard: number): string => `memory ${shard}`
export const numbers = (items: readonly object[]): unknown[] =>
  items.map((item) => (item as { n: unknown }).n)

export const throws = (error: unknown): Fault => ({
  before() {
    throw error
  },
})

export interface Filled {
  readonly id: EntityId
  readonly user: string
  readonly n: number
}

/** A store on three shards in memory whose calls to a shard may fail. */
export interface LossyStore extends AsyncDisposable {
  readonly store: DataStore
  /** Calls of the driver, as `shard table operation`. */
  readonly sent: string[]
  /** Lets these shards fail as if nobody listened there. */
  lose(...shards: readonly number[]): void
  /** Lets a shard leave every call unanswered, until the returned function is called. */
  silence(shard: number): () => void
  fail(plan: FaultPlan): void
  restore(): void
  /** Opens another store on the same shards. */
  open(options?: Partial<DataStoreOptions>): Promise<DataStore>
  /** Inserts an entity for each pair of a shard of its index rows and its own shard, with increasing `n`. */
  fill(): Promise<Filled[]>
}

/** Opens a lossy store. Its shards have a pool, as those of servers do, unless `hasPool` is false. */
export async function openLossyStore(
  options: Partial<DataStoreOptions> = {},
  { hasPool = true }: { readonly hasPool?: boolean } = {},
): Promise<LossyStore> {
  const memory: Driver = await memoryShards(SHARDS).connect()
  const pooled = {
    ...memory,
    shards: memory.shards.map((shard) => ({ ...shard, connections: () => undefined })),
  }
  const sent: string[] = []
  let plan: FaultPlan = () => undefined
  const restore = (): void => {
    plan = () => undefined
  }
  const open = (more: Partial<DataStoreOptions> = {}): Promise<DataStore> => {
    const driver = faultyDriver(hasPool ? pooled : memory, (call) => {
      sent.push(`${call.shard} ${call.table} ${call.operation}`)
      return plan(call)
    })
    const indexes = [byUser, byRank, byTag, listed]
    return DataStore.open({ shards: keepOpen(driver), indexes, migrate: true, onWarning: () => {}, ...more })
  }
  const store = await open(options)

  return {
    store,
    sent,
    open,
    restore,
    fail(other) {
      plan = other
    },
    lose(...shards) {
      plan = ({ shard }) =>
        shards.includes(shard)
          ? throws(new LooseleafError('SHARD_UNAVAILABLE', 'It is away.', { shard: nameOf(shard) }))
          : undefined
    },
    silence(shard) {
      const { promise, resolve } = Promise.withResolvers<void>()
      plan = (call) => (call.shard === shard ? { before: () => promise } : undefined)
      return () => {
        restore()
        resolve()
      }
    },
    async fill() {
      const made: Filled[] = []
      for (const user of users) {
        for (let shard = 0; shard < SHARDS; shard++) {
          let id = store.newId()
          while (shardOf(id) !== shard) id = store.newId()
          const n = made.length
          await store.put({ user, n, title: `title ${n}`, tags: [user, users[shard]!] }, { id })
          made.push({ id, user, n })
        }
      }
      return made
    },
    async [Symbol.asyncDispose]() {
      restore()
      await store.close()
      await memory.close()
    },
  }
}
