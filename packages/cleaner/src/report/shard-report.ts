import { isLooseleafError, type CallOptions, type LooseleafError } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { shardAt } from '@looseleaf/protocol'
import { recordFromText } from '../tail/tail-record.ts'
import { tailTask } from '../tail/tail.ts'

/** How the writes of a shard are followed. */
export interface ShardReport {
  /** The number of the shard, from 0. */
  readonly shard: number
  readonly name: string
  /** What the shard has answered instead; the rest is as if nobody had followed it then. */
  readonly error: LooseleafError | undefined
  /** Whether a cleaner has the shard now. */
  readonly isFollowed: boolean
  /** Host and process of the cleaner that has followed it last; undefined when none has. */
  readonly worker: string | undefined
  /** When that one did its last round that others know of, by the shard's clock; it is saved every third of a lease. */
  readonly lastRoundAt: Date | undefined
  /** How long ago that was, in milliseconds by the shard's clock; undefined where it is still to come, since the clock was ahead. */
  readonly sinceLastRoundMs: number | undefined
  /**
   * How old the oldest update is that no round has looked at, in milliseconds; some seconds are normal. Undefined where its time is still
   * to come, since the clock was ahead.
   */
  readonly lagMs: number | undefined
  /** Whether there was more to catch up with than when it was saved before. */
  readonly isFallingBehind: boolean
  /** Index rows that writes have left to the cleaner; undefined where no process defers any. */
  readonly pending: PendingReport | undefined
}

export interface PendingReport {
  /** Up to 500. */
  readonly rows: number
  /** Whether there are more, which were not read. */
  readonly more: boolean
  /**
   * When the oldest of these was committed, by its writer's clock; undefined when there are none. Where there are more, one
   * of them may be older.
   */
  readonly oldestAt: Date | undefined
}

const MAX_PENDING = 500

/** A time that is read on another connection than the clock may be ahead of it by less than this, in µs. */
const AHEAD_MICROS = 1_000_000

export async function reportShard(
  context: EngineContext,
  shard: number,
  options: CallOptions,
): Promise<ShardReport> {
  const { name } = shardAt(context, shard)
  try {
    const [tail, pending] = await Promise.all([
      reportTail(context, shard, options),
      reportPending(context, shard, options),
    ])
    return { shard, name, error: undefined, ...tail, pending }
  } catch (error) {
    if (!isOfShard(error)) throw error
    return { shard, name, error, ...NOT_FOLLOWED, pending: undefined }
  }
}

/** Whether it is the shard that has said so, or its silence: the others may answer. */
export function isOfShard(error: unknown): error is LooseleafError {
  return isLooseleafError(error) && error.code !== 'ABORTED' && error.code !== 'CLOSED'
}

type TailReport = Omit<ShardReport, 'shard' | 'name' | 'error' | 'pending'>

const NOT_FOLLOWED: TailReport = {
  isFollowed: false,
  worker: undefined,
  lastRoundAt: undefined,
  sinceLastRoundMs: undefined,
  lagMs: undefined,
  isFallingBehind: false,
}

async function reportTail(context: EngineContext, shard: number, options: CallOptions): Promise<TailReport> {
  const on = shardAt(context, shard)
  const [state, now] = await Promise.all([on.tasks.load(tailTask(), options), on.now(options)])
  const isFollowed = state?.owner !== undefined
  const record = recordFromText(state?.progress ?? '')
  if (record === undefined) return { ...NOT_FOLLOWED, isFollowed }
  const { window, worker, behindMs, wasBehindMs } = record
  const since = (moment: number): number | undefined =>
    moment > now + AHEAD_MICROS ? undefined : Math.max(0, Math.round((now - moment) / 1000))
  return {
    isFollowed,
    worker: worker === '' ? undefined : worker,
    lastRoundAt: new Date(window.lookedAt / 1000),
    sinceLastRoundMs: since(window.lookedAt),
    lagMs: since(window.gap?.since ?? window.lookedAt),
    isFallingBehind: behindMs > wasBehindMs,
  }
}

async function reportPending(
  context: EngineContext,
  shard: number,
  options: CallOptions,
): Promise<PendingReport | undefined> {
  if (!context.catalog.current().mayDefer) return undefined
  const rows = await shardAt(context, shard).pending.page({ limit: MAX_PENDING + 1 }, options)
  const oldest = Math.min(...rows.map(({ version }) => version))
  return {
    rows: Math.min(rows.length, MAX_PENDING),
    more: rows.length > MAX_PENDING,
    oldestAt: rows.length === 0 ? undefined : new Date(oldest / 1000),
  }
}
