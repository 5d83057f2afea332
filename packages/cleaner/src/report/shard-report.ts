import type { CallOptions, LooseleafError } from '@looseleaf/core'
import { type Inlined, isOfShard } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { shardAt } from '@looseleaf/protocol/internal'
import { recordFromText } from '../tail/tail-record.ts'
import { TAIL_TASK } from '../tail/tail.ts'

/** State of the following of writes on a shard. */
export type ShardReport = Inlined<{
  /** The number of the shard, from 0. */
  readonly shard: number
  readonly name: string
  /** Error of a shard that did not answer. The other fields are then as for a shard that was never followed. */
  readonly error: LooseleafError | undefined
  /** True if a cleaner follows the shard now. */
  readonly isFollowed: boolean
  /** Host and process id of the last cleaner that followed the shard; undefined if none has. */
  readonly worker: string | undefined
  /** Last saved round of that cleaner, by the shard's clock. Rounds are saved three times per lease. */
  readonly lastRoundAt: Date | undefined
  /** Milliseconds since `lastRoundAt`, by the shard's clock. Undefined if that time is in the future, because the clock was ahead. */
  readonly sinceLastRoundMs: number | undefined
  /**
   * Age in milliseconds of the oldest update that no round has read; some seconds are normal. Undefined if its time is in the future, because
   * the clock was ahead.
   */
  readonly lagMs: number | undefined
  /** True if the backlog has grown between the last two saves. */
  readonly isFallingBehind: boolean
  /** Index rows that writes have left pending; undefined if no process defers rows. */
  readonly pending: PendingReport | undefined
}>

export type PendingReport = Inlined<{
  /** Number of pending rows, up to 500. */
  readonly rows: number
  /** True if there are more than 500. */
  readonly more: boolean
  /**
   * Commit time of the oldest of these rows, by its writer's clock; undefined without rows. With `more`, an unread row may be older.
   */
  readonly oldestAt: Date | undefined
}>

const MAX_PENDING = 500

/** Tolerance in µs: a time that is read on another connection than the clock may be slightly ahead of it. */
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
  const [state, now] = await Promise.all([on.tasks.load(TAIL_TASK, options), on.now(options)])
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
