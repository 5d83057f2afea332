import type { CallOptions } from '@looseleaf/core'
import { backOffMs, elapsedBy, getOrInsert, untilAborted } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { loadOwn, swapOwn } from './own-buckets.ts'

/** Milliseconds between the first two looks at the catalog of a shard with sealed buckets. Later ones are twice as far apart each, up to `LOOK_MS`. */
const FIRST_LOOK_MS = 1
const LOOK_MS = 5

/** A call that waits until the catalog of a shard has another epoch. Times are of the clock of `elapsedBy`, in milliseconds. */
export interface SealWait {
  readonly epoch: number
  /** From then on the call waits no longer for the mover: it has the seal taken away. */
  readonly breaksAt: number
  /** From then on the call does not wait at all. */
  readonly endsAt: number
}

interface WaitingCall extends SealWait {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The waiting calls of each shard on which this process waits. */
const waitingOf = new WeakMap<EngineContext, Map<number, Set<WaitingCall>>>()

/**
 * Waits until a shard has another epoch, takes its seals away when the first call has no patience left, and returns at the end of the wait.
 * All calls of a process that wait for one shard share the looks at its catalog. Rejects if the shard does not answer.
 */
export async function untilUnsealed(
  context: EngineContext,
  shard: number,
  wait: SealWait,
  { signal }: CallOptions,
): Promise<void> {
  const shards = getOrInsert(waitingOf, context, () => new Map())
  const found = shards.get(shard)
  const calls = found ?? new Set()
  shards.set(shard, calls)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const call = { ...wait, resolve, reject }
  calls.add(call)
  if (found === undefined) {
    // The looks serve all calls, so they belong to the trace of none.
    context.events.detached(() =>
      look(context, shard, calls)
        .catch((error: unknown) => calls.forEach((each) => each.reject(error)))
        .finally(() => shards.delete(shard)),
    )
  }
  try {
    await untilAborted(promise, signal)
  } finally {
    calls.delete(call)
  }
}

/** Looks at the catalog of a shard until no call waits for it. */
async function look(context: EngineContext, shard: number, calls: Set<WaitingCall>): Promise<void> {
  const now = elapsedBy(context.time)
  for (let looks = 1; ; looks++) {
    const catalog = await context.catalog.reloadShard(shard)
    const epoch = catalog.epochs[shard]
    const impatient: WaitingCall[] = []
    let nextEnd = Infinity
    for (const call of calls) {
      if (call.epoch !== epoch || now() >= call.endsAt) end(calls, call)
      else if (now() >= call.breaksAt) impatient.push(call)
      else nextEnd = Math.min(nextEnd, call.breaksAt, call.endsAt)
    }
    if (calls.size === 0) return
    const [first] = impatient
    const pauseMs = backOffMs(looks, { firstMs: FIRST_LOOK_MS, maxMs: LOOK_MS })
    if (first !== undefined) await breakSeal(context, shard, first.epoch)
    else await context.time.sleep(Math.min(pauseMs, Math.max(0, nextEnd - now())))
  }
}

function end(calls: Set<WaitingCall>, call: WaitingCall): void {
  calls.delete(call)
  call.resolve()
}

/**
 * Takes the seals of a shard away if its catalog still has this epoch, so that its buckets are written again. The mover that has sealed them
 * cannot hand them over by its seal any more, because the epoch of the shard has changed: it copies what was written since, and seals
 * again. Does nothing if the catalog has changed.
 */
async function breakSeal(context: EngineContext, shard: number, epoch: number): Promise<void> {
  const own = await loadOwn(context, shard, {})
  const { leaving } = own.serves
  if (own.catalog.epoch !== epoch || leaving === undefined) return
  const unsealed = leaving.map((record) => ({ ...record, sealed: undefined }))
  await swapOwn(context, shard, own, { ...own.serves, leaving: unsealed }, {})
}
