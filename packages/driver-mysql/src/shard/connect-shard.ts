import { isLooseleafError } from '@looseleaf/core'
import { MAX_SNAPSHOTS, type ConnectionState } from '@looseleaf/core/internal'
import type { OpenSnapshot, StatementTeller } from '@looseleaf/driver-kysely/internal'
import { createBreaker } from '../bounds/breaker.ts'
import { createSilenceWatch } from '../bounds/silence-watch.ts'
import { createKiller } from '../connection/killer.ts'
import { openConnection } from '../connection/open-connection.ts'
import type { ShardAddress } from '../connection/shard-address.ts'
import { snapshotsOf } from './open-snapshot.ts'
import { createPool, type CallPool, type Pool } from './pool.ts'

/** Bounds that a program has no reason to choose. Tests choose others. */
export interface ShardTuning {
  /**
   * Largest number of calls that wait for a connection; further ones reject with `SHARD_BUSY`. The lanes of the store bound what waits, so
   * a queue as long as this means that the shard does not keep up.
   */
  readonly maxQueue: number
  /**
   * Consecutive failures to reach the shard after which its calls are rejected without being sent: more than one lost connection, and less
   * than a pool.
   */
  readonly breakerFailures: number
  /** Milliseconds between two attempts to reach such a shard again: a connection per second and process is little for a server that starts. */
  readonly breakerProbeMs: number
  /**
   * Age in milliseconds at which a connection to a read-only server is replaced, since a failover may have led the address to another server.
   * Replicas, which are read-only, have none.
   */
  readonly readOnlyMs: number
}

export interface ShardSettings extends ShardTuning {
  readonly poolSize: number
  readonly deadlineMs: number
  readonly connectTimeoutMs: number
  readonly lockWaitSeconds: number
  readonly idleMs: number
}

export interface ShardPool extends CallPool {
  /** True while calls are rejected without being sent. */
  readonly isRefusing: boolean
  state(): ConnectionState
  readonly openSnapshot: OpenSnapshot
}

export interface ShardListeners {
  readonly statements?: StatementTeller | undefined
  /** Called when the breaker opens or closes. */
  readonly onRefusing?: ((isRefusing: boolean) => void) | undefined
  /** See `BreakerOptions`. */
  readonly describeOthers?: (() => string) | undefined
}

/** Creates the pool of one shard, with its own breaker, so that a failing shard does not affect the others. */
export function connectShard(
  address: ShardAddress,
  settings: ShardSettings,
  { statements, onRefusing, describeOthers }: ShardListeners = {},
): ShardPool {
  const { connectTimeoutMs, readOnlyMs } = settings
  const { name } = address
  const session = {
    name,
    lockWaitSeconds: settings.lockWaitSeconds,
    // Longer than the pool keeps a connection: it ends only connections whose client has vanished.
    silenceSeconds: 2 * Math.ceil((settings.idleMs + settings.deadlineMs) / 1_000) + 10,
  }
  let isRefusing = false
  function setRefusing(value: boolean): void {
    if (value !== isRefusing) onRefusing?.(value)
    isRefusing = value
  }
  const breaker = createBreaker({
    name,
    failures: settings.breakerFailures,
    probeMs: settings.breakerProbeMs,
    describeOthers,
    async probe() {
      try {
        await (await open()).end(connectTimeoutMs)
      } catch (error) {
        // With any other error the server has answered. The calls may pass, and get that error themselves.
        if (!isLooseleafError(error) || error.code === 'SHARD_UNAVAILABLE') throw error
      }
    },
    onOpen(refusal) {
      setRefusing(true)
      rejectWaiting(refusal)
    },
    onClose: () => setRefusing(false),
  })
  const watch = createSilenceWatch({
    lastAnswer: () => breaker.lastAnswer,
    async ask() {
      if (breaker.refusal !== undefined) return
      // `open` reports its outcome to the breaker.
      await open().then(
        (connection) => connection.end(connectTimeoutMs),
        () => undefined,
      )
    },
  })
  const killer = createKiller({ address, connectTimeoutMs, health: breaker })
  const packets = { isRefused: false }
  const open = () =>
    openConnection({
      address,
      session,
      connectTimeoutMs,
      health: breaker,
      killer,
      readOnlyMs,
      statements,
      packets,
    })
  let opened = 0
  const outdated = { before: -Infinity }
  const poolOf = (size: number): Pool =>
    createPool({
      ...settings,
      name,
      async open() {
        const connection = await open()
        opened++
        return connection
      },
      refusal: () => breaker.refusal,
      size,
      outdated,
    })
  const pool = poolOf(settings.poolSize)
  // A call that holds a snapshot sends statements through the other pool as well. From one pool, several such calls could take all connections.
  const snapshots = poolOf(MAX_SNAPSHOTS)
  const rejectWaiting = (error: unknown): void => {
    for (const each of [pool, snapshots]) each.rejectWaiting(error)
  }
  /** Watches for silence while a connection of this pool is in use. */
  const watched = (of: Pool): Pick<Pool, 'acquire' | 'release'> => ({
    acquire(signal) {
      watch.begin()
      const acquired = of.acquire(signal)
      acquired.catch(() => watch.end())
      return acquired
    },
    release(connection) {
      watch.end()
      of.release(connection)
    },
  })

  return {
    get isRefusing() {
      return breaker.isRefusing
    },
    ...watched(pool),
    openSnapshot: snapshotsOf(watched(snapshots), settings.deadlineMs),
    state: () => ({
      open: pool.connections,
      opened,
      idle: pool.idle,
      limit: settings.poolSize,
      waiting: pool.waiting,
      refusal: breaker.refusal?.message,
      lastAnswer: Number.isFinite(breaker.lastAnswer) ? breaker.lastAnswer : undefined,
    }),
    async close() {
      breaker.stop()
      watch.stop()
      await Promise.all([pool.close(), snapshots.close()])
      await killer.settled()
    },
  }
}
