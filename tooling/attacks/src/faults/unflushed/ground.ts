import { setTimeout as sleep } from 'node:timers/promises'
import { msgpackZlibCodec } from '@looseleaf/codec'
import { isLooseleafError, type Driver } from '@looseleaf/core'
import { tableName } from '@looseleaf/index-engine/internal'
import { bucketRouter } from '@looseleaf/router'
import type { DataStore, DataStoreOptions } from '@looseleaf/store'
import { byGroup } from '@looseleaf-tooling/simulation/by-tag-and-group'
import { idOn } from '@looseleaf-tooling/kit/id-on'
import { openStore } from '../../lab/open-store.ts'
import { holdsWithin as holdsAnywhere } from '../../lab/until.ts'
import type { Cluster } from '../../lab/cluster.ts'
import { createFlushGate, type FlushGate } from './flush-gate.ts'

/** Shard whose log hangs and whose server is killed. */
export const HANGING = 0
/** The other shard, which stays healthy. */
export const SOUND = 1

/** Deadline of a statement. A statement that waits for the log is given up after it. */
const DEADLINE_MS = 1_000
/** After this time a write begins no further attempt. */
const WRITE_TIMEOUT_MS = 2_000
/** Deadline of a client whose statement outlives the hanging log. */
export const PATIENT_MS = 30_000

export interface OpenOptions {
  /** Deadline of a statement in milliseconds. Default: one second. */
  readonly deadlineMs?: number | undefined
  /** Milliseconds by which its clock is ahead. */
  readonly clockAheadMs?: number | undefined
  readonly wrap?: ((driver: Driver) => Driver) | undefined
}

/** An entity as stored in the tables. */
export interface StoredEntity {
  readonly version: number
  readonly group: string
}

/** A store with one index on two servers, and direct access to its tables. */
export interface Ground {
  /** Gate that all flushes of its stores pass. */
  readonly flushes: FlushGate
  /** Opens a store like a separate process, through the proxies. The ground closes it. */
  open(options?: OpenOptions): Promise<DataStore>
  /** Returns a new id on this shard. */
  idOn(shard: number): string
  /** Returns an empty group whose rows are on this shard. */
  groupOn(shard: number): string
  entity(shard: number, id: string): Promise<StoredEntity | undefined>
  /** Returns the stamp of the entity's row in this group. */
  stamp(group: string, id: string): Promise<number | undefined>
  isPending(shard: number, id: string): Promise<boolean>
  /** Closes every store after its calls have ended, and drops the databases. */
  close(): Promise<void>
}

/** Options of a store. */
export type StoreSettings = Pick<DataStoreOptions, 'onIndexFailure' | 'queryTimeMs'>

/** Short enough for old rows to be deleted while the log hangs. */
const QUERY_TIME_MS = 100

export async function prepareGround(cluster: Cluster, making: StoreSettings): Promise<Ground> {
  const database = await cluster.createDatabase()
  const router = bucketRouter({ shards: cluster.shards.length })
  const codec = msgpackZlibCodec()
  const table = tableName(byGroup, 1)
  const opened: DataStore[] = []
  const flushes = createFlushGate(HANGING)
  let groups = 0

  async function open(options: OpenOptions = {}, made?: StoreSettings): Promise<DataStore> {
    const { deadlineMs = DEADLINE_MS, clockAheadMs = 0, wrap } = options
    const store = await insist(() =>
      openStore(made === undefined ? database.urls : database.adminUrls(), {
        connections: { deadlineMs },
        change: (driver) => flushes.wrap(wrap?.(driver) ?? driver),
        indexes: [byGroup],
        clockOffsetMs: clockAheadMs,
        ...(made !== undefined && { migrate: true, queryTimeMs: QUERY_TIME_MS, ...made }),
        writeTimeoutMs: WRITE_TIMEOUT_MS,
      }),
    )
    opened.push(store)
    return store
  }

  async function ask(shard: number, statement: string): Promise<Record<string, unknown>[]> {
    const found = cluster.shards[shard]
    if (found === undefined) throw new Error(`There is no shard ${shard}.`)
    return found.admin(statement)
  }

  const groupShard = (group: string): number => router.shardOfKey(Buffer.from(group))
  const first = await open({}, making)
  return {
    flushes,
    open: (options) => open(options),
    idOn: (shard) => idOn(first, shard),
    groupOn(shard) {
      for (;;) {
        const group = `group ${++groups}`
        if (groupShard(group) === shard) return group
      }
    },
    async entity(shard, id) {
      const [row] = await ask(
        shard,
        `SELECT version, body FROM ${database.name}.entities WHERE id = ${literal(id)}`,
      )
      if (row === undefined) return undefined
      const bag = codec.decode(row['body'] as Buffer)
      return { version: Number(row['version']), group: String(bag['group']) }
    },
    async stamp(group, id) {
      const [row] = await ask(
        groupShard(group),
        `SELECT version FROM ${database.name}.${table} WHERE \`group\` = ${literalOf(group)} AND entity_id = ${literal(id)}`,
      )
      return row === undefined ? undefined : Number(row['version'])
    },
    async isPending(shard, id) {
      const found = await ask(
        shard,
        `SELECT 1 FROM ${database.name}.looseleaf_pending WHERE entity_id = ${literal(id)}`,
      )
      return found.length > 0
    },
    async close() {
      await Promise.all(opened.map((store) => store.close()))
      await database.drop()
    },
  }
}

/** A busy machine may let a call miss its deadline without any fault. */
const TRIES = 20

/** Retries an idempotent call until it succeeds. */
export async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call()
    } catch (error) {
      if (!isLooseleafError(error) || tries === TRIES) throw error
      await sleep(BETWEEN_LOOKS_MS)
    }
  }
}

const BETWEEN_LOOKS_MS = 10

/** Error codes of a connection whose server was killed. */
const GONE = ['ECONNREFUSED', 'ECONNRESET', 'PROTOCOL_CONNECTION_LOST']

/**
 * Polls until the condition holds or the time is over, and returns whether it held. On a slow machine a
 * server may be killed in that time.
 */
export function holdsWithin(milliseconds: number, holds: () => Promise<boolean> | boolean): Promise<boolean> {
  return holdsAnywhere(milliseconds, async () => {
    try {
      return await holds()
    } catch (error) {
      if (GONE.includes((error as NodeJS.ErrnoException).code ?? '')) return false
      throw error
    }
  })
}

function literal(id: string): string {
  return `x'${id.replaceAll('-', '')}'`
}

function literalOf(text: string): string {
  return `x'${Buffer.from(text).toString('hex')}'`
}
